//! Piecewise linear functions of age.

use crate::demographics::AGES;

/// Returns the value of a curve at `x`: linear between points, constant before the first and after the last. `points`
/// must be non-empty and sorted by the first number.
pub(crate) fn curve(points: &[(f64, f64)], x: f64) -> f64 {
    let after = points.partition_point(|point| point.0 <= x);
    match (after.checked_sub(1).map(|before| points[before]), points.get(after)) {
        (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some((_, y)), None) | (None, Some(&(_, y))) => y,
        (None, None) => 0.0,
    }
}

/// Returns the values of a curve at every age.
pub(crate) fn by_age(points: &[(f64, f64)]) -> Vec<f64> {
    (0..AGES).map(|age| curve(points, age as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_straight_between_points_and_flat_outside() {
        let points = [(10.0, 1.0), (20.0, 3.0)];
        assert_eq!(curve(&points, 0.0), 1.0);
        assert_eq!(curve(&points, 10.0), 1.0);
        assert_eq!(curve(&points, 15.0), 2.0);
        assert_eq!(curve(&points, 20.0), 3.0);
        assert_eq!(curve(&points, 90.0), 3.0);
    }
}
