//! Encoding of errors between executor, scheduler and client.
//!
//! Ballista transfers only the text of an error and logs it on the way, and engines quote values. An error is therefore
//! classified where it occurs, and its [`JobError`] is encoded such that it can be found in any surrounding text:
//! `throng[65,age]{column `age` has 3 values that ...}`, with the exit code of its kind, the column if there is one,
//! and the message.

use std::error::Error;
use std::fmt;

use datafusion::error::DataFusionError;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use throng_job::{JobError, Kind};

const OPENING: &str = "throng[";

/// Bytes that delimit a field, or that `Debug` would escape.
const ESCAPED: &AsciiSet =
    &CONTROLS.add(b'"').add(b'\'').add(b'\\').add(b'%').add(b'{').add(b'}').add(b'[').add(b']').add(b',');

/// An error in its encoded form. `Debug` and `Display` are the same, because Ballista formats errors with `Debug`.
#[derive(Clone)]
pub struct WireError(JobError);

impl From<JobError> for WireError {
    fn from(error: JobError) -> Self {
        Self(error)
    }
}

impl From<WireError> for DataFusionError {
    fn from(error: WireError) -> Self {
        Self::External(Box::new(error))
    }
}

impl Error for WireError {}

impl fmt::Debug for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OPENING}{}", self.0.kind().exit_code())?;
        if let Some(column) = self.0.column() {
            write!(f, ",{}", utf8_percent_encode(column, ESCAPED))?;
        }
        write!(f, "]{{{}}}", utf8_percent_encode(self.0.message(), ESCAPED))
    }
}

/// Returns the first encoded error in a text.
pub fn decode_error(text: &str) -> Option<JobError> {
    text.match_indices(OPENING).find_map(|(at, _)| {
        let (head, rest) = text[at + OPENING.len()..].split_once("]{")?;
        let (message, _) = rest.split_once('}')?;
        let (code, column) = head.split_once(',').map_or((head, None), |(code, column)| (code, Some(column)));
        let error = JobError::new(Kind::from_exit_code(code.parse().ok()?)?, decode(message)?);
        Some(match column {
            Some(column) => error.with_column(decode(column)?),
            None => error,
        })
    })
}

/// Decodes a field; returns `None` for text that [`utf8_percent_encode`] does not produce.
fn decode(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    (utf8_percent_encode(&decoded, ESCAPED).to_string() == text).then(|| decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use ballista_core::error::BallistaError;
    use ballista_core::serde::protobuf::FailedTask;

    use super::*;

    #[test]
    fn an_error_is_decoded_from_the_texts_that_ballista_wraps_it_in() {
        for message in ["column `age`: 3 values, \"so\" {much} [and] 100 %", "zu groß\n", ""] {
            for kind in (0..=u8::MAX).filter_map(Kind::from_exit_code) {
                for column in [None, Some("größe, [cm] {\"x\"}")] {
                    let error = JobError::new(kind, message);
                    let error = column.into_iter().fold(error, |error, column| error.with_column(column));
                    let wire = DataFusionError::from(WireError::from(error));
                    let failed = FailedTask::from(BallistaError::DataFusionError(Box::new(wire)));
                    let text = format!("Job 7 failed: {:?}", format!("stage 1: {}", failed.error));
                    let decoded = decode_error(&text).unwrap();
                    assert_eq!((decoded.kind(), decoded.column(), decoded.message()), (kind, column, message));
                }
            }
        }
    }

    #[test]
    fn other_texts_hold_no_error() {
        for text in ["", "throng", "throng[", "throng[65]{", "throng[1]{a}", "throng[x]{a}", "throng[65]{%zz}"] {
            assert!(decode_error(text).is_none(), "{text}");
        }
        assert_eq!(decode_error("throng[9] throng[65]{a} b}").unwrap().to_string(), "a");
    }
}
