//! Microaggregation: every row of a class shows one aggregate, the mean, median or mode of the class.
//!
//! A mean is rounded to the type of the column. A class that mixes null with numbers shows null, because no number
//! represents all its rows. Labels do not show the loss of such a column, so losses are kept per class: as if the range
//! of its rows were released, and as squared errors.

use arrow::array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow::compute::{concat, take};
use arrow::datatypes::Field;

use super::Labels;
use super::cluster_aggregates::{ClusterAggregate, Moments, shown};
use super::label_keys::LabelKeys;
use crate::domain::DomainKind;
use crate::error::{Result, kernel};
use crate::numeric_view::distances;
use crate::survey::DenseRanks;
use crate::table::QuasiColumn;

/// Losses of one column, per class.
#[derive(Clone, Debug)]
pub(super) struct AggregateLosses {
    pub(super) ncp: Vec<f64>,
    pub(super) information_loss: Vec<f64>,
    pub(super) squared_errors: Option<SquaredErrors>,
}

/// Sums of squares over the rows of a release that have a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SquaredErrors {
    /// Between numbers and the released aggregates; a released null counts as the mean of the column.
    pub sse: f64,
    /// Between numbers and the mean of the column.
    pub sst: f64,
}

impl SquaredErrors {
    /// Returns SSE / SST, which does not depend on the scale of the column; zero if all numbers are equal.
    pub fn ratio(self) -> f64 {
        if self.sst > 0.0 { self.sse / self.sst } else { 0.0 }
    }
}

/// Aggregates of the clusters of one column, and the inputs of their losses.
#[derive(Debug, Default)]
pub(super) struct AggregateColumn {
    /// Released aggregates, one array per part.
    shown: Vec<ArrayRef>,
    ranges: LabelKeys,
    /// Moments of the numbers of each cluster.
    moments: Vec<Moments>,
}

impl AggregateColumn {
    /// Adds clusters with their aggregates and ranges of positions.
    pub(super) fn add(
        &mut self,
        quasi: &QuasiColumn,
        aggregates: &[ClusterAggregate],
        ranges: impl Iterator<Item = Option<(u32, u32)>>,
    ) -> Result<()> {
        self.shown.push(shown(quasi, aggregates)?);
        self.moments.extend(aggregates.iter().map(|aggregate| aggregate.moments));
        ranges.for_each(|range| self.ranges.push_range(range));
        Ok(())
    }

    /// Returns the labels of the column, and the label of each cluster.
    pub(super) fn labels(&self, quasi: &QuasiColumn) -> Result<(Labels, Vec<u32>)> {
        let parts: Vec<&dyn Array> = self.shown.iter().map(AsRef::as_ref).collect();
        let (column, of_cluster) = distinct(&concat(&parts).map_err(kernel("concat"))?)?;
        let field = Field::new(&quasi.spec.name, column.data_type().clone(), true);
        let columns = vec![(field, column)];
        let labels =
            Labels { columns, ncp: Vec::new(), information_loss: Vec::new(), stands_for: LabelKeys::default() };
        Ok((labels, of_cluster))
    }
}

/// Returns the distinct values of an array in ascending order, null first, and the rank of each row among them.
fn distinct(shown: &ArrayRef) -> Result<(ArrayRef, Vec<u32>)> {
    if shown.null_count() == 0 {
        let DenseRanks { rank, values } = DenseRanks::of(shown)?;
        return Ok((values, rank));
    }
    let valid: UInt32Array = (0..shown.len() as u32).filter(|row| shown.is_valid(*row as usize)).collect();
    let DenseRanks { rank, values } = DenseRanks::of(&take(shown, &valid, None).map_err(kernel("take"))?)?;
    let mut number_of = vec![0; shown.len()];
    valid.values().iter().zip(rank).for_each(|(row, rank)| number_of[*row as usize] = rank + 1);
    let null = new_null_array(shown.data_type(), 1);
    Ok((concat(&[null.as_ref(), values.as_ref()]).map_err(kernel("concat"))?, number_of))
}

impl AggregateLosses {
    /// Computes losses per class from the ranges and moments of its clusters.
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
    let DomainKind::Ordered { values, .. } = quasi.domain.kind() else { return Ok(None) };
    let shown = &labels.columns[0].1;
    // Measures labels as distances from the least value, which is the first.
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
        let released = if shown.is_valid(label) { of_label[label] } else { mean };
        sse += moments.squares + moments.rows * (moments.mean - released).powi(2);
        sst += moments.squares + moments.rows * (moments.mean - mean).powi(2);
    }
    Ok(Some(SquaredErrors { sse, sst }))
}

#[cfg(test)]
#[path = "aggregate_column_tests.rs"]
mod tests;
