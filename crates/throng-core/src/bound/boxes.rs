//! Visits every box of a block that can bind, and finds how far the prices of its cells may be raised.
//!
//! Boxes are chosen column by column: nodes of a category from the root down, then intervals of numbers. A list holds
//! the cells of the box so far. A list that does not satisfy the models is pruned with everything below it, and so is
//! one whose loss is too high to bind. Intervals of the last number are visited by two pointers (`interval.rs`).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use super::BoundEffort;
use super::axes::{Axis, LineAxis, TreeAxis};
use super::block::{BlockCells, CountedModels, ModelCounter};
use super::top_rows::TopRows;

/// Lists of more cells are visited in parallel.
const PARALLEL: usize = 512;

/// Number of bins of a number that is not the last, by the number of numeric columns (two, three, four, more).
const BINS: [usize; 4] = [16, 8, 6, 4];

/// One visit of all boxes with fixed prices.
pub(super) struct BoxVisit<'a> {
    pub(super) models: &'a CountedModels,
    pub(super) block: &'a BlockCells,
    pub(super) axes: &'a [Axis],
    /// Price of a row of each cell; zero in rich cells.
    pub(super) prices: &'a [f64],
    /// Least ratio of allowed to actual price over the boxes of each cell, as bits of a non-negative number.
    pub(super) scales: Vec<AtomicU64>,
    pub(super) stop: &'a StopSignal<'a>,
    bins: usize,
    pressure: Option<Pressure>,
    /// Pressure on each cell, in units of [`PRESSURE_STEPS`].
    pressures: Vec<AtomicU64>,
}

/// How boxes press on the rows with their highest prices. A box of ratio 1 weighs 1, and others the ratio to the power of
/// minus the sharpness.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressure {
    pub(super) sharpness: f64,
    /// Price that makes pressures independent of the scale of prices.
    pub(super) unit: f64,
}

impl Pressure {
    /// Boxes with a higher ratio exert no pressure.
    pub(super) const MIN_TIGHT: f64 = 1.15;
}

/// Pressures are added as whole numbers of `1 / PRESSURE_STEPS`, so that sums do not depend on the order of threads.
const PRESSURE_STEPS: f64 = (1 << 16) as f64;

/// Maximum weight of one box.
const MAX_WEIGHT: f64 = 64.0;

/// Ends a visit early.
pub(super) struct StopSignal<'a> {
    may_continue: &'a (dyn Fn() -> bool + Sync),
    /// Number of boxes and cells that may still be visited.
    budget: AtomicU64,
    is_stopped: AtomicBool,
    /// Whether only time ends a visit. What was visited before a budget of work ends depends on threads.
    is_timed: bool,
}

/// Buffers that visits of boxes reuse.
pub(super) struct VisitBuffers<'a> {
    pub(super) top: TopRows,
    pub(super) counter: ModelCounter<'a>,
    pub(super) ratios: Vec<f64>,
    pub(super) best: Vec<f64>,
}

impl<'a> StopSignal<'a> {
    pub(super) fn new(effort: BoundEffort<'a>) -> Self {
        Self {
            may_continue: effort.may_continue,
            budget: AtomicU64::new(effort.work),
            is_stopped: AtomicBool::new(false),
            is_timed: effort.work == u64::MAX,
        }
    }

    /// Counts visited boxes; returns whether to continue.
    pub(super) fn count(&self, boxes: u64) -> bool {
        let before = self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(boxes));
        if before.is_err() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        !self.is_stopped.load(Ordering::Relaxed)
    }

    /// Returns whether only time ends a visit.
    pub(super) fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Returns whether to continue.
    pub(super) fn check(&self) -> bool {
        if !(self.may_continue)() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        !self.is_stopped.load(Ordering::Relaxed)
    }
}

impl<'a> BoxVisit<'a> {
    /// Prepares a visit; no scale of a cell exceeds its `most`.
    pub(super) fn new(
        models: &'a CountedModels,
        block: &'a BlockCells,
        axes: &'a [Axis],
        prices: &'a [f64],
        most: impl Iterator<Item = f64>,
        pressure: Option<Pressure>,
        stop: &'a StopSignal<'a>,
    ) -> Self {
        let scales = most.take(block.len()).map(|most| AtomicU64::new(most.to_bits())).collect();
        let pressures = if pressure.is_some() { block.len() } else { 0 };
        let pressures = (0..pressures).map(|_| AtomicU64::new(0)).collect();
        let lines = axes.iter().filter(|axis| matches!(axis, Axis::Line(_))).count();
        let bins = BINS[lines.saturating_sub(2).min(BINS.len() - 1)];
        Self { models, block, axes, prices, scales, stop, bins, pressure, pressures }
    }

