//! Groups of all chunks, put in order at once.
//!
//! Chunks repeat few groups of each other where there are many, so that looking each of them up in a table of all would
//! touch all of the memory at random. Here they are sorted by their keys, and equal ones lie side by side.

use rayon::prelude::*;

use super::distinct::{TOO_LARGE, by_key};
use super::domains::Domains;
use super::grouping::sample_level;
use super::packing::Packing;
use crate::error::Result;
use crate::table::{Table, TableBuilder};

/// Groups as they come, not yet merged.
#[derive(Debug)]
pub struct Gathered {
    packing: Packing,
    keys: Vec<u64>,
    rows: Vec<u32>,
}

/// A table of all groups or of a sample of the cells.
#[derive(Debug)]
pub struct Grouped {
    /// The table.
    pub table: Table,
    /// For each group that was added, in that order, the group of the table; none for a sample.
    pub groups: Option<Vec<u32>>,
    /// The share of the cells that is in the table.
    pub share: f64,
}

impl Gathered {
    /// No groups yet; none when tuples are too wide to be sorted like this.
    pub fn new(domains: &Domains) -> Option<Self> {
        Some(Self { packing: Packing::of(&domains.sizes())?, keys: Vec::new(), rows: Vec::new() })
    }

    /// Adds groups of a stream: the stream's own numbers, of so many columns, and how many rows have them.
    pub fn add(&mut self, domains: &Domains, stream: usize, width: usize, groups: &[u32]) {
        let key = |group: &[u32]| self.packing.key_of(domains.placed(stream, &group[..width]));
        self.keys.par_extend(groups.par_chunks_exact(width + 1).map(key));
        self.rows.extend(groups.chunks_exact(width + 1).map(|group| group[width]));
    }

    /// Adds a group that is already in its place.
    pub(super) fn push(&mut self, placed: &[u32], rows: u32) {
        self.keys.push(self.packing.key(placed));
        self.rows.push(rows);
    }

    /// What a group takes of the memory until all are in a table.
    pub const GROUP_BYTES: usize = 96;

    /// The table of all groups, or of a sample of the cells when there are more than so many.
    pub fn table(self, domains: &Domains, most: usize) -> Result<Grouped> {
        let Self { packing, keys, rows } = self;
        let sorted = by_key(&keys, packing.bits());
        drop(keys);
        let mut group_of = vec![0; sorted.len()];
        let mut distinct: Vec<(u64, u32)> = Vec::new();
        for (key, number) in sorted {
            let rows = rows[number as usize];
            match distinct.last_mut().filter(|(last, _)| *last == key) {
                Some((_, sum)) => *sum = sum.checked_add(rows).ok_or(TOO_LARGE)?,
                None => distinct.push((key, rows)),
            }
            group_of[number as usize] = distinct.len() as u32 - 1;
        }
        let quasi = domains.quasi.len();
        let level_of = |key: u64| sample_level(packing.tuple(key).take(quasi));
        let level = match distinct.len() <= most {
            true => 0,
            false => {
                // How many groups there are on each level and above it.
                let mut groups = [0; 1 + u64::BITS as usize];
                distinct.iter().for_each(|(key, _)| groups[level_of(*key) as usize] += 1);
                (0..u64::BITS as usize).rev().for_each(|level| groups[level] += groups[level + 1]);
                groups.iter().position(|groups| *groups <= most).unwrap_or(u64::BITS as usize) as u32
            }
        };
        let mut table = TableBuilder::new(domains);
        let mut tuple = Vec::with_capacity(domains.width());
        for (key, rows) in distinct.iter().filter(|(key, _)| level == 0 || level_of(*key) >= level) {
            tuple.clear();
            tuple.extend(packing.tuple(*key));
            table.push(&tuple, *rows);
        }
        let share = 0.5_f64.powi(level as i32);
        Ok(Grouped { table: table.build(), groups: (level == 0).then_some(group_of), share })
    }
}
