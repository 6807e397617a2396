//! Classifies errors of the engine without quoting a value of the data.
//!
//! A CSV reader quotes the whole row of a value that does not fit, identifiers included, and a cast quotes the value. Neither may
//! be shown or logged. [`classify`] is the only code that reads such messages: it returns the kind of the failure and its
//! position in the file, and callers choose their own words.

use std::error::Error as StdError;
use std::io;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::object_store;
use datafusion::parquet::errors::ParquetError;

use crate::catch_decode_panic::DecodePanic;
use crate::memory_refusal::least_in;

/// The cause of an engine error. Holds no value of the data.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum EngineFailure<'a> {
    /// Storage or the network failed, possibly beneath a decoder.
    Storage(&'a object_store::Error),
    /// A text file can't be split into lines, because a quoted value is not terminated.
    UnterminatedQuote,
    /// A Parquet file can't be read.
    Parquet(ParquetDamage),
    /// A decoder panicked. Holds the name of the file, or of the files of its scan, if known.
    DecoderPanic(Option<&'a str>),
    /// A line of a CSV file has a different number of fields from the first, or is not UTF-8. Holds the 1-based line number,
    /// if known.
    CsvLine(Option<u64>),
    /// A value of a text file does not fit the type of its column. Column and line are 0-based, if known.
    TextValue(Option<(u64, u64)>),
    /// A text can't be parsed as the type that it is converted to.
    Conversion,
    /// A value can't be cast to another type.
    Cast,
    /// A number is divided by zero.
    DivideByZero,
    /// A result is too large for its type.
    Overflow,
    /// The memory pool of the session is exhausted. Holds the minimum size in bytes that the pool would need, if known.
    Memory(Option<u64>),
    /// Reading or writing a local file failed.
    Io(io::ErrorKind),
    /// The engine reports an internal error.
    Internal,
    /// Anything else.
    Other,
}

/// The part of a Parquet file that can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParquetDamage {
    /// The file ends too early.
    Truncated,
    /// The file uses a feature that is not supported.
    Unsupported,
    /// The footer is damaged or missing.
    Footer,
    /// The pages are damaged.
    Pages,
}

/// Returns the cause of an error of the engine, which may be wrapped in other errors.
///
/// The innermost known error decides, except that damage of a Parquet file takes precedence over Arrow errors below it.
pub fn classify<'a>(error: &'a (dyn StdError + 'static)) -> EngineFailure<'a> {
    use EngineFailure as Failure;
    let mut found = Failure::Other;
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<object_store::Error>() {
            return match error {
                object_store::Error::Generic { store: "LineDelimiter", .. } => Failure::UnterminatedQuote,
                error => Failure::Storage(error),
            };
        } else if let Some(panic) = error.downcast_ref::<DecodePanic>() {
            return Failure::DecoderPanic(panic.files.as_deref());
        } else if let Some(error) = error.downcast_ref::<ParquetError>() {
            found = Failure::Parquet(parquet_damage(error));
        } else if let Some(error) = error.downcast_ref::<ArrowError>() {
            found = arrow_failure(error, found);
        } else if let Some(error) = error.downcast_ref::<DataFusionError>() {
            match (error, found) {
                (DataFusionError::ResourcesExhausted(text), _) => return Failure::Memory(least_in(text)),
                (DataFusionError::Internal(_) | DataFusionError::ExecutionJoin(_), Failure::Other) => {
                    found = Failure::Internal;
                }
                _ => {}
            }
        } else if let (Some(error), Failure::Other) = (error.downcast_ref::<io::Error>(), found) {
            found = Failure::Io(error.kind());
        }
        next = error.source();
    }
    found
}

