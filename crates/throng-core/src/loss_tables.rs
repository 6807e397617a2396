//! Lookup tables for the loss of ranges of a column, small enough to stay in the cache of a core.
//!
//! Only some positions of a column occur in a leaf or a neighbourhood. The loss of a numeric range is the difference of
//! two coordinates. The loss of a categorical range is the maximum loss of adjacent positions in it, because the lowest
//! common ancestor of a range is the highest of the common ancestors of its adjacent pairs.

use crate::domain::DomainKind;
use crate::table::QuasiColumn;

/// Maximum number of positions of a category for which the losses of all ranges are tabulated.
const WRITTEN_DOWN: usize = 64;

/// Coordinate of null, in units of the weight.
const NULL_COORDINATE: f64 = -2.0;

/// Representation of the losses of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LossForm {
    Line,
    Grid,
    Steps,
}

/// Weighted losses of a numeric column.
#[derive(Debug)]
pub(crate) struct LossLine {
    /// Indexed by position. In double precision, so that ranges of equal width have equal loss.
    coordinates: Vec<f64>,
    /// Loss of a range that mixes null and numbers.
    all: f32,
}

/// Weighted losses of a category with few values, indexed by lowest and highest position.
#[derive(Debug)]
pub(crate) struct LossGrid {
    side: usize,
    losses: Vec<f32>,
}

/// Weighted losses of a category with many values: sparse table of range maxima, indexed by power of two and position.
#[derive(Debug)]
pub(crate) struct LossSteps {
    len: usize,
    greatest: Vec<f32>,
}

impl LossForm {
    pub(crate) fn of(quasi: &QuasiColumn, positions: usize) -> Self {
        match positions {
            _ if Self::is_line(quasi) => Self::Line,
            positions if positions <= WRITTEN_DOWN => Self::Grid,
            _ => Self::Steps,
        }
    }

    /// Returns whether a column is numeric, whatever its number of positions.
    pub(crate) fn is_line(quasi: &QuasiColumn) -> bool {
        matches!(quasi.domain.kind(), DomainKind::Ordered { .. })
    }
}

/// Returns the weighted coordinate of a number relative to `origin`, the lowest position. Null is farther from every
/// number than numbers are from each other.
pub(crate) fn line_coordinate(quasi: &QuasiColumn, origin: u32, position: u32, weight: f64) -> f64 {
    match Some(position) == quasi.domain.null_position() {
        true => NULL_COORDINATE * weight,
        false => quasi.domain.loss(origin, position) * weight,
    }
}

/// Returns the weighted loss of each pair of adjacent positions of a category.
pub(crate) fn steps(quasi: &QuasiColumn, positions: &[u32], weight: f64) -> Vec<f32> {
    positions.windows(2).map(|pair| (quasi.domain.loss(pair[0], pair[1]) * weight) as f32).collect()
}

impl LossLine {
    pub(crate) fn new(quasi: &QuasiColumn, positions: &[u32], weight: f64) -> Self {
        let null = quasi.domain.null_position();
        let origin = positions.iter().copied().find(|position| Some(*position) != null).unwrap_or(0);
        let coordinate = |position: &u32| line_coordinate(quasi, origin, *position, weight);
        Self { coordinates: positions.iter().map(coordinate).collect(), all: weight as f32 }
    }

    #[inline]
    pub(crate) fn loss(&self, lo: usize, hi: usize) -> f32 {
        ((self.coordinates[hi] - self.coordinates[lo]) as f32).min(self.all)
    }
}

impl LossGrid {
    pub(crate) fn new(steps: &[f32]) -> Self {
        let side = steps.len() + 1;
        let mut losses = vec![0.0; side * side];
        for lo in 0..side {
            let mut loss = 0.0_f32;
            for hi in lo + 1..side {
                loss = loss.max(steps[hi - 1]);
                losses[lo * side + hi] = loss;
            }
        }
        Self { side, losses }
    }

    #[inline]
    pub(crate) fn loss(&self, lo: usize, hi: usize) -> f32 {
        self.losses[lo * self.side + hi]
    }
}

impl LossSteps {
    pub(crate) fn new(steps: Vec<f32>) -> Self {
        let (len, mut greatest, mut reach) = (steps.len(), steps, 1);
        while 2 * reach <= len {
            let start = greatest.len() - len;
            for at in 0..len {
                let next = greatest[start + (at + reach).min(len - 1)];
                greatest.push(greatest[start + at].max(next));
            }
            reach *= 2;
        }
        Self { len, greatest }
    }

    #[inline]
    pub(crate) fn loss(&self, lo: usize, hi: usize) -> f32 {
        if lo == hi {
            return 0.0;
        }
        let power = (hi - lo).ilog2() as usize;
        self.greatest[power * self.len + lo].max(self.greatest[power * self.len + hi - (1 << power)])
    }
}
