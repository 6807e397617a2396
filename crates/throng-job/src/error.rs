//! Errors of a job, classified by how the caller should react.
//!
//! Messages hold no value of the data. Engine errors quote the value that could not be parsed, so they are classified
//! ([`throng_datafusion::classify`]) and rephrased here.

mod storage;

pub(crate) use storage::{is_bucket_missing, storage_kind, store_reason};

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use datafusion::error::DataFusionError;
use throng_core::feasibility::Shortfall;
use throng_core::verify::VerifyError;
use throng_datafusion::{EngineFailure, ParquetDamage, classify};
use throng_policy::PolicyError;

use crate::memory::too_little;
use storage::io_kind;

/// The reason why a job ended without a release, or a statement without its rows. Nothing has been published, unless the
/// message states that the outcome of the commit is unknown.
///
/// Neither the message nor a source quotes a value of the data.
#[derive(Clone, Debug)]
pub struct JobError {
    kind: Kind,
    column: Option<String>,
    message: String,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// How the caller should react to an error; see [`Kind::exit_code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// No release of this input satisfies the policy: relax it, or provide more data.
    Infeasible,
    /// The release did not satisfy its promise when read back: a bug in Throng.
    Verification,
    /// The input is damaged or does not match the policy: correct it.
    BadData,
    /// The input does not exist.
    NoInput,
    /// The job itself failed: a bug in Throng.
    Internal,
    /// The caller asked the job to stop.
    Stopped,
    /// Storage or network failed, and another attempt may succeed: try again.
    TemporaryIo,
    /// The policy, a limit or the environment is wrong, or does not fit the output location: correct it.
    BadPolicy,
    /// The SQL can't be parsed or planned: correct it.
    BadQuery,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Infeasible,
        Self::Verification,
        Self::BadData,
        Self::NoInput,
        Self::Internal,
        Self::Stopped,
        Self::TemporaryIo,
        Self::BadPolicy,
        Self::BadQuery,
    ];

    /// Returns the exit code of the process. It is unique per kind.
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

    /// Returns the kind of an exit code.
    pub fn from_exit_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.exit_code() == code)
    }
}

