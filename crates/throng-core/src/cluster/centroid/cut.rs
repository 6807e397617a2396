//! Cuts a set of points in two, along the axis on which they differ most.

use super::embedding::Points;

/// The spread of points is judged by so many of them.
const SAMPLE: usize = 256;

/// The axes by the variance of some points, the widest first. `bias` multiplies the variance of an axis.
pub(super) fn widest_axes<'a>(
    dimensions: usize,
    count: usize,
    point: impl Fn(usize) -> &'a [f32],
    bias: impl Fn(usize) -> f64,
) -> Vec<usize> {
    let step = count.div_ceil(SAMPLE).max(1);
    let (mut sums, mut squares, mut seen) = (vec![0.0_f64; dimensions], vec![0.0_f64; dimensions], 0.0_f64);
    // The first point is subtracted, so that squares of points that are far from 0 do not drown their differences.
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

/// Numbers with their coordinate on one axis.
pub(super) type Keyed = Vec<(f32, u32)>;

pub(super) fn by_key(a: &(f32, u32), b: &(f32, u32)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// Brings the lowest `at` to the front.
pub(super) fn part(keyed: &mut Keyed, at: usize) {
    if at < keyed.len() {
        keyed.select_nth_unstable_by(at, by_key);
    }
}

/// The numbers in front of a place, and the others.
pub(super) fn halves(keyed: &Keyed, at: usize) -> (Vec<u32>, Vec<u32>) {
    let (left, right) = keyed.split_at(at);
    (left.iter().map(|(_, number)| *number).collect(), right.iter().map(|(_, number)| *number).collect())
}

/// The points that some numbers stand for.
pub(super) fn keyed(numbers: &[u32], axis: usize, points: &Points) -> Keyed {
    numbers.iter().map(|number| (points.get(*number)[axis], *number)).collect()
}
