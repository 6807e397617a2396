//! What can go wrong with a job, sorted by what its caller should do.
//!
//! Messages never hold a value of the data. Engines like to quote the value that they could not parse, so their errors
//! are not shown as they are: only their kind and place survive.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::parquet::errors::ParquetError;
use thiserror::Error;
use throng_core::verify::VerifyError;
use throng_datafusion::Damaged;
use throng_policy::PolicyError;

/// Why a job ended without a release. Nothing is published then.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct JobError {
    kind: Kind,
    message: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What the caller should do about an error; see [`Kind::exit_code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No release of this input can keep the promise: ask for less, or bring more data.
    Infeasible,
    /// The release was read back and did not keep its promise: a bug of ours.
    Verification,
    /// The input is broken or does not fit the policy: mend it.
    BadData,
    /// There is no input.
    NoInput,
    /// The job itself failed: a bug of ours.
    Internal,
    /// The caller asked the job to stop.
    Stopped,
    /// Storage or network failed: try again.
    TemporaryIo,
    /// The policy is wrong, or does not fit the output location: mend it.
    BadPolicy,
    /// The SQL can't be parsed or planned: mend it.
    BadQuery,
}

impl Kind {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::BadQuery => 2,
            Self::Infeasible => 3,
            Self::Verification => 4,
            Self::BadData => 65,
            Self::NoInput => 66,
            Self::Internal => 70,
            Self::Stopped => 130,
            Self::TemporaryIo => 75,
            Self::BadPolicy => 78,
        }
    }
}

impl JobError {
    /// An error with a message for people.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// What the caller should do.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// An error of storage, with what was being done.
    pub(crate) fn storage(doing: impl std::fmt::Display, error: &object_store::Error) -> Self {
        let (kind, advice) = storage_kind(error);
        Self::new(kind, format!("{doing}: {}; {advice}", store_reason(error)))
    }

    /// An error of the local file system, with what was being done.
    pub(crate) fn file_system(doing: impl std::fmt::Display, error: &std::io::Error) -> Self {
        Self::new(Kind::TemporaryIo, format!("{doing}: {error}; check space and permissions, then run again"))
    }

    /// A bug of ours, with what did not hold.
    pub(crate) fn internal(what: impl std::fmt::Display) -> Self {
        Self::new(Kind::Internal, format!("{what}; this is a bug, please report it with the policy and the schema"))
    }

    /// An error of the engine while it read what `what` names.
    pub(crate) fn reading(what: &str, error: &DataFusionError) -> Self {
        #[cfg(feature = "leaky")]
        if let Cause::Values(_) = cause(error) {
            return Self::new(Kind::BadData, error.to_string());
        }
        match cause(error) {
            Cause::Storage(error) => Self::storage(format!("reading {what}"), error),
            Cause::Parquet(error) => Self::new(
                Kind::BadData,
                format!("{what} is not readable as Parquet: {}; write the file again", parquet_reason(error)),
            ),
            Cause::Pages => Self::new(
                Kind::BadData,
                format!("{what} is not readable as Parquet: its pages are damaged; write the file again"),
            ),
            Cause::Damaged => {
                Self::new(Kind::BadData, format!("{what} is not readable: it is damaged; write the file again"))
            }
            Cause::Values(error) => Self::new(Kind::BadData, format!("{what} {}", values_reason(error))),
            Cause::Lines => Self::new(
                Kind::BadData,
                format!("{what} is not readable as CSV: a quoted value does not end; write the file again"),
            ),
            Cause::Memory => Self::new(Kind::TemporaryIo, format!("reading {what} ran out of memory")),
            Cause::Other => Self::new(Kind::BadData, format!("{what} could not be read; check its format and schema")),
        }
    }
}

impl From<PolicyError> for JobError {
    fn from(error: PolicyError) -> Self {
        Self { kind: Kind::BadPolicy, message: error.to_string(), source: Some(Box::new(error)) }
    }
}

impl From<throng_core::Error> for JobError {
    fn from(error: throng_core::Error) -> Self {
        Self::new(core_kind(&error), error.to_string())
    }
}

pub(crate) fn core_kind(error: &throng_core::Error) -> Kind {
    use throng_core::Error as Core;
    match error {
        Core::Infeasible(_) => Kind::Infeasible,
        Core::Kernel(..) | Core::Misplaced { .. } => Kind::Internal,
        _ => Kind::BadData,
    }
}

impl From<throng_datafusion::Error> for JobError {
    fn from(error: throng_datafusion::Error) -> Self {
        use throng_datafusion::Error as Engine;
        match error {
            Engine::Core(error) => error.into(),
            Engine::Policy(error) => error.into(),
            Engine::Suppression { .. } => {
                Self::new(Kind::Infeasible, format!("the privacy target can't be met: {error}"))
            }
            Engine::Read(error) => Self::reading("the input", &error),
            Engine::Refused(_) => Self::new(Kind::Verification, error.to_string()),
            Engine::Store(error) => Self::storage("making the release", &error),
            Engine::Memory(_) | Engine::Spill(_) | Engine::Changed => Self::new(Kind::TemporaryIo, error.to_string()),
            Engine::Cancelled => Self::new(Kind::Stopped, error.to_string()),
            Engine::Kernel(..) | Engine::Task | Engine::Codec(_) => Self::new(Kind::Internal, error.to_string()),
        }
    }
}

impl From<VerifyError> for JobError {
    fn from(error: VerifyError) -> Self {
        Self::new(Kind::BadData, error.to_string())
    }
}

fn storage_kind(error: &object_store::Error) -> (Kind, &'static str) {
    use object_store::Error as Store;
    let says = |words: &str| error.to_string().contains(words);
    match error {
        Store::Precondition { .. } => (Kind::TemporaryIo, "it has changed while it was read; try again"),
        _ if says("non-partial response") || says("Range request not supported") => {
            (Kind::BadData, "its server does not send parts of files; copy the file, and read the copy")
        }
        _ if lacks_credentials(error) => (Kind::TemporaryIo, NO_CREDENTIALS),
        // Listing is refused in other words than reading.
        _ if says("status code: 401") || says("status code: 403") => {
            (Kind::TemporaryIo, "check the credentials in the environment")
        }
        Store::NotFound { .. } => (Kind::NoInput, "check the location"),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
            (Kind::TemporaryIo, "check the credentials in the environment")
        }
        _ => (Kind::TemporaryIo, "try again"),
    }
}

/// Where clients look for credentials when the environment has none.
const METADATA_SERVER: &str = "http://169.254.169.254";

/// What to do when they find none there.
pub(crate) const NO_CREDENTIALS: &str = "the environment holds no credentials for the store; set them, such as AWS_ACCESS_KEY_ID and \
                              AWS_SECRET_ACCESS_KEY";

/// Whether a store was not even asked, for want of credentials.
pub(crate) fn lacks_credentials(error: &object_store::Error) -> bool {
    error.to_string().contains(METADATA_SERVER)
}

/// An error of a store in its own words, without the answer of its server: servers repeat the key, the signature or what
/// was signed. The status and the code of the answer are told.
pub(crate) fn store_reason(error: &object_store::Error) -> String {
    const ANSWERS: [&str; 2] = ["Server returned non-2xx status code: ", "Server returned error response: "];
    let text = error.to_string();
    let Some((before, answer)) = ANSWERS.iter().find_map(|answer| text.split_once(answer)) else {
        return first_line(&text).to_owned();
    };
    let status: String = answer.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == ' ').collect();
    let code = answer.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    let code = code.filter(|code| code.len() < 64 && code.chars().all(|c| c.is_ascii_alphanumeric()));
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    format!("{}the server answered {}{code}", first_line(before), status.trim())
}

/// What is behind an error of the engine.
pub(crate) enum Cause<'a> {
    Storage(&'a object_store::Error),
    Parquet(&'a ParquetError),
    /// Parquet too, after Arrow has made text of the error.
    Pages,
    /// The decoder gave up in the middle.
    Damaged,
    Values(&'a ArrowError),
    /// A text file can't be cut into lines, because a quoted value does not end.
    Lines,
    Memory,
    Other,
}

/// The innermost error that we know. A failure of storage inside a decoder is still a failure of storage.
pub(crate) fn cause(error: &DataFusionError) -> Cause<'_> {
    let mut found = Cause::Other;
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<object_store::Error>() {
            return match error {
                object_store::Error::Generic { store: "LineDelimiter", .. } => Cause::Lines,
                error => Cause::Storage(error),
            };
        } else if error.is::<Damaged>() {
            return Cause::Damaged;
        } else if let Some(error) = error.downcast_ref::<ParquetError>() {
            found = Cause::Parquet(error);
        } else if let Some(error) = error.downcast_ref::<ArrowError>() {
            found = match (found, error) {
                (Cause::Parquet(error), _) => Cause::Parquet(error),
                (_, ArrowError::ParquetError(_)) => Cause::Pages,
                (_, ArrowError::ParseError(_) | ArrowError::CsvError(_)) => Cause::Values(error),
                (found, _) => found,
            };
        } else if let Some(DataFusionError::ResourcesExhausted(_)) = error.downcast_ref::<DataFusionError>() {
            return Cause::Memory;
        }
        next = error.source();
    }
    found
}

/// Parquet's own words for damaged structure; they speak of bytes and pages, and are left out when they might not.
fn parquet_reason(error: &ParquetError) -> String {
    match error {
        ParquetError::EOF(_) => "it ends too early (truncated)".to_owned(),
        ParquetError::NYI(_) => "it uses a feature that is not supported".to_owned(),
        ParquetError::General(text) if text.contains("magic") || text.contains("footer") => {
            "its footer is damaged or missing".to_owned()
        }
        _ => "its pages are damaged".to_owned(),
    }
}

/// What is wrong with a line of text, and where, without the value.
fn values_reason(error: &ArrowError) -> String {
    match error {
        // These count lines from one and quote no value.
        ArrowError::CsvError(text) => {
            let line = text.rsplit_once("line ").and_then(|(_, rest)| number(rest));
            let line = line.map(|(line, _)| format!(" at line {line}")).unwrap_or_default();
            format!(
                "is not readable as CSV{line}: a line has another number of fields than the first, or is not UTF-8 \
                 text; mend the line, or set `delimiter` under [input]"
            )
        }
        _ => {
            let place = place_of_value(&error.to_string());
            let place = place.map(|(column, line)| format!(" in column {column} at line {line}")).unwrap_or_default();
            format!("has a value{place} that does not fit the type of its column; mend the value")
        }
    }
}

/// The column and line of a value that could not be parsed, both counted from one. The message quotes the value and its
/// row, which may look like a place themselves: where there are two, none is told.
fn place_of_value(text: &str) -> Option<(u64, u64)> {
    let mut places = text.match_indices(" column ").filter_map(|(at, word)| {
        let (column, rest) = number(&text[at + word.len()..])?;
        let (line, rest) = number(rest.strip_prefix(" at line ")?)?;
        rest.starts_with([':', '.']).then_some((column + 1, line + 1))
    });
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

/// The number at the beginning of a text, and what follows.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(error: ArrowError) -> String {
        JobError::reading("people.csv", &DataFusionError::ArrowError(Box::new(error), None)).to_string()
    }

    #[test]
    fn the_place_of_a_value_is_told_and_the_value_is_not() {
        let text = "Error while parsing value 'x7' as type 'Int64' for column 1 at line 4. Row data: '[3,x7]'";
        let message = told(ArrowError::ParseError(text.to_owned()));
        assert!(message.starts_with("people.csv has a value in column 2 at line 5 that"), "{message}");
        let text = "Error parsing column 3 at line 6: Parser error: Error parsing timestamp from 'x7'";
        let message = told(ArrowError::ParseError(text.to_owned()));
        assert!(message.starts_with("people.csv has a value in column 4 at line 7 that"), "{message}");
    }

    #[test]
    fn a_value_that_looks_like_a_place_is_not_told_either() {
        let value = "born for column 1907 at line 1843. X";
        let text = format!(
            "Error while parsing value '{value}' as type 'Int64' for column 1 at line 4. Row data: '[{value}]'"
        );
        let message = told(ArrowError::ParseError(text));
        assert!(message.starts_with("people.csv has a value that"), "{message}");
    }

    #[test]
    fn the_line_of_a_broken_record_is_told() {
        for text in [
            "incorrect number of fields for line 4, expected 2 got 3",
            "Encountered unequal lengths between records on CSV file. Expected 2 records, found 3 records at line 4",
            "Encountered invalid UTF-8 data for line 4 and field 2",
        ] {
            let message = told(ArrowError::CsvError(text.to_owned()));
            assert!(message.starts_with("people.csv is not readable as CSV at line 4:"), "{message}");
        }
    }

    #[test]
    fn the_answer_of_a_server_is_not_told() {
        let answer = "Error performing GET http://host/b/a in 1ms - Server returned non-2xx status code: 403 Forbidden: \
                      <?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIACANARY\
                      </AWSAccessKeyId><StringToSign>canary</StringToSign></Error>";
        let error = object_store::Error::Generic { store: "S3", source: answer.into() };
        let told = JobError::storage("reading a", &error).to_string();
        assert!(
            told.contains("GET http://host/b/a in 1ms - the server answered 403 Forbidden (SignatureDoesNotMatch);")
        );
        assert!(!told.to_ascii_lowercase().contains("canary"), "{told}");
        let answer = "Server returned error response: <Error><Code>canary canary</Code></Error>";
        let told = store_reason(&object_store::Error::Generic { store: "S3", source: answer.into() });
        assert!(!told.contains("canary"), "{told}");
    }

    #[test]
    fn damaged_pages_are_not_taken_for_values() {
        let message = told(ArrowError::ParquetError("Arrow: x7".to_owned()));
        assert!(message.contains("its pages are damaged") && !message.contains("x7"), "{message}");
    }
}
