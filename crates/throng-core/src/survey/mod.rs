//! Survey: a single streaming pass over the quasi-identifiers and sensitive columns.
//!
//! ```text
//!  batches ──► Survey::push ──► group number of each row              (one survey per stream, in parallel)
//!                  │
//!                  ├─► Survey::take_groups ─► CountedTuples of the stream's own numbers, chunk by chunk
//!                  └─► Survey::finish ─► SurveyedValues ─► Domains::merge    positions and codes, over all streams
//!                                                               │
//!     CountedTuples ──► Domains::place ──► HashGrouping ────────┴─► Table of cells
//! ```
//!
//! A *group* is a distinct tuple of quasi-identifiers and sensitive codes; a *cell* is a distinct quasi-identifier
//! tuple, and so a run of groups. Rows of one group are interchangeable for every privacy model and every loss. In a
//! [`Table`] cells and groups are ordered by content, so later stages don't depend on the order of arrival.
//!
//! A survey that holds many groups may return them and start a new chunk; its distinct values remain. [`Survey::merge`]
//! performs all steps for surveys of one chunk.
//!
//! Numbers and dates with too many distinct values for memory are returned with every chunk ([`Survey::take_values`]) as keys
//! of the same order. The caller ranks the keys of all chunks, and positions are ranks, as they are for values in memory.

mod cardinality;
mod counted_tuples;
mod dense_rank;
mod distinct;
mod domains;
mod hash_grouping;
mod interner;
pub(crate) mod order_keys;
mod packing;
mod radix;
mod sort_grouping;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::NullBuffer;
use arrow::compute::filter;
use arrow::datatypes::DataType;
use rayon::prelude::*;

use crate::columns::{Nulls, QuasiSpec, SensitiveCoding, SensitiveSpec};
use crate::domain::NULL;
use crate::error::{CoreError, Result, kernel};
use crate::hierarchy::HierarchySpec;
use crate::list_texts::list_field;
use crate::table::Table;
pub use counted_tuples::CountedTuples;
pub(crate) use dense_rank::DenseRanks;
pub use dense_rank::SORTED_TOGETHER;
use distinct::DistinctTuples;
pub(crate) use distinct::distinct_tuples;
pub use domains::{Domains, RankedKeys, SurveyedColumn, SurveyedValues};
pub use hash_grouping::HashGrouping;
use interner::{InternError, Interner};
pub use sort_grouping::{GroupedTable, SortGrouping};

/// Sentinel group number of a suppressed row.
pub const SUPPRESSED: u32 = u32::MAX;

/// Columns that a survey reads.
#[derive(Clone, Debug)]
pub struct SurveySpec {
    /// Quasi-identifiers and their types.
    pub quasi: Vec<(QuasiSpec, DataType)>,
    /// Sensitive columns and their types.
    pub sensitive: Vec<(SensitiveSpec, DataType)>,
}

impl SurveySpec {
    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.quasi.len() + self.sensitive.len()
    }

    /// Returns whether the values of a column can be taken from a survey ([`Survey::take_values`]): a class shows at most
    /// two values of such a column, and they are ordered by keys.
    pub fn has_order_keys(&self, column: usize) -> bool {
        self.quasi.get(column).is_some_and(|(quasi, data_type)| {
            let is_range = quasi.release.is_ordered() && !quasi.release.is_aggregate();
            is_range && quasi.cover.is_none() && quasi.limit.is_none() && order_keys::has_keys(data_type)
        })
    }
}

/// If a column has more distinct values than this, columns are interned in parallel.
const MANY_VALUES: usize = 1 << 15;

/// Number of rows per value of a column, if its hierarchy or coding depends on frequencies.
type ValueCounts = Option<Vec<u64>>;

/// Distinct values and groups of one stream of batches.
#[derive(Debug)]
pub struct Survey {
    spec: Arc<SurveySpec>,
    interners: Vec<Interner>,
    has_null: Vec<bool>,
    counts: Vec<ValueCounts>,
    groups: DistinctTuples,
    suppressed: u64,
}

/// Estimated contents of a survey of more rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectedSurvey {
    /// Number of distinct values of all columns.
    pub values: usize,
    /// Size of the distinct values, in bytes.
    pub bytes: usize,
    /// Memory while rows are surveyed, in bytes.
    pub memory: usize,
}

/// Merged surveys of all streams.
#[derive(Debug)]
pub struct MergedSurvey {
    /// Cells of all rows.
    pub table: Table,
    /// For each survey, in the order given, the group of the table for each of its group numbers.
    pub groups: Vec<Vec<u32>>,
    /// Number of rows suppressed because of nulls.
    pub suppressed: u64,
}

