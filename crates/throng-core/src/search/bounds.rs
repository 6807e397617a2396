//! The boxes of classes, and what they would be without one of their cells.
//!
//! For each class and column the two lowest and the two highest positions are kept, so that the box without a cell is
//! known without a look at the others.

use super::axes::LANES;

/// Positions in some columns.
type Lanes = [u16; LANES];

/// The bounds of many classes.
#[derive(Debug)]
pub(super) struct Bounds {
    stride: usize,
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
    pub(super) fn new(stride: usize) -> Self {
        Self { lo: vec![0; stride], hi: vec![0; stride] }
    }

    pub(super) fn clear(&mut self) {
        self.lo.fill(u16::MAX);
        self.hi.fill(0);
    }

    #[inline]
    pub(super) fn include(&mut self, place: &[u16]) {
        let box_lanes = lanes_mut(&mut self.lo).iter_mut().zip(lanes_mut(&mut self.hi));
        for ((lo, hi), at) in box_lanes.zip(lanes(place)) {
            (*lo, *hi) = (least(*lo, *at), greatest(*hi, *at));
        }
    }
}

impl Bounds {
    pub(super) fn new(stride: usize) -> Self {
        Self { stride, positions: Vec::new() }
    }

    /// Adds a class without cells.
    pub(super) fn push(&mut self) {
        self.positions.resize(self.positions.len() + 4 * self.stride, 0);
    }

    /// Finds the bounds of a class that has its cells at these places.
    pub(super) fn set<'a>(&mut self, class: usize, places: impl Iterator<Item = &'a [u16]> + Clone) {
        let all = lanes_mut(&mut self.positions[class * 4 * self.stride..][..4 * self.stride]);
        let chunks = all.len() / 4;
        for chunk in 0..chunks {
            let (mut lo, mut second_lo) = ([u16::MAX; LANES], [u16::MAX; LANES]);
            let (mut hi, mut second_hi) = ([0; LANES], [0; LANES]);
            for place in places.clone() {
                let at = lanes(place)[chunk];
                (second_lo, lo) = (least(second_lo, greatest(at, lo)), least(lo, at));
                (second_hi, hi) = (greatest(second_hi, least(at, hi)), greatest(hi, at));
            }
            all[chunk] = lo;
            all[chunks + chunk] = hi;
            all[2 * chunks + chunk] = second_lo;
            all[3 * chunks + chunk] = second_hi;
        }
    }

    /// The lowest and the highest positions of a class.
    #[inline]
    pub(super) fn get(&self, class: usize) -> (&[u16], &[u16]) {
        self.positions[class * 4 * self.stride..][..2 * self.stride].split_at(self.stride)
    }

    /// The box of a class without a cell at this place.
    #[inline]
    pub(super) fn without(&self, class: usize, place: &[u16], ranges: &mut Ranges) {
        let all = &self.positions[class * 4 * self.stride..][..4 * self.stride];
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
fn least(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane].min(b[lane]))
}

#[inline]
fn greatest(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane].max(b[lane]))
}

#[inline]
fn other_where_equal(a: Lanes, b: Lanes, other: Lanes) -> Lanes {
    std::array::from_fn(|lane| if a[lane] == b[lane] { other[lane] } else { a[lane] })
}

fn lanes(positions: &[u16]) -> &[Lanes] {
    positions.as_chunks().0
}

fn lanes_mut(positions: &mut [u16]) -> &mut [Lanes] {
    positions.as_chunks_mut().0
}
