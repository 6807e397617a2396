//! Merges the values of all streams into one domain per column, and translates the numbers of every stream.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::DataType;
use rayon::prelude::*;

use super::SurveySpec;
use super::dense_rank::DenseRanks;
use crate::columns::{QuasiSpec, SensitiveCoding};
use crate::domain::{DistinctValues, Domain, DomainKind, NULL, WholeDomain};
use crate::error::{Result, kernel};
use crate::model::SINGLE;
use crate::sensitive_coding;
use crate::table::{QuasiColumn, SensitiveColumn};

/// Values that a stream has seen in one column.
#[derive(Clone, Debug)]
pub struct SurveyedColumn {
    /// Values in the order of their numbers, without null. A value of a scattered column may occur more than once.
    pub values: ArrayRef,
    /// Whether the column has nulls.
    pub has_null: bool,
    /// Number of rows per value, if the hierarchy depends on frequencies.
    pub rows: Option<Vec<u64>>,
}

/// Values that a stream has seen in all columns.
#[derive(Clone, Debug)]
pub struct SurveyedValues {
    pub(super) spec: Arc<SurveySpec>,
    pub(super) columns: Vec<SurveyedColumn>,
    pub(super) suppressed: u64,
}

impl SurveyedValues {
    /// Wraps values that were collected elsewhere: columns in the order of the spec, quasi-identifiers before sensitive
    /// columns.
    pub fn new(spec: Arc<SurveySpec>, columns: Vec<SurveyedColumn>, suppressed: u64) -> Self {
        Self { spec, columns, suppressed }
    }

    /// Returns the union of the values of several streams.
    pub fn union(spec: Arc<SurveySpec>, seen: &[Self]) -> Result<Self> {
        let columns = (0..spec.quasi.len() + spec.sensitive.len()).into_par_iter().map(|column| {
            let parts = seen.iter().map(|seen| seen.columns[column].clone()).collect();
            let ValueUnion { values, has_null, rows, .. } = ValueUnion::of(parts)?;
            Ok(SurveyedColumn { values, has_null, rows })
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok(Self { spec, columns, suppressed: seen.iter().map(|seen| seen.suppressed).sum() })
    }

    /// Returns the columns in the order of the spec.
    pub fn columns(&self) -> &[SurveyedColumn] {
        &self.columns
    }

    /// Sets all row counts to zero, for callers whose rows were counted before.
    pub fn uncounted(mut self) -> Self {
        let counts = self.columns.iter_mut().filter_map(|column| column.rows.as_mut());
        counts.for_each(|rows| rows.fill(0));
        self
    }

    /// Returns the number of rows suppressed because of nulls.
    pub fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// Returns the memory of the distinct values, in bytes.
    pub fn size(&self) -> usize {
        self.columns.iter().map(|column| column.values.get_buffer_memory_size()).sum()
    }

    /// Returns the number of distinct values of all columns.
    pub fn values(&self) -> usize {
        self.columns.iter().map(|column| column.values.len()).sum()
    }
}

/// Ranks of the values of a column that were [taken](super::Survey::take_values) from all surveys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedKeys {
    /// Index of the quasi-identifier.
    pub column: usize,
    /// Number of distinct keys.
    pub distinct: u32,
    /// The first and the last key; `None` if there is none.
    pub ends: Option<(u64, u64)>,
}

/// Domains of the quasi-identifiers and codes of the sensitive columns, merged over all streams.
///
/// Positions and codes depend on the set of values alone, not on the order of arrival.
#[derive(Clone, Debug)]
pub struct Domains {
    /// Quasi-identifiers.
    pub quasi: Arc<[QuasiColumn]>,
    /// Sensitive columns, one entry per sensitive coding.
    pub sensitive: Arc<[SensitiveColumn]>,
    coded: Vec<CodedColumn>,
}

impl Domains {
    /// Merges the values of all streams.
    pub fn merge(seen: &[SurveyedValues]) -> Result<Self> {
        Self::of(seen.to_vec())
    }

    /// Merges the values of all streams, and drops those of each column as soon as they are merged.
    pub fn of(seen: Vec<SurveyedValues>) -> Result<Self> {
        Self::with_ranked(seen, &[])
    }

