//! Classes that grow from one emission of a stream to the next.
//!
//! Someone who keeps every emission, and does not know which of them has a row, finds it in a class of all rows with its labels. So each
//! emission is counted together with what was released before, and every class that it adds rows to must satisfy the promise.

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::ClassFacts;
use super::totals::Totals;
use super::{Findings, Promise, Verifier, VerifyError, quasi_type};

/// Counts of the classes of all emissions so far.
#[derive(Debug, Default)]
pub struct ReleasedClasses {
    classes: FxHashMap<Box<[u8]>, ClassFacts>,
}

impl ReleasedClasses {
    /// Adds the rows of an emission. The findings are about every class that has some of them, with all of its rows that are
    /// remembered.
    ///
    /// Of a class that satisfies a promise which no further row can break, the first rows are enough to remember. A promise
    /// about frequencies needs the counts of all of its values.
    pub fn add(&mut self, emission: Verifier) -> Findings {
        let mut totals = Totals::new(&emission.promise);
        for (key, facts) in &emission.classes {
            match self.classes.get_mut(key) {
                None => {
                    totals.add(facts, &emission.promise);
                    self.classes.insert(key.clone(), facts.clone());
                }
                Some(known) => {
                    let mut together = known.clone();
                    together.merge(facts.clone());
                    totals.add(&together, &emission.promise);
                    if !is_kept_by_any_row(&emission.promise) {
                        *known = together;
                    }
                }
            }
        }
        emission.findings(&totals)
    }

    /// Forgets all classes but those with these labels, in the columns of the quasi-identifiers of the promise. Rows that are released
    /// with other labels later must satisfy the promise among themselves.
    pub fn keep(&mut self, labels: &RecordBatch, promise: &Promise) -> Result<(), VerifyError> {
        let column = |name: &String| labels.column_by_name(name).ok_or_else(|| VerifyError::NoColumn(name.clone()));
        let columns: Vec<ArrayRef> =
            promise.quasi.iter().map(|name| column(name).cloned()).collect::<Result<_, _>>()?;
        let fields = columns.iter().map(|column| SortField::new(column.data_type().clone()));
        let rows = RowConverter::new(fields.collect()).and_then(|converter| converter.convert_columns(&columns));
        let rows = rows.map_err(|_| quasi_type(promise))?;
        let kept: FxHashSet<&[u8]> = rows.iter().map(|row| row.data()).collect();
        self.classes.retain(|key, _| kept.contains(&**key));
        Ok(())
    }

    /// Returns the number of classes that are remembered.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Returns whether no class is remembered.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Returns the approximate memory in bytes.
    pub fn size(&self) -> usize {
        self.classes.iter().map(|(key, facts)| key.len() + size_of::<(Box<[u8]>, ClassFacts)>() + facts.bytes()).sum()
    }
}

/// Whether a class that satisfies the promise still does with any further row.
fn is_kept_by_any_row(promise: &Promise) -> bool {
    promise.sensitive.iter().all(|sensitive| sensitive.frequencies.is_empty())
}
