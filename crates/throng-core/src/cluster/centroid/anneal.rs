//! Simulated annealing [Kirkpatrick 1983] of the classes of a subproblem, for long searches of small tables.
//!
//! Moves, swaps and reclustering that only gain end where every change of a few classes loses. Here a change that loses is
//! accepted with a probability that falls with the errors it adds [Metropolis 1953]: a unit moves to the class of a unit
//! nearby, two units are swapped, a third class replaces the unit that leaves, a class is dissolved into its neighbours, or
//! a new class opens around a unit.

use super::lanes::{distance, padded, rise};
use super::mix;
use super::subproblem::{Subproblem, offer};

/// Number of near units kept per unit.
const NEAR: usize = 16;

/// One in this many proposals dissolves a class, and one opens one.
const DISSOLVE: u64 = 32;
const OPEN: u64 = 32;

/// Of the proposals for a unit that its class can't lose, one in this many replaces it from a third class.
const CHAIN: u64 = 3;

/// Larger classes are neither dissolved nor searched for the best unit to swap.
const LARGE: usize = 64;

/// Temperatures at the begin and at the end of a round, in units of squared errors.
#[derive(Clone, Copy, Debug)]
pub(super) struct ErrorTemperature {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// Returns whether units can change their class at all.
pub(super) fn can_change(patch: &Subproblem<'_>) -> bool {
    patch.classes.len() >= 2 && patch.len() >= 3
}

/// Makes `proposals` proposals per unit. `near` are the [near units](near_units) of each unit; `draw` keys the random choices.
pub(super) fn anneal(patch: &mut Subproblem<'_>, near: &[u32], proposals: u32, heat: ErrorTemperature, draw: u64) {
    if !can_change(patch) {
        return;
    }
    let slope = vec![0.0; padded(patch.dimensions)];
    let mut annealer = Annealer { draw, near, heat: heat.from, slope };
    let cooling = (heat.to / heat.from).powf(1.0 / f64::from(proposals.max(1)));
    for _ in 0..proposals {
        for _ in 0..patch.len() {
            annealer.propose(patch);
        }
        annealer.heat *= cooling;
    }
    patch.settle_all();
}

struct Annealer<'n> {
    draw: u64,
    /// Unit-major: the nearest units of each unit.
    near: &'n [u32],
    heat: f64,
    /// Reused buffer.
    slope: Vec<f32>,
}

impl Annealer<'_> {
    fn next(&mut self) -> u64 {
        self.draw = self.draw.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.draw)
    }

    fn below(&mut self, end: usize) -> usize {
        (((self.next() >> 32) * end as u64) >> 32) as usize
    }

    /// Draws the most that a change may add to the errors.
    fn tolerance(&mut self) -> f64 {
        let share = ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -self.heat * share.ln()
    }

    fn near_unit(&mut self, patch: &Subproblem<'_>, unit: u32) -> u32 {
        let count = self.near.len() / patch.len();
        // Nearer units are drawn more often.
        let at = self.below(count).min(self.below(count));
        self.near[unit as usize * count + at]
    }

    fn propose(&mut self, patch: &mut Subproblem<'_>) {
        let unit = self.below(patch.len()) as u32;
        let draw = self.next();
        if draw.is_multiple_of(DISSOLVE) {
            return self.dissolve(patch, patch.home[unit as usize]);
        }
        if (draw >> 16).is_multiple_of(OPEN) {
            return self.open(patch, unit);
        }
        let (from, beside) = (patch.home[unit as usize], self.near_unit(patch, unit));
        let to = patch.home[beside as usize];
        if from == to {
            return;
        }
        let most = self.tolerance();
        if can_lose(patch, unit) {
            if joining(patch, unit, to) - leaving(patch, unit) <= most {
                patch.transfer(unit, to);
            }
            return;
        }
        if (draw >> 32).is_multiple_of(CHAIN) {
            return self.chain(patch, unit, to, most);
        }
        self.swap(patch, unit, to, most);
    }

    /// Swaps a unit with that of another class that fits best.
    fn swap(&mut self, patch: &mut Subproblem<'_>, unit: u32, to: u32, most: f64) {
        let from = patch.home[unit as usize];
        let others = &patch.classes[to as usize].units;
        if others.len() > LARGE {
            return;
        }
        let rows = patch.rows[unit as usize];
        let share = 1.0 / patch.classes[from as usize].rows() + 1.0 / patch.classes[to as usize].rows();
        let share = (share * f64::from(rows)) as f32;
        let centroids = patch.centroid(from).iter().zip(patch.centroid(to));
        self.slope.iter_mut().zip(centroids).for_each(|(slope, (a, b))| *slope = 2.0 * (a - b));
        let mut best: Option<(f32, u32)> = None;
        for other in others.iter().filter(|other| patch.rows[**other as usize] == rows) {
            let gain = rise(patch.point(unit), patch.point(*other), &self.slope, share);
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, *other));
            }
        }
        let Some((_, other)) = best.filter(|(gain, _)| -f64::from(*gain) * f64::from(rows) <= most) else { return };
        let (kind, others, rows) =
            (patch.kinds[unit as usize], patch.kinds[other as usize], u64::from(patch.rows[unit as usize]));
        let rules = patch.rules;
        let is_allowed = rules.allows_exchange(&mut patch.classes[from as usize].tally, kind, others, rows)
            && rules.allows_exchange(&mut patch.classes[to as usize].tally, others, kind, rows);
        if is_allowed {
            patch.transfer(unit, to);
            patch.transfer(other, from);
        }
    }

    /// Moves a unit, and replaces it by a unit near its class that another class can lose.
    fn chain(&mut self, patch: &mut Subproblem<'_>, unit: u32, to: u32, most: f64) {
        let from = patch.home[unit as usize];
        let members = patch.classes[from as usize].units.len();
        let member = patch.classes[from as usize].units[self.below(members)];
        let other = self.near_unit(patch, member);
        let third = patch.home[other as usize];
        if third == from || third == to || patch.rows[other as usize] != patch.rows[unit as usize] {
            return;
        }
        if !can_lose(patch, other) {
            return;
        }
        let added = joining(patch, unit, to) - leaving(patch, other) - exchanging(patch, from, unit, other);
        let (gone, come) = (patch.kinds[unit as usize], patch.kinds[other as usize]);
        let rows = u64::from(patch.rows[unit as usize]);
        if added <= most && patch.rules.allows_exchange(&mut patch.classes[from as usize].tally, gone, come, rows) {
            patch.transfer(unit, to);
            patch.transfer(other, from);
        }
    }

    /// Moves all units of a class to classes near them.
    fn dissolve(&mut self, patch: &mut Subproblem<'_>, class: u32) {
        let units = patch.classes[class as usize].units.clone();
        if units.len() > LARGE {
            return;
        }
        let (most, mut added) = (self.tolerance(), -patch.class_errors(class));
        let count = self.near.len() / patch.len();
        for (done, unit) in units.iter().enumerate() {
            let near = &self.near[*unit as usize * count..][..count];
            let homes = near.iter().map(|other| patch.home[*other as usize]).filter(|home| *home != class);
            let costs = homes.map(|home| (joining(patch, *unit, home), home));
            let best = costs.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            match best.filter(|(cost, _)| added + cost <= most) {
                Some((cost, home)) => {
                    added += cost;
                    patch.transfer(*unit, home);
                }
                None => return units[..done].iter().for_each(|unit| patch.transfer(*unit, class)),
            }
        }
    }

    /// Opens a class of a unit and units near it that their classes can lose.
    fn open(&mut self, patch: &mut Subproblem<'_>, unit: u32) {
        if !can_lose(patch, unit) {
            return;
        }
        let most = self.tolerance();
        let class = match patch.classes.iter().position(|class| class.units.is_empty()) {
            Some(class) => class as u32,
            None => {
                patch.open(Vec::new());
                patch.classes.len() as u32 - 1
            }
        };
        let count = self.near.len() / patch.len();
        let (mut moved, mut added) = (Vec::new(), 0.0);
        for at in 0..=count {
            let other = if at == 0 { unit } else { self.near[unit as usize * count + at - 1] };
            if !can_lose(patch, other) {
                continue;
            }
            let joining = if moved.is_empty() { 0.0 } else { joining(patch, other, class) };
            added += joining - leaving(patch, other);
            moved.push((other, patch.home[other as usize]));
            patch.transfer(other, class);
            if patch.rules.is_satisfied(&patch.classes[class as usize].tally) {
                break;
            }
        }
        if added > most || !patch.rules.is_satisfied(&patch.classes[class as usize].tally) {
            moved.into_iter().rev().for_each(|(unit, home)| patch.transfer(unit, home));
        }
    }
}

