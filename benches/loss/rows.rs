//! A table row by row, for baselines that do not use cells.

use rayon::prelude::*;
use throng_core::cluster::{Class, Portion};
use throng_core::domain::DomainKind;
use throng_core::model::{Privacy, Tally};
use throng_core::table::{QuasiColumn, Table};

use crate::grow::Pace;

/// Rows of a table in columnar layout, and their privacy model.
#[derive(Debug)]
pub struct RowTable<'a> {
    pub(crate) table: &'a Table,
    pub(crate) privacy: &'a Privacy,
    pub(crate) columns: Vec<Column>,
    /// The group of each row.
    groups: Vec<u32>,
}

/// The values of a quasi-identifier.
#[derive(Debug)]
pub(crate) enum Column {
    /// Value of each row, scaled to [0, 1] over the range of the column.
    Number(Vec<f32>),
    Category {
        /// The leaf of each row.
        leaves: Vec<u32>,
        /// Number of leaves.
        count: usize,
        /// The NCP of the leaves `lo ..= hi`, at `lo * count + hi`.
        loss: Vec<f32>,
    },
}

/// Range of a class in one column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Range {
    Number(f32, f32),
    Category(u32, u32),
}

impl<'a> RowTable<'a> {
    /// Expands a table without nulls into rows.
    pub fn new(table: &'a Table, privacy: &'a Privacy) -> Self {
        let cells =
            || (0..table.cell_count() as u32).flat_map(|cell| table.groups(cell).map(move |group| (cell, group)));
        let rows =
            || cells().flat_map(|(cell, group)| std::iter::repeat_n((cell, group), table.group_rows(group) as usize));
        let column = |(at, quasi): (usize, &QuasiColumn)| {
            let positions = rows().map(|(cell, _)| table.positions(cell)[at]);
            Column::new(quasi, positions.collect())
        };
        let columns = table.quasi().iter().enumerate().map(column).collect();
        Self { table, privacy, columns, groups: rows().map(|(_, group)| group).collect() }
    }

    /// Baseline: greedy clustering of all rows.
    pub fn whole_table(&self) -> Vec<Class> {
        self.classes(self.grow(self.all(), Pace::Quick))
    }

    /// Baseline: greedy clustering of all rows, evaluating every remaining row at every step.
    pub fn whole_table_literally(&self) -> Vec<Class> {
        self.classes(self.grow(self.all(), Pace::Literal))
    }

    /// Baseline: greedy clustering of the rows of each Mondrian leaf.
    pub fn in_leaves(&self, leaf_rows: usize) -> Vec<Class> {
        let leaves = self.leaves(self.all(), leaf_rows);
        self.classes(leaves.into_par_iter().flat_map_iter(|leaf| self.grow(leaf, Pace::Quick)).collect())
    }

    pub(crate) fn codes(&self, row: u32) -> &[u32] {
        self.table.codes(self.groups[row as usize])
    }

    /// Whether these rows satisfy the model. Stops as soon as they do.
    pub(crate) fn is_satisfied(&self, rows: &[u32]) -> bool {
        let mut tally = Tally::empty(self.table.tally_shape());
        rows.iter().any(|row| {
            tally.add(self.codes(*row), 1);
            self.privacy.is_satisfied(&tally)
        })
    }

    fn all(&self) -> Vec<u32> {
        (0..self.groups.len() as u32).collect()
    }

    fn classes(&self, clusters: Vec<Vec<u32>>) -> Vec<Class> {
        let portion = |row: &u32| Portion { group: self.groups[*row as usize], rows: 1 };
        clusters.iter().map(|rows| Class::of_portions(rows.iter().map(portion).collect())).collect()
    }
}

impl Column {
    fn new(quasi: &QuasiColumn, positions: Vec<u32>) -> Self {
        let domain = &quasi.domain;
        match domain.kind() {
            DomainKind::Ordered { .. } => {
                Self::Number(positions.iter().map(|position| domain.loss(0, *position) as f32).collect())
            }
            DomainKind::Category(_) => {
                let count = domain.len() as u32;
                let pairs = (0..count).flat_map(|lo| (0..count).map(move |hi| (lo, hi)));
                let loss = pairs.map(|(lo, hi)| domain.loss(lo.min(hi), lo.max(hi)) as f32).collect();
                Self::Category { leaves: positions, count: count as usize, loss }
            }
        }
    }

    /// Returns the range of one row.
    pub(crate) fn range(&self, row: u32) -> Range {
        match self {
            Self::Number(values) => Range::Number(values[row as usize], values[row as usize]),
            Self::Category { leaves, .. } => Range::Category(leaves[row as usize], leaves[row as usize]),
        }
    }

    /// Returns the NCP of a range.
    pub(crate) fn loss(&self, range: Range) -> f32 {
        match (self, range) {
            (Self::Category { count, loss, .. }, Range::Category(lo, hi)) => loss[lo as usize * count + hi as usize],
            (_, Range::Number(lo, hi)) => hi - lo,
            (_, Range::Category(..)) => 0.0,
        }
    }
}

impl Range {
    /// Returns the union of two ranges.
    pub(crate) fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number(lo, hi), Self::Number(from, to)) => Self::Number(lo.min(from), hi.max(to)),
            (Self::Category(lo, hi), Self::Category(from, to)) => Self::Category(lo.min(from), hi.max(to)),
            _ => self,
        }
    }
}
