//! Cuts the units into leaves that are small enough to look at all pairs, and have enough units each: they satisfy the
//! model.
//!
//! A leaf is cut along the axis on which its points differ most, at the median. Where a side would not satisfy the model
//! there, the places at which both do are a range, because models are monotone, and the cut is in the middle of that
//! range: the rare rows are halved, and not the rows, so that the depth stays low. Where no axis has such a place, each
//! kind of unit is halved on its own.
//!
//! Units stay in their order on both sides of a cut, so that the memory is read from one end to the other. Only those of a leaf
//! are scattered.

use super::cut::{CoordinateKey, coordinate_key, number, part, widest_axes};
use super::lanes::{padded, push_point};
use super::mix;
use super::units::Units;

/// A leaf with at most so many units is not cut.
pub(super) const LEAF_UNITS: usize = 96;
/// So many axes are tried.
const AXES: usize = 3;
/// Sides with more units are cut in parallel.
const PARALLEL: usize = 2048;
/// The points of up to so many units are copied and lie side by side while they are cut further.
const NEARBY: usize = 1 << 14;

/// Whether some units are enough for a leaf. If they are, so are more.
pub(super) type IsSufficient<'a> = dyn Fn(&mut dyn Iterator<Item = u32>) -> bool + Sync + 'a;

/// Cuts units that are enough for a leaf into leaves that have enough each.
pub(super) fn leaves(units: &Units, all: Vec<u32>, suffices: &IsSufficient<'_>) -> Vec<Vec<u32>> {
    let mut all: Vec<CoordinateKey> = all.into_iter().map(u64::from).collect();
    let cutting = Cutting { units, suffices };
    match all.len() <= NEARBY {
        true => cutting.leaves_nearby(&mut all),
        false => cutting.leaves(units, &mut all),
    }
}

#[derive(Clone, Copy)]
struct Cutting<'a> {
    units: &'a Units,
    suffices: &'a IsSufficient<'a>,
}

/// Units by other numbers than their own.
trait UnitNumbering: Sync {
    fn point(&self, number: u32) -> &[f32];
    fn unit(&self, number: u32) -> u32;
}

impl UnitNumbering for Units {
    fn point(&self, number: u32) -> &[f32] {
        self.point(number)
    }

    fn unit(&self, number: u32) -> u32 {
        number
    }
}

/// Units that lie side by side.
struct Nearby {
    width: usize,
    points: Vec<f32>,
    units: Vec<u32>,
}

impl UnitNumbering for Nearby {
    fn point(&self, number: u32) -> &[f32] {
        &self.points[number as usize * self.width..][..self.width]
    }

    fn unit(&self, number: u32) -> u32 {
        self.units[number as usize]
    }
}