impl Survey {
    /// Creates an empty survey.
    pub fn new(spec: Arc<SurveySpec>) -> Result<Self> {
        let quasi = spec.quasi.iter().map(|(quasi, data_type)| (&quasi.name, data_type, "quasi-identifier"));
        let sensitive = spec.sensitive.iter().map(|(column, data_type)| (&column.name, data_type, "sensitive column"));
        let interners = quasi
            .chain(sensitive)
            .map(|(name, data_type, role)| {
                Interner::new(data_type).ok_or_else(|| CoreError::Type {
                    column: name.clone(),
                    data_type: data_type.to_string(),
                    role,
                })
            })
            .collect::<Result<Vec<_>>>()?;
        if let Some((column, data_type)) = spec.quasi.iter().find(|(_, data_type)| list_field(data_type).is_some()) {
            let (column, data_type) = (column.name.clone(), data_type.to_string());
            return Err(CoreError::Type { column, data_type, role: "quasi-identifier" });
        }
        // The survey handles a list as one text, which encodes its elements and nothing else.
        for (column, data_type) in &spec.sensitive {
            let is_list = list_field(data_type).is_some();
            if column.facets.iter().any(|facet| matches!(facet, SensitiveCoding::Elements { .. }) != is_list) {
                let (column, data_type) = (column.name.clone(), data_type.to_string());
                return Err(CoreError::Type { column, data_type, role: "sensitive column" });
            }
        }
        let width = interners.len();
        let is_counted = |index: usize| match spec.quasi.get(index) {
            Some((quasi, _)) => matches!(*quasi.hierarchy, HierarchySpec::MeanDifference),
            None => {
                let facets = spec.sensitive.get(index - spec.quasi.len()).map(|(column, _)| &column.facets);
                facets.into_iter().flatten().any(|facet| matches!(facet, SensitiveCoding::Units))
            }
        };
        let counts = (0..width).map(|index| is_counted(index).then(Vec::new)).collect();
        let groups = DistinctTuples::new(&vec![0; width]);
        Ok(Self { spec, interners, has_null: vec![false; width], counts, groups, suppressed: 0 })
    }

    /// Adds a batch: the quasi-identifiers and then the sensitive columns, in the order of the spec. Returns the group
    /// number of each row, or [`SUPPRESSED`].
    pub fn push(&mut self, columns: &[ArrayRef]) -> Result<Vec<u32>> {
        let rows = columns.first().map_or(0, |column| column.len());
        for ((quasi, _), column) in self.spec.quasi.iter().zip(columns) {
            if quasi.nulls == Nulls::Error && column.logical_null_count() > 0 {
                return Err(CoreError::Null { column: quasi.name.clone(), rows: column.logical_null_count() });
            }
        }
        let nulls = self.spec.quasi.iter().zip(columns).filter(|((quasi, _), _)| quasi.nulls == Nulls::Suppress);
        let kept =
            nulls.fold(None, |kept, (_, column)| NullBuffer::union(kept.as_ref(), column.logical_nulls().as_ref()));
        let Some(kept) = kept.filter(|kept| kept.null_count() > 0) else { return self.count(columns, rows) };
        // Values of suppressed rows must not widen a domain.
        let mask = BooleanArray::new(kept.inner().clone(), None);
        let columns = columns.iter().map(|column| filter(column, &mask)).collect::<Result<Vec<_>, _>>();
        let numbers = self.count(&columns.map_err(kernel("filter"))?, rows - kept.null_count())?;
        self.suppressed += kept.null_count() as u64;
        let mut numbers = numbers.into_iter();
        Ok(kept.iter().map(|kept| if kept { numbers.next().unwrap_or(SUPPRESSED) } else { SUPPRESSED }).collect())
    }

    /// Adds rows that are not suppressed, and returns the group number of each.
    fn count(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let is_many = self.interners.iter().any(|interner| interner.len() > MANY_VALUES);
        let looked_up = self.interners.iter_mut().zip(&mut self.has_null).zip(&mut self.counts).zip(columns);
        let look_up =
            |(((interner, has_null), counts), column): (((&mut Interner, &mut bool), &mut ValueCounts), &ArrayRef)| {
                let interned = interner.intern(column)?;
                *has_null |= column.logical_null_count() > 0;
                if let Some(counts) = counts {
                    counts.resize(interner.len(), 0);
                    interned.iter().filter(|number| **number != NULL).for_each(|number| counts[*number as usize] += 1);
                }
                Ok(interned)
            };
        // Lookups in large maps are slow, so columns are interned in parallel.
        let codes: Vec<Result<Vec<u32>, InternError>> = match is_many {
            true => looked_up.collect::<Vec<_>>().into_par_iter().map(look_up).collect(),
            false => looked_up.map(look_up).collect(),
        };
        let codes = codes
            .into_iter()
            .enumerate()
            .map(|(index, codes)| codes.map_err(|error| self.spec.intern_error(index, &columns[index], error)));
        let codes = codes.collect::<Result<Vec<_>>>()?;
        self.groups.grow(&self.sizes());
        // A row with a unique number forms a separate group.
        match self.interners.iter().any(Interner::are_all_own) {
            true => self.groups.append_each(&codes, rows),
            false => self.groups.count_each(&codes, rows),
        }
    }

