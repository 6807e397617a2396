//! Microaggregation: every row of a class shows one stand-in value, the mean, the median or the mode of the class.
//!
//! A mean is rounded to the column's own type. A class that mixes null with numbers shows null, because no number would
//! stand for all its rows. What such a column loses is not visible in its labels, so losses are kept per class: as if the
//! range of its rows were shown, and as squared errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringArray, UInt32Array};
use arrow::compute::{concat, take};
use arrow::datatypes::Field;
use arrow::row::{OwnedRow, RowConverter, SortField};

use super::{Labels, Members};
use crate::columns::Release;
use crate::domain::Kind;
use crate::error::{Error, Result, kernel};
use crate::hierarchy::Tree;
use crate::table::QuasiColumn;
use crate::values::{distances, means};

/// What the classes of a column lose, per class.
#[derive(Clone, Debug)]
pub(super) struct Aggregate {
    pub(super) ncp: Vec<f64>,
    pub(super) information_loss: Vec<f64>,
    pub(super) squared_errors: Option<SquaredErrors>,
}

/// Sums of squares over the rows of a release that have a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SquaredErrors {
    /// Between numbers and what is shown for them; where null is shown, the mean of the column stands for it.
    pub sse: f64,
    /// Between numbers and the mean of the column.
    pub sst: f64,
}

impl SquaredErrors {
    /// SSE / SST, which does not depend on the scale of the column; zero where all numbers are the same.
    pub fn ratio(self) -> f64 {
        if self.sst > 0.0 { self.sse / self.sst } else { 0.0 }
    }
}

/// The labels of a column for classes with these members, and the label of each class.
pub(super) fn build(quasi: &QuasiColumn, classes: &[Members]) -> Result<(Labels, Vec<u32>)> {
    let shown = match quasi.domain.kind() {
        Kind::Ordered { values, has_null } => {
            let members = classes.iter().map(|members| numbers(members, *has_null));
            match quasi.spec.release {
                Release::Median => {
                    let medians: UInt32Array = members.map(|rows| median(&rows)).collect();
                    take(values, &medians, None).map_err(kernel("take"))?
                }
                _ => means(values, &members.collect::<Vec<_>>()).ok_or_else(|| Error::Type {
                    column: quasi.spec.name.clone(),
                    data_type: values.data_type().to_string(),
                    role: "quasi-identifier with means",
                })?,
            }
        }
        Kind::Category(tree) => Arc::new(classes.iter().map(|members| mode(tree, members)).collect::<StringArray>()),
    };
    let (column, of_class) = distinct(&shown)?;
    let field = Field::new(&quasi.spec.name, column.data_type().clone(), true);
    Ok((Labels { columns: vec![(field, column)], ncp: Vec::new(), information_loss: Vec::new() }, of_class))
}

/// The distinct values of an array in ascending order, and the number of each row among them.
fn distinct(shown: &ArrayRef) -> Result<(ArrayRef, Vec<u32>)> {
    let converter = RowConverter::new(vec![SortField::new(shown.data_type().clone())]).map_err(kernel("rows"))?;
    let rows = converter.convert_columns(std::slice::from_ref(shown)).map_err(kernel("rows"))?;
    let keys: Vec<OwnedRow> = rows.iter().map(|row| row.owned()).collect();
    let mut places: BTreeMap<&OwnedRow, (u32, u32)> = keys.iter().zip(0..).map(|(key, row)| (key, (row, 0))).collect();
    for ((_, place), number) in places.values_mut().zip(0..) {
        *place = number;
    }
    let first: UInt32Array = places.values().map(|(row, _)| Some(*row)).collect();
    let column = take(shown, &first, None).map_err(kernel("take"))?;
    Ok((column, keys.iter().map(|key| places[key].1).collect()))
}

/// The values of a class as indices without null, with their rows; nothing where null is among them.
fn numbers(members: &Members, has_null: bool) -> Vec<(u32, u64)> {
    let first = u32::from(has_null);
    let numbers = members.rows.iter().map(|(position, rows)| Some((position.checked_sub(first)?, *rows)));
    numbers.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The lower median.
fn median(rows: &[(u32, u64)]) -> Option<u32> {
    let total: u64 = rows.iter().map(|(_, rows)| rows).sum();
    let mut seen = 0;
    let reaches_half = |(_, rows): &&(u32, u64)| {
        seen += rows;
        2 * seen >= total
    };
    rows.iter().find(reaches_half).map(|(index, _)| *index)
}

/// The most frequent value, the first in the hierarchy among equals.
fn mode<'a>(tree: &'a Tree, members: &Members) -> Option<&'a str> {
    let most = members.rows.iter().max_by_key(|(position, rows)| (*rows, std::cmp::Reverse(*position)))?.0;
    (tree.null_leaf() != Some(most)).then(|| tree.label(tree.leaf_node(most)))
}

impl Aggregate {
    /// What is lost by clusters with these members, each of which belongs to a class that shows a label.
    pub(super) fn of(
        quasi: &QuasiColumn,
        labels: &Labels,
        class_labels: &[u32],
        clusters: &[(u32, &Members)],
    ) -> Result<Self> {
        let mut ranges: Vec<Option<(u32, u32)>> = vec![None; class_labels.len()];
        for (class, members) in clusters {
            let wider = |a: (u32, u32), b: (u32, u32)| (a.0.min(b.0), a.1.max(b.1));
            let range = &mut ranges[*class as usize];
            *range = range.zip(members.range()).map(|(a, b)| wider(a, b)).or(members.range());
        }
        let of_range = |loss: fn(&crate::domain::Domain, u32, u32) -> f64| {
            ranges.iter().map(|range| range.map_or(0.0, |(lo, hi)| loss(&quasi.domain, lo, hi))).collect()
        };
        Ok(Self {
            ncp: of_range(crate::domain::Domain::loss),
            information_loss: of_range(crate::domain::Domain::information_loss),
            squared_errors: squared_errors(quasi, labels, class_labels, clusters)?,
        })
    }
}

fn squared_errors(
    quasi: &QuasiColumn,
    labels: &Labels,
    class_labels: &[u32],
    clusters: &[(u32, &Members)],
) -> Result<Option<SquaredErrors>> {
    let Kind::Ordered { values, has_null } = quasi.domain.kind() else { return Ok(None) };
    let shown = &labels.columns[0].1;
    let line = concat(&[values.as_ref(), shown.as_ref()]).map_err(kernel("concat"))?;
    let Some(line) = distances(&line) else { return Ok(None) };
    let (values, of_label) = line.split_at(values.len());
    let first = u32::from(*has_null);
    let rows = || {
        let of_class = |(class, members): &(u32, &Members)| (*class, members.rows.clone());
        let all = clusters.iter().map(of_class).flat_map(|(class, rows)| rows.into_iter().map(move |row| (class, row)));
        all.filter_map(|(class, (at, rows))| Some((class, values[at.checked_sub(first)? as usize], rows as f64)))
    };
    let total: f64 = rows().map(|(_, _, rows)| rows).sum();
    let mean = rows().map(|(_, value, rows)| value * (rows / total)).sum::<f64>();
    let (mut sse, mut sst) = (0.0, 0.0);
    for (class, value, rows) in rows() {
        let label = class_labels[class as usize] as usize;
        let stand_in = if shown.is_valid(label) { of_label[label] } else { mean };
        sse += rows * (value - stand_in).powi(2);
        sst += rows * (value - mean).powi(2);
    }
    Ok(Some(SquaredErrors { sse, sst }))
}

#[cfg(test)]
#[path = "aggregate_tests.rs"]
mod tests;
