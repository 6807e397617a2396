//! Arithmetic on points padded to whole SIMD lanes, so that it vectorizes.

/// Coordinates are zero-padded to a multiple of this.
pub(super) const LANES: usize = 4;

/// Returns the padded number of coordinates.
pub(super) fn padded(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// Appends a point.
#[inline]
pub(super) fn push_point(points: &mut Vec<f32>, point: &[f32]) {
    match point.as_array::<{ 2 * LANES }>() {
        Some(point) => points.extend_from_slice(point),
        None => points.extend_from_slice(point),
    }
}

/// Returns the squared distance of two points.
#[inline]
pub(super) fn distance(a: &[f32], b: &[f32]) -> f32 {
    // Fixed-size fast path for 5 to 8 dimensions, which most tables have; the loop is unrolled.
    match (a.as_array::<{ 2 * LANES }>(), b.as_array::<{ 2 * LANES }>()) {
        (Some(a), Some(b)) => distance_of(a, b),
        _ => distance_of(a, b),
    }
}

#[inline(always)]
fn distance_of(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            let offset = a[lane] - b[lane];
            sums[lane] += offset * offset;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// `slope * (v - u) + share * |v - u|^2`.
#[inline]
pub(super) fn rise(u: &[f32], v: &[f32], slope: &[f32], share: f32) -> f32 {
    match (u.as_array::<{ 2 * LANES }>(), v.as_array::<{ 2 * LANES }>(), slope.as_array::<{ 2 * LANES }>()) {
        (Some(u), Some(v), Some(slope)) => rise_of(u, v, slope, share),
        _ => rise_of(u, v, slope, share),
    }
}

#[inline(always)]
fn rise_of(u: &[f32], v: &[f32], slope: &[f32], share: f32) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let points = u.as_chunks::<LANES>().0.iter().zip(v.as_chunks::<LANES>().0);
    for ((u, v), slope) in points.zip(slope.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            let offset = v[lane] - u[lane];
            sums[lane] += offset * (slope[lane] + share * offset);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
