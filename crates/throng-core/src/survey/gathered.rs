//! Groups of all chunks, put in order at once.
//!
//! Chunks repeat few groups of each other where there are many, so that looking each of them up in a table of all would
//! touch all of the memory at random. Here they are sorted by their keys, and equal ones lie side by side.

use rayon::prelude::*;

use super::distinct::TOO_LARGE;
use super::domains::Domains;
use super::grouping::sample_level;
use super::packing::Packing;
use super::radix::{Entry, by_key};
use crate::error::Result;
use crate::table::Table;

/// Groups as they come, not yet merged.
#[derive(Debug)]
pub struct Gathered {
    packing: Packing,
    entries: Vec<Entry>,
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
    /// No groups yet, with room for so many; none when tuples are too wide to be sorted like this.
    pub fn with_room_for(groups: usize, domains: &Domains) -> Option<Self> {
        Some(Self { packing: Packing::of(&domains.sizes())?, entries: Vec::with_capacity(groups) })
    }

    /// Adds groups of a stream: the stream's own numbers, of so many columns, and how many rows have them.
    pub fn add(&mut self, domains: &Domains, stream: usize, width: usize, groups: &[u32]) {
        let (packing, first) = (&self.packing, self.entries.len());
        let entry = |(place, group): (usize, &[u32])| Entry {
            key: packing.key_of(domains.placed(stream, &group[..width])),
            number: (first + place) as u32,
            rows: group[width],
        };
        self.entries.par_extend(groups.par_chunks_exact(width + 1).enumerate().map(entry));
    }

    /// Adds a group that is already in its place.
    pub(super) fn push(&mut self, placed: &[u32], rows: u32) {
        let number = self.entries.len() as u32;
        self.entries.push(Entry { key: self.packing.key(placed), number, rows });
    }

    /// What a group takes of the memory until all are in a table.
    pub const GROUP_BYTES: usize = 96;

    /// The table of all groups, or of a sample of the cells when there are more than so many.
    pub fn table(self, domains: &Domains, most: usize) -> Result<Grouped> {
        let Self { packing, entries } = self;
        let entries = by_key(entries, packing.bits());
        let (group_of, sampled) = rayon::join(|| group_of(&entries), || sampled(&entries, &packing, domains, most));
        let (table, level) = sampled?;
        let share = 0.5_f64.powi(level as i32);
        Ok(Grouped { table, groups: (level == 0).then_some(group_of), share })
    }
}

/// For each entry, in the order in which they came, the number of its group.
fn group_of(entries: &[Entry]) -> Vec<u32> {
    let mut group_of = vec![0; entries.len()];
    for (alike, group) in entries.chunk_by(|a, b| a.key == b.key).zip(0..) {
        alike.iter().for_each(|entry| group_of[entry.number as usize] = group);
    }
    group_of
}

/// A hash has so many levels, from none of its bits to all.
const LEVELS: usize = 1 + u64::BITS as usize;
type Levels = [usize; LEVELS];

/// About so many entries are put into a table at a time.
const PIECE: usize = 1 << 14;

/// The table of all groups, or of a sample of the cells when there are more than so many, and the level of the sample.
fn sampled(entries: &[Entry], packing: &Packing, domains: &Domains, most: usize) -> Result<(Table, u32)> {
    let quasi = domains.quasi.len();
    // Cells are told apart by the bits of their positions, which come before those of the codes.
    let code_bits = packing.bits_from(quasi);
    let cell = |key: u64| key.checked_shr(code_bits).unwrap_or(0);
    let pieces = pieces(entries, cell);
    let level_of = |key: u64| sample_level(packing.tuple(key).take(quasi));
    // How many groups there are on each level, all of them on the lowest as long as they are not too many.
    let counted = |is_sampled: bool| {
        let of_piece = |piece: &&[Entry]| {
            let mut groups = [0_usize; LEVELS];
            for group in groups_of(piece) {
                groups[if is_sampled { level_of(group?.0) as usize } else { 0 }] += 1;
            }
            Ok(groups)
        };
        let sum = |a: Levels, b: Levels| Ok(std::array::from_fn(|level| a[level] + b[level]));
        pieces.par_iter().map(of_piece).try_reduce(|| [0; LEVELS], sum)
    };
    let level = match counted(false)?[0] <= most {
        true => 0,
        false => {
            let mut groups = counted(true)?;
            (0..u64::BITS as usize).rev().for_each(|level| groups[level] += groups[level + 1]);
            groups.iter().position(|groups| *groups <= most).unwrap_or(u64::BITS as usize) as u32
        }
    };
    let is_wanted = |key: u64| level == 0 || level_of(key) >= level;
    let sizes = pieces.par_iter().map(|piece| {
        let (mut cells, mut groups, mut last) = (0, 0, None);
        for (key, _) in groups_of(piece).flatten().filter(|(key, _)| is_wanted(*key)) {
            cells += usize::from(last.replace(cell(key)) != Some(cell(key)));
            groups += 1;
        }
        (cells, groups)
    });
    let table = Table::filled(domains, &sizes.collect::<Vec<_>>(), |number, table| {
        let mut last = None;
        for (key, rows) in groups_of(pieces[number]).flatten().filter(|(key, _)| is_wanted(*key)) {
            if last.replace(cell(key)) != Some(cell(key)) {
                table.push_cell(packing.tuple(key).take(quasi));
            }
            table.push_group(packing.tuple(key).skip(quasi), rows);
        }
    });
    Ok((table, level))
}

/// Entries in pieces, no cell of which is in two of them.
fn pieces(mut entries: &[Entry], cell: impl Fn(u64) -> u64) -> Vec<&[Entry]> {
    let mut pieces = Vec::with_capacity(entries.len() / PIECE + 1);
    while let Some(last) = entries.get(PIECE - 1).or(entries.last()) {
        let end = entries.partition_point(|entry| cell(entry.key) <= cell(last.key));
        let (piece, rest) = entries.split_at(end);
        pieces.push(piece);
        entries = rest;
    }
    pieces
}

/// The groups of sorted entries, each with its rows.
fn groups_of(entries: &[Entry]) -> impl Iterator<Item = Result<(u64, u32)>> {
    entries.chunk_by(|a, b| a.key == b.key).map(|alike| {
        let rows = alike.iter().try_fold(0_u32, |sum, entry| sum.checked_add(entry.rows));
        rows.map(|rows| (alike[0].key, rows)).ok_or(TOO_LARGE)
    })
}
