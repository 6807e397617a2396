//! Cuts the units into leaves that are small enough to look at all pairs, and have enough units each: they satisfy the
//! model.
//!
//! A leaf is cut along the axis on which its points differ most, at the median. Where a side would not satisfy the model
//! there, the places at which both do are a range, because models are monotone, and the cut is in the middle of that
//! range: the rare rows are halved, and not the rows, so that the depth stays low. Where no axis has such a place, each
//! kind of unit is halved on its own.

use super::cut::{by_key, halves, part, widest_axes};
use super::units::Units;

/// A leaf with at most so many units is not cut.
pub(super) const LEAF_UNITS: usize = 96;
/// So many axes are tried.
const AXES: usize = 3;
/// Sides with more units are cut in parallel.
const PARALLEL: usize = 2048;

/// Whether some units are enough for a leaf. If they are, so are more.
pub(super) type Suffices<'a> = dyn Fn(&mut dyn Iterator<Item = u32>) -> bool + Sync + 'a;

/// Cuts units that are enough for a leaf into leaves that have enough each.
pub(super) fn leaves(units: &Units, all: Vec<u32>, suffices: &Suffices<'_>) -> Vec<Vec<u32>> {
    if all.len() <= LEAF_UNITS {
        return vec![all];
    }
    let Some((left, right)) = cut(units, &all, suffices) else { return vec![all] };
    let is_large = all.len() > PARALLEL;
    drop(all);
    let cut = |side| leaves(units, side, suffices);
    let (mut leaves, more) = if is_large { rayon::join(|| cut(left), || cut(right)) } else { (cut(left), cut(right)) };
    leaves.extend(more);
    leaves
}

fn cut(units: &Units, all: &[u32], suffices: &Suffices<'_>) -> Option<(Vec<u32>, Vec<u32>)> {
    let axes = widest_axes(units.dimensions(), all.len(), |at| units.point(all[at]), |_| 1.0);
    let middle = all.len() / 2;
    let is_enough = |part: &[(f32, u32)]| suffices(&mut part.iter().map(|(_, unit)| *unit));
    for axis in axes.iter().take(AXES) {
        let mut keyed: Vec<(f32, u32)> = all.iter().map(|unit| (units.point(*unit)[*axis], *unit)).collect();
        part(&mut keyed, middle);
        if is_enough(&keyed[..middle]) && is_enough(&keyed[middle..]) {
            return Some(halves(&keyed, middle));
        }
        keyed.sort_unstable_by(by_key);
        let needed = |units: &mut dyn Iterator<Item = &(f32, u32)>| {
            let mut count = 0;
            let mut counted = units.inspect(|_| count += 1).map(|(_, unit)| *unit);
            suffices(&mut counted).then_some(count)
        };
        let lowest = needed(&mut keyed.iter())?;
        let highest = all.len() - needed(&mut keyed.iter().rev())?;
        if lowest <= highest {
            return Some(halves(&keyed, (lowest + highest) / 2));
        }
    }
    stratified(units, all, *axes.first()?, suffices)
}

/// Halves each kind along an axis. The odd ones go left and right in turn.
fn stratified(units: &Units, all: &[u32], axis: usize, suffices: &Suffices<'_>) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut order: Vec<(u32, (f32, u32))> =
        all.iter().map(|unit| (units.kind(*unit), (units.point(*unit)[axis], *unit))).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| by_key(&a.1, &b.1)));
    let (mut left, mut right, mut is_odd) = (Vec::new(), Vec::new(), false);
    for kind in order.chunk_by(|a, b| a.0 == b.0) {
        let half = (kind.len() + usize::from(is_odd)) / 2;
        is_odd ^= kind.len() % 2 == 1;
        left.extend(kind[..half].iter().map(|(_, (_, unit))| *unit));
        right.extend(kind[half..].iter().map(|(_, (_, unit))| *unit));
    }
    let is_enough = |side: &[u32]| suffices(&mut side.iter().copied());
    (is_enough(&left) && is_enough(&right)).then_some((left, right))
}
