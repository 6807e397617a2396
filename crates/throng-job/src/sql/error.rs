//! Classification of the errors of a statement. They hold no value of the data.
//!
//! Before rows are read, an engine error can only contain the statement's own text, names and types, so its message is
//! shown. Afterwards it may quote values, and the error is classified and rephrased.

use std::error::Error as StdError;
use std::io::ErrorKind;

use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use throng_datafusion::{EngineFailure, classify};
use throng_policy::PolicyError;

use crate::error::{JobError, Kind};

/// Name of the tables of a statement in messages.
const TABLES: &str = "a table of the statement";

/// Phase of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Parsing and planning.
    Plan,
    /// Changing the session: tables, views, settings. No rows are read.
    Define,
    /// Reading and computing rows.
    Run,
}

/// Converts an engine error that occurred before any row was read.
pub fn planning_failure(error: &DataFusionError) -> JobError {
    sorted(error, Phase::Plan)
}

/// Converts an error of the engine, or of Arrow or a file below it, that occurred while processing rows.
pub fn running_failure(error: &(dyn StdError + 'static)) -> JobError {
    ours(error).unwrap_or_else(|| failed(error))
}

/// Converts an engine error of a phase.
pub(super) fn sorted(error: &DataFusionError, phase: Phase) -> JobError {
    if phase == Phase::Run {
        return running_failure(error);
    }
    if let Some(ours) = ours(error) {
        return ours;
    }
    match words(error, phase) {
        Some(words) => {
            let missing = words.starts_with("No files found at ");
            JobError::new(if missing { Kind::NoInput } else { Kind::BadQuery }, words)
        }
        None => failed(error),
    }
}

/// Returns the error of Throng that the engine has wrapped, if there is one. It quotes no value.
pub(crate) fn ours(error: &(dyn StdError + 'static)) -> Option<JobError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<JobError>() {
            return Some(error.clone());
        } else if let Some(error) = error.downcast_ref::<PolicyError>() {
            return Some(JobError::new(Kind::BadPolicy, error.to_string()));
        } else if let Some(error) = error.downcast_ref::<throng_core::CoreError>() {
            return Some(JobError::from_core(error));
        } else if let Some(error) = error.downcast_ref::<throng_datafusion::AnonymizeError>() {
            return Some(JobError::from_operator(error, |error| running_failure(error)));
        }
        next = error.source();
    }
    None
}

/// Returns the engine's own message, if it is about the statement.
fn words(error: &DataFusionError, phase: Phase) -> Option<String> {
    let plain = |text: &str| {
        let text = text.split(DataFusionError::BACK_TRACE_SEP).next().unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Some(lines.join(" ").trim_end_matches('.').to_owned())
    };
    match error {
        DataFusionError::Plan(text) | DataFusionError::Configuration(text) => plain(text),
        DataFusionError::NotImplemented(text) => plain(text).map(|text| format!("not supported: {text}")),
        DataFusionError::SQL(error, _) => match error.as_ref() {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => plain(text),
            ParserError::RecursionLimitExceeded => plain("the statement is nested too deeply"),
        },
        DataFusionError::SchemaError(error, _) => plain(&error.to_string()),
        // Errors about names that already exist, or do not exist.
        DataFusionError::Execution(text) if phase == Phase::Define => plain(text),
        DataFusionError::Context(_, error) | DataFusionError::Diagnostic(_, error) => words(error, phase),
        DataFusionError::Shared(error) => words(error, phase),
        DataFusionError::Collection(errors) => {
            let all: Option<Vec<String>> = errors.iter().map(|error| words(error, phase)).collect();
            all.map(|all| all.join("; "))
        }
        _ => None,
    }
}

/// Classifies an error of the data or of storage.
fn failed(error: &(dyn StdError + 'static)) -> JobError {
    let bad = |text: &str| JobError::new(Kind::BadData, text);
    match classify(error) {
        EngineFailure::Conversion | EngineFailure::Cast => {
            bad("a value can't be converted to the type that the statement asks for; TRY_CAST makes it null")
        }
        EngineFailure::DivideByZero => bad("a number is divided by zero"),
        EngineFailure::Overflow => bad("a result is too large for its type; cast to a wider one"),
        EngineFailure::Internal => JobError::internal("the engine failed on this statement"),
        EngineFailure::Io(ErrorKind::UnexpectedEof | ErrorKind::InvalidData) => {
            bad("a table of the statement is not readable: it is damaged, or ends too early; write its files again")
        }
        EngineFailure::Io(kind) => JobError::file_system("reading or writing", &kind.into()),
        EngineFailure::Other => {
            bad("the statement failed on the data; the engine's message may quote values, so that it is not shown")
        }
        _ => JobError::reading(TABLES, error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::error::ArrowError;

    use super::*;

    #[test]
    fn words_of_planning_are_shown_and_words_about_rows_are_not() {
        let plan = DataFusionError::Plan("table 'x' not found".to_owned());
        assert_eq!(sorted(&plan, Phase::Plan).to_string(), "table 'x' not found");
        assert_eq!(sorted(&plan, Phase::Plan).kind(), Kind::BadQuery);
        let secret = || DataFusionError::Execution("can't do this with 'cancer'".to_owned());
        for (error, phase) in [
            (secret(), Phase::Plan),
            (secret(), Phase::Run),
            (DataFusionError::Plan("no 'cancer' here".to_owned()), Phase::Run),
            (secret().context("while 'cancer'"), Phase::Run),
            (DataFusionError::Shared(Arc::new(secret())), Phase::Run),
            (
                DataFusionError::ArrowError(Box::new(ArrowError::CastError("'cancer' as Int64".into())), None),
                Phase::Plan,
            ),
            (
                DataFusionError::ArrowError(Box::new(ArrowError::ParseError("'cancer' as Date".into())), None),
                Phase::Run,
            ),
        ] {
            let failure = sorted(&error, phase);
            assert_eq!(failure.kind(), Kind::BadData, "{failure}");
            assert!(!failure.to_string().contains("cancer"), "{failure}");
        }
    }

    #[test]
    fn an_error_of_ours_keeps_its_kind_through_the_engine() {
        let ours = throng_datafusion::AnonymizeError::Suppression { rows: 10, suppressed: 4, limit: 0.1, most: 1.0 };
        let error = DataFusionError::Shared(Arc::new(DataFusionError::from(ours).context("making it")));
        let failure = sorted(&error, Phase::Run);
        assert_eq!(failure.kind(), Kind::Infeasible);
        assert!(failure.to_string().starts_with("the privacy target can't be met: 4 of 10 rows"), "{failure}");
    }
}
