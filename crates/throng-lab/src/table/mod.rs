//! The two tables that the lab compares: an original, and a release.

mod groups;
mod original;
mod released;
mod rows;

pub use original::{OriginalReader, OriginalTable};
pub use released::{ReleasedReader, ReleasedTable};

pub(crate) use released::{LabelText, LabelTexts};
pub(crate) use rows::TracedRow;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Schema;

use crate::error::LabError;

/// Code of a missing sensitive value, which no attack counts as a value.
pub(crate) const NO_VALUE: u32 = u32::MAX;

/// Name of the original in messages.
pub(crate) const ORIGINAL: &str = "the original";

/// Name of a release in messages.
pub(crate) const RELEASE: &str = "the release";

/// Name of a sample of the population in messages.
pub(crate) const POPULATION: &str = "the population";

/// Returns the index of a column.
pub(crate) fn place_of(schema: &Schema, column: &str, table: &'static str) -> Result<usize, LabError> {
    schema.index_of(column).map_err(|_| LabError::NoColumn { table, column: column.to_owned() })
}

/// Returns the sensitive codes of a batch, by column.
fn sensitive_codes(
    lexicon: &mut crate::Lexicon,
    batch: &RecordBatch,
    places: &[usize],
    table: &'static str,
) -> Result<Vec<Vec<u32>>, LabError> {
    let mut codes = Vec::with_capacity(places.len());
    for ((place, domain), known) in places.iter().zip(&mut lexicon.sensitive).zip(&lexicon.spec.sensitive) {
        let column: &ArrayRef = batch.column(*place);
        let shown = (table == ORIGINAL).then_some(known.shown.as_ref()).flatten();
        let read = domain.codes_of(column, shown);
        let read = read.map_err(|_| LabError::Type { table, column: known.name.clone() })?;
        codes.push(read.into_iter().map(|code| code.unwrap_or(NO_VALUE)).collect());
    }
    Ok(codes)
}
