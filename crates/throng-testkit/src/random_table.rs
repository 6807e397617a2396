//! Strategies for random tables with mixed types, nulls, duplicates and corner cases.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListBuilder, StringBuilder, UInt32Array};
use arrow::compute::take;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use proptest::prelude::*;
use proptest::sample::select;
use throng_core::columns::{
    Categories, Category, ColumnRecoding, Limit, Nulls, Protection, QuasiSpec, SensitiveCoding, SensitiveSpec,
};
use throng_core::cover::CoverGrid;
use throng_core::hierarchy::{HierarchySpec, Tree};
use throng_core::survey::{MergedSurvey, SUPPRESSED, Survey, SurveySpec};

use crate::column::{QUASI, SENSITIVE, VALUES, array, spec};

/// A random table, column by column.
#[derive(Clone, Debug)]
pub struct RandomTable {
    /// The quasi-identifiers.
    pub quasi: Vec<(QuasiSpec, ArrayRef)>,
    /// The sensitive columns.
    pub sensitive: Vec<(SensitiveSpec, ArrayRef)>,
    /// Number of rows; all columns have as many.
    pub rows: usize,
}

impl RandomTable {
    /// Returns the survey specification of this table.
    pub fn spec(&self) -> Arc<SurveySpec> {
        Arc::new(SurveySpec {
            quasi: self.quasi.iter().map(|(spec, column)| (spec.clone(), column.data_type().clone())).collect(),
            sensitive: self.sensitive.iter().map(|(spec, column)| (spec.clone(), column.data_type().clone())).collect(),
        })
    }

    /// Returns all columns, quasi-identifiers first.
    pub fn columns(&self) -> Vec<ArrayRef> {
        let quasi = self.quasi.iter().map(|(_, column)| column);
        quasi.chain(self.sensitive.iter().map(|(_, column)| column)).cloned().collect()
    }

    /// Surveys the table as one batch. Also returns the group of each row, or [`SUPPRESSED`].
    pub fn survey(&self) -> throng_core::Result<(MergedSurvey, Vec<u32>)> {
        let mut survey = Survey::new(self.spec())?;
        let numbers = survey.push(&self.columns())?;
        let merged = Survey::merge(vec![survey])?;
        let group = |number: u32| if number == SUPPRESSED { SUPPRESSED } else { merged.groups[0][number as usize] };
        let groups = numbers.into_iter().map(group).collect();
        Ok((merged, groups))
    }

    /// Returns the table with its rows in another order.
    pub fn reordered(&self, order: &[u32]) -> Self {
        let order = UInt32Array::from(order.to_vec());
        let moved = |column: &ArrayRef| take(column, &order, None).unwrap();
        Self {
            quasi: self.quasi.iter().map(|(spec, column)| (spec.clone(), moved(column))).collect(),
            sensitive: self.sensitive.iter().map(|(spec, column)| (spec.clone(), moved(column))).collect(),
            rows: self.rows,
        }
    }

    /// Returns the table with as many sensitive columns as `looks`, each in one of these codings.
    pub fn with_codings(&self, looks: &[RandomCoding]) -> Self {
        let looked_at = |((spec, column), look): (&(SensitiveSpec, ArrayRef), &RandomCoding)| {
            let facets = vec![look.facet(column)];
            let column = if *look == RandomCoding::Lists { lists(column) } else { column.clone() };
            (SensitiveSpec { facets, ..spec.clone() }, column)
        };
        Self { sensitive: self.sensitive.iter().zip(looks).map(looked_at).collect(), ..self.clone() }
    }

    /// Returns the table with constraints on its quasi-identifiers: bands for numbers, levels for categories, none for
    /// dates.
    pub fn with_limits(&self) -> Self {
        let limited = |(spec, column): &(QuasiSpec, ArrayRef)| {
            let limit = match (spec.release.is_ordered(), column.data_type().is_numeric()) {
                (true, true) => Some(Limit::Bands(Arc::from([-50.0, 0.0, 20.0]))),
                (true, false) => None,
                (false, _) => Some(Limit::Level(1)),
            };
            (QuasiSpec { limit, ..spec.clone() }, column.clone())
        };
        Self { quasi: self.quasi.iter().map(limited).collect(), ..self.clone() }
    }

