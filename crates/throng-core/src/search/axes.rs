//! What a range of positions loses, in a form that is small enough to stay in the cache of a core.
//!
//! In a neighbourhood only some positions of a column occur. They are numbered densely. A number's loss is a difference
//! of two coordinates; a category's loss is the greatest step between neighbouring positions of the range, because the
//! common ancestor of a range is the highest of the common ancestors of its neighbours.

use crate::domain::Kind;
use crate::table::{QuasiColumn, Table};

/// Up to so many positions the loss of every range of a category is written down.
const WRITTEN_DOWN: usize = 64;

/// The columns of a neighbourhood.
#[derive(Debug)]
pub(super) struct Axes {
    axes: Vec<Axis>,
}

/// The losses of one column, weighted.
#[derive(Debug)]
enum Axis {
    /// By position the coordinate of a number. Ranges that mix null with numbers lose all.
    Line { coordinates: Vec<f32>, all: f32 },
    /// By lowest and highest position what a category loses.
    Grid { side: usize, losses: Vec<f32> },
    /// By power of two and position the greatest step from there on.
    Steps { len: usize, greatest: Vec<f32> },
}

/// A coordinate that is farther from every number than numbers are from each other.
const NULL_COORDINATE: f32 = -2.0;

impl Axes {
    /// The columns of these cells, and the dense positions of each cell, cell by cell.
    pub(super) fn new(table: &Table, cells: impl ExactSizeIterator<Item = u32> + Clone) -> (Self, Vec<u16>) {
        let width = table.quasi().len();
        let heaviest = table.quasi().iter().map(|quasi| quasi.spec.weight).fold(0.0, f64::max);
        let mut dense = vec![0; cells.len() * width];
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(cells.len());
        let mut positions = Vec::new();
        let mut axis = |(column, quasi): (usize, &QuasiColumn)| {
            order.clear();
            order.extend(cells.clone().zip(0..).map(|(cell, local)| (table.positions(cell)[column], local)));
            order.sort_unstable();
            positions.clear();
            for (position, local) in &order {
                if positions.last() != Some(position) {
                    positions.push(*position);
                }
                dense[*local as usize * width + column] = (positions.len() - 1) as u16;
            }
            Axis::new(quasi, &positions, quasi.spec.weight / heaviest)
        };
        let axes = table.quasi().iter().enumerate().map(&mut axis).collect();
        (Self { axes }, dense)
    }

    pub(super) fn width(&self) -> usize {
        self.axes.len()
    }

    /// The loss per row of a class with these ranges.
    pub(super) fn loss(&self, lo: &[u16], hi: &[u16]) -> f32 {
        self.axes.iter().zip(lo).zip(hi).map(|((axis, lo), hi)| axis.loss(*lo, *hi)).sum()
    }

    /// The loss per row of a class with these ranges once it also has a place.
    pub(super) fn loss_with(&self, lo: &[u16], hi: &[u16], at: &[u16]) -> f32 {
        let ranges = self.axes.iter().zip(lo).zip(hi).zip(at);
        ranges.map(|(((axis, lo), hi), at)| axis.loss(*lo.min(at), *hi.max(at))).sum()
    }

    /// What a place of one box and a place of another one lose together at least.
    pub(super) fn loss_between(&self, a: (&[u16], &[u16]), b: (&[u16], &[u16])) -> f32 {
        let gap = |column: usize, axis: &Axis| match (a.1[column] < b.0[column], b.1[column] < a.0[column]) {
            (true, _) => axis.loss(a.1[column], b.0[column]),
            (_, true) => axis.loss(b.1[column], a.0[column]),
            _ => 0.0,
        };
        self.axes.iter().enumerate().map(|(column, axis)| gap(column, axis)).sum()
    }

    /// The loss of one column.
    pub(super) fn column_loss(&self, column: usize, lo: u16, hi: u16) -> f32 {
        self.axes[column].loss(lo, hi)
    }
}

impl Axis {
    fn new(quasi: &QuasiColumn, positions: &[u32], weight: f64) -> Self {
        let domain = &quasi.domain;
        if let Kind::Ordered { .. } = domain.kind() {
            let null = domain.null_position();
            let origin = positions.iter().copied().find(|position| Some(*position) != null).unwrap_or(0);
            let coordinate = |position: &u32| match Some(*position) == null {
                true => NULL_COORDINATE * weight as f32,
                false => (domain.loss(origin, *position) * weight) as f32,
            };
            return Self::Line { coordinates: positions.iter().map(coordinate).collect(), all: weight as f32 };
        }
        let step = |pair: &[u32]| (domain.loss(pair[0], pair[1]) * weight) as f32;
        let steps: Vec<f32> = positions.windows(2).map(step).collect();
        let side = positions.len();
        if side > WRITTEN_DOWN {
            return Self::steps(steps);
        }
        let mut losses = vec![0.0; side * side];
        for lo in 0..side {
            let mut loss = 0.0_f32;
            for hi in lo + 1..side {
                loss = loss.max(steps[hi - 1]);
                losses[lo * side + hi] = loss;
            }
        }
        Self::Grid { side, losses }
    }

    fn steps(steps: Vec<f32>) -> Self {
        let (len, mut greatest, mut reach) = (steps.len(), steps, 1);
        while 2 * reach <= len {
            let start = greatest.len() - len;
            for at in 0..len {
                let next = greatest[start + (at + reach).min(len - 1)];
                greatest.push(greatest[start + at].max(next));
            }
            reach *= 2;
        }
        Self::Steps { len, greatest }
    }

    #[inline]
    fn loss(&self, lo: u16, hi: u16) -> f32 {
        let (lo, hi) = (usize::from(lo), usize::from(hi));
        match self {
            Self::Line { coordinates, all } => (coordinates[hi] - coordinates[lo]).min(*all),
            Self::Grid { side, losses } => losses[lo * side + hi],
            Self::Steps { .. } if lo == hi => 0.0,
            Self::Steps { len, greatest } => {
                let power = (hi - lo).ilog2() as usize;
                greatest[power * len + lo].max(greatest[power * len + hi - (1 << power)])
            }
        }
    }
}

#[cfg(test)]
#[path = "axes_tests.rs"]
mod tests;
