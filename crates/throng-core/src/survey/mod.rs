//! The survey: one streaming look at the quasi-identifiers and sensitive columns.
//!
//! ```text
//!  batches ──► Survey::push ──► group number of each row        (one survey per stream, in parallel)
//!                  │
//!  surveys ──► Survey::merge ─► Table of cells, and for each survey: its group number ──► group of the table
//! ```
//!
//! A *group* is a distinct tuple of quasi-identifiers and of looks at sensitive values; a *cell* is a distinct tuple of
//! quasi-identifiers, and so a run of groups. Rows of one group are interchangeable for every model and every loss.
//! In the merged [`Table`] cells and groups are ordered by content, so nothing later depends on the order of arrival.

mod interner;
mod merge;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::compute::filter;
use arrow::datatypes::DataType;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

use crate::columns::{Nulls, QuasiSpec, SensitiveSpec};
use crate::error::{Error, Result, kernel};
use crate::table::Table;
use interner::{InternError, Interner};

/// The group number of a row that is left out of the release.
pub const SUPPRESSED: u32 = u32::MAX;

/// Which columns a survey looks at.
#[derive(Clone, Debug)]
pub struct SurveySpec {
    /// The quasi-identifiers and their types.
    pub quasi: Vec<(QuasiSpec, DataType)>,
    /// The sensitive columns and their types.
    pub sensitive: Vec<(SensitiveSpec, DataType)>,
}

/// The distinct values and groups of one stream of batches.
#[derive(Debug)]
pub struct Survey {
    spec: Arc<SurveySpec>,
    interners: Vec<Interner>,
    groups: Groups,
    suppressed: u64,
}

/// Surveys of all streams, merged.
#[derive(Debug)]
pub struct Merged {
    /// The cells of all rows.
    pub table: Table,
    /// For each survey, in the order given: the group of the table for each of its group numbers.
    pub groups: Vec<Vec<u32>>,
    /// How many rows are left out because the policy suppresses their nulls.
    pub suppressed: u64,
}

impl Survey {
    /// A survey that has seen nothing.
    pub fn new(spec: Arc<SurveySpec>) -> Result<Self> {
        let quasi = spec.quasi.iter().map(|(quasi, data_type)| (&quasi.name, data_type, "quasi-identifier"));
        let sensitive = spec.sensitive.iter().map(|(column, data_type)| (&column.name, data_type, "sensitive column"));
        let interners = quasi
            .chain(sensitive)
            .map(|(name, data_type, role)| {
                Interner::new(data_type).ok_or_else(|| Error::Type {
                    column: name.clone(),
                    data_type: data_type.to_string(),
                    role,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let width = interners.len();
        Ok(Self { spec, interners, groups: Groups::new(width), suppressed: 0 })
    }

    /// Looks at a batch: the quasi-identifiers and then the sensitive columns, in the order of the spec. Returns the
    /// group number of each row, or [`SUPPRESSED`].
    pub fn push(&mut self, columns: &[ArrayRef]) -> Result<Vec<u32>> {
        let rows = columns.first().map_or(0, |column| column.len());
        for ((quasi, _), column) in self.spec.quasi.iter().zip(columns) {
            if quasi.nulls == Nulls::Error && column.logical_null_count() > 0 {
                return Err(Error::Null { column: quasi.name.clone(), rows: column.logical_null_count() });
            }
        }
        let nulls = self.spec.quasi.iter().zip(columns).filter(|((quasi, _), _)| quasi.nulls == Nulls::Suppress);
        let kept =
            nulls.fold(None, |kept, (_, column)| NullBuffer::union(kept.as_ref(), column.logical_nulls().as_ref()));
        let Some(kept) = kept.filter(|kept| kept.null_count() > 0) else { return self.count(columns, rows) };
        // What stands in a row that is left out is not looked at: it must not widen a domain.
        let mask = BooleanArray::new(kept.inner().clone(), None);
        let columns = columns.iter().map(|column| filter(column, &mask)).collect::<Result<Vec<_>, _>>();
        let numbers = self.count(&columns.map_err(kernel("filter"))?, rows - kept.null_count())?;
        self.suppressed += kept.null_count() as u64;
        let mut numbers = numbers.into_iter();
        Ok(kept.iter().map(|kept| if kept { numbers.next().unwrap_or(SUPPRESSED) } else { SUPPRESSED }).collect())
    }

    /// Adds rows that stay in the release, and returns the group number of each.
    fn count(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut codes = Vec::with_capacity(columns.len());
        for (index, column) in columns.iter().enumerate() {
            let interned = self.interners[index].intern(column);
            codes.push(interned.map_err(|error| self.spec.intern_error(index, column, error))?);
        }
        let mut tuple = vec![0; codes.len()];
        (0..rows)
            .map(|row| {
                for (slot, column) in tuple.iter_mut().zip(&codes) {
                    *slot = column[row];
                }
                self.groups.count(&tuple, 1)
            })
            .collect()
    }

    /// Merges the surveys of all streams into one table, ordered by content.
    pub fn merge(surveys: Vec<Survey>) -> Result<Merged> {
        merge::merge(surveys)
    }
}

impl SurveySpec {
    fn intern_error(&self, index: usize, column: &ArrayRef, error: InternError) -> Error {
        let (name, role) = match self.quasi.get(index) {
            Some((quasi, _)) => (quasi.name.clone(), "quasi-identifier"),
            None => (self.sensitive[index - self.quasi.len()].0.name.clone(), "sensitive column"),
        };
        match error {
            InternError::NotFinite(rows) => Error::NotFinite { column: name, role, rows },
            InternError::Type => Error::Type { column: name, data_type: column.data_type().to_string(), role },
            InternError::Arrow(source) => Error::Kernel("survey", source),
        }
    }
}

/// Distinct tuples of numbers with their row counts, in order of arrival.
#[derive(Debug)]
struct Groups {
    width: usize,
    tuples: Vec<u32>,
    rows: Vec<u32>,
    index: HashTable<u32>,
}

impl Groups {
    fn new(width: usize) -> Self {
        Self { width, tuples: Vec::new(), rows: Vec::new(), index: HashTable::new() }
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn tuple(&self, group: usize) -> &[u32] {
        &self.tuples[group * self.width..(group + 1) * self.width]
    }

    /// Adds rows to the group of this tuple and returns its number.
    fn count(&mut self, tuple: &[u32], rows: u32) -> Result<u32> {
        let Self { width, tuples, rows: counts, index } = self;
        let of = |group: &u32| &tuples[*group as usize * *width..(*group as usize + 1) * *width];
        let found = index.find(hash(tuple), |group| of(group) == tuple).copied();
        let too_large = Error::TooLarge { limit: SUPPRESSED - 1 };
        match found {
            Some(group) => {
                let count = &mut counts[group as usize];
                *count = count.checked_add(rows).ok_or(too_large)?;
                Ok(group)
            }
            None => {
                let group = u32::try_from(counts.len()).ok().filter(|group| *group < SUPPRESSED).ok_or(too_large)?;
                index.insert_unique(hash(tuple), group, |group| hash(of(group)));
                tuples.extend_from_slice(tuple);
                counts.push(rows);
                Ok(group)
            }
        }
    }
}

fn hash(tuple: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    for code in tuple {
        hasher.write_u32(*code);
    }
    hasher.finish()
}

/// The distinct values of an interner as one array.
fn distinct(interner: &Interner) -> Result<ArrayRef> {
    interner.distinct().map_err(kernel("concat"))
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