    /// Like [`Domains::of`]. The values of the columns in `ranked` were taken from the surveys: their domains are empty
    /// [slices](crate::domain::PartialDomain), and [`Domains::place_ranked`] needs the ranks of their keys.
    pub fn with_ranked(seen: Vec<SurveyedValues>, ranked: &[RankedKeys]) -> Result<Self> {
        let (mut quasi, mut sensitive, mut coded) = (Vec::new(), Vec::new(), Vec::new());
        let Some(spec) = seen.first().map(|seen| Arc::clone(&seen.spec)) else {
            return Ok(Self { quasi: quasi.into(), sensitive: sensitive.into(), coded });
        };
        let mut columns: Vec<Vec<SurveyedColumn>> = vec![Vec::new(); spec.quasi.len() + spec.sensitive.len()];
        for seen in seen {
            columns.iter_mut().zip(seen.columns).for_each(|(parts, part)| parts.push(part));
        }
        let of_sensitive = columns.split_off(spec.quasi.len());
        let of_quasi = |(index, ((quasi_spec, data_type), parts)): (usize, QuasiParts<'_>)| {
            if let Some(place) = ranked.iter().position(|ranked| ranked.column == index) {
                let RankedKeys { distinct, ends, .. } = ranked[place];
                let has_null = parts.iter().any(|part| part.has_null);
                let whole = WholeDomain::new(&quasi_spec.name, data_type, distinct, ends, has_null);
                let domain = whole.slice(&[], &[])?;
                let of_null = domain.null_position().unwrap_or(NULL);
                let coded = CodedColumn::ranked(index, place, whole.position(0), of_null);
                let column = QuasiColumn { spec: quasi_spec.clone(), data_type: data_type.clone(), domain };
                return Ok((column, coded));
            }
            let union = ValueUnion::of(parts)?;
            let distinct =
                DistinctValues { values: &union.values, rows: union.rows.as_deref(), has_null: union.has_null };
            let (domain, positions) = Domain::build(quasi_spec, distinct)?;
            let of_null = domain.null_position().unwrap_or(NULL);
            let column = QuasiColumn { spec: quasi_spec.clone(), data_type: data_type.clone(), domain };
            let coded = match column.domain.kind() {
                // Ranks are positions, except for the offset of null, unless borders of a grid are among them.
                DomainKind::Ordered { has_null, .. } if quasi_spec.cover.is_none() => {
                    CodedColumn::shifted(index, union.numbers, u32::from(*has_null), of_null)
                }
                _ => CodedColumn::new(index, union.numbers, &positions, of_null),
            };
            Ok((column, coded))
        };
        let of_quasi: Vec<Result<(QuasiColumn, CodedColumn)>> =
            spec.quasi.par_iter().zip(columns).enumerate().map(of_quasi).collect();
        for found in of_quasi {
            let (column, positions) = found?;
            quasi.push(column);
            coded.push(positions);
        }
        for ((index, (column, _)), parts) in (spec.quasi.len()..).zip(&spec.sensitive).zip(of_sensitive) {
            let union = ValueUnion::of(parts)?;
            for looked_at in &column.facets {
                let rows = union.rows.as_deref();
                let rule = &column.look_alikes;
                let (codes, distinct) = sensitive_coding::codes(looked_at, rule, &column.name, &union.values, rows)?;
                let is_unit = matches!(looked_at, SensitiveCoding::Units);
                // A row without a unit counts as a separate unit.
                let of_null = if is_unit { SINGLE } else { NULL };
                coded.push(CodedColumn::new(index, union.numbers.clone(), &codes, of_null));
                let numbers = match looked_at {
                    SensitiveCoding::Values => sensitive_coding::numbers_by_code(rule, &union.values)?,
                    _ => None,
                };
                let tree = match looked_at {
                    SensitiveCoding::Leaves(hierarchy) => {
                        Some(Arc::new(sensitive_coding::tree_of_codes(hierarchy, rule, &column.name, &union.values)?))
                    }
                    _ => None,
                };
                let elements = match looked_at {
                    SensitiveCoding::Elements { are_text } => {
                        Some(sensitive_coding::elements_by_code(rule, *are_text, &union.values))
                    }
                    _ => None,
                };
                let (name, counted) = (column.name.clone(), looked_at.counted());
                sensitive.push(SensitiveColumn { name, counted, distinct, numbers, tree, elements, is_unit });
            }
        }
        Ok(Self { quasi: quasi.into(), sensitive: sensitive.into(), coded })
    }

    /// Drops the numbers of the streams: no further tuple can be [placed](Domains::place).
    pub fn forget_numbers(&mut self) {
        self.coded.iter_mut().for_each(|coded| coded.of_number = NumberCodes::Known(Vec::new()));
    }

    /// Returns the same domains with slices of those that are not in memory: for each of their columns the column, positions
    /// and keys of the values that are needed, ascending. Nothing can be placed in the result.
    pub fn sliced(&self, slices: &[(usize, Vec<u32>, Vec<u64>)]) -> Result<Self> {
        let mut quasi = self.quasi.to_vec();
        for (column, positions, keys) in slices {
            if let Some(slice) = self.quasi[*column].domain.slice() {
                quasi[*column].domain = slice.whole().slice(positions, keys)?;
            }
        }
        let forgotten = |coded: &CodedColumn| CodedColumn { of_number: NumberCodes::Known(Vec::new()), ..*coded };
        let coded = self.coded.iter().map(forgotten).collect();
        Ok(Self { quasi: quasi.into(), sensitive: Arc::clone(&self.sensitive), coded })
    }

    /// Returns the quasi-identifiers whose domains are slices, in order.
    pub fn slices(&self) -> impl Iterator<Item = usize> {
        (0..self.quasi.len()).filter(|column| self.quasi[*column].domain.slice().is_some())
    }

