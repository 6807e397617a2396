//! Distribution shift of quasi-identifiers, reported without disclosing small groups.
//!
//! A reader of a release can only assume that the rows of a class are spread evenly over what its label covers. That
//! estimate is public. Its distance from the original distribution is one number over all rows. The original
//! distribution itself is rounded to steps of at least k rows and at least one percent, so that no group below k and no
//! single record is visible:
//!
//! ```text
//!  domain   |----|----|----|----| ... |     20 slices: of a number by its value, of a category in the order of the tree
//!  release     2    9   40  120             neighbours are joined until a slice has a step's worth of released rows
//!           |---------|----|----|
//!  original     0       40  100             rows of the input, to the nearest step
//! ```
//!
//! Slice borders depend on released rows only, never on the original. A table of fewer than ten steps gets only the
//! distance.

use rayon::prelude::*;

use crate::columns::ColumnRecoding;
use crate::domain::{Domain, DomainKind};
use crate::recode::Recoding;
use crate::table::{QuasiColumn, Table};

/// Number of slices of a domain before slices are joined.
const SLICES: usize = 20;

/// Shares are rounded to multiples of `1 / STEPS` or coarser.
const STEPS: u64 = 100;

/// Minimum number of steps for distributions to be reported.
const MIN_STEPS: u64 = 10;

/// Histogram of positions for each quasi-identifier of the input.
#[derive(Debug)]
pub struct Marginals {
    columns: Vec<Marginal>,
}

/// Histogram of positions of one quasi-identifier.
#[derive(Debug)]
enum Marginal {
    /// The column releases aggregates.
    Aggregated,
    /// Number of rows at each position.
    Counted(Vec<u64>),
    /// The domain is not in memory, and neither is its histogram. See [`SlicedMarginal`].
    Sliced,
}

/// Histogram of a quasi-identifier whose domain is not in memory, in the slices of the release.
#[derive(Debug)]
pub struct SlicedMarginal {
    column: usize,
    axis: Option<SlicedAxis>,
    before: Vec<f64>,
}

/// The released range of a column.
#[derive(Debug)]
struct SlicedAxis {
    /// First and last released position of the whole domain.
    shown: (u32, u32),
    /// Coordinate of the first.
    start: f64,
    /// Difference of the coordinates of both.
    width: f64,
}

/// Rows at one position of a domain that is not in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlicedRows {
    /// Position in the whole domain.
    pub position: u32,
    /// Coordinate of that position on the axis of the column.
    pub coordinate: f64,
    /// Number of rows of the table at that position.
    pub rows: u64,
}

impl SlicedMarginal {
    /// Returns the rows of a part of the table at each position of a column; none for a column whose domain is in memory.
    /// Rows without a value are left out.
    pub fn rows_of(part: &Table, column: usize) -> Vec<SlicedRows> {
        let domain = &part.quasi()[column].domain;
        if domain.slice().is_none() {
            return Vec::new();
        }
        let mut rows = vec![0; domain.len()];
        (0..part.cell_count() as u32)
            .for_each(|cell| rows[part.positions(cell)[column] as usize] += part.cell_rows(cell));
        let null = domain.null_position();
        let counted = (0_u32..).zip(rows).filter(|(position, rows)| *rows > 0 && Some(*position) != null);
        let of_position = |(position, rows): (u32, u64)| {
            let coordinate = domain.coordinate(position)?;
            Some(SlicedRows { position: domain.in_whole(position), coordinate, rows })
        };
        counted.filter_map(of_position).collect()
    }

    /// Returns the index of the quasi-identifier.
    pub fn column(&self) -> usize {
        self.column
    }

    /// Adds rows of the input.
    pub fn add(&mut self, SlicedRows { position, coordinate, rows }: SlicedRows) {
        let Some(axis) = &self.axis else { return };
        if (axis.shown.0..=axis.shown.1).contains(&position) {
            let width = if position == axis.shown.0 { 0.0 } else { coordinate - axis.start };
            let along = width / axis.width;
            spread(&mut self.before, (along, along), rows as f64);
        }
    }
}

