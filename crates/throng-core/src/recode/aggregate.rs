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

use super::Labels;
use super::keys::{Keys, Members};
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

/// What clusters show of a column, and what is needed to tell what they lose.
#[derive(Debug, Default)]
pub(super) struct AggregateColumn {
    /// What is shown of the clusters, an array per part.
    shown: Vec<ArrayRef>,
    ranges: Keys,
    /// Of the numbers of each cluster.
    moments: Vec<Moments>,
}

/// The count, the mean and the squared deviations of some numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    rows: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn of(numbers: impl Iterator<Item = (f64, u64)> + Clone) -> Self {
        let rows = numbers.clone().map(|(_, rows)| rows as f64).sum::<f64>();
        if rows == 0.0 {
            return Self::default();
        }
        let mean = numbers.clone().map(|(value, count)| value * (count as f64 / rows)).sum::<f64>();
        let squares = numbers.map(|(value, count)| count as f64 * (value - mean).powi(2)).sum();
        Self { rows, mean, squares }
    }
}

impl AggregateColumn {
    /// Adds clusters with these members.
    pub(super) fn add(&mut self, quasi: &QuasiColumn, clusters: &[Members]) -> Result<()> {
        self.shown.push(shown(quasi, clusters)?);
        let line = match quasi.domain.kind() {
            Kind::Ordered { values, has_null } => distances(values).map(|line| (line, u32::from(*has_null))),
            Kind::Category(_) => None,
        };
        for members in clusters {
            self.ranges.push_range(members.range());
            let number = |(at, rows): &(u32, u64)| {
                let (line, first) = line.as_ref()?;
                Some((line[at.checked_sub(*first)? as usize], *rows))
            };
            self.moments.push(Moments::of(members.rows.iter().filter_map(number)));
        }
        Ok(())
    }

    /// The labels of the column, and the label of each cluster.
    pub(super) fn labels(&self, quasi: &QuasiColumn) -> Result<(Labels, Vec<u32>)> {
        let parts: Vec<&dyn Array> = self.shown.iter().map(AsRef::as_ref).collect();
        let (column, of_cluster) = distinct(&concat(&parts).map_err(kernel("concat"))?)?;
        let field = Field::new(&quasi.spec.name, column.data_type().clone(), true);
        let columns = vec![(field, column)];
        let labels = Labels { columns, ncp: Vec::new(), information_loss: Vec::new(), stands_for: Keys::default() };
        Ok((labels, of_cluster))
    }
}

/// What is shown of each of these clusters.
fn shown(quasi: &QuasiColumn, clusters: &[Members]) -> Result<ArrayRef> {
    Ok(match quasi.domain.kind() {
        Kind::Ordered { values, has_null } => {
            let members = clusters.iter().map(|members| numbers(members, *has_null));
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
        Kind::Category(tree) => Arc::new(clusters.iter().map(|members| mode(tree, members)).collect::<StringArray>()),
    })
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
    /// What is lost by clusters, each of which belongs to a class that shows a label.
    pub(super) fn of(
        quasi: &QuasiColumn,
        labels: &Labels,
        class_labels: &[u32],
        column: &AggregateColumn,
        class_of: &[u32],
    ) -> Result<Self> {
        let mut ranges: Vec<Option<(u32, u32)>> = vec![None; class_labels.len()];
        for (cluster, class) in class_of.iter().enumerate() {
            let wider = |a: (u32, u32), b: (u32, u32)| (a.0.min(b.0), a.1.max(b.1));
            let (range, more) = (&mut ranges[*class as usize], column.ranges.range(cluster));
            *range = range.zip(more).map(|(a, b)| wider(a, b)).or(more);
        }
        let of_range = |loss: fn(&crate::domain::Domain, u32, u32) -> f64| {
            ranges.iter().map(|range| range.map_or(0.0, |(lo, hi)| loss(&quasi.domain, lo, hi))).collect()
        };
        Ok(Self {
            ncp: of_range(crate::domain::Domain::loss),
            information_loss: of_range(crate::domain::Domain::information_loss),
            squared_errors: squared_errors(quasi, labels, class_labels, column, class_of)?,
        })
    }
}

fn squared_errors(
    quasi: &QuasiColumn,
    labels: &Labels,
    class_labels: &[u32],
    column: &AggregateColumn,
    class_of: &[u32],
) -> Result<Option<SquaredErrors>> {
    let Kind::Ordered { values, .. } = quasi.domain.kind() else { return Ok(None) };
    let shown = &labels.columns[0].1;
    // Labels on the same line as the values, of which the first is the least.
    let least = values.slice(0, values.len().min(1));
    let line = concat(&[least.as_ref(), shown.as_ref()]).map_err(kernel("concat"))?;
    let Some(line) = distances(&line) else { return Ok(None) };
    let of_label = &line[least.len()..];
    let moments = || column.moments.iter().zip(class_of);
    let total: f64 = moments().map(|(moments, _)| moments.rows).sum();
    let mean = moments().map(|(moments, _)| moments.mean * (moments.rows / total)).sum::<f64>();
    let (mut sse, mut sst) = (0.0, 0.0);
    for (moments, class) in moments() {
        let label = class_labels[*class as usize] as usize;
        let stand_in = if shown.is_valid(label) { of_label[label] } else { mean };
        sse += moments.squares + moments.rows * (moments.mean - stand_in).powi(2);
        sst += moments.squares + moments.rows * (moments.mean - mean).powi(2);
    }
    Ok(Some(SquaredErrors { sse, sst }))
}

#[cfg(test)]
#[path = "aggregate_tests.rs"]
mod tests;