    /// Returns the table with covers for its intervals of numbers and dates, where a grid of seven fits the type.
    pub fn with_covers(&self) -> Self {
        let covered = |(spec, column): &(QuasiSpec, ArrayRef)| {
            let is_interval = matches!(spec.release, ColumnRecoding::Interval | ColumnRecoding::Bounds);
            let grid = CoverGrid::Width { width: 7.0, origin: 3.0 };
            let is_cut = spec.limit.is_some() && column.data_type().is_floating();
            let cover = (is_interval && !is_cut && grid.fits(column.data_type())).then_some(grid);
            (QuasiSpec { cover, ..spec.clone() }, column.clone())
        };
        Self { quasi: self.quasi.iter().map(covered).collect(), ..self.clone() }
    }
}

/// Coding of a sensitive column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomCoding {
    /// Plain values.
    Values,
    /// Values in a hierarchy with some protected nodes.
    Strong,
    /// Plain values, compared by a hierarchy.
    Leaves,
    /// Three categories of values.
    Categories,
    /// Lists of the value of the row and of those of some others, as text.
    Lists,
}

impl RandomCoding {
    fn facet(self, column: &ArrayRef) -> SensitiveCoding {
        let texts = distinct_texts(column);
        match self {
            Self::Values => SensitiveCoding::Values,
            Self::Lists => SensitiveCoding::Elements { are_text: true },
            Self::Strong => {
                let protected = vec!["part 1".to_owned(), "part 3".to_owned()];
                SensitiveCoding::Strong(Arc::new(Protection { hierarchy: Arc::new(hierarchy(&texts)), protected }))
            }
            Self::Leaves => SensitiveCoding::Leaves(Arc::new(hierarchy(&texts))),
            Self::Categories => {
                let values = |number| texts.iter().filter(|text| part(text, 3) == number).cloned().collect();
                let category = |number: u32| Category {
                    name: format!("category {number}"),
                    values: values(number),
                    ..Category::default()
                };
                SensitiveCoding::Categories(Arc::new(Categories { list: (0..3).map(category).collect() }))
            }
        }
    }
}

/// Puts the value of each row into a list, with up to two values of other rows. Some lists are empty.
fn lists(column: &ArrayRef) -> ArrayRef {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).unwrap();
    let nulls = column.logical_nulls();
    let text = |row: usize| {
        let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        is_valid.then(|| formatter.value(row).to_string())
    };
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in 0..column.len() {
        let others = (0..row % 4).map(|other| (row * 7 + other * 3) % column.len());
        for element in others.map(text) {
            lists.values().append_option(element);
        }
        lists.append(text(row).is_some());
    }
    Arc::new(lists.finish())
}

/// Puts texts into four parts below a root.
fn hierarchy(texts: &[String]) -> HierarchySpec {
    let path = |text: &String| vec![text.clone(), format!("part {}", part(text, 4)), "*".to_owned()];
    match Tree::from_paths(&texts.iter().map(path).collect::<Vec<_>>()) {
        Ok(tree) => HierarchySpec::Tree(Arc::new(tree)),
        // An all-null column has no values to build a tree of.
        Err(_) => HierarchySpec::Flat,
    }
}

/// Assigns a text to one of `parts` parts by hash.
fn part(text: &str, parts: u32) -> u32 {
    text.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % parts
}

fn distinct_texts(column: &ArrayRef) -> Vec<String> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).unwrap();
    let nulls = column.logical_nulls();
    let is_valid = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
    let texts: BTreeSet<String> =
        (0..column.len()).filter(is_valid).map(|row| formatter.value(row).to_string()).collect();
    texts.into_iter().collect()
}

