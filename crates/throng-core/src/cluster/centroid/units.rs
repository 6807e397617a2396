//! Units: what local search moves between classes, single rows or batches of interchangeable rows.
//!
//! A unit is one row, or the rest of a group that has many rows. Evaluating thousands of equal rows one by one gains
//! nothing: the batch stays at its point, and the single rows of its group can be lent to a neighbour. A table with few
//! cells thus has few units, whatever its number of rows.

use std::ops::Range;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::embedding::Points;
use super::privacy_by_kind::PrivacyByKind;
use crate::cluster::{Class, Portion};
use crate::model::Privacy;
use crate::table::Table;

/// Units of some cells, ordered by the content of the cells.
#[derive(Debug)]
pub(super) struct Units {
    /// One point per cell.
    points: Points,
    units: Vec<Unit>,
}

/// Rows of one group.
#[derive(Clone, Copy, Debug)]
struct Unit {
    point: u32,
    kind: u32,
    portion: Portion,
}

/// Units of all cells, and which of them start as a class.
#[derive(Debug)]
pub(super) struct UnitSurvey<'a> {
    pub(super) units: Units,
    pub(super) rules: PrivacyByKind<'a>,
    /// Units of each cell that satisfies the model alone.
    pub(super) rich: Vec<Vec<u32>>,
    /// All other units.
    pub(super) poor: Vec<u32>,
}

impl<'a> UnitSurvey<'a> {
    pub(super) fn new<'t>(table: &'t Table, cells: &[u32], privacy: &'a Privacy) -> Self {
        let mut rules = PrivacyByKind::new(table, privacy);
        let points = Points::of_cells(table, cells);
        let is_rich: Vec<bool> = cells.par_iter().map(|cell| rules.is_satisfied_by_cell(table, *cell)).collect();
        let blocks: Vec<&[u32]> = cells.chunks(BLOCK_CELLS).collect();
        let number_block = |(block, cells): (usize, &&[u32])| {
            let first = block * BLOCK_CELLS;
            UnitBlock::of(table, &rules, cells, &is_rich[first..first + cells.len()], first as u32)
        };
        let blocks: Vec<UnitBlock<'_>> = blocks.par_iter().enumerate().map(number_block).collect();
        let (mut rich, mut poor, mut units) = (Vec::new(), Vec::new(), Vec::with_capacity(cells.len()));
        let mut kinds: FxHashMap<&[u32], u32> = FxHashMap::default();
        for block in blocks {
            let first = units.len() as u32;
            let mut kind_of = |codes: &&'t [u32]| *kinds.entry(codes).or_insert_with(|| rules.add_kind(codes));
            let kind_of: Vec<u32> = block.kinds.iter().map(&mut kind_of).collect();
            let renumbered = |unit: Unit| Unit { kind: kind_of[unit.kind as usize], ..unit };
            units.extend(block.units.into_iter().map(renumbered));
            rich.extend(block.rich.into_iter().map(|cell| (first + cell.start..first + cell.end).collect()));
            block.poor.into_iter().for_each(|cells| poor.extend(first + cells.start..first + cells.end));
        }
        Self { units: Units { points, units }, rules, rich, poor }
    }
}

/// Number of cells that are numbered at a time.
const BLOCK_CELLS: usize = 1 << 14;

/// Units of some cells, numbered from 0.
struct UnitBlock<'t> {
    units: Vec<Unit>,
    /// Sensitive codes of each kind, in order of occurrence.
    kinds: Vec<&'t [u32]>,
    /// Units of each rich cell.
    rich: Vec<Range<u32>>,
    /// Ranges of all other units.
    poor: Vec<Range<u32>>,
}

impl<'t> UnitBlock<'t> {
    /// Creates the units of cells whose points start at `first`.
    fn of(table: &'t Table, rules: &PrivacyByKind<'_>, cells: &[u32], is_rich: &[bool], first: u32) -> Self {
        let (mut rich, mut poor) = (Vec::new(), Vec::<Range<u32>>::new());
        let (mut units, mut kinds) = (Vec::with_capacity(cells.len()), Vec::new());
        let mut known: FxHashMap<&[u32], u32> = FxHashMap::default();
        for ((point, cell), is_rich) in (first..).zip(cells).zip(is_rich) {
            let groups = table.groups(*cell);
            // A rich cell may lend to one or two classes; any group of a poor one may have to.
            let single = 2 * rules.least_rows();
            let single = if *is_rich { single.div_ceil(groups.len() as u64) } else { single };
            let start = units.len() as u32;
            for group in groups {
                let codes = if rules.is_plain() { &[][..] } else { table.codes(group) };
                let kind = *known.entry(codes).or_insert_with(|| {
                    kinds.push(codes);
                    kinds.len() as u32 - 1
                });
                let rows = table.group_rows(group);
                let singles = rows.min(u32::try_from(single).unwrap_or(u32::MAX));
                let unit = |rows: u32| Unit { point, kind, portion: Portion { group, rows } };
                units.extend(std::iter::repeat_n(unit(1), singles as usize));
                units.extend((rows > singles).then(|| unit(rows - singles)));
            }
            let end = units.len() as u32;
            match poor.last_mut() {
                _ if *is_rich => rich.push(start..end),
                Some(last) if last.end == start => last.end = end,
                _ => poor.push(start..end),
            }
        }
        Self { units, kinds, rich, poor }
    }
}

impl Units {
    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    pub(super) fn dimensions(&self) -> usize {
        self.points.dimensions()
    }

    pub(super) fn point(&self, unit: u32) -> &[f32] {
        self.points.get(self.units[unit as usize].point)
    }

    pub(super) fn rows(&self, unit: u32) -> u32 {
        self.units[unit as usize].portion.rows
    }

    /// Returns the kind of a unit in [`PrivacyByKind`].
    pub(super) fn kind(&self, unit: u32) -> u32 {
        self.units[unit as usize].kind
    }

    /// Returns the kind and the number of rows of a unit.
    pub(super) fn kind_and_rows(&self, unit: u32) -> (u32, u64) {
        (self.kind(unit), u64::from(self.rows(unit)))
    }

    /// Converts units to a class.
    pub(super) fn class(&self, units: &[u32]) -> Class {
        Class::of_portions(units.iter().map(|unit| self.units[*unit as usize].portion).collect())
    }
}
