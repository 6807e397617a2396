//! Lower bounds: the least loss that any release of a table under a policy can have.
//!
//! A search finds good classes, but can't say how much better others would be. This module proves that no release loses
//! less than a number, so a release is known to be within a given percentage of the best possible one.
//!
//! ```text
//!  table ─► limit blocks ─► cells ─► balls ─► nearest boxes ─► prices, sweep by sweep ─► bound
//!                                                              (every sweep gives a valid bound)
//! ```
//!
//! # What is bounded
//!
//! The mean NCP over rows and quasi-identifiers, with the weights of the search: `weighted_ncp`, which is `ncp` where
//! all weights are equal. If every quasi-identifier releases a mean or a median, SSE / SST instead
//! (`squared_errors.rs`).
//!
//! A *release under the policy* divides the rows that it keeps into classes that satisfy the privacy models, and keeps
//! all rows but those that every release must suppress ([`crate::partition::FeasibleRegions`]).
//!
//! # Classes and boxes
//!
//! A class `C` spans a range in every column: a node of the hierarchy, or an interval. Their product is its *box* `B`. Let
//! `loss(B)` be the weighted mean NCP of a row in a class that spans `B`. Then for every release
//!
//! 1. a row of `C` loses at least `loss(B)`: labels cover all rows of the class. The numeric range that losses are
//!    relative to is at most that of the rows kept, classes with equal labels become one larger class, and columns that
//!    release aggregates lose as if they showed the range. A set of two or more values loses at least as much as a set
//!    of two, which is how sets are counted. A class of null and numbers loses the whole column;
//! 2. the rows of the table in `B` satisfy the *counted models*: at least `k` rows, and at least `p` distinct values of
//!    each sensitive column. `C` does, and rows that join neither take away rows nor values. Models that count neither are
//!    ignored. Fewer requirements allow more releases, so the bound stays valid, and may be lower than necessary;
//! 3. `B` lies in one limit block. No class crosses a block boundary, so the bounds of blocks add up.
//!
//! A class may have any rows of a cell, including borrowed ones: nothing below assumes that cells stay whole.
//!
//! # Prices
//!
//! Let every row have a *price* `π ≥ 0` such that the prices of the rows of any class `C` add up to at most `|C|
//! loss(B)`. Then the total loss of a release, which is the sum of `|C| loss(B)` over its classes, is at least the sum of
//! all prices (weak duality of the linear program that chooses classes to cover rows).
//!
//! **Lemma.** It suffices that in every box `B` that satisfies the counted models the `k` highest prices of rows in `B` add up to
//! at most `k loss(B)`. *Proof.* `C` has `m ≥ k` rows. The mean of the `m` highest prices in `B` is at most the mean of
//! the `k` highest, which is at most `loss(B)`, so the prices in `C` add up to at most `m loss(B)`. ∎
//!
//! A row in a cell that satisfies the counted models alone has price 0, because the box of that cell loses nothing.
//!
//! **Repair.** For any prices `π > 0` let `ratio(B)` be `k loss(B)` over the sum of the `k` highest prices in `B`, and `s` of a
//! row the least ratio of all boxes around it. Then `s π` satisfies the lemma. *Proof.* Any `k` rows of `B` have `Σ s π ≤
//! ratio(B) Σ π ≤ ratio(B)` times the sum of the `k` highest prices, which is `k loss(B)`. ∎
//!
//! So every sweep over the boxes gives a valid bound, whatever prices it starts from, and all rows are repaired at once,
//! in parallel:
//!
//! - With equal prices, `s` of a row is the loss of the *nearest box*: the cheapest box around it that satisfies the
//!   models.
//! - With prices that satisfy the lemma no ratio is below 1, so a sweep never lowers the bound (*raising*).
//! - Raising ends where every row is in a tight box, which need not be the best: a row between two others may hold both
//!   down. *Balancing* sweeps therefore lower the prices of rows that many nearly tight boxes press on, and raise the others
//!   (`ascent.rs`), as multiplicative weights do in packing programs [Plotkin 1995]. Their result is only a start for repair.
//!
//! # Relaxed boxes
//!
//! Where a table has two to four numeric columns, all but one are divided into bins, as far as a list of cells has many
//! values: a class whose ends are in two bins loses at least the distance between these bins, and its box may contain
//! all rows of both. This makes boxes larger and cheaper, and the bound lower, but keeps 1 and 2 true. With more
//! numeric columns only *balls* are used (`ball.rs`): the class of a row has `k` rows and `p` values, so it loses at
//! least as much as the row and the nearest rows that provide them lose in pairs.
//!
//! Sums are computed in double precision; the result is lowered by a billionth, which is more than their rounding.

mod ascent;
mod axes;
mod ball;
mod block;
mod boxes;
mod interval;
mod squared_errors;
mod top_rows;

use rayon::prelude::*;

use self::ascent::{BlockAscent, SweepKind};
use self::block::CountedModels;
use self::boxes::StopSignal;
use crate::columns::ColumnRecoding;
use crate::model::Privacy;
use crate::partition::FeasibleRegions;
use crate::table::Table;

/// Number of sweeps of an epoch, unless the table is large.
const SWEEPS: u64 = 64;

