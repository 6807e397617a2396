//! Greedy clustering on cells.
//!
//! 1. A cell that satisfies the model alone (*rich*) is a class at no loss.
//! 2. The other cells (*poor*) become seeds, the least isolated first. A class grows from its seed by the nearest rows:
//!    whole poor cells, or single rows of the surplus of rich cells, which stay satisfied. While there is room for it
//!    any row will do; once the rows still missing must bring new sensitive values, only those that help are taken.
//! 3. Cells that could not be completed join the class where the loss grows least.
//!
//! A large leaf of numbers alone in which no cell is rich is clustered by `nearby`.
//!
//! Taking poor cells whole avoids remainders that cost dearly later, and a lonely row is best hidden among borrowed
//! rows of the nearest rich cell.

use super::leaf_view::{DenseBox, LeafView, LossMeasure, WideningLosses};
use super::{Class, ClusterMethod, Portion, spatial_greedy};
use crate::local_search::rng::SplitMix64;
use crate::loss_tables::LossForm;
use crate::model::{Need, Privacy, Tally};
use crate::table::Table;

/// More scattered cells than this are clustered by `nearby`.
const MANY: usize = 256;

/// So many scattered cells are one leaf when a search follows: it takes longer than many small leaves, and loses less.
const MOST_UNCUT: usize = 1 << 15;

/// How far a cell looks for a neighbour: cells come in the order of their content, and so a near one comes soon.
const LOOKS_AHEAD: usize = 8;

/// After so many seeds in succession that could not be completed, the others are not tried any more.
const FAILED_SEEDS: usize = 32;

/// How far chance moves a seed in the order of seeds: by up to this share of its isolation. Without it, whoever knows all rows
/// but one could form the classes for each candidate of the last row and compare.
const SEED_NOISE: f32 = 0.5;

/// Greedy clustering on cells.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy {
    /// Drives the order in which seeds are taken.
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
}

impl Greedy {
    /// Whether these cells are best clustered as one leaf.
    pub(crate) fn needs_no_cuts(cells: &[u32], table: &Table, privacy: &Privacy) -> bool {
        cells.len() <= MOST_UNCUT && are_scattered(cells, table, privacy)
    }
}

/// Whether cells have numbers alone, and none is rich. Then any border costs, and with nobody to borrow from it can't be
/// made up for. Categories are different: a border between two branches of a hierarchy is where classes end anyway.
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

/// The groups of the cells of a leaf, side by side: in the table they lie all over the memory.
struct LeafGroups {
    width: usize,
    /// Of cell `c`: `first[c] .. first[c + 1]`.
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

    /// The sensitive codes of each group of a cell, and its rows.
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
    /// What each rich cell still has; none for a poor one.
    rich: Vec<Option<Tally>>,
    /// Whether each cell is poor and not yet in a class.
    is_free: Vec<bool>,
    /// Rich cells with at least one row to spare.
    donors: Vec<usize>,
    free: Vec<usize>,
    /// Rows that rich cells have given away, by group.
    given: rustc_hash::FxHashMap<u32, u32>,
    classes: Vec<GreedyClass>,
    /// Of the cells that were looked at last.
    losses: Vec<f32>,
}

