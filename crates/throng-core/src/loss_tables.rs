//! What ranges of a column lose, in a form that is small enough to stay in the cache of a core.
//!
//! In a leaf or a neighbourhood only some positions of a column occur. A number's loss is a difference of two coordinates;
//! a category's loss is the greatest step between neighbouring positions of the range, because the common ancestor of a
//! range is the highest of the common ancestors of its neighbours.

use crate::domain::DomainKind;
use crate::table::QuasiColumn;

/// Up to so many positions the loss of every range of a category is written down.
const WRITTEN_DOWN: usize = 64;

/// Where null is.
const NULL_COORDINATE: f64 = -2.0;

/// The form that suits a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LossForm {
    Line,
    Grid,
    Steps,
}

/// What a column of numbers loses, weighted.
#[derive(Debug)]
pub(crate) struct LossLine {
    /// By position. In double precision, so that ranges of the same width lose the same.
    coordinates: Vec<f64>,
    /// What ranges lose that mix null with numbers.
    all: f32,
}

/// What a category of few values loses, weighted: by lowest and highest position.
#[derive(Debug)]
pub(crate) struct LossGrid {
    side: usize,
    losses: Vec<f32>,
}

/// What a category of many values loses, weighted: by power of two and position the greatest step from there on.
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

    /// Whether a column is a line, however many positions it has.
    pub(crate) fn is_line(quasi: &QuasiColumn) -> bool {
        matches!(quasi.domain.kind(), DomainKind::Ordered { .. })
    }
}

/// The weighted coordinate of a number, where `origin` is the lowest one. Null is farther from every number than numbers
/// are from each other.
pub(crate) fn line_coordinate(quasi: &QuasiColumn, origin: u32, position: u32, weight: f64) -> f64 {
    match Some(position) == quasi.domain.null_position() {
        true => NULL_COORDINATE * weight,
        false => quasi.domain.loss(origin, position) * weight,
    }
}

/// What each two neighbouring positions of a category lose.
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
