//! Recode: from clusters of rows to the classes and values of the release.
//!
//! The release decides what a class is: clusters that generalize to the same values become one class here, and
//! everything that is reported is computed from these classes. Classes are ordered by what they show, so that the order
//! of a release says nothing that its values do not.

mod aggregate_column;
mod cluster_aggregates;
mod label_keys;
mod labels;
mod order;
mod recoder;
mod row_assignment;

pub use aggregate_column::SquaredErrors;
pub use labels::{Labels, released_fields};
pub use order::ReleaseOrder;
pub use recoder::Recoder;

use arrow::array::Array;

use crate::cluster::Class;
use crate::error::Result;
use crate::table::Table;
use aggregate_column::AggregateLosses;

/// The classes of a release, and which rows go where.
///
/// Groups are numbered over all parts of the table, in the order in which a [`Recoder`] was given them.
#[derive(Clone, Debug)]
pub struct Recoding {
    columns: Vec<Labels>,
    /// Per column, for those whose classes show an aggregate.
    aggregates: Vec<Option<AggregateLosses>>,
    /// Class-major: the label of each class in each column.
    label_of: Vec<u32>,
    class_rows: Vec<u64>,
    shares: Shares,
}

/// The classes among which the rows of each group are dealt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Of group `g`: `all[first[g] .. first[g + 1]]`.
    first: Vec<u32>,
    all: Vec<Share>,
}

/// Rows of a group that go to a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// The class of the release.
    pub class: u32,
    /// How many rows.
    pub rows: u32,
}

impl Shares {
    /// The shares of each group, one after the other.
    pub fn new<'a>(groups: impl IntoIterator<Item = &'a [Share]>) -> Self {
        let (mut first, mut all) = (vec![0], Vec::new());
        for shares in groups {
            all.extend_from_slice(shares);
            first.push(all.len() as u32);
        }
        Self { first, all }
    }

    /// The classes of a group in the order in which its rows are dealt: ascending, but for the largest share, which comes
    /// last. So only as many rows as a group lends have to be told from the others.
    pub fn of(&self, group: u32) -> &[Share] {
        &self.all[self.first[group as usize] as usize..self.first[group as usize + 1] as usize]
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.first.len() - 1
    }

    /// How many rows of a group go to other classes than that of its largest share.
    pub fn lends(&self, group: u32) -> usize {
        match self.of(group) {
            [lent_to @ .., _] => lent_to.iter().map(|share| share.rows as usize).sum(),
            [] => 0,
        }
    }
}

impl Recoding {
    /// Generalizes clusters that together hold every row of the table once.
    pub fn new(table: &Table, clusters: &[Class]) -> Result<Self> {
        Self::without(table, clusters, &[])
    }

    /// Generalizes clusters that together hold every row of the table once, but for those of the cells in `out`, which
    /// are left out of the release.
    pub fn without(table: &Table, clusters: &[Class], out: &[u32]) -> Result<Self> {
        let mut recoder = Recoder::new(table);
        recoder.add(table, clusters, out)?;
        recoder.finish()
    }

    /// The labels of each quasi-identifier.
    pub fn columns(&self) -> &[Labels] {
        &self.columns
    }

    /// The label of a class in a column.
    pub fn label(&self, class: u32, column: usize) -> u32 {
        self.label_of[class as usize * self.columns.len() + column]
    }

    /// The positions that a label of a column stands for: the first and the last, or all where it is a set. None where
    /// classes show an aggregate, or nothing.
    pub fn stands_for(&self, column: usize, label: u32) -> &[u32] {
        match self.aggregates[column] {
            Some(_) => &[],
            None => self.columns[column].stands_for.get(label as usize),
        }
    }

    /// The size of each class.
    pub fn class_rows(&self) -> &[u64] {
        &self.class_rows
    }

    /// How many groups there are, over all parts.
    pub fn group_count(&self) -> usize {
        self.shares.groups()
    }

    /// The NCP of a row of a class in a column.
    pub fn ncp(&self, class: u32, column: usize) -> f64 {
        match &self.aggregates[column] {
            Some(aggregate) => aggregate.ncp[class as usize],
            None => self.columns[column].ncp[self.label(class, column) as usize],
        }
    }

    /// The information loss of a row of a class in a column [Truta 2007, Def. 9].
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

    /// What the classes take of the memory, without the groups.
    pub fn size(&self) -> usize {
        let labels = |labels: &Labels| {
            let columns = labels.columns.iter().map(|(_, column)| column.get_array_memory_size());
            columns.sum::<usize>() + labels.ncp.len() * 16 + labels.stands_for.size()
        };
        self.columns.iter().map(labels).sum::<usize>() + self.label_of.len() * 4 + self.class_rows.len() * 8
    }

    /// The classes among which the rows of a group are dealt, in that order.
    pub fn shares(&self, group: u32) -> &[Share] {
        self.shares.of(group)
    }

    /// The same for all groups.
    pub fn all_shares(&self) -> &Shares {
        &self.shares
    }

    /// Class by class, the label of each column.
    pub fn labels_of_classes(&self) -> &[u32] {
        &self.label_of
    }
}

#[cfg(test)]
#[path = "recode_tests.rs"]
mod tests;