/// Cells times sweeps of an epoch; an epoch has at least [`MIN_SWEEPS`] or none.
const CELL_SWEEPS: u64 = 1 << 19;
const MIN_SWEEPS: u64 = 4;

/// Number of raising sweeps at the beginning of the first epoch, and at the end of every epoch.
const FIRST_RAISES: u64 = 2;
const LAST_RAISES: u64 = 4;

/// Relative margin for rounding.
const ROUNDING: f64 = 1e-9;

/// How much work a bound may take.
#[derive(Clone, Copy)]
pub struct BoundEffort<'a> {
    /// Maximum number of epochs of sweeps. Each has twice the sweeps of the one before.
    pub epochs: u32,
    /// Maximum number of boxes and cells visited.
    pub work: u64,
    /// Polled often; once it returns false, the best bound so far is returned.
    pub may_continue: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> BoundEffort<'a> {
    /// Default of [`BoundEffort::work`].
    pub const WORK: u64 = 1 << 31;

    /// One epoch with the default amount of work.
    pub fn once(may_continue: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { epochs: 1, work: Self::WORK, may_continue }
    }

    /// Epochs until `may_continue` returns false.
    pub fn until(may_continue: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { epochs: u32::MAX, work: u64::MAX, may_continue }
    }
}

/// The measure that a bound is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BoundedMeasure {
    /// Weighted mean NCP ([`crate::metrics::Utility::weighted_ncp`]).
    Ncp,
    /// SSE / SST ([`crate::metrics::Utility::sse_sst`]).
    SseSst,
}

impl BoundedMeasure {
    /// Returns the name of the measure in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ncp => "ncp",
            Self::SseSst => "sse_sst",
        }
    }
}

/// A proven lower bound of the loss of any release.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LowerBound {
    /// The measure of loss that is bounded.
    pub measure: BoundedMeasure,
    /// The bound: no release has a lower value.
    pub value: f64,
    /// Number of completed sweeps.
    pub sweeps: u32,
}

impl LowerBound {
    /// Returns how far a loss is above the bound, relative to it; `None` if the bound is zero.
    pub fn gap(&self, loss: f64) -> Option<f64> {
        (self.value > 0.0).then(|| (loss / self.value - 1.0).max(0.0))
    }
}

/// Computes a lower bound of the loss of any release of a table.
pub fn lower_bound(table: &Table, privacy: &Privacy, effort: BoundEffort<'_>) -> LowerBound {
    let models = CountedModels::of(privacy);
    let regions = FeasibleRegions::of(table, privacy);
    let kept: Vec<u32> = regions.classes.concat();
    let is_aggregate = |release| matches!(release, ColumnRecoding::Mean | ColumnRecoding::Median);
    if !table.quasi().is_empty() && table.quasi().iter().all(|quasi| is_aggregate(quasi.spec.release)) {
        let value = squared_errors::sse_sst(table, &models, &regions.classes, effort.may_continue);
        return LowerBound { measure: BoundedMeasure::SseSst, value: lowered(value), sweeps: 0 };
    }
    let rows: u64 = kept.iter().map(|cell| table.cell_rows(*cell)).sum();
    let stop = StopSignal::new(effort);
    let block = |cells: &Vec<u32>| BlockAscent::new(table, &models, cells.clone(), &kept, &stop);
    let mut blocks: Vec<BlockAscent<'_>> = regions.classes.par_iter().map(block).collect();
    let sweeps = raise(&mut blocks, effort.epochs, &stop);
    let total: f64 = blocks.iter().map(BlockAscent::best).sum();
    LowerBound { measure: BoundedMeasure::Ncp, value: lowered(total / rows.max(1) as f64), sweeps }
}

fn lowered(value: f64) -> f64 {
    value * (1.0 - ROUNDING)
}

/// Sweeps over all blocks, and returns the number of complete sweeps.
fn raise(blocks: &mut [BlockAscent<'_>], epochs: u32, stop: &StopSignal<'_>) -> u32 {
    let mut done = 0;
    let mut sweep = |blocks: &mut [BlockAscent<'_>], kind: SweepKind| {
        let is_whole = blocks.par_iter_mut().map(|block| block.sweep(kind, stop)).reduce(|| true, |a, b| a && b);
        done += u32::from(is_whole);
        is_whole
    };
    if !sweep(blocks, SweepKind::Nearest) {
        return done;
    }
    let cells: u64 = blocks.iter().map(BlockAscent::cells).sum();
    let mut length = (CELL_SWEEPS / cells.max(1)).min(SWEEPS);
    if length < MIN_SWEEPS && epochs > 1 {
        length = MIN_SWEEPS;
    }
    for epoch in 0..epochs {
        for at in 0..if length < MIN_SWEEPS { 0 } else { length } {
            let is_raise = (epoch == 0 && at < FIRST_RAISES) || at + LAST_RAISES >= length;
            let kind = match is_raise {
                true => SweepKind::Raise,
                false => SweepKind::Balance { progress: at as f64 / length as f64 },
            };
            if !sweep(blocks, kind) {
                return done;
            }
        }
        if blocks.iter().all(BlockAscent::is_done) || length < MIN_SWEEPS {
            break;
        }
        length = length.saturating_mul(2);
    }
    done
}

#[cfg(test)]
#[path = "bound_tests.rs"]
mod tests;
