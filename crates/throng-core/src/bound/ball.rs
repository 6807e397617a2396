//! Balls: the nearest rows of a cell that satisfy the models together with it.
//!
//! A class with a row of the cell has at least `k` rows and `p` values of each sensitive column. It spans the cell and the
//! farthest of its rows, so it loses at least what these two lose as a pair, and that is at least the *radius*: the least
//! pairwise loss within which there are enough rows. The box around the rows within the radius satisfies the models, so
//! its loss bounds that of the nearest box from above.

use rayon::prelude::*;

use super::axes::Axis;
use super::block::{BlockCells, CountedModels, ModelCounter};
use super::boxes::StopSignal;
use crate::columns::ColumnRecoding;
use crate::geometry::{KdTree, LossSpace};
use crate::table::{QuasiColumn, Table};

/// Leaf size of the k-d tree.
const LEAF: usize = 8;

/// Rounding of a coordinate in single precision, per column.
const ROUNDING: f64 = 2.5e-7;

/// Bounds of the loss of the nearest box of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearestBall {
    pub(super) least: f64,
    pub(super) most: f64,
}

/// Returns the balls of all cells of a block; those of rich cells are zero. If stopped, the remaining cells have no
/// bounds.
pub(super) fn balls(
    table: &Table,
    models: &CountedModels,
    block: &BlockCells,
    axes: &[Axis],
    stop: &StopSignal<'_>,
) -> Vec<NearestBall> {
    let (space, places) = LossSpace::new(table, block.cells.iter().copied());
    let tree = KdTree::new(&space, &places, (0..block.len() as u32).collect(), LEAF);
    let weights = || table.quasi().iter().map(|quasi| quasi.spec.weight);
    let (heaviest, total) = (weights().fold(0.0, f64::max), weights().sum::<f64>());
    // Pairs lose less in a set than in the hierarchy of its values, which is what the space measures.
    let is_set = |quasi: &QuasiColumn| quasi.spec.release == ColumnRecoding::Set;
    let scale = if table.quasi().iter().any(is_set) { 0.0 } else { heaviest / total };
    let margin = ROUNDING * table.quasi().len() as f64;
    let place = |cell: u32| &places[cell as usize * space.stride()..][..space.stride()];
    let ball = |cell: u32| {
        if block.is_rich[cell as usize] {
            return NearestBall { least: 0.0, most: 0.0 };
        }
        if !stop.check() {
            return NearestBall { least: 0.0, most: f64::MAX };
        }
        let at = place(cell);
        let mut counter = ModelCounter::new(models, block);
        let (mut near, mut radius): (Vec<(f32, u32)>, f32) = (Vec::new(), f32::INFINITY);
        tree.visit_nearest(
            &space,
            at,
            |_| true,
            |part| {
                if space.loss_to(at, tree.ranges(part)) > radius {
                    return false;
                }
                let known = near.len();
                let cells = tree.places(part).iter().map(|other| (space.loss_of_pair(at, place(*other)), *other));
                near.extend(cells.filter(|(loss, _)| *loss < radius));
                let is_enough = radius.is_finite() || near[known..].iter().any(|(_, other)| counter.add(*other));
                if is_enough && near.len() > known {
                    near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                    counter.clear();
                    let needed = near.iter().position(|(_, other)| counter.add(*other));
                    if let Some(last) = needed {
                        radius = near[last].0;
                        near.truncate(last + 1);
                    }
                }
                true
            },
        );
        let rows: Vec<u32> = near.iter().map(|(_, other)| *other).chain([cell]).collect();
        let most: f64 = axes.iter().map(|axis| axis.loss(&rows)).sum();
        let is_found = radius.is_finite();
        let least = if is_found { ((f64::from(radius) - margin) * scale).clamp(0.0, most) } else { 0.0 };
        NearestBall { least, most: if is_found { most * (1.0 + ROUNDING) } else { f64::MAX } }
    };
    (0..block.len() as u32).into_par_iter().map(ball).collect()
}
