//! What the search moves from class to class: rows, or lots of rows that are alike.
//!
//! A unit is one row, or the rest of a group that has many rows. Nothing is gained by looking at a thousand equal rows
//! one by one: a lot goes where its point is, and the single rows of its group are there to be lent to a neighbour.
//! So a table of few cells has few units, however many rows it has.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::embedding::Points;
use super::rules::Rules;
use crate::cluster::{Class, Portion};
use crate::model::Privacy;
use crate::table::Table;

/// The units of some cells, in the order of the cells' content.
#[derive(Debug)]
pub(super) struct Units {
    /// One per cell.
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

/// The units of all cells, and which of them begin as a class.
#[derive(Debug)]
pub(super) struct Surveyed<'a> {
    pub(super) units: Units,
    pub(super) rules: Rules<'a>,
    /// The units of each cell that satisfies the model alone.
    pub(super) rich: Vec<Vec<u32>>,
    /// All other units.
    pub(super) poor: Vec<u32>,
}

impl<'a> Surveyed<'a> {
    pub(super) fn new(table: &Table, cells: &[u32], privacy: &'a Privacy) -> Self {
        let mut rules = Rules::new(table, privacy);
        let points = Points::of_cells(table, cells);
        let is_rich: Vec<bool> = cells.par_iter().map(|cell| rules.is_satisfied_by_cell(table, *cell)).collect();
        let (mut rich, mut poor, mut units) = (Vec::new(), Vec::new(), Vec::with_capacity(cells.len()));
        let mut kinds: FxHashMap<&[u32], u32> = FxHashMap::default();
        for ((point, cell), is_rich) in (0..).zip(cells).zip(is_rich) {
            let groups = table.groups(*cell);
            // A rich cell may lend to a class or two; of a poor one any group may have to.
            let single = 2 * rules.least_rows();
            let single = if is_rich { single.div_ceil(groups.len() as u64) } else { single };
            let first = units.len() as u32;
            for group in groups {
                let codes = if rules.is_plain() { &[][..] } else { table.codes(group) };
                let kind = *kinds.entry(codes).or_insert_with(|| rules.add_kind(codes));
                let rows = table.group_rows(group);
                let singles = rows.min(u32::try_from(single).unwrap_or(u32::MAX));
                let unit = |rows: u32| Unit { point, kind, portion: Portion { group, rows } };
                units.extend(std::iter::repeat_n(unit(1), singles as usize));
                units.extend((rows > singles).then(|| unit(rows - singles)));
            }
            let all = first..units.len() as u32;
            if is_rich {
                rich.push(all.collect());
            } else {
                poor.extend(all);
            }
        }
        Self { units: Units { points, units }, rules, rich, poor }
    }
}

impl Units {
    pub(super) fn dimensions(&self) -> usize {
        self.points.dimensions()
    }

    pub(super) fn point(&self, unit: u32) -> &[f32] {
        self.points.get(self.units[unit as usize].point)
    }

    pub(super) fn rows(&self, unit: u32) -> u32 {
        self.units[unit as usize].portion.rows
    }

    /// What a model may know of the unit's rows, as a number of [`Rules`].
    pub(super) fn kind(&self, unit: u32) -> u32 {
        self.units[unit as usize].kind
    }

    /// What a model may know of the unit.
    pub(super) fn kind_and_rows(&self, unit: u32) -> (u32, u64) {
        (self.kind(unit), u64::from(self.rows(unit)))
    }

    /// Units as a class.
    pub(super) fn class(&self, units: &[u32]) -> Class {
        Class::of_portions(units.iter().map(|unit| self.units[*unit as usize].portion).collect())
    }
}
