//! Cells that satisfy the model alone, and the rows that they can lend.
//!
//! Of such a cell a *core* that satisfies the model stays at home, at no loss. Models are monotone, so whatever else is
//! lent, the home stays satisfied. A class that lacks rows takes them from a cell nearby, and loses less than if it had
//! to reach for rows that nobody can spare.

use crate::cluster::Portion;
use crate::model::{Need, Privacy, Tally};
use crate::table::Table;

/// The rows that one cell can lend, by its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Surplus {
    first_group: u32,
    by_group: Vec<u32>,
    rows: u32,
}

impl Surplus {
    /// What a home can lend, so that it still satisfies the model. What it would lend a class that has nothing, stays.
    pub(super) fn of_singleton(table: &Table, privacy: &Privacy, cell: u32, home: &[Portion]) -> Self {
        let groups = table.groups(cell);
        let mut surplus = Self { first_group: groups.start, by_group: vec![0; groups.len()], rows: 0 };
        surplus.give_back(home);
        match surplus.allocate(table, privacy, &Tally::empty(table.sensitive().len())) {
            Some(_core) => surplus,
            None => surplus.emptied(),
        }
    }

    /// The same cell with nothing to lend.
    pub(super) fn emptied(&self) -> Self {
        Self { first_group: self.first_group, by_group: vec![0; self.by_group.len()], rows: 0 }
    }

    /// How many rows can be lent.
    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    pub(super) fn give_back(&mut self, portions: &[Portion]) {
        for portion in portions {
            self.by_group[(portion.group - self.first_group) as usize] += portion.rows;
            self.rows += portion.rows;
        }
    }

    /// Takes rows that were lent to be lent again. They must be there.
    pub(super) fn take(&mut self, portions: &[Portion]) {
        for portion in portions {
            self.by_group[(portion.group - self.first_group) as usize] -= portion.rows;
            self.rows -= portion.rows;
        }
    }

    /// Lends a class what it lacks; none, and nothing lent, when that can't be done.
    pub(super) fn allocate(&mut self, table: &Table, privacy: &Privacy, class: &Tally) -> Option<Vec<Portion>> {
        let mut tally = class.clone();
        let mut allocated: Vec<Portion> = Vec::new();
        loop {
            let (helping, most) = match privacy.need(&tally) {
                Need::Nothing => return Some(allocated),
                Need::AnyRow(rows) => (false, rows),
                Need::DiverseRow => (true, 1),
            };
            let left = self.by_group.iter().zip(self.first_group..).filter(|(rows, _)| **rows > 0);
            let wanted = left.filter(|(_, group)| !helping || privacy.helps(&tally, table.codes(*group)));
            let Some((left, group)) = wanted.max_by_key(|(rows, group)| (**rows, std::cmp::Reverse(*group))) else {
                self.give_back(&allocated);
                return None;
            };
            let portion = Portion { group, rows: (*left).min(u32::try_from(most).unwrap_or(u32::MAX)) };
            self.take(&[portion]);
            tally.add(table.codes(group), u64::from(portion.rows));
            match allocated.iter_mut().find(|known| known.group == group) {
                Some(known) => known.rows += portion.rows,
                None => allocated.push(portion),
            }
        }
    }
}
