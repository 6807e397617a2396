//! The nearest of some places, without a look at all of them.
//!
//! Places are parted at the middle of their widest column until few are left. The places of such a part share a pool of
//! places nearby, taken from the parts whose boxes are nearest to theirs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::axes::Axes;

/// Parts with at most so many places are not parted further, so that nearly all of them have at least half as many.
pub(super) const LEAF: usize = 8;

/// Places in parts.
#[derive(Debug)]
pub(super) struct KdTree<'a> {
    axes: &'a Axes,
    /// All places, one after the other.
    places: &'a [u16],
    /// Numbers of places, part by part.
    order: Vec<u16>,
    parts: Vec<Part>,
    /// The lowest and then the highest positions of each part.
    boxes: Vec<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    start: u16,
    end: u16,
    /// The second of its two parts, of which the first comes right after it; none for a part that is not parted.
    second: Option<u32>,
}

impl<'a> KdTree<'a> {
    /// Parts some of these places.
    pub(super) fn new(axes: &'a Axes, places: &'a [u16], some: std::ops::Range<u16>) -> Self {
        let mut tree = Self { axes, places, order: some.collect(), parts: Vec::new(), boxes: Vec::new() };
        let end = tree.order.len();
        if end > 0 {
            tree.grow(0, end);
        }
        tree
    }

    fn grow(&mut self, start: usize, end: usize) {
        let width = self.axes.stride();
        let number = self.parts.len();
        self.parts.push(Part { start: start as u16, end: end as u16, second: None });
        let at = self.boxes.len();
        self.boxes.resize(at + width, u16::MAX);
        self.boxes.resize(at + 2 * width, 0);
        for place in &self.order[start..end] {
            for (column, position) in self.places[usize::from(*place) * width..][..width].iter().enumerate() {
                self.boxes[at + column] = self.boxes[at + column].min(*position);
                self.boxes[at + width + column] = self.boxes[at + width + column].max(*position);
            }
        }
        if end - start <= LEAF {
            return;
        }
        let (lo, hi) = self.boxes[at..at + 2 * width].split_at(width);
        let widths =
            (0..self.axes.width()).map(|column| (self.axes.column_loss(column, lo[column], hi[column]), column));
        let widest = widths.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((_, column)) = widest else { return };
        if lo[column] == hi[column] {
            return;
        }
        let middle = (end - start) / 2;
        let places = self.places;
        self.order[start..end]
            .select_nth_unstable_by_key(middle, |place| (places[usize::from(*place) * width + column], *place));
        self.grow(start, start + middle);
        self.parts[number].second = Some(self.parts.len() as u32);
        self.grow(start + middle, end);
    }

    /// The parts that are not parted further.
    pub(super) fn leaves(&self) -> Vec<u32> {
        (0..self.parts.len() as u32).filter(|part| self.parts[*part as usize].second.is_none()).collect()
    }

    /// The places of a part and the box around them.
    pub(super) fn part(&self, part: u32) -> (&[u16], (&[u16], &[u16])) {
        (self.places_of(part), self.part_box(part))
    }

    /// At least so many places that are near a box, as far as there are so many.
    pub(super) fn fill_pool(&self, (lo, hi): (&[u16], &[u16]), least: usize, pool: &mut Vec<u16>) {
        pool.clear();
        let mut open = BinaryHeap::new();
        if !self.parts.is_empty() {
            open.push(Reverse((0, 0)));
        }
        while let Some(Reverse((_, part))) = open.pop() {
            match self.parts[part as usize].second {
                None => pool.extend_from_slice(self.places_of(part)),
                Some(second) => {
                    for half in [part + 1, second] {
                        let (other_lo, other_hi) = self.part_box(half);
                        let loss = self.axes.loss_between((lo, hi), (other_lo, other_hi));
                        // A loss is not negative, and so its bits have its order.
                        open.push(Reverse((loss.to_bits(), half)));
                    }
                }
            }
            if pool.len() >= least {
                return;
            }
        }
    }

    fn places_of(&self, part: u32) -> &[u16] {
        let part = self.parts[part as usize];
        &self.order[usize::from(part.start)..usize::from(part.end)]
    }

    fn part_box(&self, part: u32) -> (&[u16], &[u16]) {
        let width = self.axes.stride();
        self.boxes[part as usize * 2 * width..][..2 * width].split_at(width)
    }
}