/// Number of distinct values of a column.
#[derive(Clone, Copy, Debug)]
enum Repetition {
    /// Up to this many values.
    Few(u32),
    /// All values distinct, up to [`VALUES`] rows.
    Distinct,
}

#[derive(Clone, Copy, Debug)]
struct ColumnShape<K> {
    kind: K,
    spread: Repetition,
    /// About one row in `null_every` is null; zero disables nulls.
    null_every: u32,
    weight: f64,
    nulls: Nulls,
}

fn shape<K: Clone + std::fmt::Debug + 'static>(kinds: &'static [K]) -> impl Strategy<Value = ColumnShape<K>> {
    let spread = prop_oneof![
        1 => Just(Repetition::Few(1)),
        6 => (2_u32..8).prop_map(Repetition::Few),
        2 => (8_u32..60).prop_map(Repetition::Few),
        1 => Just(Repetition::Distinct),
    ];
    let nulls = prop_oneof![4 => Just(Nulls::Value), 1 => Just(Nulls::Suppress)];
    let null_every = prop_oneof![3 => Just(0), 1 => 2_u32..12];
    (select(kinds), spread, null_every, select(vec![1.0, 0.5, 3.0]), nulls)
        .prop_map(|(kind, spread, null_every, weight, nulls)| ColumnShape { kind, spread, null_every, weight, nulls })
}

/// Random tables with the given numbers of rows, quasi-identifiers and sensitive columns (at most 8 columns). A column
/// has at most 256 values, so in tables with more rows no column is all distinct.
pub fn tables(
    rows: RangeInclusive<usize>,
    quasi: RangeInclusive<usize>,
    sensitive: RangeInclusive<usize>,
) -> impl Strategy<Value = RandomTable> {
    // Rows and shapes are drawn separately, so that both shrink independently.
    let rows = prop::collection::vec(any::<[u32; 8]>(), rows);
    let quasi = prop::collection::vec(shape(&QUASI), quasi);
    let sensitive = prop::collection::vec(shape(&SENSITIVE), sensitive);
    (rows, quasi, sensitive).prop_map(|(rows, quasi, sensitive)| build(&rows, &quasi, &sensitive))
}

type QuasiKind = (crate::column::ColumnKind, throng_core::columns::ColumnRecoding, crate::column::Rule);

fn build(
    rows: &[[u32; 8]],
    quasi: &[ColumnShape<QuasiKind>],
    sensitive: &[ColumnShape<crate::column::ColumnKind>],
) -> RandomTable {
    let quasi_count = quasi.len();
    let quasi = quasi.iter().enumerate().map(|(index, shape)| {
        let (kind, release, rule) = shape.kind;
        let spec = spec(format!("q{index}"), release, rule, shape.weight, shape.nulls);
        (spec, array(kind, &numbers(rows, index, shape)))
    });
    let sensitive = sensitive.iter().enumerate().map(|(index, shape)| {
        let column = array(shape.kind, &numbers(rows, quasi_count + index, shape));
        (SensitiveSpec::plain(format!("s{index}")), column)
    });
    RandomTable { quasi: quasi.collect(), sensitive: sensitive.collect(), rows: rows.len() }
}

fn numbers<K>(rows: &[[u32; 8]], column: usize, shape: &ColumnShape<K>) -> Vec<Option<u32>> {
    let number = |(row, draws): (usize, &[u32; 8])| {
        let draw = draws[column];
        let is_null = shape.null_every > 0 && (draw >> 16) % shape.null_every == 0;
        let value = match shape.spread {
            Repetition::Few(values) => draw % values,
            // 37 is odd, so this permutes the numbers below 256.
            Repetition::Distinct => row as u32 * 37 % VALUES,
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
                Err(throng_core::CoreError::NoRows { suppressed }) => prop_assert_eq!(suppressed, table.rows as u64),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