    /// Returns the number of distinct values of each column.
    fn sizes(&self) -> Vec<usize> {
        self.interners.iter().map(Interner::len).collect()
    }

    /// Returns the number of groups of the current chunk.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Ends the chunk: returns its groups in the order of their numbers. Numbers of the next chunk start at 0.
    pub fn take_groups(&mut self) -> CountedTuples {
        self.groups.take()
    }

    /// Takes the values of a column in the order of their numbers, as keys of the same order, and starts numbering the column
    /// again. There must be no groups, whose numbers would be lost. Fails for a column without
    /// [keys](SurveySpec::has_order_keys).
    pub fn take_values(&mut self, column: usize) -> Result<Vec<u64>> {
        let values = self.interners[column].restart().map_err(kernel("concat"))?;
        let unsupported = || {
            let data_type = values.data_type().to_string();
            CoreError::Type { column: self.spec.quasi[column].0.name.clone(), data_type, role: "quasi-identifier" }
        };
        order_keys::keys(&values)?.ok_or_else(unsupported)
    }

    /// Returns the memory of the values of a column, in bytes.
    pub fn values_size(&self, column: usize) -> usize {
        self.interners[column].size()
    }

    /// Returns the memory of values and groups, in bytes.
    pub fn size(&self) -> usize {
        self.interners.iter().map(Interner::size).sum::<usize>() + self.groups.size()
    }

    /// Returns the number of distinct values of each column.
    pub fn value_counts(&self) -> Vec<usize> {
        self.interners.iter().map(Interner::len).collect()
    }

    /// Returns what a survey would hold with `times` as many values of the same kind in each column.
    pub fn projected(&self, times: &[f64]) -> ProjectedSurvey {
        let sum = |of: &dyn Fn(&Interner, f64) -> usize| {
            self.interners.iter().zip(times).map(|(interner, times)| of(interner, *times)).sum::<usize>()
        };
        ProjectedSurvey {
            values: sum(&|interner, times| (interner.len() as f64 * times) as usize),
            bytes: sum(&|interner, times| (interner.values_size() as f64 * times) as usize),
            memory: sum(&Interner::projected_size) + self.groups.size(),
        }
    }

    /// Ends the survey. Groups that were not taken are dropped.
    pub fn finish(self) -> Result<SurveyedValues> {
        let Self { spec, interners, has_null, counts, suppressed, .. } = self;
        let columns = interners.into_par_iter().zip(has_null).zip(counts);
        let columns = columns.map(|((interner, has_null), rows)| {
            Ok(SurveyedColumn { values: interner.into_distinct().map_err(kernel("concat"))?, has_null, rows })
        });
        Ok(SurveyedValues { columns: columns.collect::<Result<_>>()?, spec, suppressed })
    }

    /// Merges surveys of one chunk each into one table.
    pub fn merge(surveys: Vec<Survey>) -> Result<MergedSurvey> {
        let (mut chunks, mut seen) = (Vec::new(), Vec::new());
        for mut survey in surveys {
            chunks.push(survey.take_groups());
            seen.push(survey.finish()?);
        }
        let suppressed = seen.iter().map(SurveyedValues::suppressed).sum();
        if chunks.iter().all(CountedTuples::is_empty) {
            return Err(CoreError::NoRows { suppressed });
        }
        let domains = Domains::merge(&seen)?;
        let (mut placed, mut tuple) = (CountedTuples::new(domains.width()), vec![0; domains.width()]);
        for (stream, chunk) in chunks.iter().enumerate() {
            for (numbers, rows) in chunk.iter() {
                domains.place(stream, numbers, &mut tuple);
                placed.push(&tuple, rows);
            }
        }
        let (table, groups) = HashGrouping::of(&domains, &placed)?;
        let mut groups = groups.into_iter();
        let of_chunk = |chunk: &CountedTuples| groups.by_ref().take(chunk.len()).collect();
        Ok(MergedSurvey { table, groups: chunks.iter().map(of_chunk).collect(), suppressed })
    }
}

impl SurveySpec {
    fn intern_error(&self, index: usize, column: &ArrayRef, error: InternError) -> CoreError {
        let (name, role) = match self.quasi.get(index) {
            Some((quasi, _)) => (quasi.name.clone(), "quasi-identifier"),
            None => (self.sensitive[index - self.quasi.len()].0.name.clone(), "sensitive column"),
        };
        match error {
            InternError::NotFinite(rows) => CoreError::NotFinite { column: name, role, rows },
            InternError::TooMany => distinct::TOO_LARGE,
            InternError::Type => CoreError::Type { column: name, data_type: column.data_type().to_string(), role },
            InternError::Arrow(source) => CoreError::Kernel("survey", source),
        }
    }
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
