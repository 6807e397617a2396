//! Errors of an input, without the values that they quote.

use std::error::Error as StdError;
use std::io;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::object_store;
use datafusion::parquet::errors::ParquetError;

use crate::guard::Damaged;

/// The same error without the values that its message may quote: its kind, and the place where it happened.
///
/// The message of a CSV file quotes the whole row of a value that does not fit, identifiers included, and that of a cast
/// quotes the value. Whoever asks for a release must not see either. Errors of storage, of memory and of planning speak of
/// paths, bytes and columns, and stay what they are; so do errors whose kind is known, with words of ours.
pub(crate) fn redacted(error: DataFusionError) -> DataFusionError {
    let Some(kind) = kind_of(&error) else { return error };
    match kind {
        Kind::Arrow(error) => DataFusionError::ArrowError(Box::new(error), None),
        Kind::Parquet(error) => DataFusionError::ParquetError(Box::new(error)),
        Kind::Io(kind) => DataFusionError::IoError(kind.into()),
        Kind::Other => DataFusionError::Execution(
            "the input could not be read; the reason may quote values of the data and is not told: read the input itself \
             to see it"
                .to_owned(),
        ),
    }
}

/// What an error becomes.
enum Kind {
    Arrow(ArrowError),
    Parquet(ParquetError),
    Io(io::ErrorKind),
    Other,
}

/// The kind of the innermost error that we know; none where the error can stay what it is.
fn kind_of(error: &DataFusionError) -> Option<Kind> {
    use DataFusionError as Engine;
    if matches!(error.find_root(), Engine::Plan(_) | Engine::SchemaError(..) | Engine::NotImplemented(_)) {
        return None;
    }
    let mut found = Kind::Other;
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(error) = next {
        let exhausted = matches!(error.downcast_ref::<Engine>(), Some(Engine::ResourcesExhausted(_)));
        if exhausted || error.is::<object_store::Error>() || error.is::<Damaged>() {
            return None;
        } else if let Some(error) = error.downcast_ref::<ParquetError>() {
            found = Kind::Parquet(parquet(error));
        } else if let (Some(error), false) = (error.downcast_ref::<ArrowError>(), matches!(found, Kind::Parquet(_))) {
            found = arrow(error).map_or(found, Kind::Arrow);
        } else if let (Some(error), Kind::Other) = (error.downcast_ref::<io::Error>(), &found) {
            found = Kind::Io(error.kind());
        }
        next = error.source();
    }
    Some(found)
}

fn parquet(error: &ParquetError) -> ParquetError {
    match error {
        ParquetError::EOF(_) => ParquetError::EOF("the file ends too early".to_owned()),
        ParquetError::NYI(_) => ParquetError::NYI("the file uses a feature that is not supported".to_owned()),
        ParquetError::General(text) if text.contains("magic") || text.contains("footer") => {
            ParquetError::General("the footer of the file is damaged or missing".to_owned())
        }
        _ => ParquetError::General("pages of the file are damaged".to_owned()),
    }
}

fn arrow(error: &ArrowError) -> Option<ArrowError> {
    match error {
        ArrowError::ParquetError(_) => Some(ArrowError::ParquetError("pages of the file are damaged".to_owned())),
        ArrowError::CsvError(text) => {
            let line = text.rsplit_once("line ").and_then(|(_, rest)| number(rest));
            let line = line.map(|(line, _)| format!(" for line {line}")).unwrap_or_default();
            let text = format!("another number of fields than in the first line, or not UTF-8 text,{line}");
            Some(ArrowError::CsvError(text))
        }
        ArrowError::ParseError(text) => {
            // Columns and lines are counted as the engine counts them, which the pipeline relies on.
            let place = place_of_value(text).map(|(column, line)| format!(" in column {column} at line {line}"));
            let text = format!("a value{}: it does not fit the type of its column", place.unwrap_or_default());
            Some(ArrowError::ParseError(text))
        }
        ArrowError::CastError(_) => {
            Some(ArrowError::CastError("a value does not fit the type that it is cast to".to_owned()))
        }
        _ => None,
    }
}

/// The column and line of a value that could not be parsed, as they are in the message. It quotes the value and its row,
/// which may look like a place themselves: where there are two, none is told.
fn place_of_value(text: &str) -> Option<(u64, u64)> {
    let mut places = text.match_indices(" column ").filter_map(|(at, word)| {
        let (column, rest) = number(&text[at + word.len()..])?;
        let (line, rest) = number(rest.strip_prefix(" at line ")?)?;
        rest.starts_with([':', '.']).then_some((column, line))
    });
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

/// The number at the beginning of a text, and what follows.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(error: ArrowError) -> String {
        let error = DataFusionError::ArrowError(Box::new(error), None).context("reading x7");
        redacted(error).to_string()
    }

    #[test]
    fn the_place_of_a_value_is_told_and_the_value_is_not() {
        let text = "Error while parsing value 'x7' as type 'Int64' for column 1 at line 4. Row data: '[3,x7]'";
        let message = told(ArrowError::ParseError(text.to_owned()));
        assert!(message.contains("a value in column 1 at line 4: ") && !message.contains("x7"), "{message}");
    }

    #[test]
    fn a_value_that_looks_like_a_place_is_not_told_either() {
        let value = "born for column 1907 at line 1843. X";
        let text = format!("Error while parsing value '{value}' for column 1 at line 4. Row data: '[{value}]'");
        let message = told(ArrowError::ParseError(text));
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
            let message = told(error);
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
}
