//! The boxes of classes, and what they would be without one of their cells.
//!
//! For each class and column the two lowest and the two highest positions are kept, so that the box without a cell is
//! known without a look at the others.

/// The bounds of many classes.
#[derive(Debug)]
pub(super) struct Bounds {
    width: usize,
    /// Per class the lowest, the highest, the second lowest and the second highest positions.
    positions: Vec<u16>,
}

/// A box, to be filled again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    pub(super) lo: Vec<u16>,
    pub(super) hi: Vec<u16>,
}

impl Ranges {
    pub(super) fn new(width: usize) -> Self {
        Self { lo: vec![0; width], hi: vec![0; width] }
    }

    pub(super) fn include(&mut self, place: &[u16]) {
        for ((lo, hi), at) in self.lo.iter_mut().zip(&mut self.hi).zip(place) {
            *lo = (*lo).min(*at);
            *hi = (*hi).max(*at);
        }
    }
}

impl Bounds {
    pub(super) fn new(width: usize) -> Self {
        Self { width, positions: Vec::new() }
    }

    /// Adds a class without cells.
    pub(super) fn push(&mut self) {
        self.positions.resize(self.positions.len() + 4 * self.width, 0);
        self.clear(self.positions.len() / (4 * self.width).max(1) - 1);
    }

    pub(super) fn clear(&mut self, class: usize) {
        let width = self.width;
        let all = &mut self.positions[class * 4 * width..(class + 1) * 4 * width];
        all[..width].fill(u16::MAX);
        all[width..2 * width].fill(0);
        all[2 * width..3 * width].fill(u16::MAX);
        all[3 * width..].fill(0);
    }

    pub(super) fn include(&mut self, class: usize, place: &[u16]) {
        let width = self.width;
        let all = &mut self.positions[class * 4 * width..(class + 1) * 4 * width];
        let (first, second) = all.split_at_mut(2 * width);
        let ((lo, hi), (second_lo, second_hi)) = (first.split_at_mut(width), second.split_at_mut(width));
        let low = lo.iter_mut().zip(second_lo);
        let high = hi.iter_mut().zip(second_hi);
        for (((lo, second_lo), (hi, second_hi)), at) in low.zip(high).zip(place) {
            *second_lo = (*second_lo).min((*at).max(*lo));
            *lo = (*lo).min(*at);
            *second_hi = (*second_hi).max((*at).min(*hi));
            *hi = (*hi).max(*at);
        }
    }

    /// The lowest and the highest positions of a class.
    pub(super) fn get(&self, class: usize) -> (&[u16], &[u16]) {
        let width = self.width;
        self.positions[class * 4 * width..][..2 * width].split_at(width)
    }

    /// The box of a class without a cell at this place.
    pub(super) fn without(&self, class: usize, place: &[u16], ranges: &mut Ranges) {
        let width = self.width;
        let all = &self.positions[class * 4 * width..(class + 1) * 4 * width];
        let (first, second) = all.split_at(2 * width);
        let ((lo, hi), (second_lo, second_hi)) = (first.split_at(width), second.split_at(width));
        let low = ranges.lo.iter_mut().zip(lo.iter().zip(second_lo));
        let high = ranges.hi.iter_mut().zip(hi.iter().zip(second_hi));
        for (((new_lo, (lo, second_lo)), (new_hi, (hi, second_hi))), at) in low.zip(high).zip(place) {
            *new_lo = if at == lo { *second_lo } else { *lo };
            *new_hi = if at == hi { *second_hi } else { *hi };
        }
    }
}