    /// Visits all boxes and returns the scale of each cell and the pressure on it; `None` if it was stopped.
    pub(super) fn run(self) -> Option<(Vec<f64>, Vec<f64>)> {
        let (all, mut buffers) = (self.all_cells(), self.buffers());
        if buffers.counter.is_satisfied_by(&all) {
            self.column(0, &all, 0.0, &mut buffers);
        }
        let is_whole = !self.stop.is_stopped.load(Ordering::Relaxed);
        let scales = self.scales.iter().map(|scale| f64::from_bits(scale.load(Ordering::Relaxed))).collect();
        let pressures = self.pressures.iter().map(|sum| sum.load(Ordering::Relaxed) as f64 / PRESSURE_STEPS).collect();
        is_whole.then_some((scales, pressures))
    }

    /// Visits the boxes around `part` consecutive cells at a time, and returns the scale of each cell; zero for those of a part that
    /// was not finished. Boxes around cells of several parts are visited once for each of these.
    pub(super) fn run_in_parts(self, part: usize) -> Vec<f64> {
        let (all, mut buffers) = (self.all_cells(), self.buffers());
        // A cell with scale zero needs no box.
        let most: Vec<u64> = self.scales.iter().map(|scale| scale.swap(0, Ordering::Relaxed)).collect();
        let mut found = vec![0.0; most.len()];
        if !buffers.counter.is_satisfied_by(&all) {
            return found;
        }
        let parts = self.scales.chunks(part).zip(most.chunks(part)).zip(found.chunks_mut(part));
        for ((scales, most), found) in parts {
            scales.iter().zip(most).for_each(|(scale, most)| scale.store(*most, Ordering::Relaxed));
            self.column(0, &all, 0.0, &mut buffers);
            if !self.stop.check() {
                break;
            }
            for (found, scale) in found.iter_mut().zip(scales) {
                *found = f64::from_bits(scale.swap(0, Ordering::Relaxed));
            }
        }
        found
    }

    /// Returns the cells, ordered by the last number.
    fn all_cells(&self) -> Vec<u32> {
        let mut all: Vec<u32> = (0..self.block.len() as u32).collect();
        if let Some(Axis::Line(line)) = self.axes.last() {
            all.sort_by_key(|cell| line.ranks[*cell as usize]);
        }
        all
    }