/// Distribution shift of one quasi-identifier.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DistributionShift {
    /// Total variation distance between the original distribution and the one a reader of the release would assume.
    pub distance: f64,
    /// Both distributions in steps; empty for a table that is too small.
    pub slices: Vec<DomainSlice>,
}

/// A slice of a domain with its shares.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DomainSlice {
    /// End of the slice as a share of the domain. It starts where the previous one ends.
    pub end: f64,
    /// Share of input rows, rounded to a step.
    pub before: f64,
    /// Share of released rows spread evenly over their labels, rounded to a step.
    pub after: f64,
}

impl Marginals {
    /// Creates empty histograms for `table`, or for any table with the same columns.
    pub fn new(table: &Table) -> Self {
        let column = |quasi: &QuasiColumn| match (quasi.spec.release.is_aggregate(), quasi.domain.slice()) {
            _ if quasi.spec.is_hidden() => Marginal::Aggregated,
            (true, _) => Marginal::Aggregated,
            (false, Some(_)) => Marginal::Sliced,
            (false, None) => Marginal::Counted(vec![0; quasi.domain.len()]),
        };
        Self { columns: table.quasi().iter().map(column).collect() }
    }

    /// Adds the cells of a part.
    pub fn add(&mut self, part: &Table) {
        self.columns.par_iter_mut().enumerate().for_each(|(at, marginal)| {
            if let Marginal::Counted(rows) = marginal {
                (0..part.cell_count() as u32)
                    .for_each(|cell| rows[part.positions(cell)[at] as usize] += part.cell_rows(cell));
            }
        });
    }

    /// Returns the memory use in bytes.
    pub fn size(&self) -> usize {
        let counted = |marginal: &Marginal| match marginal {
            Marginal::Counted(rows) => rows.len() * size_of::<u64>(),
            Marginal::Aggregated | Marginal::Sliced => 0,
        };
        self.columns.iter().map(counted).sum()
    }

    /// Returns empty histograms of the columns whose domains are not in memory. The caller adds the
    /// [rows of all parts](SlicedMarginal::rows_of). `table` has the slices of the labels of the release.
    pub fn sliced(&self, table: &Table, recoding: &Recoding) -> Vec<SlicedMarginal> {
        let columns = self.columns.iter().enumerate().filter(|(_, marginal)| matches!(marginal, Marginal::Sliced));
        let of_column = |(column, _): (usize, &Marginal)| {
            let domain = &table.quasi()[column].domain;
            let shown = DomainAxis::of_column(&table.quasi()[column], recoding, column).and_then(|axis| axis.shown);
            let axis = shown.and_then(|(first, last)| {
                let start = domain.coordinate(first)?;
                let shown = (domain.in_whole(first), domain.in_whole(last));
                Some(SlicedAxis { shown, start, width: domain.loss(first, last) })
            });
            SlicedMarginal { column, axis, before: vec![0.0; SLICES] }
        };
        columns.map(of_column).collect()
    }

    /// Returns the shift of each column; `None` for columns that release aggregates or a single value. `sliced` are the
    /// histograms of the columns whose domains are not in memory.
    pub fn changes(
        &self,
        table: &Table,
        recoding: &Recoding,
        k: u64,
        sliced: &[SlicedMarginal],
    ) -> Vec<Option<DistributionShift>> {
        let columns = self.columns.par_iter().zip(table.quasi()).enumerate();
        let of_column = |(at, (marginal, quasi)): (usize, (&Marginal, &QuasiColumn))| match marginal {
            Marginal::Aggregated => None,
            Marginal::Counted(rows) => {
                let axis = DomainAxis::of_column(quasi, recoding, at)?;
                change(quasi, &axis, axis.before(&quasi.domain, rows), recoding, at, k)
            }
            Marginal::Sliced => {
                let before = sliced.iter().find(|sliced| sliced.column == at)?.before.clone();
                change(quasi, &DomainAxis::of_column(quasi, recoding, at)?, before, recoding, at, k)
            }
        };
        columns.map(of_column).collect()
    }
}

