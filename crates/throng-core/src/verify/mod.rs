//! The verifier: recomputes every promise from released values alone.
//!
//! It shares no code with the algorithms. As an intruder would, it takes rows with equal values in the quasi-identifier
//! columns as a class, and counts. Classes are compared by their full values, so two are never confused. Sensitive
//! values are compared by a 64-bit hash: a collision makes a class look less diverse than it is, so the verifier errs
//! on the side of refusing.
//!
//! Algorithm 1 of [Sun 2008] accepts a table once the first class passes. Here every class has to pass, whatever the
//! model.

mod facts;
mod findings;
mod frequency;
mod frequency_totals;
mod label_tree;
mod levels;
mod limit;
mod lists;
mod look_alikes;
mod promise;
mod reader;
mod released_classes;
mod runs;
mod summary;
mod totals;
mod units;

use std::collections::BTreeSet;

use arrow::array::ArrayRef;
use arrow::compute::take;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;
use twox_hash::XxHash3_128;

use crate::list_texts::{list_field, list_parts};
pub use crate::model::CONSTRAINED;

use facts::{ClassFacts, ReadBatch, ReadColumn, SensitiveTally};
pub use findings::{Amount, Diversity, Findings, LabelFindings, RequirementFindings};
use limit::{LimitReader, is_text};
use look_alikes::CountedText;
pub use promise::{
    AllowedValues, CategoryRules, LabelColumn, LevelRule, LimitPromise, Promise, ProtectedLabels, SensitivePromise,
    SensitiveReading,
};
use reader::{ColumnReader, Meaning};
pub use released_classes::ReleasedClasses;
use runs::run_starts;
pub use summary::Unreadable;
use totals::Totals;

/// Errors that prevent verification.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The release lacks a column of the promise.
    #[error("the release has no column `{0}`; name the columns as they are in the release")]
    NoColumn(String),
    /// Two columns have the same name.
    #[error("the release has more than one column `{0}`; rename one of them")]
    TwoColumns(String),
    /// The type of a column cannot be compared.
    #[error("column `{0}` has a type whose values can't be compared")]
    Type(String),
    /// Numbers are required of a column that has none.
    #[error("column `{0}` has neither numbers nor dates, so that its order, bands and range can't be checked")]
    NoNumbers(String),
    /// A requirement on a column of lists has no meaning for lists.
    #[error(
        "column `{0}` has lists, for which only p and max_share have a meaning; leave away what else is required of it"
    )]
    Lists(String),
    /// A weight is required of a column without categories.
    #[error(
        "column `{0}` has no categories, and only categories have a weight; leave alpha away or give it categories"
    )]
    NoCategories(String),
}

/// Counts the classes of a release, batch by batch.
#[derive(Debug)]
pub struct Verifier {
    promise: Promise,
    quasi: Vec<usize>,
    quasi_rows: Option<RowConverter>,
    sensitive: Vec<SensitiveCheck>,
    limits: Vec<LimitReader>,
    unit: Option<ColumnReader>,
    classes: FxHashMap<Box<[u8]>, ClassFacts>,
    rows: u64,
    together: Option<EndedClasses>,
}

/// State for a release whose classes should be contiguous: a compact record of finished classes.
///
/// Only the first and the last class of the rows seen may continue in rows that another verifier sees.
#[derive(Debug)]
struct EndedClasses {
    /// Hashes of finished classes. A collision makes the release look scattered.
    ended: FxHashSet<u128>,
    totals: Totals,
    first: Option<Box<[u8]>>,
    current: Option<Box<[u8]>>,
    is_scattered: bool,
}

/// Readers of one sensitive promise.
#[derive(Debug)]
struct SensitiveCheck {
    values: ColumnReader,
    are_categories: bool,
    /// Index of the column, if it has lists; `values` then reads their elements.
    lists: Option<usize>,
    labels: Option<CategoryLabels>,
}

/// The column that shows categories next to values, and its mismatches.
#[derive(Debug)]
struct CategoryLabels {
    reader: ColumnReader,
    column: String,
    mismatches: u64,
}

