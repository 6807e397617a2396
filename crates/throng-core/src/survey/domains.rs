//! The values of all streams as one domain per column, and the place of every stream's numbers in it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::DataType;
use rayon::prelude::*;

use super::SurveySpec;
use super::dense_rank::DenseRanks;
use crate::columns::QuasiSpec;
use crate::domain::{DistinctValues, Domain, DomainKind, NULL};
use crate::error::{Result, kernel};
use crate::sensitive_coding;
use crate::table::{QuasiColumn, SensitiveColumn};

/// What a stream has seen in one column.
#[derive(Clone, Debug)]
pub struct SurveyedColumn {
    /// The values in the order of their numbers, without null. One that is rare may be there more than once.
    pub values: ArrayRef,
    /// Whether a row has none.
    pub has_null: bool,
    /// How many rows have each value, where the hierarchy of the column wants to know.
    pub rows: Option<Vec<u64>>,
}

/// What a stream has seen in all columns, after its last row.
#[derive(Clone, Debug)]
pub struct SurveyedValues {
    pub(super) spec: Arc<SurveySpec>,
    pub(super) columns: Vec<SurveyedColumn>,
    pub(super) suppressed: u64,
}

impl SurveyedValues {
    /// What was seen elsewhere: quasi-identifiers first, and then sensitive columns, as the spec has them.
    pub fn new(spec: Arc<SurveySpec>, columns: Vec<SurveyedColumn>, suppressed: u64) -> Self {
        Self { spec, columns, suppressed }
    }

    /// What all of them have seen, each value once.
    pub fn union(spec: Arc<SurveySpec>, seen: &[Self]) -> Result<Self> {
        let columns = (0..spec.quasi.len() + spec.sensitive.len()).into_par_iter().map(|column| {
            let ValueUnion { values, has_null, rows, .. } = ValueUnion::of(seen, column)?;
            Ok(SurveyedColumn { values, has_null, rows })
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Self { spec, columns, suppressed: seen.iter().map(|seen| seen.suppressed).sum() })
    }

    /// The columns, as the spec has them.
    pub fn columns(&self) -> &[SurveyedColumn] {
        &self.columns
    }

    /// The same values in no row, for somebody whose rows were counted before.
    pub fn uncounted(mut self) -> Self {
        let counts = self.columns.iter_mut().filter_map(|column| column.rows.as_mut());
        counts.for_each(|rows| rows.fill(0));
        self
    }

    /// How many rows were left out because the policy suppresses their nulls.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// What the distinct values take of the memory.
    pub fn size(&self) -> usize {
        self.columns.iter().map(|column| column.values.get_buffer_memory_size()).sum()
    }

    /// How many distinct values there are, over all columns.
    pub fn values(&self) -> usize {
        self.columns.iter().map(|column| column.values.len()).sum()
    }
}

/// The domains of the quasi-identifiers and the codes of the sensitive columns, over all streams.
///
/// Positions and codes follow from the values alone, so that nothing later depends on the order of arrival.
#[derive(Clone, Debug)]
pub struct Domains {
    /// The quasi-identifiers.
    pub quasi: Arc<[QuasiColumn]>,
    /// The sensitive columns, each as often as it has facets.
    pub sensitive: Arc<[SensitiveColumn]>,
    coded: Vec<CodedColumn>,
}

impl Domains {
    /// Merges what the streams have seen.
    pub fn merge(seen: &[SurveyedValues]) -> Result<Self> {
        let (mut quasi, mut sensitive, mut coded) = (Vec::new(), Vec::new(), Vec::new());
        let Some(SurveyedValues { spec, .. }) = seen.first() else {
            return Ok(Self { quasi: quasi.into(), sensitive: sensitive.into(), coded });
        };
        let of_quasi = |(index, (quasi_spec, data_type)): (usize, &(QuasiSpec, DataType))| {
            let union = ValueUnion::of(seen, index)?;
            let distinct =
                DistinctValues { values: &union.values, rows: union.rows.as_deref(), has_null: union.has_null };
            let (domain, positions) = Domain::build(quasi_spec, distinct)?;
            let of_null = domain.null_position().unwrap_or(NULL);
            let column = QuasiColumn { spec: quasi_spec.clone(), data_type: data_type.clone(), domain };
            let coded = match column.domain.kind() {
                // They are numbered as they are positioned, but for null.
                DomainKind::Ordered { has_null, .. } => {
                    CodedColumn::shifted(index, union.numbers, u32::from(*has_null), of_null)
                }
                DomainKind::Category(_) => CodedColumn::new(index, union.numbers, &positions, of_null),
            };
            Ok((column, coded))
        };
        let of_quasi: Vec<Result<(QuasiColumn, CodedColumn)>> =
            spec.quasi.par_iter().enumerate().map(of_quasi).collect();
        for found in of_quasi {
            let (column, positions) = found?;
            quasi.push(column);
            coded.push(positions);
        }
        for (index, (column, _)) in spec.sensitive.iter().enumerate() {
            let index = spec.quasi.len() + index;
            let union = ValueUnion::of(seen, index)?;
            for looked_at in &column.facets {
                let (codes, distinct) = sensitive_coding::codes(looked_at, &column.name, &union.values)?;
                coded.push(CodedColumn::new(index, union.numbers.clone(), &codes, NULL));
                sensitive.push(SensitiveColumn { name: column.name.clone(), counted: looked_at.counted(), distinct });
            }
        }
        Ok(Self { quasi: quasi.into(), sensitive: sensitive.into(), coded })
    }

