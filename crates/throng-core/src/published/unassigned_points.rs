//! The rows of a leaf without a class (`UR` in [Solanas 2008]), and the growth of a class from them.
//!
//! Rows of one cell are the same point, and [Solanas 2008] does not say which of them comes first. Here it is one that
//! lowers the deficit, and of those one of the group with the most remaining rows, so that rare values last as long as
//! possible.

use super::lazy_sort::PartiallySorted;
use crate::cluster::euclidean_embedding::{Distances, EuclideanEmbedding, EuclideanPoint};
use crate::cluster::{Class, Portion};
use crate::model::{Need, Privacy, Tally};
use crate::table::Table;

/// Rows without a class.
#[derive(Debug)]
pub(super) struct UnassignedPoints<'a> {
    space: &'a EuclideanEmbedding<'a>,
    table: &'a Table,
    privacy: &'a Privacy,
    /// The remaining rows of the groups of cell `c` of the leaf are `left[first[c]..first[c + 1]]`.
    first: Vec<usize>,
    left: Vec<u32>,
    /// Cells with remaining rows, ascending, with their row counts.
    cells: Vec<(usize, u64)>,
    tally: Tally,
}

/// Rows of a cell in a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellPortion {
    local: usize,
    portion: Portion,
}

/// Rows of a class with their cells.
#[derive(Clone, Debug, Default)]
pub(super) struct ClassMembers {
    taken: Vec<CellPortion>,
}

impl ClassMembers {
    pub(super) fn mean(&self, space: &EuclideanEmbedding<'_>) -> EuclideanPoint {
        let rows = self.taken.iter().map(|taken| (taken.local, u64::from(taken.portion.rows)));
        space.mean(&rows.collect::<Vec<_>>())
    }

    pub(super) fn extend(&mut self, rows: Vec<CellPortion>) {
        self.taken.extend(rows);
    }

    pub(super) fn into_class(self) -> Class {
        Class::of_portions(self.taken.into_iter().map(|taken| taken.portion).collect())
    }
}

impl<'a> UnassignedPoints<'a> {
    /// Creates the pool of all rows of the leaf.
    pub(super) fn new(space: &'a EuclideanEmbedding<'a>, privacy: &'a Privacy) -> Self {
        let (frame, table) = (space.frame(), space.frame().table());
        let (mut first, mut left) = (vec![0], Vec::new());
        for local in 0..frame.len() {
            left.extend(table.groups(frame.cell(local)).map(|group| table.group_rows(group)));
            first.push(left.len());
        }
        let cells = (0..frame.len()).map(|local| (local, table.cell_rows(frame.cell(local)))).collect();
        let tally = Tally::of_cells(table, (0..frame.len()).map(|local| frame.cell(local)));
        Self { space, table, privacy, first, left, cells, tally }
    }

    /// Returns the tally of the remaining rows.
    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Iterates over the cells with remaining rows.
    pub(super) fn cells(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().map(|(local, _)| *local)
    }

    /// Returns the mean of the remaining rows.
    pub(super) fn mean(&self) -> EuclideanPoint {
        self.space.mean(&self.cells)
    }

    /// Returns the cell farthest from a point, the lowest among equals.
    pub(super) fn farthest(&self, from: &EuclideanPoint) -> Option<usize> {
        self.best(&self.space.distances(from), |distance, best| distance > best)
    }

    /// Returns the cell nearest to a point, the lowest among equals.
    pub(super) fn nearest(&self, to: &EuclideanPoint) -> Option<usize> {
        self.best(&self.space.distances(to), |distance, best| distance < best)
    }

