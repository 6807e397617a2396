//! Positions that decide the label of each cluster in one column.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::cluster::Class;
use crate::table::Table;

fn positions(table: &Table, cell_of: &[u32], class: &Class, column: usize) -> impl Iterator<Item = u32> {
    class.portions.iter().map(move |portion| table.positions(cell_of[portion.group as usize])[column])
}

/// Label keys of all clusters of a column. Most columns have few distinct keys, each of which is kept once.
#[derive(Debug, Default)]
pub(super) struct ClusterKeys {
    /// Distinct keys, in order of arrival.
    distinct: LabelKeys,
    index: HashTable<u32>,
    /// Number of the key of each cluster.
    of_cluster: Vec<u32>,
}

impl ClusterKeys {
    /// Appends the key of a cluster.
    pub(super) fn push(&mut self, key: &[u32]) {
        let Self { distinct, index, of_cluster } = self;
        let hash = |key: &[u32]| FxBuildHasher.hash_one(key);
        let known = index.find(hash(key), |number| distinct.get(*number as usize) == key).copied();
        let number = known.unwrap_or_else(|| {
            let number = distinct.len() as u32;
            distinct.push(key);
            index.insert_unique(hash(key), number, |number| hash(distinct.get(*number as usize)));
            number
        });
        of_cluster.push(number);
    }

    /// Appends all distinct positions of a cluster, for a label that lists them.
    pub(super) fn push_members(&mut self, table: &Table, cell_of: &[u32], class: &Class, column: usize) {
        let mut members: Vec<u32> = positions(table, cell_of, class, column).collect();
        members.sort_unstable();
        members.dedup();
        self.push(&members);
    }

    /// Appends a range of positions, or an empty key.
    pub(super) fn push_range(&mut self, range: Option<(u32, u32)>) {
        match range {
            Some((lo, hi)) => self.push(&[lo, hi]),
            None => self.push(&[]),
        }
    }

    /// Returns the distinct positions of all keys, ascending.
    pub(super) fn positions(&self) -> Vec<u32> {
        let mut positions = self.distinct.positions.clone();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// Replaces the positions of all keys, in an order-preserving way. No key may be pushed afterwards.
    pub(super) fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.index = HashTable::new();
        self.distinct.positions.iter_mut().for_each(|position| *position = number(*position));
    }

    /// Returns the number of distinct keys.
    pub(super) fn distinct(&self) -> usize {
        self.distinct.len()
    }

    /// Returns the distinct keys, and the number of the key of each cluster.
    pub(super) fn into_distinct(self) -> (LabelKeys, Vec<u32>) {
        (self.distinct, self.of_cluster)
    }
}

/// Many label keys: ascending positions for each, in one buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelKeys {
    positions: Vec<u32>,
    ends: Vec<u32>,
}

impl LabelKeys {
    /// Appends a key.
    pub(super) fn push(&mut self, key: &[u32]) {
        self.positions.extend_from_slice(key);
        self.ends.push(self.positions.len() as u32);
    }

    /// Returns the memory use in bytes.
    pub(super) fn size(&self) -> usize {
        (self.positions.len() + self.ends.len()) * 4
    }

    /// Appends a range of positions, or an empty key.
    pub(super) fn push_range(&mut self, range: Option<(u32, u32)>) {
        self.positions.extend(range.into_iter().flat_map(|(lo, hi)| [lo, hi]));
        self.ends.push(self.positions.len() as u32);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, cluster: usize) -> &[u32] {
        let start = cluster.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.positions[start as usize..self.ends[cluster] as usize]
    }

    /// Returns the first and the last position of a cluster.
    pub(super) fn range(&self, cluster: usize) -> Option<(u32, u32)> {
        let key = self.get(cluster);
        Some((*key.first()?, *key.last()?))
    }
}
