//! From placed tuples to a table: all of them, or a sample of cells where there are too many.
//!
//! The sample is taken by a hash of a cell's positions: on level `l` a cell is in it when the hash begins with `l` zero
//! bits, and the level is the lowest on which the sample is small enough. So it follows from the data alone, whatever the
//! order of arrival, and a cell is in it with all of its rows or not at all. Since privacy models are monotone, what is
//! satisfied by a sample is satisfied by all rows.

use rayon::prelude::*;
use twox_hash::XxHash3_64;

use super::domains::Domains;
use super::tuples::{DistinctTuples, Tuples};
use crate::error::Result;
use crate::table::Table;

/// Collects groups for a table.
#[derive(Debug)]
pub struct Grouping {
    tuples: DistinctTuples,
    quasi: usize,
    most: usize,
    level: u32,
}

impl Grouping {
    /// No groups yet; at most so many of them are kept.
    pub fn new(domains: &Domains, most: usize) -> Self {
        Self { tuples: DistinctTuples::new(domains.width()), quasi: domains.quasi.len(), most, level: 0 }
    }

    /// Adds rows of a placed tuple. Returns the number of its group among all that were kept, in the order of arrival;
    /// numbers are good only as long as the grouping [is exact](Grouping::is_exact).
    pub fn add(&mut self, placed: &[u32], rows: u32) -> Result<Option<u32>> {
        if !self.is_sampled(placed) {
            return Ok(None);
        }
        let number = self.tuples.count(placed, rows)?;
        while self.tuples.tuples.len() > self.most {
            self.thin_out()?;
        }
        Ok(Some(number))
    }

    /// Whether every group was kept.
    pub fn is_exact(&self) -> bool {
        self.level == 0
    }

    /// The share of the cells that is kept.
    pub fn share(&self) -> f64 {
        0.5_f64.powi(self.level as i32)
    }

    /// How many groups are kept.
    pub fn len(&self) -> usize {
        self.tuples.tuples.len()
    }

    /// Whether no group is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a group that was added.
    pub fn find(&self, placed: &[u32]) -> Option<u32> {
        self.tuples.find(placed)
    }

    /// What the groups take of the memory.
    pub fn size(&self) -> usize {
        self.tuples.size()
    }

    fn is_sampled(&self, placed: &[u32]) -> bool {
        self.level == 0 || cell_hash(&placed[..self.quasi]).leading_zeros() >= self.level
    }

    fn thin_out(&mut self) -> Result<()> {
        self.level += 1;
        let empty = DistinctTuples::new(self.tuples.tuples.width());
        let before = std::mem::replace(&mut self.tuples, empty).tuples;
        for (tuple, rows) in before.iter() {
            if self.is_sampled(tuple) {
                self.tuples.count(tuple, rows)?;
            }
        }
        Ok(())
    }

    /// The table of the groups, and for each of them the group of the table.
    pub fn table(&self, domains: &Domains) -> (Table, Vec<u32>) {
        let tuples = &self.tuples.tuples;
        let mut order: Vec<u32> = (0..tuples.len() as u32).collect();
        order.par_sort_unstable_by(|a, b| tuples.tuple(*a as usize).cmp(tuples.tuple(*b as usize)));
        let mut rank = vec![0; order.len()];
        for (place, number) in order.iter().enumerate() {
            rank[*number as usize] = place as u32;
        }
        let sorted = order.iter().map(|number| (tuples.tuple(*number as usize), tuples.rows(*number as usize)));
        (Table::from_sorted_groups(domains, sorted), rank)
    }

    /// The table of tuples that are all wanted, and for each of them the group of the table.
    pub fn of(domains: &Domains, tuples: &Tuples) -> Result<(Table, Vec<u32>)> {
        let mut grouping = Self::new(domains, usize::MAX);
        let numbers = tuples.iter().map(|(tuple, rows)| grouping.tuples.count(tuple, rows));
        let numbers = numbers.collect::<Result<Vec<u32>>>()?;
        let (table, rank) = grouping.table(domains);
        Ok((table, numbers.into_iter().map(|number| rank[number as usize]).collect()))
    }
}

fn cell_hash(positions: &[u32]) -> u64 {
    let bytes: Vec<u8> = positions.iter().flat_map(|position| position.to_le_bytes()).collect();
    XxHash3_64::oneshot(&bytes)
}

#[cfg(test)]
#[path = "grouping_tests.rs"]
mod tests;
