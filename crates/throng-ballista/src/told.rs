//! Errors that go from an executor through the scheduler to the client, as text.
//!
//! Ballista carries the text of an error and nothing else, logs it on the way, and engines quote values. So an error is sorted
//! where it happens, keeps what a caller may see, and travels in a form that is found again in any text around it:
//! `throng[65]{people.parquet has 3 values that ...}`.

use std::error::Error;
use std::fmt;

use datafusion::error::DataFusionError;
use throng_pipeline::{JobError, Kind};

const OPENING: &str = "throng[";

/// All kinds, to find one by its exit code.
const KINDS: [Kind; 9] = [
    Kind::Infeasible,
    Kind::Verification,
    Kind::BadData,
    Kind::NoInput,
    Kind::Internal,
    Kind::Stopped,
    Kind::TemporaryIo,
    Kind::BadPolicy,
    Kind::BadQuery,
];

/// An error as it travels. Ballista shows errors by `Debug`, so that both texts are the same.
#[derive(Clone)]
pub struct Told {
    code: u8,
    message: String,
}

impl From<&JobError> for Told {
    fn from(error: &JobError) -> Self {
        Self { code: error.kind().exit_code(), message: error.to_string() }
    }
}

impl From<Told> for DataFusionError {
    fn from(told: Told) -> Self {
        Self::External(Box::new(told))
    }
}

impl Error for Told {}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Told {
    /// Whatever a text in quotes would show in another way is written by its number, `%22` for a quotation mark.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPENING}{}]{{", self.code)?;
        for byte in self.message.bytes() {
            match byte {
                b'"' | b'\'' | b'\\' | b'%' | b'{' | b'}' => write!(f, "%{byte:02x}")?,
                b' '..=b'~' => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "%{byte:02x}")?,
            }
        }
        f.write_str("}")
    }
}

/// The error that somewhere in this text was told, as it was.
pub fn heard(text: &str) -> Option<JobError> {
    text.match_indices(OPENING).find_map(|(place, _)| {
        let (code, rest) = text[place + OPENING.len()..].split_once("]{")?;
        let (message, _) = rest.split_once('}')?;
        let code: u8 = code.parse().ok()?;
        let kind = KINDS.into_iter().find(|kind| kind.exit_code() == code)?;
        Some(JobError::new(kind, plain(message)?))
    })
}

/// A message as it was before it travelled.
fn plain(message: &str) -> Option<String> {
    let mut parts = message.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (number, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(number, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use ballista_core::error::BallistaError;
    use ballista_core::serde::protobuf::FailedTask;

    use super::*;

    #[test]
    fn an_error_is_heard_through_what_ballista_makes_of_it() {
        for message in ["column `age`: 3 values, \"so\" {many} 100 %", "zu groß\n", ""] {
            for kind in KINDS {
                let told = Told::from(&JobError::new(kind, message));
                let failed = FailedTask::from(BallistaError::DataFusionError(Box::new(told.into())));
                let text = format!("Job 7 failed: {:?}", format!("stage 1: {}", failed.error));
                let heard = heard(&text).unwrap();
                assert_eq!((heard.kind(), heard.to_string().as_str()), (kind, message));
            }
        }
    }

    #[test]
    fn other_texts_tell_nothing() {
        for text in ["", "throng", "throng[", "throng[65]{", "throng[1]{a}", "throng[x]{a}", "throng[65]{%zz}"] {
            assert!(heard(text).is_none(), "{text}");
        }
        assert_eq!(heard("throng[9] throng[65]{a} b}").unwrap().to_string(), "a");
    }
}
