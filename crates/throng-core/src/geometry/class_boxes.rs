//! Bounding boxes of classes, with removal of one cell in constant time.
//!
//! The two lowest and two highest coordinates are kept per class and column, so the box without one cell is known
//! without reading the others.

use super::{LANES, Lanes, each, higher, lanes, lanes_mut, lower};

/// Bounding boxes of many classes.
#[derive(Debug)]
pub(crate) struct ClassBoxes {
    stride: usize,
    /// Per class: lowest, highest, second lowest and second highest coordinates.
    coordinates: Vec<f32>,
}

/// A reusable bounding box.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundingBox {
    pub(crate) lo: Vec<f32>,
    pub(crate) hi: Vec<f32>,
}

impl BoundingBox {
    pub(crate) fn new(stride: usize) -> Self {
        Self { lo: vec![0.0; stride], hi: vec![0.0; stride] }
    }

    #[inline]
    pub(crate) fn include(&mut self, place: &[f32]) {
        let box_lanes = lanes_mut(&mut self.lo).iter_mut().zip(lanes_mut(&mut self.hi));
        for ((lo, hi), at) in box_lanes.zip(lanes(place)) {
            (*lo, *hi) = (lower(*lo, *at), higher(*hi, *at));
        }
    }
}

impl ClassBoxes {
    pub(crate) fn new(stride: usize) -> Self {
        Self { stride, coordinates: Vec::new() }
    }

    /// Appends a class without cells.
    pub(crate) fn push(&mut self) {
        self.coordinates.resize(self.coordinates.len() + 4 * self.stride, 0.0);
    }

    /// Computes the bounds of a class from the points of its cells.
    pub(crate) fn set<'a>(&mut self, class: usize, places: impl Iterator<Item = &'a [f32]> + Clone) {
        let all = lanes_mut(&mut self.coordinates[class * 4 * self.stride..][..4 * self.stride]);
        let chunks = all.len() / 4;
        for chunk in 0..chunks {
            let (mut lo, mut second_lo) = ([f32::INFINITY; LANES], [f32::INFINITY; LANES]);
            let (mut hi, mut second_hi) = ([f32::NEG_INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
            for place in places.clone() {
                let at = lanes(place)[chunk];
                (second_lo, lo) = (lower(second_lo, higher(at, lo)), lower(lo, at));
                (second_hi, hi) = (higher(second_hi, lower(at, hi)), higher(hi, at));
            }
            all[chunk] = lo;
            all[chunks + chunk] = hi;
            all[2 * chunks + chunk] = second_lo;
            all[3 * chunks + chunk] = second_hi;
        }
    }

    /// Returns the lowest and the highest coordinates of a class.
    #[inline]
    pub(crate) fn get(&self, class: usize) -> (&[f32], &[f32]) {
        self.coordinates[class * 4 * self.stride..][..2 * self.stride].split_at(self.stride)
    }

    /// Writes the box of a class without a cell at `place` to `ranges`.
    #[inline]
    pub(crate) fn without(&self, class: usize, place: &[f32], ranges: &mut BoundingBox) {
        let all = &self.coordinates[class * 4 * self.stride..][..4 * self.stride];
        let (first, second) = all.split_at(2 * self.stride);
        let ((lo, hi), (second_lo, second_hi)) = (first.split_at(self.stride), second.split_at(self.stride));
        let (new_lo, new_hi) = (lanes_mut(&mut ranges.lo), lanes_mut(&mut ranges.hi));
        for (chunk, at) in lanes(place).iter().enumerate() {
            new_lo[chunk] = other_where_equal(lanes(lo)[chunk], *at, lanes(second_lo)[chunk]);
            new_hi[chunk] = other_where_equal(lanes(hi)[chunk], *at, lanes(second_hi)[chunk]);
        }
    }
}

#[inline]
fn other_where_equal(a: Lanes, b: Lanes, other: Lanes) -> Lanes {
    each(|lane| if a[lane] == b[lane] { other[lane] } else { a[lane] })
}
