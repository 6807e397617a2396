//! Splits a set of points along the axis of largest variance.

use super::embedding::Points;

/// Approximate number of points from which variances are estimated.
const SAMPLE: usize = 256;

/// Returns the axes by estimated variance, the widest first. `bias` multiplies the variance of an axis.
pub(super) fn widest_axes<'a>(
    dimensions: usize,
    count: usize,
    point: impl Fn(usize) -> &'a [f32],
    bias: impl Fn(usize) -> f64,
) -> Vec<usize> {
    let step = count.div_ceil(SAMPLE).max(1);
    let (mut sums, mut squares, mut seen) = (vec![0.0_f64; dimensions], vec![0.0_f64; dimensions], 0.0_f64);
    // Subtract the first point to avoid cancellation for points far from 0.
    for at in (0..count).step_by(step) {
        let axes = sums.iter_mut().zip(&mut squares).zip(point(at).iter().zip(point(0)));
        for ((sum, square), (coordinate, origin)) in axes {
            let offset = f64::from(coordinate - origin);
            *sum += offset;
            *square += offset * offset;
        }
        seen += 1.0;
    }
    let variance = |axis: usize| (squares[axis] - sums[axis] * sums[axis] / seen.max(1.0)) * bias(axis);
    let mut axes: Vec<(f64, usize)> = (0..dimensions).map(|axis| (variance(axis), axis)).collect();
    axes.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    axes.into_iter().map(|(_, axis)| axis).collect()
}

/// A number packed with its coordinate on one axis, ordered by the coordinate first.
pub(super) type CoordinateKey = u64;

#[inline]
pub(super) fn coordinate_key(coordinate: f32, number: u32) -> CoordinateKey {
    // Order-preserving bit pattern: negative floats sort in reverse by their bits.
    let bits = coordinate.to_bits();
    let ascending = if coordinate.is_sign_negative() { !bits } else { bits | 1 << 31 };
    u64::from(ascending) << 32 | u64::from(number)
}

#[inline]
pub(super) fn number(keyed: CoordinateKey) -> u32 {
    keyed as u32
}

/// Stable partition: moves the lowest `at` keys to the front.
pub(super) fn part(keyed: &mut [CoordinateKey], at: usize) {
    if at >= keyed.len() {
        return;
    }
    let mut others = keyed.to_vec();
    let least_behind = *others.select_nth_unstable(at).1;
    let (mut in_front, mut behind) = (0, 0);
    for from in 0..keyed.len() {
        // Branchless: write to both sides unconditionally, advance only the side the key belongs to, so there is no
        // misprediction.
        let key = keyed[from];
        keyed[in_front] = key;
        others[behind] = key;
        in_front += usize::from(key < least_behind);
        behind += usize::from(key >= least_behind);
    }
    keyed[in_front..].copy_from_slice(&others[..behind]);
}

/// Splits numbers along an axis into the lowest `at` and the others.
pub(super) fn halves(numbers: &[u32], axis: usize, points: &Points, at: usize) -> (Vec<u32>, Vec<u32>) {
    let mut keys: Vec<CoordinateKey> =
        numbers.iter().map(|number| coordinate_key(points.get(*number)[axis], *number)).collect();
    if at < keys.len() {
        keys.select_nth_unstable(at);
    }
    let (left, right) = keys.split_at(at);
    (left.iter().copied().map(number).collect(), right.iter().copied().map(number).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_tables::cases;

    proptest! {
        #![proptest_config(cases(60))]

        #[test]
        fn the_lowest_come_first_and_both_sides_stay_in_order(
            coordinates in prop::collection::vec(-3_i8..3, 1..80),
            at in any::<prop::sample::Index>(),
        ) {
            let keys: Vec<CoordinateKey> = (0..).zip(&coordinates).map(|(number, at)| coordinate_key(f32::from(*at), number)).collect();
            let at = at.index(keys.len());
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            let mut divided = keys.clone();
            part(&mut divided, at);
            let is_in_front = |key: &CoordinateKey| sorted[..at].contains(key);
            let expected: Vec<CoordinateKey> =
                keys.iter().filter(|key| is_in_front(key)).chain(keys.iter().filter(|key| !is_in_front(key))).copied().collect();
            prop_assert_eq!(divided, expected);
        }
    }

    #[test]
    fn keys_are_ordered_by_coordinate_and_then_by_number() {
        let coordinates = [f32::NEG_INFINITY, -2.5, -1.0, -0.0, 0.0, f32::MIN_POSITIVE, 1.0, 7.0, f32::INFINITY];
        let keys: Vec<CoordinateKey> =
            coordinates.iter().flat_map(|at| [0, 1, u32::MAX].map(|number| coordinate_key(*at, number))).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(keys.iter().zip([0, 1, u32::MAX].iter().cycle()).all(|(key, expected)| number(*key) == *expected));
    }
}