impl Cutting<'_> {
    fn leaves(self, of: &impl UnitNumbering, all: &mut [CoordinateKey]) -> Vec<Vec<u32>> {
        if all.len() <= LEAF_UNITS {
            return vec![leaf(of, all)];
        }
        let Some(at) = self.cut(of, all) else { return vec![leaf(of, all)] };
        let is_parallel = all.len() > PARALLEL;
        let is_nearby = |side: &[CoordinateKey]| all.len() > NEARBY && side.len() <= NEARBY;
        let (is_left_nearby, is_right_nearby) = (is_nearby(&all[..at]), is_nearby(&all[at..]));
        let (left, right) = all.split_at_mut(at);
        let cut = |side: &mut [CoordinateKey], is_nearby: bool| match is_nearby {
            true => self.leaves_nearby(side),
            false => self.leaves(of, side),
        };
        let (mut leaves, more) = match is_parallel {
            true => rayon::join(|| cut(left, is_left_nearby), || cut(right, is_right_nearby)),
            false => (cut(left, is_left_nearby), cut(right, is_right_nearby)),
        };
        leaves.extend(more);
        leaves
    }

    /// The same for units that have their own numbers, with a copy of their points.
    fn leaves_nearby(self, all: &mut [CoordinateKey]) -> Vec<Vec<u32>> {
        let units: Vec<u32> = all.iter().copied().map(number).collect();
        let mut points = Vec::with_capacity(all.len() * padded(self.units.dimensions()));
        units.iter().for_each(|unit| push_point(&mut points, self.units.point(*unit)));
        all.iter_mut().zip(0..).for_each(|(keyed, number)| *keyed = number);
        self.leaves(&Nearby { width: padded(self.units.dimensions()), points, units }, all)
    }

    /// Puts units in an order such that both sides of a place are enough, and tells the place.
    fn cut(self, of: &impl UnitNumbering, all: &mut [CoordinateKey]) -> Option<usize> {
        let axes = widest_axes(self.units.dimensions(), all.len(), |at| of.point(number(all[at])), |_| 1.0);
        let middle = all.len() / 2;
        let is_enough = |part: &[CoordinateKey]| (self.suffices)(&mut part.iter().map(|keyed| of.unit(number(*keyed))));
        for axis in axes.iter().take(AXES) {
            for key in &mut *all {
                *key = coordinate_key(of.point(number(*key))[*axis], number(*key));
            }
            part(all, middle);
            if is_enough(&all[..middle]) && is_enough(&all[middle..]) {
                return Some(middle);
            }
            all.sort_unstable();
            let needed = |keys: &mut dyn Iterator<Item = &CoordinateKey>| {
                let mut count = 0;
                let mut counted = keys.inspect(|_| count += 1).map(|keyed| of.unit(number(*keyed)));
                (self.suffices)(&mut counted).then_some(count)
            };
            let lowest = needed(&mut all.iter())?;
            let highest = all.len() - needed(&mut all.iter().rev())?;
            if lowest <= highest {
                let at = (lowest + highest) / 2;
                all[..at].sort_unstable_by_key(|keyed| number(*keyed));
                all[at..].sort_unstable_by_key(|keyed| number(*keyed));
                return Some(at);
            }
        }
        self.stratified(of, all, *axes.first()?)
    }

    /// Halves each kind along an axis. The odd ones go left and right in turn.
    fn stratified(self, of: &impl UnitNumbering, all: &mut [CoordinateKey], axis: usize) -> Option<usize> {
        let mut order: Vec<(u32, CoordinateKey)> = all
            .iter()
            .map(|key| {
                (self.units.kind(of.unit(number(*key))), coordinate_key(of.point(number(*key))[axis], number(*key)))
            })
            .collect();
        order.sort_unstable();
        let by_number = |side: &mut Vec<CoordinateKey>| side.sort_unstable_by_key(|keyed| number(*keyed));
        let (mut left, mut right, mut is_odd) = (Vec::new(), Vec::new(), false);
        for kind in order.chunk_by(|a, b| a.0 == b.0) {
            let half = (kind.len() + usize::from(is_odd)) / 2;
            is_odd ^= kind.len() % 2 == 1;
            left.extend(kind[..half].iter().map(|(_, keyed)| *keyed));
            right.extend(kind[half..].iter().map(|(_, keyed)| *keyed));
        }
        let is_enough = |side: &[CoordinateKey]| (self.suffices)(&mut side.iter().map(|keyed| of.unit(number(*keyed))));
        if !is_enough(&left) || !is_enough(&right) {
            return None;
        }
        by_number(&mut left);
        by_number(&mut right);
        all.iter_mut().zip(left.iter().chain(&right)).for_each(|(slot, keyed)| *slot = *keyed);
        Some(left.len())
    }
}

/// The units of a leaf in an order that follows no column: whoever looks at them one after the other should not begin at one
/// end.
fn leaf(of: &impl UnitNumbering, all: &[CoordinateKey]) -> Vec<u32> {
    let scattered = |unit: u32| mix(u64::from(unit)) << 32 | u64::from(unit);
    let mut leaf: Vec<u64> = all.iter().map(|keyed| scattered(of.unit(number(*keyed)))).collect();
    leaf.sort_unstable();
    leaf.into_iter().map(|unit| unit as u32).collect()
}
