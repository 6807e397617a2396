//! Merges the groups of all chunks by sorting.
//!
//! If there are many groups, chunks have few in common, and a hash table of all groups would access memory at random.
//! Sorting by key makes equal groups adjacent. A key packs the longest prefix of columns that fits; if that is not all
//! of them, entries with equal keys are compared by their tuples.

use std::ops::Range;

use rayon::prelude::*;

use super::distinct::TOO_LARGE;
use super::domains::Domains;
use super::hash_grouping::sample_level;
use super::packing::Packing;
use super::radix::{RadixEntry, by_key};
use crate::error::Result;
use crate::table::Table;

/// Groups in order of arrival, not yet merged.
#[derive(Debug)]
pub struct SortGrouping {
    tuples: PositionTuples,
    entries: Vec<RadixEntry>,
}

/// Tuples of the entries.
#[derive(Debug)]
struct PositionTuples {
    packing: Packing,
    width: usize,
    quasi: usize,
    /// Numbers of all tuples, if they don't fit into keys.
    numbers: Vec<u32>,
}

impl PositionTuples {
    fn is_whole_in_key(&self) -> bool {
        self.packing.columns() == self.width
    }

    fn numbers(&self, entry: &RadixEntry) -> &[u32] {
        &self.numbers[entry.number as usize * self.width..][..self.width]
    }

    /// Returns the numbers of some columns of a tuple.
    fn of<'a>(&'a self, entry: &'a RadixEntry, columns: Range<usize>) -> impl Iterator<Item = u32> + 'a {
        let is_in_key = self.is_whole_in_key();
        columns.map(move |column| match is_in_key {
            true => self.packing.number(entry.key, column),
            false => self.numbers(entry)[column],
        })
    }

    fn positions<'a>(&'a self, entry: &'a RadixEntry) -> impl Iterator<Item = u32> + 'a {
        self.of(entry, 0..self.quasi)
    }

    fn codes<'a>(&'a self, entry: &'a RadixEntry) -> impl Iterator<Item = u32> + 'a {
        self.of(entry, self.quasi..self.width)
    }

    fn is_same_group(&self, a: &RadixEntry, b: &RadixEntry) -> bool {
        a.key == b.key && (self.is_whole_in_key() || self.numbers(a) == self.numbers(b))
    }

    /// Compares cells by their positions, which precede the codes.
    fn is_same_cell(&self, a: &RadixEntry, b: &RadixEntry) -> bool {
        match self.is_whole_in_key() {
            true => {
                let code_bits = self.packing.bits_from(self.quasi);
                a.key.checked_shr(code_bits) == b.key.checked_shr(code_bits)
            }
            // Compare keys first: the tuples are random accesses.
            false => {
                let code_bits =
                    if self.packing.columns() > self.quasi { self.packing.bits_from(self.quasi) } else { 0 };
                a.key.checked_shr(code_bits) == b.key.checked_shr(code_bits)
                    && self.numbers(a)[..self.quasi] == self.numbers(b)[..self.quasi]
            }
        }
    }

    /// Sorts entries with equal keys by their tuples.
    fn put_in_order(&self, entries: &mut [RadixEntry]) {
        if !self.is_whole_in_key() {
            entries.par_chunk_by_mut(|a, b| a.key == b.key).filter(|alike| alike.len() > 1).for_each(|alike| {
                alike.sort_unstable_by(|a, b| self.numbers(a).cmp(self.numbers(b)).then(a.number.cmp(&b.number)));
            });
        }
    }
}

/// Table of all groups or of a sample of the cells.
#[derive(Debug)]
pub struct GroupedTable {
    /// Table of the groups, or of the sampled cells.
    pub table: Table,
    /// For each added group, in order of arrival, the group of the table; `None` for a sample.
    pub groups: Option<Vec<u32>>,
    /// Sampling rate of cells.
    pub share: f64,
}

