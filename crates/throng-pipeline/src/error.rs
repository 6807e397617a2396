//! What can go wrong with a job, sorted by what its caller should do.
//!
//! Messages never hold a value of the data. Engines like to quote the value that they could not parse, so their errors
//! are not shown as they are: only their kind and place survive.

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::parquet::errors::ParquetError;
use thiserror::Error;
use throng_core::verify::VerifyError;
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
    /// Storage or network failed: try again.
    TemporaryIo,
    /// The policy is wrong, or does not fit the output location: mend it.
    BadPolicy,
}

impl Kind {
    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Infeasible => 3,
            Self::Verification => 4,
            Self::BadData => 65,
            Self::NoInput => 66,
            Self::Internal => 70,
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
        Self::new(kind, format!("{doing}: {}; {advice}", first_line(&error.to_string())))
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
        match cause(error) {
            Cause::Storage(error) => Self::storage(format!("reading {what}"), error),
            Cause::Parquet(error) => Self::new(
                Kind::BadData,
                format!("{what} is not readable as Parquet: {}; write the file again", parquet_reason(error)),
            ),
            Cause::Values(error) => Self::new(Kind::BadData, format!("{what} {}", values_reason(error))),
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
        use throng_core::Error as Core;
        let kind = match &error {
            Core::Infeasible(_) => Kind::Infeasible,
            Core::Kernel(..) | Core::Misplaced { .. } => Kind::Internal,
            _ => Kind::BadData,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<throng_datafusion::Error> for JobError {
    fn from(error: throng_datafusion::Error) -> Self {
        use throng_datafusion::Error as Engine;
        match error {
            Engine::Core(error) => error.into(),
            Engine::Read(error) => Self::reading("the input", &error),
            Engine::TooManyRows(_) => Self::new(Kind::BadData, error.to_string()),
            Engine::Kernel(..) | Engine::Task => Self::new(Kind::Internal, error.to_string()),
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
    match error {
        Store::NotFound { .. } => (Kind::NoInput, "check the location"),
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
            (Kind::TemporaryIo, "check the credentials in the environment")
        }
        _ => (Kind::TemporaryIo, "try again"),
    }
}

/// What is behind an error of the engine.
enum Cause<'a> {
    Storage(&'a object_store::Error),
    Parquet(&'a ParquetError),
    Values(&'a ArrowError),
    Memory,
    Other,
}

/// The innermost error that we know. A failure of storage inside a decoder is still a failure of storage.
fn cause(error: &DataFusionError) -> Cause<'_> {
    let mut found = Cause::Other;
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<object_store::Error>() {
            return Cause::Storage(error);
        } else if let Some(error) = error.downcast_ref::<ParquetError>() {
            found = Cause::Parquet(error);
        } else if let Some(error) = error.downcast_ref::<ArrowError>() {
            found = if let Cause::Parquet(_) = found { found } else { Cause::Values(error) };
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

/// The place of a value that could not be parsed, without the value.
fn values_reason(error: &ArrowError) -> String {
    let text = error.to_string();
    let number_after = |word: &str| -> Option<u64> {
        let rest = &text[text.find(word)? + word.len()..];
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let column = number_after("for column ").map(|column| format!(" in column {}", column + 1)).unwrap_or_default();
    let line = number_after(" at line ").map(|line| format!(" at line {line}")).unwrap_or_default();
    format!("has a value{column}{line} that does not fit the type of its column; mend the value, or quote the column")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
