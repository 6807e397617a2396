//! How the distribution of a quasi-identifier changed, without telling what the release hides.
//!
//! Whoever reads a release spreads the rows of a class evenly over what its label stands for. That distribution is public.
//! How far it is from the original is one number over all rows. The original itself is told only in steps of at least k
//! rows and at least one in a hundred, so that no group below k shows, and nobody's coming or going does:
//!
//! ```text
//!  domain   |----|----|----|----| ... |     20 slices: of a number by its value, of a category in the order of the tree
//!  release     2    9   40  120             neighbours are joined until a slice has a step's worth of released rows
//!           |---------|----|----|
//!  original     0       40  100             rows of the input, to the nearest step
//! ```
//!
//! Where the slices end is decided by released rows and never by the original. A table of fewer than ten steps shows the
//! distance alone.

use rayon::prelude::*;

use crate::columns::ColumnRecoding;
use crate::domain::{Domain, DomainKind};
use crate::recode::Recoding;
use crate::table::{QuasiColumn, Table};

/// So many slices a domain has before some are joined.
const SLICES: usize = 20;

/// A share of the rows is told in steps of one over this.
const STEPS: u64 = 100;

/// A table with fewer steps than this is too small for its distributions to be told.
const LEAST_STEPS: u64 = 10;

/// How often each position occurs in each quasi-identifier of the input.
#[derive(Debug)]
pub struct Marginals {
    /// None for a column of stand-ins.
    columns: Vec<Option<Vec<u64>>>,
}

/// How the distribution of one quasi-identifier changed.
#[derive(Clone, Debug, PartialEq)]
pub struct DistributionShift {
    /// The share of the rows that a reader of the release would put into another slice of the domain (total variation).
    pub distance: f64,
    /// The distributions, in steps; empty for a table that is too small.
    pub slices: Vec<DomainSlice>,
}

/// A slice of a domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DomainSlice {
    /// Where it ends, as a share of the domain. It begins where the one before ends.
    pub end: f64,
    /// The share of the rows of the input, to the nearest step.
    pub before: f64,
    /// The share of the rows of the release as a reader spreads them, to the nearest step.
    pub after: f64,
}

impl Marginals {
    /// No rows yet, of a table or of one like it.
    pub fn new(table: &Table) -> Self {
        let column = |quasi: &QuasiColumn| (!quasi.spec.release.is_aggregate()).then(|| vec![0; quasi.domain.len()]);
        Self { columns: table.quasi().iter().map(column).collect() }
    }

    /// Adds the cells of a part.
    pub fn add(&mut self, part: &Table) {
        let columns = self.columns.par_iter_mut().enumerate();
        columns.filter_map(|(at, rows)| rows.as_mut().map(|rows| (at, rows))).for_each(|(at, rows)| {
            (0..part.cell_count() as u32)
                .for_each(|cell| rows[part.positions(cell)[at] as usize] += part.cell_rows(cell));
        });
    }

    /// What the counts take of the memory.
    pub fn size(&self) -> usize {
        self.columns.iter().flatten().map(|rows| rows.len() * 8).sum()
    }

    /// How each column changed; none for those that show stand-ins, or one value only.
    pub fn changes(&self, table: &Table, recoding: &Recoding, k: u64) -> Vec<Option<DistributionShift>> {
        let columns = self.columns.par_iter().zip(table.quasi()).enumerate();
        columns.map(|(at, (rows, quasi))| change(quasi, rows.as_ref()?, recoding, at, k)).collect()
    }
}

fn change(quasi: &QuasiColumn, input: &[u64], recoding: &Recoding, column: usize, k: u64) -> Option<DistributionShift> {
    let (domain, is_set) = (&quasi.domain, quasi.spec.release == ColumnRecoding::Set);
    let labels = recoding.columns()[column].len();
    let mut released = vec![0; labels];
    for (class, rows) in recoding.class_rows().iter().enumerate() {
        released[recoding.label(class as u32, column) as usize] += rows;
    }
    let stands_for = |label: usize| recoding.stands_for(column, label as u32);
    let axis = DomainAxis::of(domain, (0..labels).map(stands_for))?;
    let mut after = vec![0.0; axis.slices];
    for (label, rows) in released.iter().enumerate() {
        let key = stands_for(label);
        let parts: Vec<(f64, f64)> = match key {
            _ if is_set => key.iter().filter_map(|position| axis.extent(domain, *position, *position)).collect(),
            [lo, .., hi] => axis.extent(domain, *lo, *hi).into_iter().collect(),
            _ => Vec::new(),
        };
        parts.iter().for_each(|part| spread(&mut after, *part, *rows as f64 / parts.len() as f64));
    }
    let mut before = vec![0.0; axis.slices];
    for (position, rows) in (0..).zip(input).filter(|(_, rows)| **rows > 0) {
        if let Some(extent) = axis.extent(domain, position, position) {
            spread(&mut before, extent, *rows as f64);
        }
    }
    let (all_before, all_after) = (before.iter().sum::<f64>(), after.iter().sum::<f64>());
    if all_before == 0.0 || all_after == 0.0 {
        return None;
    }
    let apart = before.iter().zip(&after).map(|(a, b)| (a / all_before - b / all_after).abs());
    Some(DistributionShift { distance: apart.sum::<f64>() / 2.0, slices: slices(&before, &after, k) })
}

