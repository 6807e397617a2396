//! Recoding: from clusters of rows to the equivalence classes and values of a release.
//!
//! Clusters that generalize to equal labels become one class, and everything that is reported is computed from these
//! classes. Classes are ordered by their labels, so the order of a release carries no other information.

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
pub use recoder::{ClusterShares, Recoder};

use arrow::array::{Array, ArrayRef};

use crate::cluster::Class;
use crate::error::Result;
use crate::table::Table;
use aggregate_column::AggregateLosses;

/// The classes of a release, and the assignment of groups to them.
///
/// Groups are numbered across all parts of the table, in the order of [`Recoder::add`].
#[derive(Clone, Debug)]
pub struct Recoding {
    columns: Vec<Labels>,
    /// Per column; only for columns that release an aggregate.
    aggregates: Vec<Option<AggregateLosses>>,
    /// Class-major: the label of each class in each column.
    label_of: Vec<u32>,
    class_rows: Vec<u64>,
    shares: Shares,
}

/// Classes by which rows are assigned and labelled.
#[derive(Clone, Debug)]
pub struct ClassAssignment {
    /// For each quasi-identifier, the distinct labels of each released column.
    pub labels: Vec<Vec<ArrayRef>>,
    /// Label index by class and quasi-identifier, class-major.
    pub label_of: Vec<u32>,
    /// Number of rows of each class.
    pub class_rows: Vec<u64>,
    /// The classes that the rows of each group go to.
    pub shares: Shares,
}

/// The classes that the rows of each group go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Offsets: the shares of group `g` are `all[first[g] .. first[g + 1]]`.
    first: Vec<u32>,
    all: Vec<Share>,
}

/// Number of rows of a group that go to one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// Id of the class.
    pub class: u32,
    /// Number of rows of the group that go to that class.
    pub rows: u32,
}

impl Shares {
    /// Creates the shares from those of each group, in order.
    pub fn new<'a>(groups: impl IntoIterator<Item = &'a [Share]>) -> Self {
        let (mut first, mut all) = (vec![0], Vec::new());
        for shares in groups {
            all.extend_from_slice(shares);
            first.push(all.len() as u32);
        }
        Self { first, all }
    }

    /// Appends the shares of further groups.
    pub fn append(&mut self, more: &Self) {
        let end = self.all.len() as u32;
        self.all.extend_from_slice(&more.all);
        self.first.extend(more.first.iter().skip(1).map(|first| end + first));
    }

    /// Returns the shares of a group in assignment order: ascending by class, except that the largest share comes last.
    /// Only the rows before it have to be selected individually.
    pub fn of(&self, group: u32) -> &[Share] {
        &self.all[self.first[group as usize] as usize..self.first[group as usize + 1] as usize]
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.first.len() - 1
    }

    /// Returns the number of rows of a group outside its largest share.
    pub fn lends(&self, group: u32) -> usize {
        match self.of(group) {
            [lent_to @ .., _] => lent_to.iter().map(|share| share.rows as usize).sum(),
            [] => 0,
        }
    }
}

impl Recoding {
    /// Recodes clusters that together contain every row of the table exactly once.
    pub fn new(table: &Table, clusters: &[Class]) -> Result<Self> {
        Self::without(table, clusters, &[])
    }

    /// Recodes clusters that together contain every row of the table exactly once, except the rows of the cells in
    /// `out`, which are suppressed.
    pub fn without(table: &Table, clusters: &[Class], out: &[u32]) -> Result<Self> {
        let mut recoder = Recoder::new(table);
        recoder.add(table, clusters, out)?;
        recoder.finish()
    }

    /// Returns the labels of each quasi-identifier.
    pub fn columns(&self) -> &[Labels] {
        &self.columns
    }

    /// Returns the label of a class in a column.
    pub fn label(&self, class: u32, column: usize) -> u32 {
        self.label_of[class as usize * self.columns.len() + column]
    }

    /// Returns the positions that a label covers: the first and the last, or all if it is a set. Empty if the column
    /// releases an aggregate or the label covers nothing.
    pub fn stands_for(&self, column: usize, label: u32) -> &[u32] {
        match self.aggregates[column] {
            Some(_) => &[],
            None => self.columns[column].stands_for.get(label as usize),
        }
    }

    /// Returns the size of each class.
    pub fn class_rows(&self) -> &[u64] {
        &self.class_rows
    }

    /// Returns the number of groups across all parts.
    pub fn group_count(&self) -> usize {
        self.shares.groups()
    }

    /// Returns the NCP of a row of a class in a column.
    pub fn ncp(&self, class: u32, column: usize) -> f64 {
        match &self.aggregates[column] {
            Some(aggregate) => aggregate.ncp[class as usize],
            None => self.columns[column].ncp[self.label(class, column) as usize],
        }
    }

    /// Returns the information loss of a row of a class in a column [Truta 2007, Def. 9].
    pub fn information_loss(&self, class: u32, column: usize) -> f64 {
        match &self.aggregates[column] {
            Some(aggregate) => aggregate.information_loss[class as usize],
            None => self.columns[column].information_loss(self.label(class, column)),
        }
    }

    /// Returns the squared errors of a column that releases means or medians.
    pub fn squared_errors(&self, column: usize) -> Option<SquaredErrors> {
        self.aggregates[column].as_ref().and_then(|aggregate| aggregate.squared_errors)
    }

    /// Whether the rows of a group are suppressed.
    pub fn is_out(&self, group: u32) -> bool {
        self.shares(group).is_empty()
    }

    /// Returns the memory use of the classes in bytes, without the groups.
    pub fn size(&self) -> usize {
        let labels = |labels: &Labels| {
            let columns = labels.columns.iter().map(|(_, column)| column.get_array_memory_size());
            columns.sum::<usize>() + labels.ncp.len() * 16 + labels.stands_for.size()
        };
        self.columns.iter().map(labels).sum::<usize>() + self.label_of.len() * 4 + self.class_rows.len() * 8
    }

    /// Returns the shares of a group in assignment order.
    pub fn shares(&self, group: u32) -> &[Share] {
        self.shares.of(group)
    }

    /// Returns the shares of all groups.
    pub fn all_shares(&self) -> &Shares {
        &self.shares
    }

    /// Returns what rows are assigned and labelled by, without the metrics of the classes.
    pub fn into_assignment(self) -> ClassAssignment {
        let Self { columns, label_of, class_rows, shares, .. } = self;
        let arrays = |labels: Labels| labels.columns.into_iter().map(|(_, column)| column).collect();
        ClassAssignment { labels: columns.into_iter().map(arrays).collect(), label_of, class_rows, shares }
    }
}

#[cfg(test)]
#[path = "recode_tests.rs"]
mod tests;
