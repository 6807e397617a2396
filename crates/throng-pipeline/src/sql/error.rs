//! What can go wrong with a statement, without a value of the data.
//!
//! Before rows are read, an engine can only speak of the statement's own text and of names and types, so its words are
//! shown. Afterwards it quotes the values that it stumbled over, and only the kind of the failure is told.

use std::error::Error as StdError;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use throng_policy::PolicyError;

use crate::error::{Cause, JobError, Kind, cause, core_kind};

/// How a message calls the tables of a statement.
const TABLES: &str = "a table of the statement";

/// How far a statement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Parsing and planning.
    Plan,
    /// Changing what the session knows: tables, views, settings. No rows are read.
    Define,
    /// Reading and computing rows.
    Run,
}

/// An error of the engine before it has read a row, as a caller may see it.
pub fn planning_failure(error: &DataFusionError) -> JobError {
    sorted(error, Phase::Plan)
}

/// An error of the engine on rows, as a caller may see it.
pub fn running_failure(error: &DataFusionError) -> JobError {
    sorted(error, Phase::Run)
}

/// An error of the engine, as a caller may see it.
pub(super) fn sorted(error: &DataFusionError, phase: Phase) -> JobError {
    if let Some(ours) = ours(error) {
        return ours;
    }
    if let Some(words) = (phase != Phase::Run).then(|| words(error, phase)).flatten() {
        let missing = words.starts_with("No files found at ");
        return JobError::new(if missing { Kind::NoInput } else { Kind::BadQuery }, words);
    }
    failed(error)
}

/// What Throng itself had to say, before it went through the engine. It never quotes a value.
pub(crate) fn ours(error: &DataFusionError) -> Option<JobError> {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<JobError>() {
            return Some(JobError::new(error.kind(), error.to_string()));
        } else if let Some(error) = error.downcast_ref::<PolicyError>() {
            return Some(JobError::new(Kind::BadPolicy, error.to_string()));
        } else if let Some(error) = error.downcast_ref::<throng_core::Error>() {
            return Some(JobError::new(core_kind(error), error.to_string()));
        } else if let Some(error) = error.downcast_ref::<throng_datafusion::Error>() {
            return Some(of_operator(error));
        }
        next = error.source();
    }
    None
}

fn of_operator(error: &throng_datafusion::Error) -> JobError {
    use throng_datafusion::Error as Operator;
    let kind = match error {
        Operator::Core(error) => core_kind(error),
        Operator::Policy(_) => Kind::BadPolicy,
        Operator::Suppression { .. } => Kind::Infeasible,
        Operator::Read(error) => return sorted(error, Phase::Run),
        Operator::Refused(_) => Kind::Verification,
        Operator::Memory(_) | Operator::Spill(_) | Operator::Store(_) | Operator::Changed => Kind::TemporaryIo,
        Operator::Cancelled => Kind::Stopped,
        Operator::Kernel(..) | Operator::Task | Operator::Codec(_) => Kind::Internal,
    };
    JobError::new(kind, error.to_string())
}

/// The engine's own words, where they speak of the statement.
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
        // Names that are already there, or are not.
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

/// A failure on the data or of storage.
fn failed(error: &DataFusionError) -> JobError {
    match cause(error) {
        // A text that was read as CSV has a place; other texts are those of a cast.
        Cause::Values(ArrowError::ParseError(text)) if !text.contains(" column ") => not_converted(),
        Cause::Other => of_values(error),
        _ => JobError::reading(TABLES, error),
    }
}

fn not_converted() -> JobError {
    let text = "a value can't be converted to the type that the statement asks for; TRY_CAST makes it null";
    JobError::new(Kind::BadData, text)
}

fn of_values(error: &DataFusionError) -> JobError {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        match error.downcast_ref::<ArrowError>() {
            Some(ArrowError::CastError(_) | ArrowError::ParseError(_)) => return not_converted(),
            Some(ArrowError::DivideByZero) => return JobError::new(Kind::BadData, "a number is divided by zero"),
            Some(ArrowError::ArithmeticOverflow(_)) => {
                return JobError::new(Kind::BadData, "a result is too large for its type; cast to a wider one");
            }
            _ => {}
        }
        let engine = error.downcast_ref::<DataFusionError>();
        if let Some(DataFusionError::Internal(_) | DataFusionError::ExecutionJoin(_)) = engine {
            return JobError::internal("the engine failed on this statement");
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            let text = format!("reading or writing failed: {}; check locations and permissions", error.kind());
            return JobError::new(Kind::TemporaryIo, text);
        }
        next = error.source();
    }
    let text = "the statement failed on the data; the engine's message may quote values, so that it is not shown";
    JobError::new(Kind::BadData, text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
            let told = sorted(&error, phase);
            assert_eq!(told.kind(), Kind::BadData, "{told}");
            assert!(!told.to_string().contains("cancer"), "{told}");
        }
    }

    #[test]
    fn what_throng_said_keeps_its_kind_through_the_engine() {
        let ours = throng_datafusion::Error::Suppression { rows: 10, suppressed: 4, limit: 0.1, most: 1.0 };
        let error = DataFusionError::Shared(Arc::new(DataFusionError::from(ours).context("making it")));
        let told = sorted(&error, Phase::Run);
        assert_eq!(told.kind(), Kind::Infeasible);
        assert!(told.to_string().starts_with("4 of 10 rows"), "{told}");
    }
}