fn arrow_failure<'a>(error: &ArrowError, found: EngineFailure<'a>) -> EngineFailure<'a> {
    use EngineFailure as Failure;
    match (found, error) {
        (Failure::Parquet(_), _) => found,
        // Arrow keeps only the message of a Parquet error.
        (_, ArrowError::ParquetError(_)) => Failure::Parquet(ParquetDamage::Pages),
        (_, ArrowError::CsvError(text)) => {
            let line = text.rsplit_once("line ").and_then(|(_, rest)| leading_number(rest));
            Failure::CsvLine(line.map(|(line, _)| line))
        }
        (_, ArrowError::ParseError(text)) if text.contains(" column ") => Failure::TextValue(position_of_value(text)),
        (_, ArrowError::ParseError(_)) => Failure::Conversion,
        (Failure::Other, ArrowError::CastError(_)) => Failure::Cast,
        (Failure::Other, ArrowError::DivideByZero) => Failure::DivideByZero,
        (Failure::Other, ArrowError::ArithmeticOverflow(_)) => Failure::Overflow,
        _ => found,
    }
}

fn parquet_damage(error: &ParquetError) -> ParquetDamage {
    match error {
        ParquetError::EOF(_) => ParquetDamage::Truncated,
        ParquetError::NYI(_) => ParquetDamage::Unsupported,
        ParquetError::General(text) if text.contains("magic") || text.contains("footer") => ParquetDamage::Footer,
        _ => ParquetDamage::Pages,
    }
}

/// Returns the column and line in the message of a parse error. The message also quotes the value and its row, which
/// may look like a position: if there are two, `None` is returned.
fn position_of_value(text: &str) -> Option<(u64, u64)> {
    let mut positions = text.match_indices(" column ").filter_map(|(at, word)| {
        let (column, rest) = leading_number(&text[at + word.len()..])?;
        let (line, rest) = leading_number(rest.strip_prefix(" at line ")?)?;
        rest.starts_with([':', '.']).then_some((column, line))
    });
    let position = positions.next()?;
    positions.next().is_none().then_some(position)
}

