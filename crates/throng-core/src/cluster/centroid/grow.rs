//! Grows classes: adds the unit nearest to the centroid to a seed until the model is satisfied.
//!
//! The need of the model decides which units are candidates: any, or those that lower the deficit. Remaining units,
//! which do not satisfy the model together, join the class whose squared errors they increase least.

use super::mix;
use super::subproblem::{NOWHERE, NearestClasses, Subproblem};
use crate::model::{Need, Tally};

/// Large classes take several units at a time: one per this many rows that they both have and still need.
const AT_A_TIME: u64 = 16;

/// Choice of the seed of the next class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seeds {
    /// The unit farthest from the mean of the remaining units, as in MDAV.
    Rim,
    /// A random unit, drawn from this key.
    Random(u64),
    /// The first at random, then the unit farthest from the previous class.
    Away(u64),
}

/// Number of units measured at a time.
const LANES: usize = 8;

/// Remaining units in blocks of [`LANES`], axis-major within a block, so that distances to a point vectorize.
#[derive(Debug)]
struct RemainingUnits {
    units: Vec<u32>,
    dimensions: usize,
    /// For each block of [`LANES`] units the axes one after the other.
    axes: Vec<[f32; LANES]>,
    rows: Vec<f32>,
    /// Kind of each unit, renumbered from 0 in this subproblem.
    kinds: Vec<u32>,
    /// Cost of each unit, padded to whole lanes with arbitrary values.
    costs: Vec<[f32; LANES]>,
    has_lots: bool,
    /// Per axis the sum of the coordinates of all units, weighted by rows.
    sums: Vec<f64>,
    all_rows: f64,
}

impl RemainingUnits {
    fn new(patch: &Subproblem<'_>, kinds: &[u32]) -> Self {
        let (room, dimensions) = (patch.len(), patch.dimensions);
        let (mut axes, mut sums) = (vec![[0.0; LANES]; room.div_ceil(LANES) * dimensions], vec![0.0; dimensions]);
        for (unit, rows) in patch.rows.iter().enumerate() {
            let lanes = axes[unit / LANES * dimensions..].iter_mut().zip(&mut sums);
            for ((lanes, sum), coordinate) in lanes.zip(&patch.point(unit as u32)[..dimensions]) {
                lanes[unit % LANES] = *coordinate;
                *sum += f64::from(*coordinate) * f64::from(*rows);
            }
        }
        let local = |kind: &u32| kinds.partition_point(|known| known < kind) as u32;
        let kinds = if kinds.len() == 1 { vec![0; room] } else { patch.kinds.iter().map(local).collect() };
        Self {
            units: (0..room as u32).collect(),
            dimensions,
            axes,
            rows: patch.rows.iter().map(|rows| *rows as f32).collect(),
            kinds,
            costs: vec![[0.0; LANES]; room.div_ceil(LANES)],
            has_lots: patch.rows.iter().any(|rows| *rows > 1),
            sums,
            all_rows: patch.rows.iter().map(|rows| f64::from(*rows)).sum(),
        }
    }

    fn take(&mut self, at: usize) -> u32 {
        let last = self.units.len() - 1;
        let rows = f64::from(self.rows.swap_remove(at));
        for (axis, sum) in self.sums.iter_mut().enumerate() {
            let moved = self.axes[last / LANES * self.dimensions + axis][last % LANES];
            let taken = &mut self.axes[at / LANES * self.dimensions + axis][at % LANES];
            *sum -= f64::from(*taken) * rows;
            *taken = moved;
        }
        self.all_rows -= rows;
        self.kinds.swap_remove(at);
        self.units.swap_remove(at)
    }

    /// Computes the increase of the squared errors of a class of `count` rows around `point` for each unit; the squared
    /// distance if `count` is 0.
    fn measure(&mut self, point: &[f32], count: f32) {
        let blocks = self.costs.iter_mut().zip(self.axes.chunks_exact(self.dimensions));
        for (costs, axes) in blocks.take(self.units.len().div_ceil(LANES)) {
            let mut sums = [0.0; LANES];
            for (axis, coordinate) in axes.iter().zip(point) {
                for (sum, other) in sums.iter_mut().zip(axis) {
                    *sum += (other - coordinate) * (other - coordinate);
                }
            }
            *costs = sums;
        }
        if self.has_lots && count > 0.0 {
            for (cost, rows) in self.costs.as_flattened_mut().iter_mut().zip(&self.rows) {
                *cost *= rows * count / (rows + count);
            }
        }
    }