    /// Replaces positions of whole domains by positions of the slices.
    pub(super) fn place_in_slices(&self, tuple: &mut [u32]) {
        for (quasi, position) in self.quasi.iter().zip(tuple) {
            if let Some(slice) = quasi.domain.slice() {
                *position = slice.in_slice(*position);
            }
        }
    }

    /// Returns the width of an encoded tuple: a position per quasi-identifier, then a code per sensitive column.
    pub fn width(&self) -> usize {
        self.coded.len()
    }

    /// Returns the number of positions or codes of each column of an encoded tuple.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let quasi = self.quasi.iter().map(|quasi| quasi.domain.whole_len());
        quasi.chain(self.sensitive.iter().map(|column| column.distinct as usize)).collect()
    }

    /// Encodes a tuple of a stream's numbers into `placed`.
    pub fn place(&self, stream: usize, tuple: &[u32], placed: &mut [u32]) {
        self.place_ranked(stream, &[], tuple, placed);
    }

    /// Encodes a tuple of a stream's numbers into `placed`. `ranks` has, for each column whose values were taken from the
    /// surveys, the rank of each number of the chunk.
    pub fn place_ranked(&self, stream: usize, ranks: &[Vec<u32>], tuple: &[u32], placed: &mut [u32]) {
        placed.iter_mut().zip(self.placed(stream, ranks, tuple)).for_each(|(slot, number)| *slot = number);
    }

    /// Encodes a tuple of a stream's numbers as positions and codes.
    pub(super) fn placed(&self, stream: usize, ranks: &[Vec<u32>], tuple: &[u32]) -> impl Iterator<Item = u32> {
        self.coded.iter().map(move |coded| match (tuple[coded.column], &coded.of_number) {
            (NULL, _) => coded.of_null,
            (number, NumberCodes::Known(of_number)) => of_number[stream][number as usize],
            (number, NumberCodes::Ranked { place, first }) => ranks[*place][number as usize] + first,
        })
    }
}

/// A quasi-identifier and its values in each stream.
type QuasiParts<'a> = (&'a (QuasiSpec, DataType), Vec<SurveyedColumn>);

/// Distinct values of one column over all streams, ascending.
struct ValueUnion {
    values: ArrayRef,
    has_null: bool,
    rows: Option<Vec<u64>>,
    /// For each stream, the index into `values` of each of its numbers.
    numbers: Vec<Vec<u32>>,
}

impl ValueUnion {
    fn of(parts: Vec<SurveyedColumn>) -> Result<Self> {
        let has_null = parts.iter().any(|part| part.has_null);
        let sizes: Vec<usize> = parts.iter().map(|part| part.values.len()).collect();
        let arrays: Vec<&dyn Array> = parts.iter().map(|part| part.values.as_ref()).collect();
        let all = concat(&arrays).map_err(kernel("concat"))?;
        // Drops the values of the streams.
        let counts: Vec<Option<Vec<u64>>> = parts.into_iter().map(|part| part.rows).collect();
        let DenseRanks { rank, values } = DenseRanks::of(&all)?;
        drop(all);
        let mut numbers = Vec::with_capacity(sizes.len());
        let mut rest = rank;
        for size in sizes {
            let others = rest.split_off(size);
            numbers.push(std::mem::replace(&mut rest, others));
        }
        let rows = counts.iter().any(Option::is_some).then(|| {
            let mut rows = vec![0; values.len()];
            for (counts, numbers) in counts.iter().zip(&numbers) {
                let counts = counts.iter().flatten();
                numbers.iter().zip(counts).for_each(|(number, count)| rows[*number as usize] += count);
            }
            rows
        });
        Ok(Self { values, has_null, rows, numbers })
    }
}

/// One column of encoded tuples: maps the numbers of the streams to positions or codes.
#[derive(Clone, Debug)]
struct CodedColumn {
    /// Column index in the streams.
    column: usize,
    of_number: NumberCodes,
    of_null: u32,
}

/// Mapping of numbers to positions or codes.
#[derive(Clone, Debug)]
enum NumberCodes {
    /// For each stream, the position or code of each of its numbers.
    Known(Vec<Vec<u32>>),
    /// By the ranks of the chunk, offset by the position of the first value.
    Ranked { place: usize, first: u32 },
}

impl CodedColumn {
    /// Creates a column whose positions are the numbers plus `offset`.
    fn shifted(column: usize, mut numbers: Vec<Vec<u32>>, offset: u32, of_null: u32) -> Self {
        if offset > 0 {
            numbers.iter_mut().flatten().for_each(|number| *number += offset);
        }
        Self { column, of_number: NumberCodes::Known(numbers), of_null }
    }

    /// Creates a column whose ranks are known chunk by chunk.
    fn ranked(column: usize, place: usize, first: u32, of_null: u32) -> Self {
        Self { column, of_number: NumberCodes::Ranked { place, first }, of_null }
    }

    fn new(column: usize, mut numbers: Vec<Vec<u32>>, places: &[u32], of_null: u32) -> Self {
        for of_stream in &mut numbers {
            of_stream.iter_mut().for_each(|number| *number = places[*number as usize]);
        }
        Self { column, of_number: NumberCodes::Known(numbers), of_null }
    }
}
