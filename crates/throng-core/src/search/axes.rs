//! The columns of a neighbourhood, of which only some positions occur: these are numbered densely.

use super::hood::NONE;
use crate::losses::{Form, Grid, Line, Steps, steps};
use crate::table::{QuasiColumn, Table};

/// Places have room for a multiple of so many columns, and so are compared many columns at a time.
pub(super) const LANES: usize = 8;

/// The columns of a neighbourhood. In a place lines come first, then grids, then steps.
#[derive(Debug, Default)]
pub(super) struct Axes {
    stride: usize,
    lines: Vec<Line>,
    grids: Vec<Grid>,
    steps: Vec<Steps>,
}

impl Axes {
    /// The columns of these cells, and the place of each cell, cell by cell.
    pub(super) fn new(table: &Table, cells: impl ExactSizeIterator<Item = u32> + Clone) -> (Self, Vec<u16>) {
        let heaviest = table.quasi().iter().map(|quasi| quasi.spec.weight).fold(0.0, f64::max);
        let mut columns: Vec<(Form, usize, Vec<u32>, Vec<u16>)> = Vec::with_capacity(table.quasi().len());
        for (column, quasi) in table.quasi().iter().enumerate() {
            let positions = cells.clone().map(|cell| table.positions(cell)[column]);
            let (known, dense) = dense_positions(positions, quasi.domain.len());
            columns.push((Form::of(quasi, known.len()), column, known, dense));
        }
        columns.sort_by_key(|(form, column, ..)| (*form, *column));
        let mut axes = Self { stride: columns.len().next_multiple_of(LANES), ..Self::default() };
        let mut places = vec![0; cells.len() * axes.stride];
        for (lane, (form, column, known, dense)) in columns.iter().enumerate() {
            let lanes = places.iter_mut().skip(lane).step_by(axes.stride);
            lanes.zip(dense).for_each(|(place, at)| *place = *at);
            let quasi = &table.quasi()[*column];
            axes.push(*form, quasi, known, quasi.spec.weight / heaviest);
        }
        (axes, places)
    }

    fn push(&mut self, form: Form, quasi: &QuasiColumn, positions: &[u32], weight: f64) {
        match form {
            Form::Line => self.lines.push(Line::new(quasi, positions, weight)),
            Form::Grid => self.grids.push(Grid::new(&steps(quasi, positions, weight))),
            Form::Steps => self.steps.push(Steps::new(steps(quasi, positions, weight))),
        }
    }

    /// How many columns a place has room for.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// How many columns there are.
    pub(super) fn width(&self) -> usize {
        self.lines.len() + self.grids.len() + self.steps.len()
    }

    /// The loss per row of a class with these ranges.
    #[inline]
    pub(super) fn loss(&self, lo: &[u16], hi: &[u16]) -> f32 {
        self.sum([lo, hi], |[lo, hi]| (lo, hi))
    }

    /// The loss per row of a class with these ranges once it also has a place.
    #[inline]
    pub(super) fn loss_with(&self, lo: &[u16], hi: &[u16], at: &[u16]) -> f32 {
        self.sum([lo, hi, at], |[lo, hi, at]| (lo.min(at), hi.max(at)))
    }

    /// What two places lose together.
    #[inline]
    pub(super) fn loss_of_pair(&self, a: &[u16], b: &[u16]) -> f32 {
        self.sum([a, b], |[a, b]| (a.min(b), a.max(b)))
    }

    /// What a place of one box and a place of another one lose together at least.
    #[inline]
    pub(super) fn loss_between(&self, a: (&[u16], &[u16]), b: (&[u16], &[u16])) -> f32 {
        // From the lower range's end to the higher one's start; nothing where they overlap.
        let gap = |[a_lo, b_lo, a_hi, b_hi]: [u16; 4]| (a_lo.max(b_lo).min(a_hi.min(b_hi)), a_lo.max(b_lo));
        self.sum([a.0, b.0, a.1, b.1], gap)
    }

    /// The loss of one column.
    pub(super) fn column_loss(&self, lane: usize, lo: u16, hi: u16) -> f32 {
        let (lines, grids) = (self.lines.len(), self.grids.len());
        match lane {
            lane if lane < lines => self.lines[lane].loss(lo.into(), hi.into()),
            lane if lane < lines + grids => self.grids[lane - lines].loss(lo.into(), hi.into()),
            lane => self.steps[lane - lines - grids].loss(lo.into(), hi.into()),
        }
    }

    /// What ranges lose together that are made of positions of the same column.
    #[inline(always)]
    fn sum<const N: usize>(&self, positions: [&[u16]; N], range: impl Fn([u16; N]) -> (u16, u16)) -> f32 {
        let positions = positions.map(|positions| &positions[..self.stride]);
        let grids = self.lines.len();
        let steps = grids + self.grids.len();
        assert!(grids <= self.stride && steps <= self.stride, "a place has room for all columns");
        let of_lane = |lane: usize| range(positions.map(|positions| positions[lane]));
        let mut sum = 0.0;
        for (lane, line) in self.lines.iter().enumerate() {
            let (lo, hi) = of_lane(lane);
            sum += line.loss(lo.into(), hi.into());
        }
        for (grid, lane) in self.grids.iter().zip(grids..self.stride) {
            let (lo, hi) = of_lane(lane);
            sum += grid.loss(lo.into(), hi.into());
        }
        for (steps, lane) in self.steps.iter().zip(steps..self.stride) {
            let (lo, hi) = of_lane(lane);
            sum += steps.loss(lo.into(), hi.into());
        }
        sum
    }
}

/// The positions that occur, ascending, and for each position its number among them.
fn dense_positions(positions: impl ExactSizeIterator<Item = u32> + Clone, domain: usize) -> (Vec<u32>, Vec<u16>) {
    if domain > 4 * positions.len() {
        let mut known: Vec<u32> = positions.clone().collect();
        known.sort_unstable();
        known.dedup();
        let dense = positions.map(|position| known.partition_point(|other| *other < position) as u16).collect();
        return (known, dense);
    }
    let mut numbers = vec![NONE; domain];
    positions.clone().for_each(|position| numbers[position as usize] = 0);
    let known: Vec<u32> = (0..domain as u32).filter(|position| numbers[*position as usize] != NONE).collect();
    known.iter().zip(0..).for_each(|(position, number)| numbers[*position as usize] = number);
    (known, positions.map(|position| numbers[position as usize]).collect())
}

#[cfg(test)]
#[path = "axes_tests.rs"]
mod tests;