    fn buffers(&self) -> VisitBuffers<'a> {
        VisitBuffers {
            top: TopRows::new(self.models.rows),
            counter: ModelCounter::new(self.models, self.block),
            ratios: Vec::new(),
            best: Vec::new(),
        }
    }

    /// Returns the loss at and above which no box of these cells can bind: the highest price times the greatest scale.
    /// With pressure, it does not depend on the scales found so far, so it is the same for any order of threads.
    pub(super) fn limit(&self, list: &[u32]) -> f64 {
        let (mut price, mut scale) = (0.0_f64, 0.0_f64);
        for cell in list {
            let of_cell = self.prices[*cell as usize];
            if of_cell > 0.0 {
                price = price.max(of_cell);
                scale = scale.max(f64::from_bits(self.scales[*cell as usize].load(Ordering::Relaxed)));
            }
        }
        if self.pressure.is_some() { price * Pressure::MIN_TIGHT } else { price * scale }
    }

    /// Visits the boxes of a list that differ in column `at` and the columns after it.
    fn column(&self, at: usize, list: &[u32], loss: f64, buffers: &mut VisitBuffers<'a>) {
        if loss >= self.limit(list) || !self.stop.count(list.len() as u64) {
            return;
        }
        match self.axes.get(at) {
            None => self.measure(list, loss, buffers),
            Some(Axis::Tree(tree)) => match tree.root() {
                Some(root) => self.node(at, tree, root, list, loss, buffers),
                None => self.column(at + 1, list, loss, buffers),
            },
            Some(Axis::Line(line)) => self.line(at, line, list, loss, buffers),
        }
    }

    /// Visits the boxes with a node or one of its descendants in column `at`.
    fn node(&self, at: usize, tree: &TreeAxis, node: u32, list: &[u32], loss: f64, buffers: &mut VisitBuffers<'a>) {
        if loss >= self.limit(list) || (list.len() > PARALLEL && !self.stop.check()) {
            return;
        }
        let here = tree.node(node);
        let child_of = |cell: &u32| here.child_of(tree.ranks[*cell as usize]);
        let below = |child: usize, list: &[u32], buffers: &mut VisitBuffers<'a>| match here.children()[child] {
            Some(node) => self.node(at, tree, node, list, loss, buffers),
            None => self.column(at + 1, list, loss, buffers),
        };
        let first = child_of(&list[0]);
        if list.iter().all(|cell| child_of(cell) == first) {
            return below(first, list, buffers);
        }
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); here.children().len()];
        list.iter().for_each(|cell| lists[child_of(cell)].push(*cell));
        if list.len() > PARALLEL {
            lists.par_iter().enumerate().for_each(|(child, list)| {
                let mut buffers = self.buffers();
                if buffers.counter.is_satisfied_by(list) {
                    below(child, list, &mut buffers);
                }
            });
        } else {
            for (child, list) in lists.iter().enumerate() {
                if buffers.counter.is_satisfied_by(list) {
                    below(child, list, buffers);
                }
            }
        }
        self.column(at + 1, list, loss + here.loss, buffers);
    }

    fn line(&self, at: usize, line: &LineAxis, list: &[u32], loss: f64, buffers: &mut VisitBuffers<'a>) {
        let (nulls, numbers): (Vec<u32>, Vec<u32>);
        let mut list = list;
        if line.has_null && list.iter().any(|cell| line.ranks[*cell as usize] == 0) {
            (nulls, numbers) = list.iter().partition(|cell| line.ranks[**cell as usize] == 0);
            if buffers.counter.is_satisfied_by(&nulls) {
                self.column(at + 1, &nulls, loss, buffers);
            }
            if numbers.is_empty() {
                return;
            }
            self.column(at + 1, list, loss + line.mixed, buffers);
            if !buffers.counter.is_satisfied_by(&numbers) {
                return;
            }
            list = &numbers;
        }
        match at + 1 == self.axes.len() {
            true => self.intervals(line, list, loss, buffers),
            false => self.bins(at, line, list, loss, buffers),
        }
    }

    /// Visits boxes of a number that is not the last: by its values if there are few in the list, or else by bins, in
    /// which a class loses at least the distance between the bins of its ends.
    fn bins(&self, at: usize, line: &LineAxis, list: &[u32], loss: f64, buffers: &mut VisitBuffers<'a>) {
        let rank = |cell: &u32| line.ranks[*cell as usize];
        let mut ranks: Vec<u32> = list.iter().map(rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let count = ranks.len().min(self.bins);
        let starts: Vec<usize> = (0..=count).map(|bin| bin * ranks.len() / count).collect();
        let ends = |bin: usize| (ranks[starts[bin]], ranks[starts[bin + 1] - 1]);
        let visit = |first: usize, buffers: &mut VisitBuffers<'a>| {
            for last in first..count {
                let inner = line.coordinates[ends(last).0 as usize] - line.coordinates[ends(first).1 as usize];
                let loss = loss + inner.max(0.0);
                let some: Vec<u32> =
                    list.iter().copied().filter(|cell| (ends(first).0..=ends(last).1).contains(&rank(cell))).collect();
                if buffers.counter.is_satisfied_by(&some) {
                    if loss >= self.limit(list) {
                        return;
                    }
                    self.column(at + 1, &some, loss, buffers);
                }
            }
        };
        if list.len() > PARALLEL {
            if self.stop.check() {
                (0..count).into_par_iter().for_each(|first| visit(first, &mut self.buffers()));
            }
        } else {
            (0..count).for_each(|first| visit(first, buffers));
        }
    }

    /// Visits one box.
    fn measure(&self, list: &[u32], loss: f64, buffers: &mut VisitBuffers<'a>) {
        buffers.top.clear();
        list.iter()
            .for_each(|cell| buffers.top.add(*cell, self.prices[*cell as usize], self.block.rows[*cell as usize]));
        let ratio = self.ratio(loss, buffers.top.sum());
        self.press(ratio, &buffers.top);
        list.iter().for_each(|cell| self.offer(*cell, ratio));
    }

    /// Returns the ratio of the price that a box allows to its actual price.
    pub(super) fn ratio(&self, loss: f64, sum: f64) -> f64 {
        if sum > 0.0 { self.models.rows as f64 * loss / sum } else { f64::INFINITY }
    }

    /// Lets a box press on the rows with its highest prices.
    pub(super) fn press(&self, ratio: f64, top: &TopRows) {
        let Some(Pressure { sharpness, unit }) = self.pressure else { return };
        if ratio > Pressure::MIN_TIGHT {
            return;
        }
        let weight = ratio.powf(-sharpness).min(MAX_WEIGHT) * unit / top.sum() * PRESSURE_STEPS;
        for (cell, rows) in top.cells() {
            let share = rows as f64 / self.block.rows[cell as usize] as f64;
            self.pressures[cell as usize].fetch_add((weight * share) as u64, Ordering::Relaxed);
        }
    }

    /// Lowers the scale of a cell.
    pub(super) fn offer(&self, cell: u32, ratio: f64) {
        self.scales[cell as usize].fetch_min(ratio.to_bits(), Ordering::Relaxed);
    }
}