impl JobError {
    /// Returns an error with a message for users, which must not quote a value of the data.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, column: None, message: message.into(), source: None }
    }

    /// Sets the column that the error is about.
    #[must_use]
    pub fn with_column(self, column: impl Into<String>) -> Self {
        Self { column: Some(column.into()), ..self }
    }

    /// Prepends text to the message, such as the number of a statement.
    #[must_use]
    pub fn with_prefix(self, prefix: impl fmt::Display) -> Self {
        Self { message: format!("{prefix}{}", self.message), ..self }
    }

    /// Replaces the message.
    pub(crate) fn map_message(self, change: impl FnOnce(String) -> String) -> Self {
        Self { message: change(self.message), ..self }
    }

    fn with_source(self, source: impl Error + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// Returns how the caller should react.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the column that the error is about, if there is one.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// Returns the message for users.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns a storage error; `doing` names the operation.
    pub(crate) fn storage(doing: impl fmt::Display, error: &object_store::Error) -> Self {
        let (kind, advice) = storage_kind(error);
        Self::new(kind, format!("{doing}: {}; {advice}", store_reason(error)))
    }

    /// Returns an error of the local file system; `doing` names the operation.
    pub(crate) fn file_system(doing: impl fmt::Display, error: &std::io::Error) -> Self {
        let (kind, advice) = io_kind(error);
        Self::new(kind, format!("{doing}: {error}; {advice}"))
    }

    /// Returns an error of the local file system while a file or folder was created. A missing parent folder is then not a
    /// missing input.
    pub fn creating(doing: impl fmt::Display, error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::new(Kind::BadPolicy, format!("{doing}: {error}; check the location")),
            _ => Self::file_system(doing, error),
        }
    }

    /// Returns an internal error; `what` names the violated invariant.
    pub(crate) fn internal(what: impl fmt::Display) -> Self {
        Self::new(Kind::Internal, format!("{what}; this is a bug, please report it with the policy and the schema"))
    }

    /// Returns the error for a temporary file of this process that could not be written or read.
    pub(crate) fn temporary_file(error: &std::io::Error) -> Self {
        let text = format!("a temporary file failed ({}); free room in the folder for temporary files", error.kind());
        Self::new(Kind::TemporaryIo, text)
    }

    /// Classifies an engine error that occurred while reading `what`. A table of the host may give an error of this type as the
    /// reason, which is returned as it is.
    pub(crate) fn reading(what: &str, error: &(dyn Error + 'static)) -> Self {
        use EngineFailure as Failure;
        if let Some(own) = own_error(error) {
            return own.clone();
        }
        let bad = |text: String| Self::new(Kind::BadData, text);
        #[cfg(feature = "leaky")]
        if let Failure::CsvLine(_) | Failure::TextValue(_) | Failure::Conversion = classify(error) {
            return bad(error.to_string());
        }
        match classify(error) {
            Failure::Storage(error) => Self::storage(format!("reading {what}"), error),
            Failure::Parquet(damage) => {
                bad(format!("{what} is not readable as Parquet: {}; write the file again", parquet_reason(damage)))
            }
            Failure::DecoderPanic(files) => {
                let what = files.unwrap_or(what);
                bad(format!("{what} is not readable: it is damaged; write the file again"))
            }
            Failure::CsvLine(line) => {
                let line = line.map(|line| format!(" at line {line}")).unwrap_or_default();
                bad(format!(
                    "{what} is not readable as CSV{line}: a line has another number of fields than the first, or is not \
                     UTF-8 text; correct the line, or set `delimiter` under [input]"
                ))
            }
            Failure::TextValue(Some((column, line))) => {
                // The engine counts from zero.
                let (column, line) = (column + 1, line + 1);
                bad(format!(
                    "{what} has a value in column {column} at line {line} that does not fit the type of its column; \
                     correct the value"
                ))
            }
            Failure::TextValue(None) | Failure::Conversion => {
                bad(format!("{what} has a value that does not fit the type of its column; correct the value"))
            }
            Failure::UnterminatedQuote => {
                bad(format!("{what} is not readable as CSV: a quoted value does not end; write the file again"))
            }
            Failure::Memory(least) => too_little(&format!("reading {what}"), least),
            _ => bad(format!("{what} could not be read; check its format and schema")),
        }
    }

    /// Converts an error of the operator. `read` describes engine errors, because the caller knows what was being read.
    pub(crate) fn from_operator(
        error: &throng_datafusion::AnonymizeError,
        read: impl FnOnce(&DataFusionError) -> Self,
    ) -> Self {
        use throng_datafusion::AnonymizeError as Operator;
        let kind = match error {
            Operator::Core(error) => return Self::from_core(error),
            Operator::Read(error) => return read(error),
            // Throng's own gate in a session.
            Operator::Examined(error) if error.is::<Self>() => {
                return error.downcast_ref::<Self>().cloned().unwrap_or_else(|| Self::internal("an error was lost"));
            }
            Operator::Store(error) => return Self::storage("making the release", error),
            Operator::Memory { part, least } => return too_little(part, *least),
            Operator::Policy(_) => Kind::BadPolicy,
            Operator::Suppression { .. } | Operator::Exposed { .. } => Kind::Infeasible,
            Operator::Verify(_) => Kind::BadData,
            Operator::Refused(_) => Kind::Verification,
            Operator::Spill(_) | Operator::Changed => Kind::TemporaryIo,
            Operator::StreamReadAgain => Kind::BadQuery,
            Operator::Cancelled => Kind::Stopped,
            _ => Kind::Internal,
        };
        Self::new(kind, error.to_string())
    }

    /// Converts an error of the core.
    pub(crate) fn from_core(error: &throng_core::CoreError) -> Self {
        use throng_core::CoreError as Core;
        let kind = match error {
            Core::Infeasible(_) => Kind::Infeasible,
            error if error.is_internal() => Kind::Internal,
            _ => Kind::BadData,
        };
        Self { column: column_of(error).map(str::to_owned), ..Self::new(kind, error.to_string()) }
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for JobError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<PolicyError> for JobError {
    fn from(error: PolicyError) -> Self {
        Self::new(Kind::BadPolicy, error.to_string()).with_source(error)
    }
}

impl From<throng_core::CoreError> for JobError {
    fn from(error: throng_core::CoreError) -> Self {
        let described = Self::from_core(&error);
        match error {
            // An Arrow kernel may quote a value.
            throng_core::CoreError::Kernel(..) => described,
            error => described.with_source(error),
        }
    }
}

impl From<throng_datafusion::AnonymizeError> for JobError {
    fn from(error: throng_datafusion::AnonymizeError) -> Self {
        match error {
            throng_datafusion::AnonymizeError::Core(error) => error.into(),
            throng_datafusion::AnonymizeError::Policy(error) => error.into(),
            error => Self::from_operator(&error, |error| Self::reading("the input", error)),
        }
    }
}

impl From<VerifyError> for JobError {
    fn from(error: VerifyError) -> Self {
        Self::new(Kind::BadData, error.to_string())
    }
}

/// Returns the error of a job that an engine error has as its reason.
fn own_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a JobError> {
    let mut next = Some(error);
    while let Some(error) = next {
        match error.downcast_ref::<JobError>() {
            Some(own) => return Some(own),
            None => next = error.source(),
        }
    }
    None
}

/// Returns the column that an error of the core is about, if there is exactly one.
fn column_of(error: &throng_core::CoreError) -> Option<&str> {
    use throng_core::CoreError as Core;
    match error {
        Core::NotFinite { column, .. }
        | Core::Null { column, .. }
        | Core::Hierarchy { column, .. }
        | Core::Limit { column }
        | Core::Cover { column }
        | Core::NoNumbers { column }
        | Core::Uncategorized { column, .. }
        | Core::NoText { column }
        | Core::OutOfRange { column, .. }
        | Core::Type { column, .. }
        | Core::Beyond { column, .. } => Some(column),
        Core::Infeasible(shortfalls) => match shortfalls.as_slice() {
            [
                Shortfall::Distinct { column, .. }
                | Shortfall::Weight { column }
                | Shortfall::Carriers { column, .. }
                | Shortfall::Frequency { column, .. },
            ] => Some(column),
            _ => None,
        },
        _ => None,
    }
}

fn parquet_reason(damage: ParquetDamage) -> &'static str {
    match damage {
        ParquetDamage::Truncated => "it ends too early (truncated)",
        ParquetDamage::Unsupported => "it uses a feature that is not supported",
        ParquetDamage::Footer => "its footer is damaged or missing",
        _ => "its pages are damaged",
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::error::ArrowError;
    use datafusion::error::DataFusionError;
    use throng_core::feasibility::Shortfall;

    use super::*;

    fn message_of(error: ArrowError) -> String {
        JobError::reading("people.csv", &DataFusionError::ArrowError(Box::new(error), None)).to_string()
    }

    #[test]
    fn the_position_of_a_value_is_shown_and_the_value_is_not() {
        let text = "Error while parsing value 'x7' as type 'Int64' for column 1 at line 4. Row data: '[3,x7]'";
        let message = message_of(ArrowError::ParseError(text.to_owned()));
        assert!(message.starts_with("people.csv has a value in column 2 at line 5 that"), "{message}");
        let text = "Error parsing column 3 at line 6: Parser error: Error parsing timestamp from 'x7'";
        let message = message_of(ArrowError::ParseError(text.to_owned()));
        assert!(message.starts_with("people.csv has a value in column 4 at line 7 that"), "{message}");
    }

    #[test]
    fn a_value_that_looks_like_a_position_is_not_shown_either() {
        let value = "born for column 1907 at line 1843. X";
        let text = format!(
            "Error while parsing value '{value}' as type 'Int64' for column 1 at line 4. Row data: '[{value}]'"
        );
        let message = message_of(ArrowError::ParseError(text));
        assert!(message.starts_with("people.csv has a value that"), "{message}");
    }

    #[test]
    fn the_line_of_a_broken_record_is_shown() {
        for text in [
            "incorrect number of fields for line 4, expected 2 got 3",
            "Encountered unequal lengths between records on CSV file. Expected 2 records, found 3 records at line 4",
            "Encountered invalid UTF-8 data for line 4 and field 2",
        ] {
            let message = message_of(ArrowError::CsvError(text.to_owned()));
            assert!(message.starts_with("people.csv is not readable as CSV at line 4:"), "{message}");
        }
    }

    #[test]
    fn damaged_pages_are_not_taken_for_values() {
        let message = message_of(ArrowError::ParquetError("Arrow: x7".to_owned()));
        assert!(message.contains("its pages are damaged") && !message.contains("x7"), "{message}");
    }

    #[test]
    fn a_table_of_the_host_explains_its_failure_itself() {
        let reason = JobError::new(Kind::BadQuery, "the stream has been read already");
        let failed = DataFusionError::External(Box::new(reason)).context("reading");
        let error = JobError::reading("the table", &failed);
        assert_eq!((error.kind(), error.message()), (Kind::BadQuery, "the stream has been read already"));
    }

    #[test]
    fn an_error_names_the_column_that_it_is_about() {
        let too_few = |column: &str| Shortfall::Distinct { column: column.to_owned(), distinct: 2, p: 3 };
        let error = |shortfalls| JobError::from(throng_core::CoreError::Infeasible(shortfalls));
        assert_eq!(error(vec![too_few("diagnosis")]).column(), Some("diagnosis"));
        assert_eq!(error(vec![too_few("diagnosis"), too_few("income")]).column(), None);
        let null = throng_core::CoreError::Null { column: "age".to_owned(), rows: 3 };
        assert_eq!(JobError::from(throng_datafusion::AnonymizeError::from(null)).column(), Some("age"));
        let column = || "codes".to_owned();
        let carriers = Shortfall::Carriers { column: column(), carried: 1, p: 2 };
        let frequency = Shortfall::Frequency { column: column(), model: "t-closeness" };
        for shortfall in [carriers, frequency, Shortfall::Weight { column: column() }] {
            assert_eq!(error(vec![shortfall]).column(), Some("codes"));
        }
        assert_eq!(error(vec![Shortfall::Rows { rows: 1, k: 2 }]).column(), None);
        let cover = throng_core::CoreError::Cover { column: column() };
        let no_numbers = throng_core::CoreError::NoNumbers { column: column() };
        for error in [cover, no_numbers] {
            assert_eq!(JobError::from(error).column(), Some("codes"));
        }
    }

    #[test]
    fn a_bug_of_the_core_is_not_bad_data() {
        use throng_core::CoreError as Core;
        let kind = |error: Core| JobError::from(throng_datafusion::AnonymizeError::from(error)).kind();
        assert_eq!(kind(Core::Beyond { column: "age".to_owned(), classes: 1 }), Kind::Internal);
        assert_eq!(kind(Core::Misplaced { groups: 1 }), Kind::Internal);
        assert_eq!(kind(Core::Kernel("cast", ArrowError::DivideByZero)), Kind::Internal);
        assert_eq!(kind(Core::Limit { column: "age".to_owned() }), Kind::BadData);
        assert_eq!(kind(Core::Infeasible(Vec::new())), Kind::Infeasible);
    }

    #[test]
    fn a_source_quotes_no_value() {
        let kernel = |error| throng_core::CoreError::Kernel("cast", ArrowError::CastError(error));
        let error = JobError::from(kernel("x7".to_owned()));
        assert!(std::error::Error::source(&error).is_none() && !format!("{error:?}").contains("x7"));
    }
}
