//! Greedy clustering on cells.
//!
//! 1. A cell that satisfies the model alone (*rich*) is a class at no loss.
//! 2. The other cells (*poor*) become seeds, the least isolated first. A class grows from its seed by the nearest rows:
//!    whole poor cells, or single surplus rows of rich cells, which stay satisfied. As long as enough rows are missing
//!    any row is taken; once the missing rows must bring new sensitive values, only rows that lower the deficit are,
//!    several at a time while many are missing.
//! 3. Cells that could not be completed join the class with the least increase of loss.
//!
//! A large leaf of numeric columns in which no cell is rich is clustered by `spatial_greedy`.
//!
//! Taking poor cells whole avoids expensive remainders, and an isolated row loses least among surplus rows of the
//! nearest rich cell.

use std::cell::LazyCell;
use std::collections::BinaryHeap;

use super::leaf_view::{DenseBox, LeafView, LossMeasure, WideningLosses};
use super::{Class, ClusterMethod, Portion, spatial_greedy};
use crate::local_search::rng::SplitMix64;
use crate::loss_tables::LossForm;
use crate::model::{Need, Privacy, Tally};
use crate::table::Table;

/// Leaves with more scattered cells are clustered by `spatial_greedy`.
const MANY: usize = 256;

/// Maximum number of scattered cells that form one leaf if a search follows: slower than many small leaves, but with
/// less loss.
const MAX_UNCUT: usize = 1 << 15;

/// Number of following cells searched for a neighbour: cells are ordered by content, so that a near one follows soon.
const LOOKS_AHEAD: usize = 8;

/// Number of consecutive seeds without a complete class after which the remaining ones are skipped.
const FAILED_SEEDS: usize = 32;

/// The same where the free cells are unlikely to form another class.
const FEW_FAILED_SEEDS: usize = 4;

/// A class that lacks many diverse rows takes this part of them at a time: for a model of frequencies they may be thousands.
const DIVERSE_AT_A_TIME: u64 = 8;

/// Random perturbation of the order of seeds, as a share of their isolation. Without it, an attacker who knows all rows
/// but one could compute the classes for each candidate of the last row and compare.
const SEED_NOISE: f32 = 0.5;

/// Greedy clustering on cells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy {
    /// Seed of the random order in which seed cells are taken.
    pub seed: u64,
}

impl ClusterMethod for Greedy {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        if leaf.len() > MANY && are_scattered(leaf, table, privacy) {
            return spatial_greedy::classes(leaf, table, privacy, self.seed);
        }
        let frame = LeafView::new(leaf, table, LossMeasure::Ncp);
        let mut work = GreedyRun::new(&frame, privacy);
        work.grow_all(self.seed);
        work.place_leftovers();
        work.finish(leaf)
    }

    fn grows_towards_frequencies(&self) -> bool {
        true
    }
}

impl Greedy {
    /// Returns whether these cells are best clustered as one leaf.
    pub(crate) fn needs_no_cuts(cells: &[u32], table: &Table, privacy: &Privacy) -> bool {
        cells.len() <= MAX_UNCUT && are_scattered(cells, table, privacy)
    }
}

/// Returns whether all columns are numeric and no cell is rich. Then every border of a leaf costs loss that no lender
/// can compensate. For categories, a border between two branches of a hierarchy is where classes end anyway.
fn are_scattered(cells: &[u32], table: &Table, privacy: &Privacy) -> bool {
    let has_rows = |cell: &&u32| table.cell_rows(**cell) >= privacy.least_rows();
    let is_rich = |cell: &u32| privacy.is_satisfied(&Tally::of_cell(table, *cell));
    table.quasi().iter().all(LossForm::is_line) && !cells.iter().filter(has_rows).any(is_rich)
}

/// A class under construction.
#[derive(Debug)]
struct GreedyClass {
    span: DenseBox,
    rows: u64,
    portions: Vec<Portion>,
}

/// Groups of the cells of a leaf, copied into contiguous memory.
struct LeafGroups {
    width: usize,
    /// The groups of cell `c` are `first[c]..first[c + 1]`.
    first: Vec<usize>,
    rows: Vec<u32>,
    codes: Vec<u32>,
}

impl LeafGroups {
    fn of(frame: &LeafView<'_>) -> Self {
        let table = frame.table();
        let (width, mut first) = (table.sensitive().len(), vec![0]);
        let ranges: Vec<_> = (0..frame.len()).map(|local| table.groups(frame.cell(local))).collect();
        first.extend(ranges.iter().scan(0, |end, range| {
            *end += range.len();
            Some(*end)
        }));
        let groups = || ranges.iter().cloned().flatten();
        let rows = groups().map(|group| table.group_rows(group)).collect();
        let codes = groups().flat_map(|group| table.codes(group)).copied().collect();
        Self { width, first, rows, codes }
    }