impl SortGrouping {
    /// Creates an empty grouping with capacity for `groups` groups.
    pub fn with_room_for(groups: usize, domains: &Domains) -> Self {
        let (width, quasi) = (domains.width(), domains.quasi.len());
        let mut tuples =
            PositionTuples { packing: Packing::of_first(&domains.sizes()), width, quasi, numbers: Vec::new() };
        if !tuples.is_whole_in_key() {
            tuples.numbers.reserve(groups * width);
        }
        Self { tuples, entries: Vec::with_capacity(groups) }
    }

    /// Adds groups of a stream. Each is `width` numbers of the stream followed by a row count.
    pub fn add(&mut self, domains: &Domains, stream: usize, width: usize, groups: &[u32]) {
        let (tuples, first) = (&mut self.tuples, self.entries.len());
        let groups = groups.par_chunks_exact(width + 1).enumerate();
        let entry = |key: u64, place: usize, rows: u32| RadixEntry { key, number: (first + place) as u32, rows };
        if tuples.is_whole_in_key() {
            let packing = &tuples.packing;
            let key = |group: &[u32]| packing.key_of(domains.placed(stream, &[], &group[..width]));
            self.entries.par_extend(groups.map(|(place, group)| entry(key(group), place, group[width])));
            return;
        }
        tuples.numbers.resize((first + groups.len()) * tuples.width, 0);
        let (packing, placed) =
            (&tuples.packing, tuples.numbers[first * tuples.width..].par_chunks_exact_mut(tuples.width));
        self.entries.par_extend(groups.zip(placed).map(|((place, group), placed)| {
            domains.place(stream, &group[..width], placed);
            entry(packing.key(placed), place, group[width])
        }));
    }

    /// Adds groups that are already encoded. Each is a tuple followed by a row count.
    pub fn add_placed(&mut self, groups: &[u32]) {
        let width = self.tuples.width;
        groups.chunks_exact(width + 1).for_each(|group| self.push(&group[..width], group[width]));
    }

    /// Adds a group that is already encoded.
    pub(super) fn push(&mut self, placed: &[u32], rows: u32) {
        let number = self.entries.len() as u32;
        self.entries.push(RadixEntry { key: self.tuples.packing.key(placed), number, rows });
        if !self.tuples.is_whole_in_key() {
            self.tuples.numbers.extend_from_slice(placed);
        }
    }

    /// Returns the peak memory per group, in bytes, until all are in a table.
    pub fn group_bytes(domains: &Domains) -> usize {
        let numbers = size_of::<u32>() * domains.width();
        let is_whole_in_key = Packing::of(&domains.sizes()).is_some();
        96 + if is_whole_in_key { 0 } else { numbers }
    }

    /// Builds the table of all groups, or of a sample of the cells if there are more than `most` groups.
    pub fn table(self, domains: &Domains, most: usize) -> Result<GroupedTable> {
        let Self { tuples, entries } = self;
        let mut entries = by_key(entries, tuples.packing.bits());
        tuples.put_in_order(&mut entries);
        let (group_of, sampled) =
            rayon::join(|| group_of(&entries, &tuples), || sampled(&entries, &tuples, domains, most));
        let (table, level) = sampled?;
        let share = 0.5_f64.powi(level as i32);
        Ok(GroupedTable { table, groups: (level == 0).then_some(group_of), share })
    }
}

/// Returns the group of each entry, in order of arrival.
fn group_of(entries: &[RadixEntry], tuples: &PositionTuples) -> Vec<u32> {
    let mut group_of = vec![0; entries.len()];
    for (alike, group) in entries.chunk_by(|a, b| tuples.is_same_group(a, b)).zip(0..) {
        alike.iter().for_each(|entry| group_of[entry.number as usize] = group);
    }
    group_of
}

/// Number of sample levels: 0 to 64 leading zero bits of a hash.
const LEVELS: usize = 1 + u64::BITS as usize;
type LevelCounts = [usize; LEVELS];

/// Approximate number of entries per piece of a table.
const PIECE: usize = 1 << 14;