    fn mean(&self) -> Vec<f32> {
        self.sums.iter().map(|sum| (sum / self.all_rows) as f32).collect()
    }

    fn costs(&self) -> &[f32] {
        &self.costs.as_flattened()[..self.units.len()]
    }

    /// Returns the index of the cheapest unit of the wanted kinds; the lowest unit among equals.
    fn cheapest(&self, is_wanted: Option<&[bool]>) -> Option<usize> {
        let Some(is_wanted) = is_wanted else { return self.first_at(extreme(self.costs(), |a, b| b < a)?) };
        let mut best = (f32::INFINITY, u32::MAX, None);
        for (at, (cost, unit)) in self.costs().iter().zip(&self.units).enumerate() {
            let is_better = *cost < best.0 || (*cost == best.0 && *unit < best.1);
            if is_better && is_wanted[self.kinds[at] as usize] {
                best = (*cost, *unit, Some(at));
            }
        }
        best.2
    }

    /// Appends the indices of the `count` cheapest units to `places`, descending.
    fn cheapest_of_all(&self, count: usize, places: &mut Vec<usize>) {
        let costs = self.costs().iter().zip(&self.units).enumerate();
        let mut order: Vec<(f32, u32, usize)> = costs.map(|(at, (cost, unit))| (*cost, *unit, at)).collect();
        if count < order.len() {
            order.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            order.truncate(count);
        }
        places.extend(order.into_iter().map(|(_, _, at)| at));
        places.sort_unstable_by(|a, b| b.cmp(a));
    }

    fn dearest(&self) -> Option<usize> {
        self.first_at(extreme(self.costs(), |a, b| b > a)?)
    }

    /// Returns the index of the lowest unit with this cost.
    fn first_at(&self, cost: f32) -> Option<usize> {
        let mut first: Option<usize> = None;
        for (block, costs) in self.costs.iter().enumerate().take(self.units.len().div_ceil(LANES)) {
            // Most blocks have none, which a branchless test of all lanes detects.
            if !costs.iter().fold(false, |is_there, other| is_there | (*other == cost)) {
                continue;
            }
            for at in (block * LANES..self.units.len()).take(LANES).filter(|at| costs[at % LANES] == cost) {
                if first.is_none_or(|first| self.units[at] < self.units[first]) {
                    first = Some(at);
                }
            }
        }
        first
    }
}

/// Returns the extreme of `numbers`, computed in lanes. `is_later(a, b)` returns whether `b` is to be preferred to `a`.
fn extreme(numbers: &[f32], is_later: impl Fn(f32, f32) -> bool) -> Option<f32> {
    let first = |a: f32, b: f32| if is_later(a, b) { b } else { a };
    let mut lanes = [*numbers.first()?; LANES];
    let (blocks, rest) = numbers.as_chunks::<LANES>();
    for block in blocks {
        lanes.iter_mut().zip(block).for_each(|(lane, number)| *lane = first(*lane, *number));
    }
    rest.iter().chain(&lanes).copied().reduce(first)
}

/// Assigns the units of a subproblem, none of which has a class, to new classes. The units together must satisfy the
/// model, and so does each class.
pub(super) fn grow(patch: &mut Subproblem<'_>, seeds: Seeds) {
    let mut kinds = patch.kinds.clone();
    kinds.sort_unstable();
    kinds.dedup();
    let mut left = RemainingUnits::new(patch, &kinds);
    let mut tally = patch.rules.empty_tally();
    for (kind, rows) in patch.kinds.iter().zip(&patch.rows) {
        patch.rules.add(&mut tally, *kind, u64::from(*rows));
    }
    let mut before: Option<Vec<f32>> = None;
    let mut number = 0;
    while patch.rules.is_satisfied(&tally) {
        let Some(seed) = seed(&mut left, seeds, number, before.as_deref()) else { break };
        let Some(grown) = one_class(patch, &mut left, &kinds, seed, &mut tally) else { break };
        patch.open_counted(grown.units, grown.tally);
        before = Some(grown.centroid);
        number += 1;
    }
    let rest: Vec<u32> = (0..patch.len() as u32).filter(|unit| patch.home[*unit as usize] == NOWHERE).collect();
    if patch.classes.is_empty() {
        patch.open(rest);
    } else {
        join_cheapest(patch, rest);
    }
}