    /// Iterates over the groups of a cell: sensitive codes and row count.
    fn of_cell(&self, local: usize) -> impl Iterator<Item = (&[u32], u32)> {
        let groups = self.first[local]..self.first[local + 1];
        groups.map(|group| (&self.codes[group * self.width..][..self.width], self.rows[group]))
    }
}

struct GreedyRun<'a> {
    frame: &'a LeafView<'a>,
    table: &'a Table,
    privacy: &'a Privacy,
    groups: LeafGroups,
    /// Remaining rows of each rich cell; `None` for a poor one.
    rich: Vec<Option<Tally>>,
    /// Whether each cell is poor and not yet in a class.
    is_free: Vec<bool>,
    /// Rich cells with surplus rows.
    donors: Vec<usize>,
    free: Vec<usize>,
    /// Tally of the free cells, if there is a model of frequencies.
    left: Option<Tally>,
    /// Rows that rich cells have lent, by group.
    given: rustc_hash::FxHashMap<u32, u32>,
    classes: Vec<GreedyClass>,
    /// Buffer for the losses of the cells evaluated last.
    losses: Vec<f32>,
}

/// Next cell of a growing class.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NextCell {
    Poor(usize),
    Donor(usize),
}

impl<'a> GreedyRun<'a> {
    fn new(frame: &'a LeafView<'a>, privacy: &'a Privacy) -> Self {
        let table = frame.table();
        let least_rows = privacy.least_rows();
        let rich = |local: usize| {
            let cell = frame.cell(local);
            let has_rows = table.cell_rows(cell) >= least_rows;
            has_rows.then(|| Tally::of_cell(table, cell)).filter(|tally| privacy.is_satisfied(tally))
        };
        let rich: Vec<Option<Tally>> = (0..frame.len()).map(rich).collect();
        let is_free: Vec<bool> = rich.iter().map(Option::is_none).collect();
        let free = (0..rich.len()).filter(|local| is_free[*local]).collect();
        let mut work = Self {
            frame,
            table,
            privacy,
            groups: LeafGroups::of(frame),
            rich,
            is_free,
            donors: Vec::new(),
            free,
            left: None,
            given: rustc_hash::FxHashMap::default(),
            classes: Vec::new(),
            losses: Vec::new(),
        };
        if privacy.lends() {
            work.donors = (0..work.rich.len()).filter(|local| work.can_give(*local)).collect();
        }
        if !privacy.is_closed_under_adding_rows() {
            let cells = work.free.iter().map(|local| frame.cell(*local));
            work.left = Some(Tally::of_cells(table, cells));
        }
        work
    }

    fn grow_all(&mut self, random_seed: u64) {
        let mut failed = 0;
        // Both are reused by every class.
        let mut reach = WideningLosses::new(self.frame, DenseBox::origin(self.frame));
        let mut tally = Tally::empty(self.table.tally_shape());
        for seed in self.least_isolated_first(random_seed) {
            if !self.is_free[seed] {
                continue;
            }
            failed = if self.grow(seed, &mut reach, &mut tally) { 0 } else { failed + 1 };
            if failed == FAILED_SEEDS || failed >= FEW_FAILED_SEEDS && self.is_exhausted() {
                break;
            }
        }
    }

    /// Whether the free cells are unlikely to form another class: there is a model of frequencies, which large classes satisfy
    /// most easily, and all of them together violate it.
    fn is_exhausted(&self) -> bool {
        self.donors.is_empty() && self.left.as_ref().is_some_and(|left| !self.privacy.is_satisfied(left))
    }

    /// Returns the poor cells, ordered by the loss of the pair with their nearest neighbour, with noise.
    fn least_isolated_first(&self, random_seed: u64) -> Vec<usize> {
        let mut nearest = vec![f32::INFINITY; self.frame.len()];
        let losses = self.frame.losses_of_pairs(LOOKS_AHEAD);
        for (local, losses) in losses.chunks_exact(LOOKS_AHEAD).enumerate() {
            for (other, loss) in (local + 1..self.frame.len()).zip(losses) {
                if self.is_free[local] || self.is_free[other] {
                    nearest[local] = least_of(nearest[local], *loss);
                    nearest[other] = least_of(nearest[other], *loss);
                }
            }
        }
        let mut draws = SplitMix64::new(random_seed).of_part(self.free.len() as u64);
        let mut noisy = |seed: &usize| (nearest[*seed] * (1.0 + SEED_NOISE * draws.share()), *seed);
        let mut seeds: Vec<(f32, usize)> = self.free.iter().map(&mut noisy).collect();
        seeds.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        seeds.into_iter().map(|(_, seed)| seed).collect()
    }

