//! Greedy clustering of many cells with numeric columns, none of which satisfies the model alone.
//!
//! A class grows from its seed by the cell that increases its loss least, as in `greedy.rs`, but considers only cells
//! near its seed: a k-d tree finds them, so that time is not quadratic in the number of cells. Leaves, and borders that
//! classes can't cross, are therefore unnecessary.
//!
//! ```text
//!  seeds ─► next few ─► grow each as if it were alone (in parallel) ─► take its cells, one class after the other
//!             ▲                                                         │ where another class has taken one: grow again
//!             └─────────────────────────────────────────────────────────┘
//! ```

mod free_cells;
mod grow;
mod seed_order;

use rayon::prelude::*;

use super::Class;
use crate::geometry::{BoundingBox, LossSpace};
use crate::model::Privacy;
use crate::table::Table;
use free_cells::FreeCells;
use grow::{Grower, TentativeClass};

/// Number of consecutive seeds without a complete class after which the remaining ones are skipped.
const FAILED_SEEDS: usize = 32;

/// Maximum number of classes grown in parallel; fewer if they would compete for the same cells.
const AT_ONCE: usize = 32;

/// A class with its cells as indices into the leaf.
struct SpatialClass {
    cells: Vec<u32>,
    rows: u64,
    ranges: BoundingBox,
}

/// Clusters a leaf that satisfies the model.
pub(super) fn classes(leaf: &[u32], table: &Table, privacy: &Privacy, random_seed: u64) -> Vec<Class> {
    let (axes, places) = LossSpace::new(table, leaf.iter().copied());
    let seeds = seed_order::in_order(&axes, &places, random_seed);
    let mut free_cells = FreeCells::new(&axes, (0..leaf.len() as u32).collect(), places);
    let grower = Grower::new(&axes, leaf, table, privacy);
    let mut formed = form(&grower, &mut free_cells, seeds);
    place_leftovers(&grower, &free_cells, &mut formed);
    if formed.is_empty() {
        return vec![Class::of_cells(table, leaf)];
    }
    let class = |class: &SpatialClass| {
        let cells: Vec<u32> = class.cells.iter().map(|cell| leaf[*cell as usize]).collect();
        Class::of_cells(table, &cells)
    };
    formed.par_iter().map(class).collect()
}

/// Forms all classes that can be completed.
fn form(grower: &Grower<'_>, free_cells: &mut FreeCells, seeds: Vec<u32>) -> Vec<SpatialClass> {
    let mut formed: Vec<SpatialClass> = Vec::new();
    let (mut seeds, mut failed) = (seeds.into_iter().peekable(), 0);
    while seeds.peek().is_some() && failed < FAILED_SEEDS {
        free_cells.forget_taken(grower.axes());
        let at_once = (free_cells.left() / grower.apart()).clamp(1, AT_ONCE);
        let next: Vec<u32> = seeds.by_ref().filter_map(|seed| free_cells.free_slot(seed)).take(at_once).collect();
        let grown: Vec<Option<TentativeClass>> = next.par_iter().map(|seed| grower.grow(free_cells, *seed)).collect();
        for (seed, grown) in next.into_iter().zip(grown) {
            if !free_cells.is_free(seed) {
                continue;
            }
            let is_there = |grown: &TentativeClass| grown.slots.iter().all(|slot| free_cells.is_free(*slot));
            let grown = match grown {
                Some(grown) if !is_there(&grown) => grower.grow(free_cells, seed),
                grown => grown,
            };
            match grown {
                Some(TentativeClass { slots, rows, ranges }) => {
                    let cells = slots.into_iter().map(|slot| free_cells.take(slot)).collect();
                    formed.push(SpatialClass { cells, rows, ranges });
                    failed = 0;
                }
                None => failed += 1,
            }
        }
    }
    formed
}

/// Adds each cell that is still free to the class with the least increase of loss.
fn place_leftovers(grower: &Grower<'_>, free_cells: &FreeCells, formed: &mut [SpatialClass]) {
    let axes = grower.axes();
    for slot in free_cells.free_slots() {
        let (place, rows) = (free_cells.place(slot), grower.rows(free_cells, slot));
        let cost = |class: &SpatialClass| {
            let after = f64::from(axes.loss_with(&class.ranges.lo, &class.ranges.hi, place));
            let before = f64::from(axes.loss(&class.ranges.lo, &class.ranges.hi));
            class.rows as f64 * (after - before) + rows as f64 * after
        };
        let costs = formed.iter().map(cost).enumerate();
        let Some((home, _)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
        let class = &mut formed[home];
        class.ranges.include(place);
        class.rows += rows;
        class.cells.push(free_cells.cell(slot));
    }
}

#[cfg(test)]
#[path = "spatial_greedy_tests.rs"]
mod tests;