    /// How many numbers a placed tuple has: a position per quasi-identifier, and then a code per sensitive column.
    pub fn width(&self) -> usize {
        self.coded.len()
    }

    /// How many numbers there may be in each place of a tuple.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let quasi = self.quasi.iter().map(|quasi| quasi.domain.len());
        quasi.chain(self.sensitive.iter().map(|column| column.distinct as usize)).collect()
    }

    /// Places a tuple of a stream's own numbers.
    pub fn place(&self, stream: usize, tuple: &[u32], placed: &mut [u32]) {
        placed.iter_mut().zip(self.placed(stream, tuple)).for_each(|(slot, number)| *slot = number);
    }

    /// A tuple of a stream's own numbers in its place.
    pub(super) fn placed(&self, stream: usize, tuple: &[u32]) -> impl Iterator<Item = u32> {
        self.coded.iter().map(move |coded| match tuple[coded.column] {
            NULL => coded.of_null,
            number => coded.of_number[stream][number as usize],
        })
    }
}

/// The values of one column over all streams, ascending.
struct ValueUnion {
    values: ArrayRef,
    has_null: bool,
    rows: Option<Vec<u64>>,
    /// For each stream and each of its numbers, the place in `values`.
    numbers: Vec<Vec<u32>>,
}

impl ValueUnion {
    fn of(seen: &[SurveyedValues], column: usize) -> Result<Self> {
        let parts: Vec<&SurveyedColumn> = seen.iter().map(|seen| &seen.columns[column]).collect();
        let arrays: Vec<&dyn Array> = parts.iter().map(|part| part.values.as_ref()).collect();
        let all = concat(&arrays).map_err(kernel("concat"))?;
        let DenseRanks { rank, values } = DenseRanks::of(&all)?;
        drop(all);
        let mut numbers = Vec::with_capacity(parts.len());
        let mut rest = rank;
        for part in &parts {
            let others = rest.split_off(part.values.len());
            numbers.push(std::mem::replace(&mut rest, others));
        }
        let rows = parts.iter().any(|part| part.rows.is_some()).then(|| {
            let mut rows = vec![0; values.len()];
            for (part, numbers) in parts.iter().zip(&numbers) {
                let counts = part.rows.iter().flatten();
                numbers.iter().zip(counts).for_each(|(number, count)| rows[*number as usize] += count);
            }
            rows
        });
        Ok(Self { values, has_null: parts.iter().any(|part| part.has_null), rows, numbers })
    }
}

/// One column of placed tuples: positions or codes for the numbers of one column of the streams.
#[derive(Clone, Debug)]
struct CodedColumn {
    /// The column of the streams.
    column: usize,
    /// For each stream and each of its numbers: the position or code.
    of_number: Vec<Vec<u32>>,
    of_null: u32,
}

impl CodedColumn {
    /// Numbers that are positions but for an offset.
    fn shifted(column: usize, mut numbers: Vec<Vec<u32>>, offset: u32, of_null: u32) -> Self {
        if offset > 0 {
            numbers.iter_mut().flatten().for_each(|number| *number += offset);
        }
        Self { column, of_number: numbers, of_null }
    }

    fn new(column: usize, mut numbers: Vec<Vec<u32>>, places: &[u32], of_null: u32) -> Self {
        for of_stream in &mut numbers {
            of_stream.iter_mut().for_each(|number| *number = places[*number as usize]);
        }
        Self { column, of_number: numbers, of_null }
    }
}
