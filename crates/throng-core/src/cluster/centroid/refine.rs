//! Moves single units to other classes, and swaps pairs of units, while that lowers the squared errors.
//!
//! With `n` rows and the centroid `c` of a class, a row at `x` that leaves `A` and joins `B` changes the errors by
//! `n_B / (n_B + 1) |x - c_B|^2 - n_A / (n_A - 1) |x - c_A|^2`. Swapping rows at `u` in `A` and `v` in `B` lowers them
//! by `2 (c_A - c_B) (v - u) + (1 / n_A + 1 / n_B) |v - u|^2`. If `A` has no surplus row, a third class that has one
//! may replace the row that leaves. For each unit these steps are evaluated with the nearest classes, and the best one
//! that the model allows is applied. A unit is evaluated again only if one of these classes changed.

use super::lanes::{distance, padded, rise};
use super::subproblem::{NearestClasses, Subproblem};

/// Number of passes, and number of classes considered.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefineEffort {
    /// Number of passes over the units.
    pub(super) passes: usize,
    /// Number of nearest classes considered per unit.
    pub(super) classes: usize,
    /// More classes are considered if they are small: as many of minimum size as have this many rows.
    pub(super) rows: usize,
}

impl RefineEffort {
    /// For classes under local search.
    pub(super) const FULL: Self = Self { passes: 2, classes: 6, rows: 24 };
    /// For grown classes that local search will improve.
    pub(super) const ONCE: Self = Self { passes: 1, ..Self::FULL };
    /// For grown classes without a search. With six numeric columns it takes two thirds of the time of
    /// [`RefineEffort::ONCE`], with errors 1 % higher.
    pub(super) const LITTLE: Self = Self { passes: 1, classes: 2, rows: 0 };
}

/// Maximum number of classes considered per unit.
const MOST: usize = 12;
/// Units of larger classes are not swapped: one row moves their centroid little, and moves suffice.
const LARGE: usize = 256;
/// Smaller gains are rounding noise.
const NOISE: f64 = 1e-9;

/// A step that lowers the errors.
#[derive(Clone, Copy, Debug)]
enum RefineMove {
    Move {
        class: u32,
    },
    Swap {
        class: u32,
        with: u32,
    },
    /// The unit moves, and a unit of a third class replaces it.
    Chain {
        class: u32,
        with: u32,
    },
}

/// The best step so far.
#[derive(Debug)]
struct BestMove {
    step: Option<RefineMove>,
    gain: f32,
}

impl BestMove {
    fn offer(&mut self, gain: f32, step: RefineMove) {
        if gain > self.gain {
            (self.step, self.gain) = (Some(step), gain);
        }
    }
}

/// Reused buffers.
#[derive(Debug)]
struct Scratch {
    slope: Vec<f32>,
    /// Cost of the unit in each of its nearest classes.
    costs: Vec<(f32, u32)>,
}

/// Timestamps of visits and changes.
#[derive(Debug)]
struct VisitLog {
    /// Per unit: time of the last visit, and the classes considered.
    units: Vec<(u32, [u32; MOST])>,
    /// Per class: time of the last change.
    classes: Vec<u32>,
    now: u32,
}

impl VisitLog {
    fn is_stale(&self, unit: u32, home: u32) -> bool {
        let (when, near) = self.units[unit as usize];
        let changed = |class: u32| self.classes.get(class as usize).is_some_and(|changed| *changed > when);
        when == 0 || changed(home) || near.iter().any(|class| changed(*class))
    }
}

