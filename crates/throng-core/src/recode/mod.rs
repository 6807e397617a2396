//! Recode: from clusters of rows to the classes and values of the release.
//!
//! The release decides what a class is: clusters that generalize to the same values become one class here, and
//! everything that is reported is computed from these classes. Classes are ordered by what they show, so that the order
//! of a release says nothing that its values do not.

mod aggregate;
mod deal;
mod labels;
mod order;

pub use aggregate::SquaredErrors;
pub use deal::DealKey;
pub use labels::{Labels, released_fields};
pub use order::ReleaseOrder;

use crate::cluster::Class;
use crate::error::{Error, Result};
use crate::table::{QuasiColumn, Table};
use aggregate::Aggregate;
use rustc_hash::FxHashMap;

/// The classes of a release, and which rows go where.
#[derive(Clone, Debug)]
pub struct Recoding {
    columns: Vec<Labels>,
    /// Per column, for those whose classes show an aggregate.
    aggregates: Vec<Option<Aggregate>>,
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
        Self::without(table, clusters, &[])
    }

    /// Generalizes clusters that together hold every row of the table once, but for those of the cells in `out`, which
    /// are left out of the release.
    pub fn without(table: &Table, clusters: &[Class], out: &[u32]) -> Result<Self> {
        let cell_of = cell_of_group(table);
        let members: Vec<Vec<Members>> = (0..table.quasi().len())
            .map(|column| clusters.iter().map(|class| members(table, &cell_of, class, column)).collect())
            .collect();
        let (mut columns, mut labels) = (Vec::new(), Vec::new());
        for (quasi, members) in table.quasi().iter().zip(&members) {
            check_limit(quasi, members)?;
            let built = if quasi.spec.release.is_aggregate() { aggregate::build } else { Labels::build };
            let (column_labels, of_cluster) = built(quasi, members)?;
            columns.push(column_labels);
            labels.push(of_cluster);
        }
        let tuple = |cluster: usize| labels.iter().map(|column| column[cluster]).collect::<Vec<u32>>();
        let mut tuples: Vec<Vec<u32>> = (0..clusters.len()).map(tuple).collect();
        tuples.sort_unstable();
        tuples.dedup();
        let class_of_tuple: FxHashMap<&[u32], u32> =
            tuples.iter().enumerate().map(|(class, tuple)| (tuple.as_slice(), class as u32)).collect();
        let homes: Vec<u32> = (0..clusters.len()).map(|cluster| class_of_tuple[tuple(cluster).as_slice()]).collect();
        let mut class_rows = vec![0; tuples.len()];
        let mut placed: Vec<(u32, u32, u32)> = Vec::new();
        for (home, class) in homes.iter().zip(clusters) {
            for portion in &class.portions {
                class_rows[*home as usize] += u64::from(portion.rows);
                placed.push((portion.group, *home, portion.rows));
            }
        }
        placed.sort_unstable();
        let mut first_share = vec![0; table.group_count() + 1];
        let mut shares: Vec<Share> = Vec::with_capacity(placed.len());
        for run in placed.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            shares.push(Share { class: run[0].1, rows: run.iter().map(|(_, _, rows)| rows).sum() });
            first_share[run[0].0 as usize + 1] = shares.len() as u32;
        }
        // A group without shares has an empty range.
        for group in 0..table.group_count() {
            first_share[group + 1] = first_share[group + 1].max(first_share[group]);
        }
        let mut aggregates = Vec::new();
        for (column, quasi) in table.quasi().iter().enumerate() {
            let class_labels: Vec<u32> = tuples.iter().map(|tuple| tuple[column]).collect();
            let members: Vec<_> = homes.iter().copied().zip(&members[column]).collect();
            let is_aggregate = quasi.spec.release.is_aggregate();
            let lost = is_aggregate.then(|| Aggregate::of(quasi, &columns[column], &class_labels, &members));
            aggregates.push(lost.transpose()?);
        }
        let recoding = Self { aggregates, label_of: tuples.concat(), columns, class_rows, first_share, shares };
        recoding.check(table, out)?;
        Ok(recoding)
    }

    /// Every row of every group must have been placed exactly once.
    fn check(&self, table: &Table, out: &[u32]) -> Result<()> {
        let mut expected: Vec<u64> = (0..table.group_count() as u32).map(|g| u64::from(table.group_rows(g))).collect();
        for group in out.iter().flat_map(|cell| table.groups(*cell)) {
            expected[group as usize] = 0;
        }
        let placed = |group: usize| self.shares(group as u32).iter().map(|share| u64::from(share.rows)).sum::<u64>();
        let groups = expected.iter().enumerate().filter(|(group, rows)| placed(*group) != **rows).count();
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

    /// The NCP of a row of a class in a column.
    pub fn ncp(&self, class: u32, column: usize) -> f64 {
        match &self.aggregates[column] {
            Some(aggregate) => aggregate.ncp[class as usize],
            None => self.columns[column].ncp[self.label(class, column) as usize],
        }
    }

    /// The information loss of a row of a class in a column (Def. 9 of paper A).
    pub fn information_loss(&self, class: u32, column: usize) -> f64 {
        match &self.aggregates[column] {
            Some(aggregate) => aggregate.information_loss[class as usize],
            None => self.columns[column].information_loss[self.label(class, column) as usize],
        }
    }

    /// The squared errors of a column that shows means or medians.
    pub fn squared_errors(&self, column: usize) -> Option<SquaredErrors> {
        self.aggregates[column].as_ref().and_then(|aggregate| aggregate.squared_errors)
    }

    /// Whether the rows of a group are left out of the release.
    pub fn is_out(&self, group: u32) -> bool {
        self.shares(group).is_empty()
    }

    /// The classes among which the rows of a group are dealt, in ascending order.
    pub fn shares(&self, group: u32) -> &[Share] {
        &self.shares[self.first_share[group as usize] as usize..self.first_share[group as usize + 1] as usize]
    }
}

/// What a class has in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Members {
    /// The positions that occur, ascending, and how many rows have each.
    rows: Vec<(u32, u64)>,
    /// The positions from and to that are shown, where the class has a cover.
    cover: Option<(u32, u32)>,
}

impl Members {
    /// The first and the last position that is shown; none for a class without rows.
    fn range(&self) -> Option<(u32, u32)> {
        self.cover.or(Some((self.rows.first()?.0, self.rows.last()?.0)))
    }
}

fn members(table: &Table, cell_of: &[u32], class: &Class, column: usize) -> Members {
    let position = |group: u32| table.positions(cell_of[group as usize])[column];
    let mut rows: Vec<(u32, u64)> =
        class.portions.iter().map(|portion| (position(portion.group), u64::from(portion.rows))).collect();
    rows.sort_unstable();
    let sum = |run: &[(u32, u64)]| (run[0].0, run.iter().map(|(_, rows)| rows).sum());
    let rows = rows.chunk_by(|a, b| a.0 == b.0).map(sum).collect();
    Members { rows, cover: class.cover.as_ref().map(|cover| cover[column]) }
}

/// No class may show more than the limit of its column allows.
fn check_limit(quasi: &QuasiColumn, classes: &[Members]) -> Result<()> {
    let crosses =
        |members: &&Members| members.range().is_some_and(|(lo, hi)| quasi.domain.block(lo) != quasi.domain.block(hi));
    match classes.iter().filter(crosses).count() {
        0 => Ok(()),
        classes => Err(Error::Beyond { column: quasi.spec.name.clone(), classes }),
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