    /// Grows a class from a seed. If it can't be completed, releases its rows and returns false.
    fn grow(&mut self, seed: usize, reach: &mut WideningLosses, tally: &mut Tally) -> bool {
        reach.restart(self.frame, seed);
        tally.clear();
        let mut taken = Vec::new();
        let mut borrowed: Vec<(usize, u32)> = Vec::new();
        self.take_cell(seed, tally, &mut taken);
        loop {
            let need = self.privacy.need(tally);
            let choice = match need {
                Need::Nothing => break,
                Need::AnyRow(_) => self.nearest(reach, tally, false),
                Need::DiverseRow(_) => self.nearest(reach, tally, true),
            };
            let at_a_time = match need {
                Need::DiverseRow(missing) => (missing / DIVERSE_AT_A_TIME).max(1),
                _ => 1,
            };
            match choice {
                Some(NextCell::Poor(local)) if at_a_time == 1 => {
                    reach.include(self.frame, local);
                    self.take_cell(local, tally, &mut taken);
                }
                Some(NextCell::Poor(_)) => {
                    for local in self.nearest_poor(reach, tally, at_a_time as usize) {
                        reach.include(self.frame, local);
                        self.take_cell(local, tally, &mut taken);
                    }
                }
                Some(NextCell::Donor(local)) => {
                    reach.include(self.frame, local);
                    let rows = if let Need::AnyRow(rows) = need { rows } else { at_a_time };
                    self.borrow(local, rows, tally, &mut borrowed);
                }
                None => {
                    self.give_back(&taken, &borrowed);
                    return false;
                }
            }
        }
        self.free.retain(|local| self.is_free[*local]);
        let cells: Vec<u32> = taken.iter().map(|local| self.frame.cell(*local)).collect();
        let mut portions = Class::of_cells(self.table, &cells).portions;
        borrowed.sort_unstable();
        let runs = borrowed.chunk_by(|a, b| a.1 == b.1);
        portions.extend(runs.map(|run| Portion { group: run[0].1, rows: run.len() as u32 }));
        self.classes.push(GreedyClass { span: reach.span().clone(), rows: tally.rows(), portions });
        true
    }

    fn take_cell(&mut self, local: usize, tally: &mut Tally, taken: &mut Vec<usize>) {
        self.is_free[local] = false;
        self.groups.of_cell(local).for_each(|(codes, rows)| tally.add(codes, u64::from(rows)));
        if let Some(left) = &mut self.left {
            self.groups.of_cell(local).for_each(|(codes, rows)| left.remove(codes, u64::from(rows)));
        }
        taken.push(local);
    }

    /// Returns the poor cell or lender that increases the loss of the class least; poor cells win ties.
    fn nearest(&mut self, reach: &WideningLosses, tally: &Tally, helping: bool) -> Option<NextCell> {
        let (mut least, mut best) = (f32::INFINITY, None);
        let helper = LazyCell::new(|| self.privacy.helper(tally));
        let helps = |codes: &[u32]| (*helper)(codes);
        let mut losses = std::mem::take(&mut self.losses);
        reach.losses_with(self.frame, &self.free, &mut losses);
        for (local, loss) in self.free.iter().zip(&losses) {
            if *loss < least && self.is_free[*local] && (!helping || self.cell_helps(*local, &helps)) {
                (least, best) = (*loss, Some(NextCell::Poor(*local)));
            }
        }
        reach.losses_with(self.frame, &self.donors, &mut losses);
        for (local, loss) in self.donors.iter().zip(&losses) {
            if *loss < least && self.pick(*local, &helps, helping).is_some() {
                (least, best) = (*loss, Some(NextCell::Donor(*local)));
            }
        }
        self.losses = losses;
        best
    }

    /// Returns up to `most` free cells with a helping row that increase the loss of the class least, the nearest first.
    fn nearest_poor(&mut self, reach: &WideningLosses, tally: &Tally, most: usize) -> Vec<usize> {
        let helps = self.privacy.helper(tally);
        let mut losses = std::mem::take(&mut self.losses);
        reach.losses_with(self.frame, &self.free, &mut losses);
        // The farthest cell is on top. Losses are not negative, so their bits have the same order.
        let mut nearest: BinaryHeap<(u32, usize)> = BinaryHeap::with_capacity(most + 1);
        for (local, loss) in self.free.iter().zip(&losses) {
            let is_near =
                nearest.len() < most || nearest.peek().is_some_and(|(farthest, _)| loss.to_bits() < *farthest);
            if is_near && self.is_free[*local] && self.cell_helps(*local, &helps) {
                nearest.push((loss.to_bits(), *local));
                if nearest.len() > most {
                    nearest.pop();
                }
            }
        }
        drop(helps);
        self.losses = losses;
        nearest.into_sorted_vec().into_iter().map(|(_, local)| local).collect()
    }