/// Returns whether the class of a unit still satisfies the model without it.
fn can_lose(patch: &mut Subproblem<'_>, unit: u32) -> bool {
    let (home, kind) = (patch.home[unit as usize], patch.kinds[unit as usize]);
    let rows = u64::from(patch.rows[unit as usize]);
    patch.rules.can_lose(&mut patch.classes[home as usize].tally, kind, rows)
}

/// Returns the increase of the squared errors of a class if a unit joins it. Unlike [`Subproblem::joining`] it is computed from
/// the centroid in single precision: temperatures are far above its rounding errors.
fn joining(patch: &Subproblem<'_>, unit: u32, class: u32) -> f64 {
    let (rows, count) = (f64::from(patch.rows[unit as usize]), patch.classes[class as usize].rows());
    f64::from(patch.distance(unit, class)) * (rows * count / (count + rows))
}

/// Returns the decrease of the squared errors of its class if a unit leaves it, in single precision. The class must have
/// other units.
fn leaving(patch: &Subproblem<'_>, unit: u32) -> f64 {
    let class = patch.home[unit as usize];
    let (rows, count) = (f64::from(patch.rows[unit as usize]), patch.classes[class as usize].rows());
    f64::from(patch.distance(unit, class)) * (rows * count / (count - rows))
}

/// Returns the decrease of the squared errors of a class if one of its units is replaced by another with as many rows, in
/// single precision.
fn exchanging(patch: &Subproblem<'_>, class: u32, gone: u32, come: u32) -> f64 {
    let (rows, count) = (f64::from(patch.rows[gone as usize]), patch.classes[class as usize].rows());
    let apart = f64::from(distance(patch.point(gone), patch.point(come)));
    let nearer = f64::from(patch.distance(gone, class) - patch.distance(come, class));
    (nearer + apart * rows / count) * rows
}

/// Returns the nearest units of each unit, unit-major and nearest first. There must be a unit. The time grows with the square of
/// the units.
pub(super) fn near_units(patch: &Subproblem<'_>) -> Vec<u32> {
    let count = NEAR.min(patch.len().saturating_sub(1));
    let near = |unit: u32| {
        let (mut nearest, mut farthest) = (Vec::with_capacity(count), f32::INFINITY);
        for other in (0..patch.len() as u32).filter(|other| *other != unit) {
            let away = distance(patch.point(unit), patch.point(other));
            if away < farthest {
                farthest = offer(&mut nearest, count, (away, other));
            }
        }
        nearest.into_iter().map(|(_, other)| other)
    };
    (0..patch.len() as u32).flat_map(near).collect()
}
