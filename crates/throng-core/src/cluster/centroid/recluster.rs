//! Reclusters neighbouring classes, and keeps the result if it has lower squared errors.
//!
//! Moves and swaps keep the number of classes, and stop at a local optimum. To escape it, a class and its nearest
//! neighbours are copied: all of their units grow into new classes, from other seeds and possibly more or fewer of
//! them, or the class is dissolved into its neighbours. The copy is refined, and replaces the original if its errors
//! are lower.

use super::grow::{Seeds, grow, join_cheapest};
use super::mix;
use super::refine::{RefineEffort, refine};
use super::subproblem::{NearestClasses, Subproblem};

/// Minimum number of neighbours that take part, if there are that many.
const FEWEST: u64 = 4;
/// Maximum number of neighbours, or as many small classes as have [`ROWS`] rows.
const MOST: u64 = 8;
/// See [`MOST`].
const ROWS: u64 = 32;
/// Approximate number of attempts in which each class takes part per round.
const ATTEMPTS: u64 = 6;
/// A subproblem of fewer classes is processed several times, at most [`TURNS`], because few attempts are no sample.
const FEW: usize = 16;
/// See [`FEW`].
const TURNS: usize = 4;
/// Classes with more units in total are skipped.
const UNITS: usize = 512;
/// Number of passes over a copy.
const PASSES: usize = 4;
/// A copy whose errors exceed the original by this factor is not refined.
const HOPELESS: f64 = 1.5;
/// Smaller gains, relative to the errors, are rounding noise.
const NOISE: f64 = 1e-9;

/// Attempts to recluster the classes of a subproblem. `draw` keys the random choices. Returns whether the errors were
/// lowered.
pub(super) fn recluster(patch: &mut Subproblem<'_>, draw: u64) -> bool {
    let turns = (FEW / patch.classes.len().max(1)).clamp(1, TURNS);
    let mut has_gained = false;
    for turn in 0..turns {
        has_gained |= recluster_once(patch, draw.wrapping_add(turn as u64));
    }
    has_gained
}

fn recluster_once(patch: &mut Subproblem<'_>, draw: u64) -> bool {
    let mut has_gained = false;
    let most = (ROWS / patch.rules.least_rows()).max(MOST);
    let mut near = NearestClasses::new(most as usize);
    for class in 0..patch.classes.len() as u32 {
        let draw = mix(draw ^ u64::from(class));
        let wanted = FEWEST + (draw >> 8) % (most - FEWEST + 1);
        let is_tried = (draw >> 32) % (wanted + 1) < ATTEMPTS;
        if !is_tried || patch.classes[class as usize].units.is_empty() {
            continue;
        }
        patch.nearest(patch.centroid(class), class, &mut near);
        let pool: Vec<u32> = std::iter::once(class).chain(near.classes().take(wanted as usize)).collect();
        let units: usize = pool.iter().map(|class| patch.classes[*class as usize].units.len()).sum();
        if units > UNITS {
            continue;
        }
        has_gained |= match draw % 4 {
            0 => attempt(patch, &pool, |copy| grow(copy, Seeds::Random(draw))),
            1 => attempt(patch, &pool, |copy| grow(copy, Seeds::Away(draw))),
            2 => attempt(patch, &pool, |copy| grow(copy, Seeds::Rim)),
            _ if pool.len() == 1 => false,
            _ => {
                let sizes: Vec<usize> = pool.iter().map(|class| patch.classes[*class as usize].units.len()).collect();
                attempt(patch, &pool, |copy| dissolve_first(copy, &sizes))
            }
        };
    }
    has_gained
}

/// Assigns the units of the classes in `pool` to new classes by `form`, and keeps these if that lowers the errors.
/// Returns whether it does.
fn attempt<'a>(patch: &mut Subproblem<'a>, pool: &[u32], form: impl FnOnce(&mut Subproblem<'a>)) -> bool {
    let (mut copy, units) = patch.part(pool);
    let before: f64 = pool.iter().map(|class| patch.class_errors(*class)).sum();
    form(&mut copy);
    if copy.errors() > before * HOPELESS {
        return false;
    }
    refine(&mut copy, RefineEffort { passes: PASSES, ..RefineEffort::FULL });
    if copy.errors() >= before - NOISE * (1.0 + before) {
        return false;
    }
    pool.iter().for_each(|class| patch.clear(*class));
    let mut slots = pool.iter().copied();
    for block in &copy.classes {
        let block = block.units.iter().map(|unit| units[*unit as usize]).collect();
        match slots.next() {
            Some(slot) => patch.fill(slot, block),
            None => patch.open(block),
        }
    }
    true
}

/// Opens classes of these sizes except the first, whose units join the others.
fn dissolve_first(patch: &mut Subproblem<'_>, sizes: &[usize]) {
    let mut from = sizes[0] as u32;
    for size in &sizes[1..] {
        patch.open((from..from + *size as u32).collect());
        from += *size as u32;
    }
    join_cheapest(patch, (0..sizes[0] as u32).collect());
}