fn seed(left: &mut RemainingUnits, seeds: Seeds, number: u64, before: Option<&[f32]>) -> Option<usize> {
    let any = |left: &RemainingUnits, draw: u64| {
        let drawn = mix(draw ^ mix(number)) % (left.units.len() as u64).max(1);
        (drawn < left.units.len() as u64).then_some(drawn as usize)
    };
    match (seeds, before) {
        (Seeds::Random(draw), _) | (Seeds::Away(draw), None) => any(left, draw),
        (Seeds::Rim, _) => {
            let mean = left.mean();
            left.measure(&mean, 0.0);
            left.dearest()
        }
        (Seeds::Away(_), Some(before)) => {
            left.measure(before, 0.0);
            left.dearest()
        }
    }
}

/// A class that has grown from a seed until it satisfies the models.
struct GrownClass {
    units: Vec<u32>,
    tally: Tally,
    centroid: Vec<f32>,
}

/// Grows a class from a seed and removes its units from the remaining ones. Returns `None` if they do not suffice.
fn one_class(
    patch: &Subproblem<'_>,
    left: &mut RemainingUnits,
    kinds: &[u32],
    seed: usize,
    all: &mut Tally,
) -> Option<GrownClass> {
    let mut sum = vec![0.0_f64; patch.dimensions];
    let mut centroid = vec![0.0_f32; patch.dimensions];
    let (mut tally, mut units, mut helps) = (patch.rules.empty_tally(), Vec::new(), Vec::new());
    let mut next = vec![seed];
    loop {
        for at in next.drain(..) {
            let unit = left.take(at);
            let (kind, rows) = (patch.kinds[unit as usize], patch.rows[unit as usize]);
            patch.rules.add(&mut tally, kind, u64::from(rows));
            patch.rules.remove(all, kind, u64::from(rows));
            units.push(unit);
            let point = patch.point(unit).iter();
            sum.iter_mut().zip(point).for_each(|(sum, c)| *sum += f64::from(*c) * f64::from(rows));
        }
        let count = tally.rows() as f64;
        centroid.iter_mut().zip(&sum).for_each(|(centroid, sum)| *centroid = (sum / count) as f32);
        let need = patch.rules.need(&tally);
        if need == Need::Nothing {
            return Some(GrownClass { units, tally, centroid });
        }
        left.measure(&centroid, count as f32);
        match need {
            // The centroid of a large class moves little, so several units are added at a time.
            Need::AnyRow(rows) if tally.rows().min(rows) >= AT_A_TIME => {
                left.cheapest_of_all((tally.rows().min(rows) / AT_A_TIME) as usize, &mut next);
            }
            Need::DiverseRow(_) => {
                helps.clear();
                helps.extend(kinds.iter().map(|kind| patch.rules.helps(&tally, *kind)));
                next.push(left.cheapest(Some(&helps))?);
            }
            _ => next.push(left.cheapest(None)?),
        }
        if next.is_empty() {
            return None;
        }
    }
}

/// Adds each unit without a class to the class whose squared errors it increases least, one after the other.
pub(super) fn join_cheapest(patch: &mut Subproblem<'_>, rest: Vec<u32>) {
    let mut near = NearestClasses::new(4);
    for unit in rest {
        patch.nearest(patch.point(unit), NOWHERE, &mut near);
        let costs = near.classes().map(|class| (patch.joining(unit, class), class));
        if let Some((_, class)) = costs.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))) {
            patch.relocate(unit, class);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_tables::cases;

    proptest! {
        #![proptest_config(cases(60))]

        #[test]
        fn extremes_are_found_in_any_number_of_numbers(numbers in prop::collection::vec(-4_i8..4, 0..40)) {
            let numbers: Vec<f32> = numbers.into_iter().map(f32::from).collect();
            prop_assert_eq!(extreme(&numbers, |a, b| b < a), numbers.iter().copied().reduce(f32::min));
            prop_assert_eq!(extreme(&numbers, |a, b| b > a), numbers.iter().copied().reduce(f32::max));
        }
    }
}