/// Refines all units with this effort, or until no step lowers the errors. Returns whether any did.
pub(super) fn refine(patch: &mut Subproblem<'_>, care: RefineEffort) -> bool {
    if patch.classes.len() < 2 {
        return false;
    }
    let mut looked =
        VisitLog { units: vec![(0, [u32::MAX; MOST]); patch.len()], classes: vec![1; patch.classes.len()], now: 1 };
    let small = care.rows as u64 / patch.rules.least_rows();
    let mut near = NearestClasses::new((small as usize).clamp(care.classes, MOST));
    let mut scratch = Scratch { slope: vec![0.0; padded(patch.dimensions)], costs: Vec::new() };
    for _ in 0..care.passes {
        let before = looked.now;
        for unit in 0..patch.len() as u32 {
            let home = patch.home[unit as usize];
            if !looked.is_stale(unit, home) {
                continue;
            }
            patch.nearest(patch.point(unit), home, &mut near);
            let mut seen = [u32::MAX; MOST];
            seen.iter_mut().zip(near.classes()).for_each(|(slot, class)| *slot = class);
            looked.units[unit as usize] = (looked.now, seen);
            let Some(step) = best_step(patch, unit, &near, &mut scratch) else { continue };
            looked.now += 1;
            let targets = targets(patch, unit, step);
            for (unit, class) in targets.into_iter().flatten() {
                looked.classes[patch.home[unit as usize] as usize] = looked.now;
                looked.classes[class as usize] = looked.now;
                patch.relocate(unit, class);
            }
        }
        if looked.now == before {
            break;
        }
    }
    looked.now > 1
}

/// Returns the units that a step moves, with their new classes.
fn targets(patch: &Subproblem<'_>, unit: u32, step: RefineMove) -> [Option<(u32, u32)>; 2] {
    let home = patch.home[unit as usize];
    match step {
        RefineMove::Move { class } => [Some((unit, class)), None],
        RefineMove::Swap { class, with } | RefineMove::Chain { class, with } => {
            [Some((unit, class)), Some((with, home))]
        }
    }
}

/// Returns the best step for a unit.
fn best_step(
    patch: &mut Subproblem<'_>,
    unit: u32,
    near: &NearestClasses,
    scratch: &mut Scratch,
) -> Option<RefineMove> {
    let home = patch.home[unit as usize];
    let (kind, rows) = (patch.kinds[unit as usize], patch.rows[unit as usize]);
    let (count, weight) = (patch.classes[home as usize].rows() as f32, rows as f32);
    let here = patch.distance(unit, home);
    let leaving = here * weight * count / (count - weight);
    let may_leave = count > weight
        && here > 0.0
        && patch.rules.can_lose(&mut patch.classes[home as usize].tally, kind, u64::from(rows));
    scratch.costs.clear();
    let mut best = BestMove { step: None, gain: 0.0 };
    for (there, class) in near.distances() {
        let size = patch.classes[class as usize].rows() as f32;
        let cost = there * weight * size / (size + weight);
        scratch.costs.push((cost, class));
        if may_leave {
            best.offer(leaving - cost, RefineMove::Move { class });
        }
        if patch.classes[class as usize].units.len() > LARGE {
            continue;
        }
        let share = weight / count + weight / size;
        // Of two units that gain by a swap, one has at least half of the gain; only that one needs to find it.
        let span = there.sqrt() + patch.reach(class);
        if weight * (2.0 * (here - there) + share * span * span) > best.gain {
            best_swap(patch, unit, class, share, scratch, &mut best);
        }
    }
    if !may_leave && count > weight {
        best_chain(patch, unit, leaving, scratch, &mut best);
    }
    best.step.filter(|step| exact_gain(patch, unit, *step) > NOISE * (1.0 + f64::from(here)))
}

fn best_swap(
    patch: &mut Subproblem<'_>,
    unit: u32,
    class: u32,
    share: f32,
    scratch: &mut Scratch,
    best: &mut BestMove,
) {
    let (home, rows) = (patch.home[unit as usize], patch.rows[unit as usize]);
    for ((slope, a), b) in scratch.slope.iter_mut().zip(patch.centroid(home)).zip(patch.centroid(class)) {
        *slope = 2.0 * (a - b);
    }
    for at in 0..patch.classes[class as usize].units.len() {
        let with = patch.classes[class as usize].units[at];
        let gain = rise(patch.point(unit), patch.point(with), &scratch.slope, share) * rows as f32;
        if gain > best.gain && patch.rows[with as usize] == rows && allows_swap(patch, unit, with) {
            best.offer(gain, RefineMove::Swap { class, with });
        }
    }
}

