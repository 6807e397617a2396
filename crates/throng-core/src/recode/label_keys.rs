//! Positions that decide the label of each cluster in one column.

use crate::cluster::Class;
use crate::table::Table;

fn positions(table: &Table, cell_of: &[u32], class: &Class, column: usize) -> impl Iterator<Item = u32> {
    class.portions.iter().map(move |portion| table.positions(cell_of[portion.group as usize])[column])
}

/// Label keys of many clusters: ascending positions for each, in one buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelKeys {
    positions: Vec<u32>,
    ends: Vec<u32>,
}

impl LabelKeys {
    /// Appends all distinct positions of a cluster, for a label that lists them.
    pub(super) fn push_members(&mut self, table: &Table, cell_of: &[u32], class: &Class, column: usize) {
        let mut members: Vec<u32> = positions(table, cell_of, class, column).collect();
        members.sort_unstable();
        members.dedup();
        self.push(&members);
    }

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

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|cluster| self.get(cluster))
    }

    /// Returns the first and the last position of a cluster.
    pub(super) fn range(&self, cluster: usize) -> Option<(u32, u32)> {
        let key = self.get(cluster);
        Some((*key.first()?, *key.last()?))
    }
}