impl Verifier {
    /// Creates a verifier for releases with this schema.
    pub fn new(mut promise: Promise, schema: &Schema) -> Result<Self, VerifyError> {
        let find = |name: &str| {
            let mut found = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name);
            match (found.next(), found.next()) {
                (Some((index, _)), None) => Ok(index),
                (None, _) => Err(VerifyError::NoColumn(name.to_owned())),
                _ => Err(VerifyError::TwoColumns(name.to_owned())),
            }
        };
        let quasi = promise.quasi.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
        let fields = quasi.iter().map(|index| SortField::new(schema.field(*index).data_type().clone()));
        let quasi_rows = match quasi.is_empty() {
            true => None,
            false => Some(RowConverter::new(fields.collect()).map_err(|_| quasi_type(&promise))?),
        };
        for sensitive in &mut promise.sensitive {
            let data_type = schema.field(find(&sensitive.column)?).data_type();
            if list_field(data_type).is_some() {
                let column = || VerifyError::Lists(sensitive.column.clone());
                *sensitive = sensitive.clone().of_lists().ok_or_else(column)?;
            } else if sensitive.reading == SensitiveReading::Elements {
                return Err(VerifyError::Type(sensitive.column.clone()));
            }
        }
        let reader = |name: &str, meaning: Meaning| {
            let index = find(name)?;
            match list_field(schema.field(index).data_type()) {
                Some(field) => ColumnReader::new(0, &field.as_ref().clone().with_name(name), meaning),
                None => ColumnReader::new(index, schema.field(index), meaning),
            }
        };
        // Released categories are counted by name.
        let rule_of = |promise: &SensitivePromise| match promise.reading {
            SensitiveReading::Categories { .. } => None,
            _ => find(&promise.column).ok().and_then(|index| {
                let data_type = schema.field(index).data_type();
                let counted = list_field(data_type).map_or(data_type, |field| field.data_type());
                CountedText::new(&promise.look_alikes, is_text(counted))
            }),
        };
        let check = |promise: &SensitivePromise| {
            let is_list = promise.reading == SensitiveReading::Elements;
            let lists = if is_list { Some(find(&promise.column)?) } else { None };
            Ok(SensitiveCheck { lists, ..SensitiveCheck::new(promise, rule_of(promise), reader)? })
        };
        let sensitive = promise.sensitive.iter().map(check);
        let sensitive = sensitive.collect::<Result<Vec<_>, _>>()?;
        let limits = promise.limits.iter().map(|limit| LimitReader::new(limit, schema, find));
        let limits = limits.collect::<Result<Vec<_>, _>>()?;
        let unit = promise.unit.as_deref().map(|name| reader(name, Meaning::Itself)).transpose()?;
        Ok(Self {
            promise,
            quasi,
            quasi_rows,
            sensitive,
            limits,
            unit,
            classes: FxHashMap::default(),
            rows: 0,
            together: None,
        })
    }

    /// Expects contiguous classes. Finished classes are reduced to totals and a hash, which saves memory. If classes
    /// are not contiguous, [`Verifier::is_scattered`] returns true and the findings are invalid.
    pub fn expecting_classes_together(self) -> Self {
        let totals = Totals::new(&self.promise);
        let together =
            EndedClasses { ended: FxHashSet::default(), totals, first: None, current: None, is_scattered: false };
        Self { together: Some(together), ..self }
    }

    /// Whether contiguous classes were expected but not found.
    pub fn is_scattered(&self) -> bool {
        self.together.as_ref().is_some_and(|together| together.is_scattered)
    }

    /// Adds a batch.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), VerifyError> {
        let columns: Vec<ArrayRef> = self.quasi.iter().map(|index| batch.column(*index).clone()).collect();
        // Build keys only once per run of equal adjacent rows.
        let starts = run_starts(&columns, batch.num_rows());
        let keys = match &self.quasi_rows {
            Some(rows) => {
                let firsts = columns.iter().map(|column| take(column, &starts, None)).collect::<Result<Vec<_>, _>>();
                let keys = firsts.and_then(|firsts| rows.convert_columns(&firsts));
                Some(keys.map_err(|_| quasi_type(&self.promise))?)
            }
            None => None,
        };
        let read = ReadBatch {
            sensitive: self.sensitive.iter_mut().map(|column| column.read(batch)).collect::<Result<_, _>>()?,
            is_beyond: self.limits.iter_mut().map(|limit| limit.is_beyond(batch)).collect::<Result<_, _>>()?,
            units: self.unit.as_mut().map(|unit| unit.read(batch)).transpose()?,
        };
        let ends = starts.values().iter().skip(1).map(|start| *start as usize).chain([batch.num_rows()]);
        for (run, (start, end)) in starts.values().iter().zip(ends).enumerate() {
            let key = keys.as_ref().map(|keys| keys.row(run));
            self.count(key.as_ref().map_or(&[][..], |key| key.data()), *start as usize..end, &read);
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Counts a run of rows of one class.
    fn count(&mut self, key: &[u8], run: std::ops::Range<usize>, read: &ReadBatch) {
        if let Some(together) = &mut self.together
            && together.current.as_deref() != Some(key)
        {
            together.begin(key, &mut self.classes, &self.promise);
        }
        match self.classes.get_mut(key) {
            Some(facts) => facts.add(run, read),
            None => {
                let mut facts = ClassFacts::new(self.sensitive.len(), self.limits.len(), self.unit.is_some());
                facts.add(run, read);
                self.classes.insert(key.into(), facts);
            }
        }
    }

    /// Returns the approximate memory of the classes, in bytes.
    pub fn size(&self) -> usize {
        let key_bytes = self.classes.keys().next().map_or(0, |key| key.len());
        let class = size_of::<(Box<[u8]>, ClassFacts)>() + 1;
        let tallies = self.sensitive.len() * (size_of::<SensitiveTally>() + 4 * size_of::<(u64, u64)>());
        let ended = self.together.as_ref().map_or(0, |together| together.ended.capacity() * (size_of::<u128>() + 1));
        self.classes.capacity() * class + self.classes.len() * (key_bytes + tallies) + ended
    }

    /// Merges a verifier of the same promise over other rows.
    pub fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        for (known, seen) in self.sensitive.iter_mut().zip(other.sensitive) {
            known.values.merge_codes(seen.values);
            if let (Some(known), Some(seen)) = (&mut known.labels, seen.labels) {
                known.mismatches += seen.mismatches;
            }
        }
        if let (Some(known), Some(seen)) = (&mut self.together, &other.together) {
            known.is_scattered |= self.classes.keys().any(|key| seen.ended.contains(&hash(key)));
            known.is_scattered |= other.classes.keys().any(|key| known.ended.contains(&hash(key)));
            known.merge(seen, &self.promise);
        }
        for (key, facts) in other.classes {
            match self.classes.get_mut(&key) {
                Some(known) => known.merge(facts),
                None => {
                    self.classes.insert(key, facts);
                }
            }
        }
    }

    /// Returns the findings over all batches that were added.
    pub fn finish(self) -> Findings {
        let totals = self.totals();
        self.findings(&totals)
    }

    /// Returns the totals over all classes.
    fn totals(&self) -> Totals {
        let ended = self.together.as_ref().map(|together| together.totals.clone());
        let mut totals = ended.unwrap_or_else(|| Totals::new(&self.promise));
        self.classes.values().for_each(|facts| totals.add(facts, &self.promise));
        for (totals, check) in totals.sensitive.iter_mut().zip(&self.sensitive) {
            totals.frequencies.add_codes(check.values.codes());
        }
        totals
    }

    /// Converts totals to findings.
    fn findings(&self, totals: &Totals) -> Findings {
        let labels = self.sensitive.iter().filter_map(|column| column.labels.as_ref());
        Findings {
            rows: self.rows,
            classes: totals.classes,
            smallest_class: totals.smallest_class(),
            sum_of_squares: totals.sum_of_squares,
            class_sizes: totals.class_sizes.clone(),
            classes_below_k: totals.classes_below_k(),
            requirements: totals.requirements(&self.promise),
            diversity: totals.diversity(&self.promise),
            homogeneity: totals.homogeneity,
            labels: labels
                .map(|labels| LabelFindings { column: labels.column.clone(), mismatches: labels.mismatches })
                .collect(),
        }
    }
}

