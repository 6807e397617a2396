//! Cluster: form the classes of a leaf.

mod frame;
mod greedy;

pub use greedy::Greedy;

use crate::model::{Privacy, Tally};
use crate::table::Table;

/// Rows of one group that go to one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Portion {
    /// The group.
    pub group: u32,
    /// How many of its rows; at least one.
    pub rows: u32,
}

/// The rows of one class. A group may be shared by several classes, row by row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// The portions, each group at most once, in ascending order.
    pub portions: Vec<Portion>,
}

impl Class {
    /// Whole cells as one class.
    pub fn of_cells(table: &Table, cells: &[u32]) -> Self {
        let groups = cells.iter().flat_map(|cell| table.groups(*cell));
        let mut portions: Vec<Portion> = groups.map(|group| Portion { group, rows: table.group_rows(group) }).collect();
        portions.sort_unstable();
        Self { portions }
    }

    /// What a model may know of this class.
    pub fn tally(&self, table: &Table) -> Tally {
        let mut tally = Tally::empty(table.sensitive().len());
        for portion in &self.portions {
            tally.add(table.codes(portion.group), u64::from(portion.rows));
        }
        tally
    }
}

/// Forms classes.
pub trait Cluster: Send + Sync {
    /// The classes of a leaf that satisfies the model. Every row of the leaf is in exactly one class, and every class
    /// satisfies the model.
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class>;
}

/// No clustering: the leaf is the class.
#[derive(Clone, Copy, Debug)]
pub struct OneClass;

impl Cluster for OneClass {
    fn cluster(&self, leaf: &[u32], table: &Table, _privacy: &Privacy) -> Vec<Class> {
        vec![Class::of_cells(table, leaf)]
    }
}
