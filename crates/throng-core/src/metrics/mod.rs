//! Utility metrics of a release. Everything here is computed from its classes and labels.

mod avg;
mod distribution_shift;
mod dm;
mod estimated_ncp;
mod granularity;
mod information_loss;
mod ncp;
mod sse_sst;

pub use avg::avg;
pub use distribution_shift::{DistributionShift, DomainSlice, Marginals, SlicedMarginal, SlicedRows};
pub use dm::dm;
pub use estimated_ncp::estimated_ncp;
pub use granularity::{DETAIL_STEPS, granularity};
pub use information_loss::information_loss;
pub use ncp::{ncp, weighted_ncp};
pub use sse_sst::sse_sst;

use crate::bound::{BoundedMeasure, LowerBound};
use crate::recode::{Recoding, SquaredErrors};
use crate::table::Table;

/// Utility metrics of a release.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Utility {
    /// Number of equivalence classes of the release.
    pub classes: u64,
    /// Normalized average class size; 1 is the optimum for k.
    pub avg: f64,
    /// The discernibility metric.
    pub dm: u64,
    /// The mean NCP over rows and quasi-identifiers, in [0, 1].
    pub ncp: f64,
    /// Mean NCP weighted by the weights of the quasi-identifiers.
    pub weighted_ncp: f64,
    /// Mean of SSE / SST over the quasi-identifiers that release means or medians, if any.
    pub sse_sst: Option<f64>,
    /// Total information loss [Truta 2007, Def. 10].
    pub information_loss: f64,
    /// Metrics of each quasi-identifier.
    pub columns: Vec<ColumnUtility>,
    /// Lower bound of the loss of any release, if it was computed.
    pub bound: Option<LowerBound>,
}

/// Metrics of one quasi-identifier.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColumnUtility {
    /// Its name in the input.
    pub name: String,
    /// The mean NCP over rows.
    pub ncp: f64,
    /// Contribution to the total information loss.
    pub information_loss: f64,
    /// SSE / SST, if it releases means or medians.
    pub sse_sst: Option<f64>,
    /// Number of rows in each of [`DETAIL_STEPS`]; `None` if it releases aggregates.
    pub detail: Option<[u64; DETAIL_STEPS.len()]>,
    /// Distribution shift, if requested and permitted.
    pub change: Option<DistributionShift>,
}

impl Utility {
    /// Computes the metrics of a release.
    pub fn of(table: &Table, recoding: &Recoding, k: u64) -> Self {
        let sizes = recoding.class_rows();
        let rows: u64 = sizes.iter().sum();
        // A hidden column comes last.
        let shown = || table.quasi().iter().filter(|quasi| !quasi.spec.is_hidden());
        let columns: Vec<ColumnUtility> = shown()
            .enumerate()
            .map(|(column, quasi)| ColumnUtility {
                name: quasi.spec.name.clone(),
                ncp: ncp(recoding, column),
                information_loss: information_loss(recoding, column),
                sse_sst: recoding.squared_errors(column).map(SquaredErrors::ratio),
                detail: granularity(recoding, column),
                change: None,
            })
            .collect();
        let weights: Vec<f64> = shown().map(|quasi| quasi.spec.weight).collect();
        Self {
            classes: sizes.len() as u64,
            avg: avg(rows, sizes.len() as u64, k),
            dm: dm(sizes),
            ncp: columns.iter().map(|column| column.ncp).sum::<f64>() / columns.len().max(1) as f64,
            weighted_ncp: weighted_ncp(&columns, &weights),
            sse_sst: sse_sst(&columns),
            information_loss: columns.iter().map(|column| column.information_loss).sum(),
            columns,
            bound: None,
        }
    }

    /// Returns how far the release is above its lower bound, relative to it; `None` without a bound above zero.
    pub fn gap(&self) -> Option<f64> {
        let bound = self.bound?;
        let loss = match bound.measure {
            BoundedMeasure::Ncp => self.weighted_ncp,
            BoundedMeasure::SseSst => self.sse_sst?,
        };
        bound.gap(loss)
    }

    /// Sets the distribution shift of each column.
    pub fn with_changes(mut self, changes: Vec<Option<DistributionShift>>) -> Self {
        self.columns.iter_mut().zip(changes).for_each(|(column, change)| column.change = change);
        self
    }
}

/// Sums a per-class loss over all rows.
fn total(recoding: &Recoding, of_class: impl Fn(u32) -> f64) -> f64 {
    recoding.class_rows().iter().zip(0..).map(|(rows, class)| *rows as f64 * of_class(class)).sum()
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