/// Finds a replacement from a class with surplus rows for a unit that its class cannot lose.
fn best_chain(patch: &mut Subproblem<'_>, unit: u32, leaving: f32, scratch: &mut Scratch, best: &mut BestMove) {
    let (home, rows) = (patch.home[unit as usize], patch.rows[unit as usize]);
    let (weight, count) = (rows as f32, patch.classes[home as usize].rows() as f32);
    let rest = count - weight;
    let point = patch.point(unit).iter().zip(patch.centroid(home));
    scratch.slope.iter_mut().zip(point).for_each(|(slope, (c, mean))| *slope = mean + (mean - c) * (weight / rest));
    scratch.costs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for at in 0..scratch.costs.len() {
        let donor = scratch.costs[at].1;
        let Some((cost, class)) = scratch.costs.iter().copied().find(|(_, class)| *class != donor) else { return };
        let size = patch.classes[donor as usize].rows() as f32;
        if size < patch.rules.least_rows() as f32 + weight || patch.classes[donor as usize].units.len() > LARGE {
            continue;
        }
        let leaves = weight * size / (size - weight);
        let joins = weight * rest / count;
        let reach = patch.reach(donor);
        // Lower bound of the distance of units of the donor to the point where one would be least costly.
        let nearest = (distance(patch.centroid(donor), &scratch.slope).sqrt() - reach).max(0.0);
        if leaving - cost + leaves * reach * reach - joins * nearest * nearest <= best.gain {
            continue;
        }
        for at in 0..patch.classes[donor as usize].units.len() {
            let with = patch.classes[donor as usize].units[at];
            let offset = distance(patch.point(with), &scratch.slope);
            let gain = leaving - cost + leaves * patch.distance(with, donor) - joins * offset;
            if gain > best.gain && patch.rows[with as usize] == rows && allows_chain(patch, unit, with) {
                best.offer(gain, RefineMove::Chain { class, with });
            }
        }
    }
}

/// Returns the decrease of the errors by a step, in double precision. Candidates are found in single precision, and
/// must not be applied because of rounding.
fn exact_gain(patch: &Subproblem<'_>, unit: u32, step: RefineMove) -> f64 {
    let home = patch.home[unit as usize];
    match step {
        RefineMove::Move { class } => patch.leaving(unit) - patch.joining(unit, class),
        RefineMove::Swap { class, with } => patch.exchanging(home, unit, with) + patch.exchanging(class, with, unit),
        RefineMove::Chain { class, with } => {
            patch.exchanging(home, unit, with) + patch.leaving(with) - patch.joining(unit, class)
        }
    }
}

fn allows_chain(patch: &mut Subproblem<'_>, unit: u32, with: u32) -> bool {
    let (a, b) = (patch.kinds[unit as usize], patch.kinds[with as usize]);
    let rows = u64::from(patch.rows[unit as usize]);
    let (home, donor) = (patch.home[unit as usize] as usize, patch.home[with as usize] as usize);
    patch.rules.can_lose(&mut patch.classes[donor].tally, b, rows)
        && patch.rules.allows_exchange(&mut patch.classes[home].tally, a, b, rows)
}

fn allows_swap(patch: &mut Subproblem<'_>, unit: u32, with: u32) -> bool {
    let (a, b) = (patch.kinds[unit as usize], patch.kinds[with as usize]);
    let rows = u64::from(patch.rows[unit as usize]);
    let (home, other) = (patch.home[unit as usize] as usize, patch.home[with as usize] as usize);
    a == b
        || (patch.rules.allows_exchange(&mut patch.classes[home].tally, a, b, rows)
            && patch.rules.allows_exchange(&mut patch.classes[other].tally, b, a, rows))
}