impl EndedClasses {
    /// Starts another class and finishes the previous one, unless that is the first.
    fn begin(&mut self, key: &[u8], classes: &mut FxHashMap<Box<[u8]>, ClassFacts>, promise: &Promise) {
        let before = self.current.replace(key.into());
        if self.first.is_none() {
            self.first = Some(key.into());
        }
        if before != self.first
            && let Some((ended, facts)) = before.and_then(|before| classes.remove_entry(&before))
        {
            self.totals.add(&facts, promise);
            self.ended.insert(hash(&ended));
        }
        self.is_scattered |= self.ended.contains(&hash(key)) || classes.contains_key(key);
    }

    /// Merges the record of other rows.
    fn merge(&mut self, other: &Self, promise: &Promise) {
        self.totals.merge(&other.totals, promise);
        self.is_scattered |= other.is_scattered;
        for ended in &other.ended {
            self.is_scattered |= !self.ended.insert(*ended);
        }
    }
}

fn hash(key: &[u8]) -> u128 {
    XxHash3_128::oneshot(key)
}

impl SensitiveCheck {
    fn new(
        promise: &SensitivePromise,
        rule: Option<CountedText>,
        reader: impl Fn(&str, Meaning) -> Result<ColumnReader, VerifyError>,
    ) -> Result<Self, VerifyError> {
        let values = reader(&promise.column, Meaning::of(&promise.reading, rule))?;
        let SensitiveReading::Categories { labels, .. } = &promise.reading else {
            return match promise.least_weight() {
                Some(_) => Err(VerifyError::NoCategories(promise.column.clone())),
                None => Ok(Self { values, are_categories: false, lists: None, labels: None }),
            };
        };
        let labels = match labels {
            Some(LabelColumn { column, names }) => Some(CategoryLabels {
                reader: reader(column, Meaning::name(names))?,
                column: column.clone(),
                mismatches: 0,
            }),
            None => None,
        };
        Ok(Self { values, are_categories: true, lists: None, labels })
    }

