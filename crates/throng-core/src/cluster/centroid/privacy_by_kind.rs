//! Evaluates privacy models by the kind of a unit, which stands for its sensitive codes.

use crate::model::{Need, Privacy, Tally, TallyShape};
use crate::table::Table;

/// Privacy models of a release, and the sensitive codes of each kind of unit.
#[derive(Debug)]
pub(super) struct PrivacyByKind<'a> {
    privacy: &'a Privacy,
    /// Sensitive columns that models count; none if only rows are counted, which makes tallies cheap.
    shape: TallyShape,
    /// Kind-major.
    codes: Vec<u32>,
    kinds: u32,
    least_rows: u64,
}

impl<'a> PrivacyByKind<'a> {
    pub(super) fn new(table: &Table, privacy: &'a Privacy) -> Self {
        let counts_rows_only = privacy.models().all(|model| model.counts_rows());
        let shape = if counts_rows_only { TallyShape::without_units(0) } else { table.tally_shape() };
        Self { privacy, shape, codes: Vec::new(), kinds: 0, least_rows: privacy.least_rows() }
    }

    /// Returns whether only rows are counted, so that all units are of one kind.
    pub(super) fn is_plain(&self) -> bool {
        self.shape.columns == 0
    }

    /// Returns the minimum number of rows of a class.
    pub(super) fn least_rows(&self) -> u64 {
        self.least_rows
    }

    /// Adds a kind with these codes and returns its number.
    pub(super) fn add_kind(&mut self, codes: &[u32]) -> u32 {
        self.codes.extend_from_slice(&codes[..self.shape.columns]);
        self.kinds += 1;
        self.kinds - 1
    }

    fn codes(&self, kind: u32) -> &[u32] {
        &self.codes[kind as usize * self.shape.columns..][..self.shape.columns]
    }

    /// Returns the tally of a class without rows.
    pub(super) fn empty_tally(&self) -> Tally {
        Tally::empty(self.shape)
    }

    pub(super) fn add(&self, tally: &mut Tally, kind: u32, rows: u64) {
        tally.add(self.codes(kind), rows);
    }

    pub(super) fn remove(&self, tally: &mut Tally, kind: u32, rows: u64) {
        tally.remove(self.codes(kind), rows);
    }

    pub(super) fn is_satisfied(&self, tally: &Tally) -> bool {
        tally.rows() >= self.least_rows && self.privacy.is_satisfied(tally)
    }

    pub(super) fn need(&self, tally: &Tally) -> Need {
        self.privacy.need(tally)
    }

    pub(super) fn helps(&self, tally: &Tally, kind: u32) -> bool {
        self.privacy.helps(tally, self.codes(kind))
    }

    /// Returns whether a class that satisfies the model still does without these rows of it.
    pub(super) fn can_lose(&self, tally: &mut Tally, kind: u32, rows: u64) -> bool {
        if rows == 1 {
            return self.privacy.can_lose(tally, self.codes(kind));
        }
        if tally.rows() < self.least_rows + rows {
            return false;
        }
        self.remove(tally, kind, rows);
        let is_satisfied = self.is_satisfied(tally);
        self.add(tally, kind, rows);
        is_satisfied
    }

    /// Returns whether a class that satisfies the model still does after `rows` of its rows of kind `gone` are replaced
    /// by rows of kind `come`.
    pub(super) fn allows_exchange(&self, tally: &mut Tally, gone: u32, come: u32, rows: u64) -> bool {
        if gone == come {
            return true;
        }
        self.add(tally, come, rows);
        let is_satisfied = self.can_lose(tally, gone, rows);
        self.remove(tally, come, rows);
        is_satisfied
    }

    /// Returns whether rows of these kinds satisfy the model. Stops as soon as they do.
    pub(super) fn is_satisfied_by(&self, rows: impl IntoIterator<Item = (u32, u64)>) -> bool {
        let mut tally = self.empty_tally();
        rows.into_iter().any(|(kind, rows)| {
            self.add(&mut tally, kind, rows);
            self.is_satisfied(&tally)
        })
    }

    pub(super) fn is_satisfied_by_cell(&self, table: &Table, cell: u32) -> bool {
        table.cell_rows(cell) >= self.least_rows && self.privacy.is_satisfied(&Tally::of_cell(table, cell))
    }
}