/// Builds the table of all groups, or of a sample of the cells if there are more than `most` groups. Returns it with
/// the level of the sample.
fn sampled(entries: &[RadixEntry], tuples: &PositionTuples, domains: &Domains, most: usize) -> Result<(Table, u32)> {
    let pieces = pieces(entries, tuples);
    let level_of = |entry: &RadixEntry| sample_level(tuples.positions(entry));
    // Counts groups by sample level; without sampling, all of them at level 0.
    let counted = |is_sampled: bool| {
        let of_piece = |piece: &&[RadixEntry]| {
            let mut groups = [0_usize; LEVELS];
            for group in groups_of(piece, tuples) {
                groups[if is_sampled { level_of(group?.0) as usize } else { 0 }] += 1;
            }
            Ok(groups)
        };
        let sum = |a: LevelCounts, b: LevelCounts| Ok(std::array::from_fn(|level| a[level] + b[level]));
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
    let wanted = |piece: usize| {
        let groups = groups_of(pieces[piece], tuples).flatten();
        let mut last: Option<&RadixEntry> = None;
        groups.filter(|(entry, _)| level == 0 || level_of(entry) >= level).map(move |(entry, rows)| {
            let is_new_cell = last.replace(entry).is_none_or(|last| !tuples.is_same_cell(last, entry));
            (entry, rows, is_new_cell)
        })
    };
    let sizes = (0..pieces.len()).into_par_iter().map(|piece| {
        wanted(piece).fold((0, 0), |(cells, groups), (_, _, is_new)| (cells + usize::from(is_new), groups + 1))
    });
    let table = Table::filled(domains, &sizes.collect::<Vec<_>>(), |piece, table| {
        if tuples.is_whole_in_key() {
            for (entry, rows, is_new_cell) in wanted(piece) {
                if is_new_cell {
                    table.push_cell(tuples.positions(entry));
                }
                table.push_group(tuples.codes(entry), rows);
            }
            return;
        }
        // The tuples are random accesses: gather them before writing.
        let groups: Vec<(&RadixEntry, u32, bool)> = wanted(piece).collect();
        let mut fetched = vec![0; groups.len() * tuples.width];
        for (slots, (entry, _, _)) in fetched.chunks_exact_mut(tuples.width).zip(&groups) {
            slots.iter_mut().zip(tuples.numbers(entry)).for_each(|(slot, number)| *slot = *number);
        }
        for (tuple, (_, rows, is_new_cell)) in fetched.chunks_exact(tuples.width).zip(&groups) {
            if *is_new_cell {
                table.push_cell(tuple[..tuples.quasi].iter().copied());
            }
            table.push_group(tuple[tuples.quasi..].iter().copied(), *rows);
        }
    });
    Ok((table, level))
}

/// Splits sorted entries into pieces. No cell spans two pieces.
fn pieces<'a>(mut entries: &'a [RadixEntry], tuples: &PositionTuples) -> Vec<&'a [RadixEntry]> {
    let mut pieces = Vec::with_capacity(entries.len() / PIECE + 1);
    while !entries.is_empty() {
        let mut end = PIECE.min(entries.len());
        while end < entries.len() && tuples.is_same_cell(&entries[end - 1], &entries[end]) {
            end += 1;
        }
        let (piece, rest) = entries.split_at(end);
        pieces.push(piece);
        entries = rest;
    }
    pieces
}

/// Iterates over the groups of sorted entries: the first entry of each and its row count.
fn groups_of<'a>(
    entries: &'a [RadixEntry],
    tuples: &'a PositionTuples,
) -> impl Iterator<Item = Result<(&'a RadixEntry, u32)>> + 'a {
    entries.chunk_by(|a, b| tuples.is_same_group(a, b)).map(|alike| {
        let rows = alike.iter().try_fold(0_u32, |sum, entry| sum.checked_add(entry.rows));
        rows.map(|rows| (&alike[0], rows)).ok_or(TOO_LARGE)
    })
}