    fn best(&self, distances: &Distances, is_better: impl Fn(f64, f64) -> bool) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for local in self.cells() {
            let distance = distances.to(self.space, local);
            if best.is_none_or(|(best, _)| is_better(distance, best)) {
                best = Some((distance, local));
            }
        }
        best.map(|(_, local)| local)
    }

    /// Takes the rows of a class (lines 4 to 13 of Algorithm 1): a row of the seed, then the nearest rows *to the seed*
    /// that lower the deficit of a model that does not count rows, until these models are satisfied, then the nearest
    /// rows until the class satisfies every model. Returns `None`, without taking any row, if the remaining rows do not
    /// suffice.
    pub(super) fn grow(&mut self, seed: usize) -> Option<ClassMembers> {
        let mut tally = Tally::empty(self.table.tally_shape());
        let mut members = ClassMembers::default();
        let is_complete = self.try_grow(seed, &mut tally, &mut members).is_some();
        if is_complete {
            let left = |local: usize| self.left[self.first[local]..self.first[local + 1]].iter();
            let rows = |local: usize| left(local).map(|rows| u64::from(*rows)).sum::<u64>();
            self.cells = self.cells().map(|local| (local, rows(local))).filter(|(_, rows)| *rows > 0).collect();
            return Some(members);
        }
        for CellPortion { local, portion } in members.taken {
            let place = self.place(local, portion.group);
            self.left[place] += portion.rows;
            self.tally.add(self.table.codes(portion.group), u64::from(portion.rows));
        }
        None
    }

    fn try_grow(&mut self, seed: usize, tally: &mut Tally, members: &mut ClassMembers) -> Option<()> {
        let distances = self.space.distances(&self.space.point(seed));
        let mut order =
            PartiallySorted::new(self.cells().map(|local| (distances.to(self.space, local), local)).collect());
        if let Some(group) = self.helping(seed, tally).or_else(|| self.largest(seed, |_| true)) {
            self.take(seed, group, 1, tally, members);
        }
        // A row that does not lower the deficit will not do so later either, so one pass outwards suffices.
        let mut rank = 0;
        while self.privacy.homogeneity(tally) > 0.0 {
            let local = order.get(rank)?;
            match self.helping(local, tally) {
                Some(group) => self.take(local, group, 1, tally, members),
                None => rank += 1,
            }
        }
        rank = 0;
        while let Need::AnyRow(rows) = self.privacy.need(tally) {
            let local = order.get(rank)?;
            match self.largest(local, |_| true) {
                Some(group) => self.take(local, group, rows, tally, members),
                None => rank += 1,
            }
        }
        self.privacy.is_satisfied(tally).then_some(())
    }

    /// Takes all remaining rows as one class.
    pub(super) fn take_rest(&mut self) -> ClassMembers {
        let rest = self.cells().flat_map(|local| self.rows_of(local)).collect();
        self.cells.clear();
        self.left.fill(0);
        self.tally = Tally::empty(self.table.tally_shape());
        ClassMembers { taken: rest }
    }

    /// Returns the remaining rows of a cell.
    pub(super) fn rows_of(&self, local: usize) -> Vec<CellPortion> {
        let groups = self.table.groups(self.space.frame().cell(local));
        let rows = groups.zip(&self.left[self.first[local]..]).filter(|(_, rows)| **rows > 0);
        rows.map(|(group, rows)| CellPortion { local, portion: Portion { group, rows: *rows } }).collect()
    }

    fn helping(&self, local: usize, tally: &Tally) -> Option<u32> {
        self.largest(local, |group| self.privacy.helps(tally, self.table.codes(group)))
    }

    /// Returns the group of a cell with the most remaining rows among the wanted ones, the lowest among equals.
    fn largest(&self, local: usize, is_wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let groups = self.table.groups(self.space.frame().cell(local));
        let rows = groups.zip(&self.left[self.first[local]..]).filter(|(group, rows)| **rows > 0 && is_wanted(*group));
        rows.max_by_key(|(group, rows)| (**rows, std::cmp::Reverse(*group))).map(|(group, _)| group)
    }

    /// Returns the index of the remaining rows of a group.
    fn place(&self, local: usize, group: u32) -> usize {
        self.first[local] + (group - self.table.groups(self.space.frame().cell(local)).start) as usize
    }

    /// Moves up to `most` rows of a group to a class.
    fn take(&mut self, local: usize, group: u32, most: u64, tally: &mut Tally, members: &mut ClassMembers) {
        let place = self.place(local, group);
        let rows = u64::from(self.left[place]).min(most) as u32;
        self.left[place] -= rows;
        let codes = self.table.codes(group);
        self.tally.remove(codes, u64::from(rows));
        tally.add(codes, u64::from(rows));
        members.taken.push(CellPortion { local, portion: Portion { group, rows } });
    }
}

#[cfg(test)]
#[path = "unassigned_points_tests.rs"]
mod tests;
