//! Divides units into leaves that are small enough to compare all pairs, and large enough to satisfy the model.
//!
//! A leaf is cut at the median of the axis of largest variance. If a side would not satisfy the model there, the
//! thresholds at which both sides do are a range, because models are row-monotone, and the cut is in the middle of that
//! range: this halves the rare rows, which keeps the tree shallow. If no axis has such a threshold, each kind of unit
//! is halved separately.
//!
//! Cuts are stable, so that memory is read sequentially. Only the units of a finished leaf are shuffled.

use super::cut::{CoordinateKey, coordinate_key, number, part, widest_axes};
use super::lanes::{padded, push_point};
use super::mix;
use super::units::Units;

/// Maximum number of units of a leaf.
pub(super) const LEAF_UNITS: usize = 96;
/// Number of axes that are tried.
const AXES: usize = 3;
/// Sides of cuts of more units are processed in parallel.
const PARALLEL: usize = 2048;
/// The points of at most this many units are copied into a contiguous buffer while they are cut further.
const NEARBY: usize = 1 << 14;

/// Returns whether units suffice for a leaf. Must be monotone: supersets of sufficient units suffice.
pub(super) type IsSufficient<'a> = dyn Fn(&mut dyn Iterator<Item = u32>) -> bool + Sync + 'a;

/// Divides units that suffice for a leaf into leaves that suffice each.
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

/// Maps local numbers to units.
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

/// Units whose points are contiguous in memory.
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

    /// Same as [`Cutting::leaves`] for keys with unit numbers, on a contiguous copy of their points.
    fn leaves_nearby(self, all: &mut [CoordinateKey]) -> Vec<Vec<u32>> {
        let units: Vec<u32> = all.iter().copied().map(number).collect();
        let mut points = Vec::with_capacity(all.len() * padded(self.units.dimensions()));
        units.iter().for_each(|unit| push_point(&mut points, self.units.point(*unit)));
        all.iter_mut().zip(0..).for_each(|(keyed, number)| *keyed = number);
        self.leaves(&Nearby { width: padded(self.units.dimensions()), points, units }, all)
    }

    /// Reorders units such that both sides of the returned index suffice.
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

    /// Halves each kind along an axis. Strata of odd size favour the sides alternately.
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

/// Returns the units of a leaf in pseudo-random order, so that sequential algorithms do not start at one end of a
/// column.
fn leaf(of: &impl UnitNumbering, all: &[CoordinateKey]) -> Vec<u32> {
    let scattered = |unit: u32| mix(u64::from(unit)) << 32 | u64::from(unit);
    let mut leaf: Vec<u64> = all.iter().map(|keyed| scattered(of.unit(number(*keyed)))).collect();
    leaf.sort_unstable();
    leaf.into_iter().map(|unit| unit as u32).collect()
}
