//! Random tables: mixed types, nulls, duplicates, and the corner cases that real tables have.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use proptest::prelude::*;
use proptest::sample::select;
use throng_core::columns::{Nulls, QuasiSpec};
use throng_core::survey::{Merged, SUPPRESSED, Survey, SurveySpec};

use crate::column::{QUASI, SENSITIVE, VALUES, array, spec};

/// A table of people, column by column.
#[derive(Clone, Debug)]
pub struct RandomTable {
    /// The quasi-identifiers.
    pub quasi: Vec<(QuasiSpec, ArrayRef)>,
    /// The sensitive columns with their names.
    pub sensitive: Vec<(String, ArrayRef)>,
    /// How many rows there are.
    pub rows: usize,
}

impl RandomTable {
    /// What a survey of this table looks at.
    pub fn spec(&self) -> Arc<SurveySpec> {
        Arc::new(SurveySpec {
            quasi: self.quasi.iter().map(|(spec, column)| (spec.clone(), column.data_type().clone())).collect(),
            sensitive: self.sensitive.iter().map(|(name, column)| (name.clone(), column.data_type().clone())).collect(),
        })
    }

    /// All columns, the quasi-identifiers first.
    pub fn columns(&self) -> Vec<ArrayRef> {
        let quasi = self.quasi.iter().map(|(_, column)| column);
        quasi.chain(self.sensitive.iter().map(|(_, column)| column)).cloned().collect()
    }

    /// Surveys the table as one batch. Also tells the group of each row, or [`SUPPRESSED`].
    pub fn survey(&self) -> throng_core::Result<(Merged, Vec<u32>)> {
        let mut survey = Survey::new(self.spec())?;
        let numbers = survey.push(&self.columns())?;
        let merged = Survey::merge(vec![survey])?;
        let group = |number: u32| if number == SUPPRESSED { SUPPRESSED } else { merged.groups[0][number as usize] };
        let groups = numbers.into_iter().map(group).collect();
        Ok((merged, groups))
    }

    /// The same rows in another order.
    pub fn reordered(&self, order: &[u32]) -> Self {
        let order = UInt32Array::from(order.to_vec());
        let moved = |column: &ArrayRef| take(column, &order, None).unwrap();
        Self {
            quasi: self.quasi.iter().map(|(spec, column)| (spec.clone(), moved(column))).collect(),
            sensitive: self.sensitive.iter().map(|(name, column)| (name.clone(), moved(column))).collect(),
            rows: self.rows,
        }
    }

    /// The same table with its first sensitive columns only.
    pub fn with_sensitive(&self, count: usize) -> Self {
        Self { sensitive: self.sensitive[..count].to_vec(), ..self.clone() }
    }
}

/// How often values of a column repeat.
#[derive(Clone, Copy, Debug)]
enum Spread {
    /// So many values.
    Few(u32),
    /// No row like another.
    Distinct,
}

#[derive(Clone, Copy, Debug)]
struct Shape<K> {
    kind: K,
    spread: Spread,
    /// One row in so many is null; none with zero.
    null_every: u32,
    weight: f64,
    nulls: Nulls,
}

fn shape<K: Clone + std::fmt::Debug + 'static>(kinds: &'static [K]) -> impl Strategy<Value = Shape<K>> {
    let spread = prop_oneof![
        1 => Just(Spread::Few(1)),
        6 => (2_u32..8).prop_map(Spread::Few),
        2 => (8_u32..60).prop_map(Spread::Few),
        1 => Just(Spread::Distinct),
    ];
    let nulls = prop_oneof![4 => Just(Nulls::Value), 1 => Just(Nulls::Suppress)];
    let null_every = prop_oneof![3 => Just(0), 1 => 2_u32..12];
    (select(kinds), spread, null_every, select(vec![1.0, 0.5, 3.0]), nulls)
        .prop_map(|(kind, spread, null_every, weight, nulls)| Shape { kind, spread, null_every, weight, nulls })
}

/// Random tables with so many rows, quasi-identifiers and sensitive columns (up to 8 together). A column has up to 256
/// values, so that no column of a table with more rows is all distinct.
pub fn tables(
    rows: RangeInclusive<usize>,
    quasi: RangeInclusive<usize>,
    sensitive: RangeInclusive<usize>,
) -> impl Strategy<Value = RandomTable> {
    // Rows are drawn apart from shapes, so that both shrink on their own.
    let rows = prop::collection::vec(any::<[u32; 8]>(), rows);
    let quasi = prop::collection::vec(shape(&QUASI), quasi);
    let sensitive = prop::collection::vec(shape(&SENSITIVE), sensitive);
    (rows, quasi, sensitive).prop_map(|(rows, quasi, sensitive)| build(&rows, &quasi, &sensitive))
}

type QuasiKind = (crate::column::Kind, throng_core::columns::Release, crate::column::Rule);

fn build(rows: &[[u32; 8]], quasi: &[Shape<QuasiKind>], sensitive: &[Shape<crate::column::Kind>]) -> RandomTable {
    let quasi_count = quasi.len();
    let quasi = quasi.iter().enumerate().map(|(index, shape)| {
        let (kind, release, rule) = shape.kind;
        let spec = spec(format!("q{index}"), release, rule, shape.weight, shape.nulls);
        (spec, array(kind, &numbers(rows, index, shape)))
    });
    let sensitive = sensitive
        .iter()
        .enumerate()
        .map(|(index, shape)| (format!("s{index}"), array(shape.kind, &numbers(rows, quasi_count + index, shape))));
    RandomTable { quasi: quasi.collect(), sensitive: sensitive.collect(), rows: rows.len() }
}

fn numbers<K>(rows: &[[u32; 8]], column: usize, shape: &Shape<K>) -> Vec<Option<u32>> {
    let number = |(row, draws): (usize, &[u32; 8])| {
        let draw = draws[column];
        let is_null = shape.null_every > 0 && (draw >> 16) % shape.null_every == 0;
        let value = match shape.spread {
            Spread::Few(values) => draw % values,
            // 37 is odd, so that all numbers below 256 come once.
            Spread::Distinct => row as u32 * 37 % VALUES,
        };
        (!is_null).then_some(value)
    };
    rows.iter().enumerate().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    proptest! {
        #![proptest_config(cases(64))]

        #[test]
        fn every_table_can_be_surveyed(table in tables(1..=200, 1..=4, 0..=3)) {
            prop_assert!(table.columns().iter().all(|column| column.len() == table.rows));
            match table.survey() {
                Ok((merged, groups)) => {
                    prop_assert_eq!(merged.table.rows() + merged.suppressed, table.rows as u64);
                    prop_assert_eq!(groups.len(), table.rows);
                }
                Err(throng_core::Error::NoRows { suppressed }) => prop_assert_eq!(suppressed, table.rows as u64),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
