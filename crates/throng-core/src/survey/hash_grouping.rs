//! Builds a table from encoded tuples: from all of them, or from a sample of cells if there are too many.
//!
//! Cells are sampled by a hash of their positions: a cell is in the sample of level `l` if its hash has at least `l`
//! leading zero bits, and the level is the lowest whose sample is small enough. The sample thus depends on the data
//! alone, not on the order of arrival, and a cell is in it with all of its rows or not at all. A row-monotone
//! privacy model that a sample satisfies is therefore satisfied by all rows.

use twox_hash::XxHash3_64;

use super::counted_tuples::CountedTuples;
use super::distinct::DistinctTuples;
use super::domains::Domains;
use super::sort_grouping::{GroupedTable, SortGrouping};
use crate::error::Result;
use crate::table::{Table, TableBuilder};

/// Collects groups for a table.
#[derive(Debug)]
pub struct HashGrouping {
    tuples: DistinctTuples,
    sizes: Vec<usize>,
    quasi: usize,
    most: usize,
    level: u32,
}

impl HashGrouping {
    /// Creates an empty grouping that keeps at most `most` groups.
    pub fn new(domains: &Domains, most: usize) -> Self {
        let sizes = domains.sizes();
        Self { tuples: DistinctTuples::new(&sizes), sizes, quasi: domains.quasi.len(), most, level: 0 }
    }

    /// Adds rows of an encoded tuple. Returns the number of its group in order of arrival, or `None` if its cell is not
    /// in the sample. Numbers are valid only as long as the grouping [is exact](HashGrouping::is_exact).
    pub fn add(&mut self, placed: &[u32], rows: u32) -> Result<Option<u32>> {
        if !self.is_sampled(placed) {
            return Ok(None);
        }
        let number = self.tuples.count(placed, rows)?;
        while self.tuples.len() > self.most {
            self.thin_out()?;
        }
        Ok(Some(number))
    }

    /// Returns whether every group was kept.
    pub fn is_exact(&self) -> bool {
        self.level == 0
    }

    /// Returns the sampling rate of cells.
    pub fn share(&self) -> f64 {
        0.5_f64.powi(self.level as i32)
    }

    /// Returns the number of groups that are kept.
    pub fn len(&self) -> usize {
        self.tuples.len()
    }

    /// Returns whether no group is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory of the groups, in bytes.
    pub fn size(&self) -> usize {
        self.tuples.size()
    }

    fn is_sampled(&self, placed: &[u32]) -> bool {
        self.level == 0 || sample_level(placed[..self.quasi].iter().copied()) >= self.level
    }

    fn thin_out(&mut self) -> Result<()> {
        self.level += 1;
        let before = std::mem::replace(&mut self.tuples, DistinctTuples::new(&self.sizes)).tuples();
        for (tuple, rows) in before.iter() {
            if self.is_sampled(tuple) {
                self.tuples.count(tuple, rows)?;
            }
        }
        Ok(())
    }

    /// Returns the distinct positions in a column, ascending.
    pub fn positions(&self, column: usize) -> Vec<u32> {
        let mut positions = Vec::with_capacity(self.len());
        self.tuples.for_each(0..self.len() as u32, |tuple, _| positions.push(tuple[column]));
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// Builds the table, and returns it with the group of the table for each group number. Tuples have positions of whole
    /// domains; slices among `domains` must have them all.
    pub fn table(&self, domains: &Domains) -> (Table, Vec<u32>) {
        let order = self.tuples.order();
        let mut rank = vec![0; order.len()];
        for (place, number) in order.iter().enumerate() {
            rank[*number as usize] = place as u32;
        }
        let mut table = TableBuilder::new(domains);
        let (has_slices, mut placed) = (domains.slices().next().is_some(), Vec::new());
        self.tuples.for_each(order.into_iter(), |tuple, rows| match has_slices {
            true => {
                placed.clear();
                placed.extend_from_slice(tuple);
                domains.place_in_slices(&mut placed);
                table.push(&placed, rows);
            }
            false => table.push(tuple, rows),
        });
        (table.build(), rank)
    }

    /// Builds the table of all `tuples`, and returns it with the group of the table for each tuple.
    pub fn of(domains: &Domains, tuples: &CountedTuples) -> Result<(Table, Vec<u32>)> {
        let mut gathered = SortGrouping::with_room_for(tuples.len(), domains);
        tuples.iter().for_each(|(tuple, rows)| gathered.push(tuple, rows));
        let GroupedTable { table, groups, .. } = gathered.table(domains, usize::MAX)?;
        Ok((table, groups.unwrap_or_default()))
    }
}

/// Returns the highest level whose sample contains a cell.
pub(super) fn sample_level(positions: impl Iterator<Item = u32>) -> u32 {
    let (mut bytes, mut len) = ([0; 4 * 32], 0);
    let mut longer = Vec::new();
    for position in positions.map(u32::to_le_bytes) {
        match bytes.get_mut(len..len + 4) {
            Some(slot) => slot.copy_from_slice(&position),
            None => {
                if longer.is_empty() {
                    longer.extend_from_slice(&bytes);
                }
                longer.extend_from_slice(&position);
            }
        }
        len += 4;
    }
    let bytes = if longer.is_empty() { &bytes[..len] } else { &longer };
    XxHash3_64::oneshot(bytes).leading_zeros()
}

#[cfg(test)]
#[path = "hash_grouping_tests.rs"]
mod tests;