/// Returns the number at the start of a text, and the rest of the text.
fn leading_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// Returns an error of the same kind, without values that its message may quote. [`classify`] returns the same for
/// both.
///
/// Errors of storage, memory and planning mention paths, bytes and columns only, and are returned unchanged.
pub(crate) fn redacted(error: DataFusionError) -> DataFusionError {
    use DataFusionError as Engine;
    if matches!(error.find_root(), Engine::Plan(_) | Engine::SchemaError(..) | Engine::NotImplemented(_)) {
        return error;
    }
    let arrow = |error| Engine::ArrowError(Box::new(error), None);
    match classify(&error) {
        EngineFailure::Storage(_)
        | EngineFailure::UnterminatedQuote
        | EngineFailure::DecoderPanic(_)
        | EngineFailure::Memory(_) => error,
        EngineFailure::Parquet(damage) => Engine::ParquetError(Box::new(match damage {
            ParquetDamage::Truncated => ParquetError::EOF("the file ends too early".to_owned()),
            ParquetDamage::Unsupported => {
                ParquetError::NYI("the file uses a feature that is not supported".to_owned())
            }
            ParquetDamage::Footer => ParquetError::General("the footer of the file is damaged or missing".to_owned()),
            ParquetDamage::Pages => ParquetError::General("pages of the file are damaged".to_owned()),
        })),
        EngineFailure::CsvLine(line) => {
            let line = line.map(|line| format!(" for line {line}")).unwrap_or_default();
            let text = format!("another number of fields than in the first line, or not UTF-8 text,{line}");
            arrow(ArrowError::CsvError(text))
        }
        EngineFailure::TextValue(position) => {
            let position = position.map(|(column, line)| format!(" in column {column} at line {line}"));
            let text = format!("a value{}: it does not fit the type of its column", position.unwrap_or_default());
            arrow(ArrowError::ParseError(text))
        }
        EngineFailure::Conversion => {
            arrow(ArrowError::ParseError("a value: it does not fit the type of its column".to_owned()))
        }
        EngineFailure::Cast => {
            arrow(ArrowError::CastError("a value does not fit the type that it is cast to".to_owned()))
        }
        EngineFailure::Io(kind) => Engine::IoError(kind.into()),
        EngineFailure::DivideByZero
        | EngineFailure::Overflow
        | EngineFailure::Internal
        | EngineFailure::Other => Engine::Execution(
            "the input could not be read; the reason may quote values of the data and is not shown: read the input itself \
             to see it"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted_text(error: ArrowError) -> String {
        let error = DataFusionError::ArrowError(Box::new(error), None).context("reading x7");
        redacted(error).to_string()
    }

    #[test]
    fn the_position_of_a_value_is_kept_and_the_value_is_not() {
        let text = "Error while parsing value 'x7' as type 'Int64' for column 1 at line 4. Row data: '[3,x7]'";
        let message = redacted_text(ArrowError::ParseError(text.to_owned()));
        assert!(message.contains("a value in column 1 at line 4: ") && !message.contains("x7"), "{message}");
    }

    #[test]
    fn a_value_that_looks_like_a_position_is_not_kept_either() {
        let value = "born for column 1907 at line 1843. X";
        let text = format!("Error while parsing value '{value}' for column 1 at line 4. Row data: '[{value}]'");
        let message = redacted_text(ArrowError::ParseError(text));
        assert!(!message.contains("1907") && !message.contains("line"), "{message}");
    }

    #[test]
    fn no_kind_of_error_quotes_values() {
        for error in [
            ArrowError::CastError("Cannot cast string 'x7' to value of Int64 type".to_owned()),
            ArrowError::ComputeError("x7".to_owned()),
            ArrowError::ParquetError("Arrow: x7".to_owned()),
            ArrowError::CsvError("incorrect number of fields for line 4, expected x7".to_owned()),
            ArrowError::from_external_error(Box::new(ParquetError::General("x7".to_owned()))),
        ] {
            let message = redacted_text(error);
            assert!(!message.contains("x7"), "{message}");
        }
        for error in [
            DataFusionError::Execution("x7".to_owned()),
            DataFusionError::External("x7".into()),
            DataFusionError::IoError(io::Error::new(io::ErrorKind::StorageFull, "x7")),
        ] {
            let message = redacted(error).to_string();
            assert!(!message.contains("x7"), "{message}");
        }
    }

    #[test]
    fn what_quotes_nothing_stays_what_it_is() {
        let missing = object_store::Error::NotFound { path: "people.csv".to_owned(), source: "gone".into() };
        let message = redacted(DataFusionError::ObjectStore(Box::new(missing))).to_string();
        assert!(message.contains("people.csv"), "{message}");
        let exhausted = redacted(DataFusionError::ResourcesExhausted("64 MB".to_owned()));
        assert!(matches!(exhausted, DataFusionError::ResourcesExhausted(_)));
        let full = redacted(DataFusionError::IoError(io::ErrorKind::StorageFull.into()));
        assert!(matches!(full, DataFusionError::IoError(error) if error.kind() == io::ErrorKind::StorageFull));
    }

    #[test]
    fn a_redacted_error_has_the_class_of_the_original() {
        let arrow = |error| DataFusionError::ArrowError(Box::new(error), None);
        let position = "Error while parsing value 'x7' as type 'Int64' for column 1 at line 4. Row data: '[3,x7]'";
        for error in [
            arrow(ArrowError::ParseError(position.to_owned())),
            arrow(ArrowError::ParseError("x7 as Date32".to_owned())),
            arrow(ArrowError::CsvError("incorrect number of fields for line 4, expected 2 got 3".to_owned())),
            arrow(ArrowError::CastError("x7".to_owned())),
            arrow(ArrowError::ParquetError("x7".to_owned())),
            DataFusionError::ParquetError(Box::new(ParquetError::EOF("x7".to_owned()))),
            DataFusionError::ParquetError(Box::new(ParquetError::General("bad magic".to_owned()))),
            DataFusionError::IoError(io::ErrorKind::StorageFull.into()),
        ] {
            let class = format!("{:?}", classify(&error));
            assert_eq!(format!("{:?}", classify(&redacted(error))), class);
        }
    }
}