/// A cell that a growing class takes next.
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
            given: rustc_hash::FxHashMap::default(),
            classes: Vec::new(),
            losses: Vec::new(),
        };
        work.donors = (0..work.rich.len()).filter(|local| work.can_give(*local)).collect();
        work
    }

    fn grow_all(&mut self, random_seed: u64) {
        let mut failed = 0;
        for seed in self.least_isolated_first(random_seed) {
            if !self.is_free[seed] {
                continue;
            }
            failed = if self.grow(seed) { 0 } else { failed + 1 };
            if failed == FAILED_SEEDS {
                break;
            }
        }
    }

    /// The poor cells, ordered by the loss of the pair that they form with the nearest of their neighbours, with some noise.
    fn least_isolated_first(&self, random_seed: u64) -> Vec<usize> {
        let mut nearest = vec![f32::INFINITY; self.frame.len()];
        for local in 0..self.frame.len() {
            for other in local + 1..self.frame.len().min(local + 1 + LOOKS_AHEAD) {
                if self.is_free[local] || self.is_free[other] {
                    let loss = self.frame.loss_of_pair(local, other);
                    nearest[local] = least_of(nearest[local], loss);
                    nearest[other] = least_of(nearest[other], loss);
                }
            }
        }
        let mut draws = SplitMix64::new(random_seed).of_part(self.free.len() as u64);
        let mut noisy = |seed: &usize| (nearest[*seed] * (1.0 + SEED_NOISE * draws.share()), *seed);
        let mut seeds: Vec<(f32, usize)> = self.free.iter().map(&mut noisy).collect();
        seeds.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        seeds.into_iter().map(|(_, seed)| seed).collect()
    }

    /// Grows a class from a seed; gives everything back when it can't be completed.
    fn grow(&mut self, seed: usize) -> bool {
        let mut reach = WideningLosses::new(self.frame, DenseBox::of(self.frame, seed));
        let mut tally = Tally::empty(self.table.sensitive().len());
        let mut taken = Vec::new();
        let mut borrowed: Vec<(usize, u32)> = Vec::new();
        self.take_cell(seed, &mut tally, &mut taken);
        loop {
            let need = self.privacy.need(&tally);
            let choice = match need {
                Need::Nothing => break,
                Need::AnyRow(_) => self.nearest(&reach, &tally, false),
                Need::DiverseRow => self.nearest(&reach, &tally, true),
            };
            match choice {
                Some(NextCell::Poor(local)) => {
                    reach.include(self.frame, local);
                    self.take_cell(local, &mut tally, &mut taken);
                }
                Some(NextCell::Donor(local)) => {
                    reach.include(self.frame, local);
                    let rows = if let Need::AnyRow(rows) = need { rows } else { 1 };
                    self.borrow(local, rows, &mut tally, &mut borrowed);
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
        taken.push(local);
    }

    /// The poor cell or donor that widens the class least; poor cells first among equals.
    fn nearest(&mut self, reach: &WideningLosses, tally: &Tally, helping: bool) -> Option<NextCell> {
        let (mut least, mut best) = (f32::INFINITY, None);
        let mut losses = std::mem::take(&mut self.losses);
        reach.losses_with(self.frame, &self.free, &mut losses);
        for (local, loss) in self.free.iter().zip(&losses) {
            if *loss < least && self.is_free[*local] && (!helping || self.cell_helps(*local, tally)) {
                (least, best) = (*loss, Some(NextCell::Poor(*local)));
            }
        }
        reach.losses_with(self.frame, &self.donors, &mut losses);
        for (local, loss) in self.donors.iter().zip(&losses) {
            if *loss < least && self.pick(*local, tally, helping).is_some() {
                (least, best) = (*loss, Some(NextCell::Donor(*local)));
            }
        }
        self.losses = losses;
        best
    }

    fn cell_helps(&self, local: usize, tally: &Tally) -> bool {
        self.groups.of_cell(local).any(|(codes, _)| self.privacy.helps(tally, codes))
    }

    /// Whether a rich cell has a row to spare.
    fn can_give(&self, local: usize) -> bool {
        let Some(own) = &self.rich[local] else { return false };
        self.table.groups(self.frame.cell(local)).any(|group| self.can_spare(own, group))
    }

    /// Whether a rich cell stays satisfied without one row of this group.
    fn can_spare(&self, own: &Tally, group: u32) -> bool {
        self.rows_left(group) > 0 && self.privacy.can_lose(own, self.table.codes(group))
    }

    fn rows_left(&self, group: u32) -> u32 {
        self.table.group_rows(group) - self.given.get(&group).copied().unwrap_or(0)
    }

    /// The group from which a donor gives its next row: one that helps, or else the largest that is left.
    fn pick(&self, local: usize, tally: &Tally, helping: bool) -> Option<u32> {
        let Some(own) = &self.rich[local] else { return None };
        let mut largest: Option<(bool, u32, u32)> = None;
        for group in self.table.groups(self.frame.cell(local)) {
            let helps = self.privacy.helps(tally, self.table.codes(group));
            let rank = (helps, self.rows_left(group));
            let better = largest.is_none_or(|(h, rows, _)| rank > (h, rows));
            if (helps || !helping) && better && self.can_spare(own, group) {
                largest = Some((helps, rank.1, group));
            }
        }
        largest.map(|(_, _, group)| group)
    }

    /// Moves up to so many rows from a donor to the growing class.
    fn borrow(&mut self, local: usize, rows: u64, tally: &mut Tally, borrowed: &mut Vec<(usize, u32)>) {
        for _ in 0..rows {
            let Some(group) = self.pick(local, tally, false) else { break };
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

    /// Puts each cell that is still free into the class where the loss grows least.
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

/// The smaller of two losses, which are never NaN.
#[inline]
fn least_of(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

#[cfg(test)]
#[path = "greedy_tests.rs"]
mod tests;