    /// Returns the symbol of each row.
    fn read(&mut self, batch: &RecordBatch) -> Result<ReadColumn, VerifyError> {
        if let Some(index) = self.lists {
            return self.read_lists(batch.column(index));
        }
        let symbols = self.values.read(batch)?;
        if let Some(labels) = &mut self.labels {
            let shown = labels.reader.read(batch)?;
            labels.mismatches += symbols.iter().zip(&shown).filter(|(own, shown)| own != shown).count() as u64;
        }
        Ok(ReadColumn { symbols, are_categories: self.are_categories, lists: None })
    }

    /// Returns the elements of each row.
    fn read_lists(&mut self, lists: &ArrayRef) -> Result<ReadColumn, VerifyError> {
        let type_error = || VerifyError::Type(self.values.name().to_owned());
        let (elements, parts) = list_parts(lists).ok_or_else(type_error)?;
        let elements = RecordBatch::try_from_iter_with_nullable([("element", elements, true)]);
        let symbols = self.values.read(&elements.map_err(|_| type_error())?)?;
        let of_row = |(from, len): (usize, usize)| {
            let own: BTreeSet<u64> = symbols[from..from + len].iter().flatten().copied().collect();
            own.into_iter().collect()
        };
        let lists = parts.into_iter().map(of_row).collect();
        Ok(ReadColumn { symbols: Vec::new(), are_categories: false, lists: Some(lists) })
    }
}

fn quasi_type(promise: &Promise) -> VerifyError {
    VerifyError::Type(promise.quasi.join("`, `"))
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "models_tests.rs"]
mod models_tests;

#[cfg(test)]
#[path = "frequency_tests.rs"]
mod frequency_tests;

#[cfg(test)]
#[path = "rule_tests.rs"]
mod rule_tests;

#[cfg(test)]
#[path = "list_tests.rs"]
mod list_tests;

#[cfg(test)]
mod released_classes_tests;
