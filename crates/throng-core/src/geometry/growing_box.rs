//! Bounding boxes that grow point by point.

use super::class_boxes::BoundingBox;
use super::{LANES, Lanes, higher, lanes_mut, lower};

/// A bounding box that grows point by point.
pub(crate) trait GrowingBox {
    /// Makes the box empty.
    fn clear(&mut self);

    /// Includes a point, and returns whether the box has grown.
    fn widen(&mut self, place: &[Lanes]) -> bool;

    /// Returns the lowest and the highest coordinates.
    fn sides(&self) -> (&[f32], &[f32]);
}

/// A bounding box of points with `CHUNKS` times [`LANES`] coordinates, which fits into registers if there are few.
#[derive(Debug)]
pub(crate) struct FixedBox<const CHUNKS: usize> {
    lo: [Lanes; CHUNKS],
    hi: [Lanes; CHUNKS],
}

impl<const CHUNKS: usize> FixedBox<CHUNKS> {
    pub(crate) fn empty() -> Self {
        Self { lo: [[f32::INFINITY; LANES]; CHUNKS], hi: [[f32::NEG_INFINITY; LANES]; CHUNKS] }
    }
}

impl<const CHUNKS: usize> GrowingBox for FixedBox<CHUNKS> {
    #[inline]
    fn clear(&mut self) {
        *self = Self::empty();
    }

    #[inline]
    fn widen(&mut self, place: &[Lanes]) -> bool {
        let Some(place) = place.first_chunk::<CHUNKS>() else { return false };
        let before = (self.lo, self.hi);
        self.lo = std::array::from_fn(|chunk| lower(before.0[chunk], place[chunk]));
        self.hi = std::array::from_fn(|chunk| higher(before.1[chunk], place[chunk]));
        before != (self.lo, self.hi)
    }

    #[inline]
    fn sides(&self) -> (&[f32], &[f32]) {
        (self.lo.as_flattened(), self.hi.as_flattened())
    }
}

impl GrowingBox for BoundingBox {
    fn clear(&mut self) {
        self.lo.fill(f32::INFINITY);
        self.hi.fill(f32::NEG_INFINITY);
    }

    #[inline]
    fn widen(&mut self, place: &[Lanes]) -> bool {
        let mut has_grown = false;
        let box_lanes = lanes_mut(&mut self.lo).iter_mut().zip(lanes_mut(&mut self.hi));
        for ((lo, hi), at) in box_lanes.zip(place) {
            let wider = (lower(*lo, *at), higher(*hi, *at));
            has_grown |= wider != (*lo, *hi);
            (*lo, *hi) = wider;
        }
        has_grown
    }

    fn sides(&self) -> (&[f32], &[f32]) {
        (&self.lo, &self.hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_of_a_fixed_size_grow_as_others_do() {
        let mut fixed = FixedBox::<2>::empty();
        let mut other = BoundingBox::new(2 * LANES);
        other.clear();
        for point in 0..40_u32 {
            let at = |lane: u32| (((point * 37 + lane * 59) % 41) / 7) as f32;
            let place = [[0, 1, 2, 3].map(at), [4, 5, 6, 7].map(at)];
            assert_eq!(fixed.widen(&place), other.widen(&place), "{point}");
            assert_eq!(fixed.sides(), other.sides());
            assert!(!fixed.widen(&place));
            if point == 20 {
                fixed.clear();
                other.clear();
            }
        }
    }
}