/// Returns the shift of a column, given the rows of the input in each slice.
fn change(
    quasi: &QuasiColumn,
    axis: &DomainAxis,
    before: Vec<f64>,
    recoding: &Recoding,
    column: usize,
    k: u64,
) -> Option<DistributionShift> {
    let (domain, is_set) = (&quasi.domain, quasi.spec.release == ColumnRecoding::Set);
    let labels = recoding.columns()[column].len();
    let mut released = vec![0; labels];
    for (class, rows) in recoding.class_rows().iter().enumerate() {
        released[recoding.label(class as u32, column) as usize] += rows;
    }
    let stands_for = |label: usize| recoding.stands_for(column, label as u32);
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
    let (all_before, all_after) = (before.iter().sum::<f64>(), after.iter().sum::<f64>());
    if all_before == 0.0 || all_after == 0.0 {
        return None;
    }
    let apart = before.iter().zip(&after).map(|(a, b)| (a / all_before - b / all_after).abs());
    Some(DistributionShift { distance: apart.sum::<f64>() / 2.0, slices: slices(&before, &after, k) })
}

/// Rounds distributions to steps, joining slices until each has at least a step of released rows.
fn slices(before: &[f64], after: &[f64], k: u64) -> Vec<DomainSlice> {
    let (all_before, all_after) = (before.iter().sum::<f64>(), after.iter().sum::<f64>());
    // Row counts are integers up to rounding errors of spreading.
    let rows = all_before.min(all_after).round() as u64;
    let step = k.max(rows.div_ceil(STEPS)).max(1);
    if rows < MIN_STEPS * step {
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

/// A domain mapped to [0, 1]: the released range of a number, or all leaves of a hierarchy.
struct DomainAxis {
    slices: usize,
    /// First and last released position of a number.
    shown: Option<(u32, u32)>,
}

impl DomainAxis {
    /// Returns `None` for a column with one value, or with nothing released.
    fn of_column(quasi: &QuasiColumn, recoding: &Recoding, column: usize) -> Option<Self> {
        let labels = 0..recoding.columns()[column].len() as u32;
        Self::of(&quasi.domain, labels.map(|label| recoding.stands_for(column, label)))
    }

    /// Returns the rows of the input in each slice, given those at each position.
    fn before(&self, domain: &Domain, input: &[u64]) -> Vec<f64> {
        let mut before = vec![0.0; self.slices];
        for (position, rows) in (0..).zip(input).filter(|(_, rows)| **rows > 0) {
            if let Some(extent) = self.extent(domain, position, position) {
                spread(&mut before, extent, *rows as f64);
            }
        }
        before
    }

    /// Returns `None` for a column with one value, or with nothing released.
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

    /// Returns the interval that positions cover; `None` for null, and for positions outside the released range.
    fn extent(&self, domain: &Domain, lo: u32, hi: u32) -> Option<(f64, f64)> {
        let Some((first, last)) = self.shown else {
            let leaves = domain.len() as f64;
            return Some((f64::from(lo) / leaves, (f64::from(hi) + 1.0) / leaves));
        };
        let null = domain.null_position();
        match (Some(lo) == null, Some(hi) == null) {
            (true, true) => None,
            // A label that mixes null with numbers covers the whole domain.
            (true, false) => Some((0.0, 1.0)),
            _ if lo < first || hi > last => None,
            _ => {
                let along = |position: u32| domain.loss(first, position) / domain.loss(first, last);
                Some((along(lo), along(hi)))
            }
        }
    }
}

/// Spreads rows evenly over an interval. A point counts in the slice that contains it.
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