    fn cell_helps(&self, local: usize, helps: &impl Fn(&[u32]) -> bool) -> bool {
        self.groups.of_cell(local).any(|(codes, _)| helps(codes))
    }

    /// Returns whether a rich cell has a surplus row.
    fn can_give(&self, local: usize) -> bool {
        let Some(own) = &self.rich[local] else { return false };
        self.table.groups(self.frame.cell(local)).any(|group| self.can_spare(own, group))
    }

    /// Returns whether a rich cell stays satisfied without one row of this group.
    fn can_spare(&self, own: &Tally, group: u32) -> bool {
        self.rows_left(group) > 0 && self.privacy.can_lose(own, self.table.codes(group))
    }

    fn rows_left(&self, group: u32) -> u32 {
        self.table.group_rows(group) - self.given.get(&group).copied().unwrap_or(0)
    }

    /// Returns the group from which a lender gives its next row: one that lowers the deficit, or else the largest
    /// remaining one.
    fn pick(&self, local: usize, helps: &impl Fn(&[u32]) -> bool, helping: bool) -> Option<u32> {
        let Some(own) = &self.rich[local] else { return None };
        let mut largest: Option<(bool, u32, u32)> = None;
        for group in self.table.groups(self.frame.cell(local)) {
            let helps = helps(self.table.codes(group));
            let rank = (helps, self.rows_left(group));
            let better = largest.is_none_or(|(h, rows, _)| rank > (h, rows));
            if (helps || !helping) && better && self.can_spare(own, group) {
                largest = Some((helps, rank.1, group));
            }
        }
        largest.map(|(_, _, group)| group)
    }

    /// Moves up to `rows` rows from a lender to the growing class.
    fn borrow(&mut self, local: usize, rows: u64, tally: &mut Tally, borrowed: &mut Vec<(usize, u32)>) {
        for _ in 0..rows {
            let Some(group) = self.pick(local, &|codes: &[u32]| self.privacy.helps(tally, codes), false) else { break };
            let codes = self.table.codes(group);
            if let Some(own) = &mut self.rich[local] {
                own.remove(codes, 1);
            }
            *self.given.entry(group).or_default() += 1;
            tally.add(codes, 1);
            borrowed.push((local, group));
        }
        if !self.can_give(local) {
            self.donors.retain(|donor| *donor != local);
        }
    }

    fn give_back(&mut self, taken: &[usize], borrowed: &[(usize, u32)]) {
        for local in taken {
            self.is_free[*local] = true;
            if let Some(left) = &mut self.left {
                left.add_cell(self.table, self.frame.cell(*local));
            }
        }
        for (local, group) in borrowed {
            if let Some(own) = &mut self.rich[*local] {
                own.add(self.table.codes(*group), 1);
            }
            if let Some(given) = self.given.get_mut(group) {
                *given -= 1;
            }
            if let Err(at) = self.donors.binary_search(local) {
                self.donors.insert(at, *local);
            }
        }
    }

    /// Adds each cell that is still free to the class with the least increase of loss.
    fn place_leftovers(&mut self) {
        let rich_from = self.classes.len();
        let mut homes: Vec<usize> = Vec::new();
        for local in 0..self.rich.len() {
            if let Some(own) = &self.rich[local] {
                homes.push(local);
                let (span, rows) = (DenseBox::of(self.frame, local), own.rows());
                self.classes.push(GreedyClass { span, rows, portions: Vec::new() });
            }
        }
        for (class, local) in self.classes[rich_from..].iter_mut().zip(&homes) {
            for group in self.table.groups(self.frame.cell(*local)) {
                let rows = self.table.group_rows(group) - self.given.get(&group).copied().unwrap_or(0);
                if rows > 0 {
                    class.portions.push(Portion { group, rows });
                }
            }
        }
        for local in std::mem::take(&mut self.free) {
            let cell = self.frame.cell(local);
            let rows = self.table.cell_rows(cell);
            let cost = |class: &GreedyClass| {
                let after = f64::from(class.span.loss_with(self.frame, local));
                let before = f64::from(class.span.loss(self.frame));
                class.rows as f64 * (after - before) + rows as f64 * after
            };
            let costs = self.classes.iter().map(cost).enumerate();
            let Some((home, _)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
            let class = &mut self.classes[home];
            class.span.include(self.frame, local);
            class.rows += rows;
            class.portions.extend(Class::of_cells(self.table, &[cell]).portions);
        }
    }

    fn finish(self, leaf: &[u32]) -> Vec<Class> {
        if self.classes.is_empty() {
            return vec![Class::of_cells(self.table, leaf)];
        }
        self.classes.into_iter().map(|class| Class::of_portions(class.portions)).collect()
    }
}

/// Returns the smaller of two losses, neither of which may be NaN.
#[inline]
fn least_of(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

#[cfg(test)]
#[path = "greedy_tests.rs"]
mod tests;