/// Slices in steps: joined until each has a step's worth of released rows.
fn slices(before: &[f64], after: &[f64], k: u64) -> Vec<DomainSlice> {
    let (all_before, all_after) = (before.iter().sum::<f64>(), after.iter().sum::<f64>());
    // Whole numbers, but for what was lost when rows were spread.
    let rows = all_before.min(all_after).round() as u64;
    let step = k.max(rows.div_ceil(STEPS)).max(1);
    if rows < LEAST_STEPS * step {
        return Vec::new();
    }
    let mut joined: Vec<(usize, f64, f64)> = Vec::new();
    let mut is_full = true;
    for (at, (before, after)) in before.iter().zip(after).enumerate() {
        match joined.last_mut().filter(|_| !is_full) {
            Some(last) => *last = (at + 1, last.1 + before, last.2 + after),
            None => joined.push((at + 1, *before, *after)),
        }
        is_full = joined.last().is_some_and(|last| last.2 >= step as f64);
    }
    if !is_full
        && let Some((end, before, after)) = joined.pop()
        && let Some(last) = joined.last_mut()
    {
        *last = (end, last.1 + before, last.2 + after);
    }
    let in_steps = |rows: f64, all: f64| ((rows / step as f64).round() * step as f64 / all).min(1.0);
    let slice = |(end, of_input, of_release): (usize, f64, f64)| DomainSlice {
        end: end as f64 / before.len() as f64,
        before: in_steps(of_input, all_before),
        after: in_steps(of_release, all_after),
    };
    joined.into_iter().map(slice).collect()
}

/// The domain of a column as a line from 0 to 1: what the release shows of a number, or all leaves of a tree.
struct DomainAxis {
    slices: usize,
    /// The first and the last position of a number that is shown.
    shown: Option<(u32, u32)>,
}

impl DomainAxis {
    /// None for a column that has one value, or nothing to show.
    fn of<'a>(domain: &Domain, labels: impl Iterator<Item = &'a [u32]>) -> Option<Self> {
        match domain.kind() {
            DomainKind::Category(tree) => {
                (tree.leaf_count() > 1).then(|| Self { slices: SLICES.min(tree.leaf_count()), shown: None })
            }
            DomainKind::Ordered { .. } => {
                let ends = labels.filter_map(|key| Some((*key.first()?, *key.last()?)));
                let ends = ends.filter(|(lo, _)| Some(*lo) != domain.null_position());
                let shown = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
                (domain.loss(shown.0, shown.1) > 0.0).then_some(Self { slices: SLICES, shown: Some(shown) })
            }
        }
    }

    /// The part of the line on which positions lie; none for null, and for what the release does not reach.
    fn extent(&self, domain: &Domain, lo: u32, hi: u32) -> Option<(f64, f64)> {
        let Some((first, last)) = self.shown else {
            let leaves = domain.len() as f64;
            return Some((f64::from(lo) / leaves, (f64::from(hi) + 1.0) / leaves));
        };
        let null = domain.null_position();
        match (Some(lo) == null, Some(hi) == null) {
            (true, true) => None,
            // Null among numbers shows nothing, so that they may be anywhere.
            (true, false) => Some((0.0, 1.0)),
            _ if lo < first || hi > last => None,
            _ => {
                let along = |position: u32| domain.loss(first, position) / domain.loss(first, last);
                Some((along(lo), along(hi)))
            }
        }
    }
}

/// Spreads rows evenly over a part of the line. A point falls into the slice that begins with it or before.
fn spread(slices: &mut [f64], (from, to): (f64, f64), rows: f64) {
    let count = slices.len() as f64;
    let slice = |at: f64| ((at * count) as usize).min(slices.len() - 1);
    let (first, last) = (slice(from), slice(to));
    if first == last {
        slices[first] += rows;
        return;
    }
    for (at, sum) in slices.iter_mut().enumerate().take(last + 1).skip(first) {
        let (start, end) = (at as f64 / count, (at + 1) as f64 / count);
        *sum += rows * (to.min(end) - from.max(start)).max(0.0) / (to - from);
    }
}

#[cfg(test)]
#[path = "distribution_shift_tests.rs"]
mod tests;
