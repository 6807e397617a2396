//! Recode: from clusters of rows to the classes and values of the release.
//!
//! The release decides what a class is: clusters that generalize to the same values become one class here, and
//! everything that is reported is computed from these classes. Classes are ordered by what they show, so that the order
//! of a release says nothing that its values do not.

mod deal;
mod labels;
mod order;

pub use deal::DealKey;
pub use labels::{Labels, released_fields};
pub use order::ReleaseOrder;

use crate::cluster::Class;
use crate::error::{Error, Result};
use crate::table::Table;
use labels::Members;
use rustc_hash::FxHashMap;

/// The classes of a release, and which rows go where.
#[derive(Clone, Debug)]
pub struct Recoding {
    columns: Vec<Labels>,
    /// Class-major: the label of each class in each column.
    label_of: Vec<u32>,
    class_rows: Vec<u64>,
    /// Of group `g`: `shares[first_share[g] .. first_share[g + 1]]`.
    first_share: Vec<u32>,
    shares: Vec<Share>,
}

/// Rows of a group that go to a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// The class of the release.
    pub class: u32,
    /// How many rows.
    pub rows: u32,
}

impl Recoding {
    /// Generalizes clusters that together hold every row of the table once.
    pub fn new(table: &Table, clusters: &[Class]) -> Result<Self> {
        let cell_of = cell_of_group(table);
        let (mut columns, mut labels) = (Vec::new(), Vec::new());
        for (column, quasi) in table.quasi().iter().enumerate() {
            let members: Vec<Members> = clusters
                .iter()
                .map(|class| {
                    let cells = class.portions.iter().map(|portion| cell_of[portion.group as usize]);
                    let mut members: Members = cells.map(|cell| table.positions(cell)[column]).collect();
                    members.sort_unstable();
                    members.dedup();
                    members
                })
                .collect();
            let (column_labels, of_cluster) = Labels::build(quasi, &members)?;
            columns.push(column_labels);
            labels.push(of_cluster);
        }
        let tuple = |cluster: usize| labels.iter().map(|column| column[cluster]).collect::<Vec<u32>>();
        let mut tuples: Vec<Vec<u32>> = (0..clusters.len()).map(tuple).collect();
        tuples.sort_unstable();
        tuples.dedup();
        let class_of_tuple: FxHashMap<&[u32], u32> =
            tuples.iter().enumerate().map(|(class, tuple)| (tuple.as_slice(), class as u32)).collect();
        let mut class_rows = vec![0; tuples.len()];
        let mut placed: Vec<(u32, u32, u32)> = Vec::new();
        for (cluster, class) in clusters.iter().enumerate() {
            let home = class_of_tuple[tuple(cluster).as_slice()];
            for portion in &class.portions {
                class_rows[home as usize] += u64::from(portion.rows);
                placed.push((portion.group, home, portion.rows));
            }
        }
        placed.sort_unstable();
        let mut first_share = vec![0; table.group_count() + 1];
        let mut shares: Vec<Share> = Vec::with_capacity(placed.len());
        for run in placed.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            shares.push(Share { class: run[0].1, rows: run.iter().map(|(_, _, rows)| rows).sum() });
            first_share[run[0].0 as usize + 1] = shares.len() as u32;
        }
        let recoding = Self { columns, label_of: tuples.concat(), class_rows, first_share, shares };
        recoding.check(table)?;
        Ok(recoding)
    }

    /// Every row of every group must have been placed exactly once.
    fn check(&self, table: &Table) -> Result<()> {
        let is_whole = |group: u32| {
            let bounds = self.first_share[group as usize]..self.first_share[group as usize + 1];
            let shares = self.shares.get(bounds.start as usize..bounds.end as usize).unwrap_or_default();
            shares.iter().map(|share| u64::from(share.rows)).sum::<u64>() == u64::from(table.group_rows(group))
        };
        let groups = (0..table.group_count() as u32).filter(|group| !is_whole(*group)).count();
        if groups == 0 { Ok(()) } else { Err(Error::Misplaced { groups }) }
    }

    /// The labels of each quasi-identifier.
    pub fn columns(&self) -> &[Labels] {
        &self.columns
    }

    /// The label of a class in a column.
    pub fn label(&self, class: u32, column: usize) -> u32 {
        self.label_of[class as usize * self.columns.len() + column]
    }

    /// The size of each class.
    pub fn class_rows(&self) -> &[u64] {
        &self.class_rows
    }

    /// The classes among which the rows of a group are dealt, in ascending order.
    pub fn shares(&self, group: u32) -> &[Share] {
        &self.shares[self.first_share[group as usize] as usize..self.first_share[group as usize + 1] as usize]
    }
}

fn cell_of_group(table: &Table) -> Vec<u32> {
    let mut cells = vec![0; table.group_count()];
    for cell in 0..table.cell_count() as u32 {
        for group in table.groups(cell) {
            cells[group as usize] = cell;
        }
    }
    cells
}

#[cfg(test)]
#[path = "recode_tests.rs"]
mod tests;
