//! A k-d tree [Bentley 1975] over points of a loss space.
//!
//! Nodes are split at the median of their widest column down to a leaf size. Nearest-first traversal visits leaves by
//! the loss between a point and their bounding boxes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::{LossSpace, higher, lanes, lanes_mut, lower};

/// Initial capacity for the nodes that a traversal has not visited yet.
const OPEN_NODES: usize = 64;

/// A k-d tree; nodes are numbered in depth-first order.
#[derive(Debug)]
pub(crate) struct KdTree {
    /// Point indices, contiguous per node.
    order: Vec<u32>,
    parts: Vec<KdNode>,
    /// Lowest and then highest coordinates of each node.
    boxes: Vec<f32>,
    stride: usize,
    /// Maximum number of points in a leaf. All leaves but the last are full, unless all points of a node are equal.
    leaf: usize,
}

#[derive(Clone, Copy, Debug)]
struct KdNode {
    start: u32,
    end: u32,
    /// The right child; the left one is the next node. `None` for a leaf.
    second: Option<u32>,
}

impl KdTree {
    /// Builds a tree over the points `some` of `places`, with at most `leaf` points per leaf.
    pub(crate) fn new(axes: &LossSpace, places: &[f32], some: Vec<u32>, leaf: usize) -> Self {
        Self::with_ties(axes, places, some, leaf, &|point| point)
    }

    /// Builds a tree like [`KdTree::new`] in which points with equal coordinates are ordered by their `rank`. No two points may have
    /// the same.
    pub(crate) fn with_ties(
        axes: &LossSpace,
        places: &[f32],
        some: Vec<u32>,
        leaf: usize,
        rank: &impl Fn(u32) -> u32,
    ) -> Self {
        let (stride, end) = (axes.stride(), some.len());
        let mut tree = Self { order: some, parts: Vec::new(), boxes: Vec::new(), stride, leaf };
        if end > 0 {
            tree.grow(axes, places, 0..end, rank);
        }
        tree
    }

    fn grow(
        &mut self,
        axes: &LossSpace,
        places: &[f32],
        Range { start, end }: Range<usize>,
        rank: &impl Fn(u32) -> u32,
    ) {
        let stride = self.stride;
        let number = self.parts.len();
        self.parts.push(KdNode { start: start as u32, end: end as u32, second: None });
        let at = self.boxes.len();
        self.boxes.resize(at + stride, f32::INFINITY);
        self.boxes.resize(at + 2 * stride, f32::NEG_INFINITY);
        let (lo, hi) = self.boxes[at..].split_at_mut(stride);
        for place in &self.order[start..end] {
            let place = lanes(&places[*place as usize * stride..][..stride]);
            let sides = lanes_mut(lo).iter_mut().zip(lanes_mut(hi));
            for ((lo, hi), at) in sides.zip(place) {
                (*lo, *hi) = (lower(*lo, *at), higher(*hi, *at));
            }
        }
        if end - start <= self.leaf {
            return;
        }
        let widths = (0..axes.width()).map(|column| (axes.column_loss(column, lo[column], hi[column]), column));
        let widest = widths.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((_, column)) = widest else { return };
        if lo[column] == hi[column] {
            return;
        }
        let middle = ((end - start) / 2).next_multiple_of(self.leaf);
        let at = |place: u32| places[place as usize * stride + column];
        self.order[start..end]
            .select_nth_unstable_by(middle, |a, b| at(*a).total_cmp(&at(*b)).then_with(|| rank(*a).cmp(&rank(*b))));
        self.grow(axes, places, start..start + middle, rank);
        self.parts[number].second = Some(self.parts.len() as u32);
        self.grow(axes, places, start + middle..end, rank);
    }

    /// Returns the number of nodes. The root is node 0.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns the children of an inner node.
    pub(crate) fn halves(&self, part: u32) -> Option<[u32; 2]> {
        self.parts[part as usize].second.map(|second| [part + 1, second])
    }

    /// Returns the numbers of the parts that are not divided further.
    pub(crate) fn leaves(&self) -> Vec<u32> {
        (0..self.parts.len() as u32).filter(|part| self.parts[*part as usize].second.is_none()).collect()
    }

    /// Returns the points of a node.
    pub(crate) fn places(&self, part: u32) -> &[u32] {
        &self.order[self.range(part)]
    }

    /// Returns the lowest and the highest coordinates of a node.
    pub(crate) fn ranges(&self, part: u32) -> (&[f32], &[f32]) {
        self.boxes[part as usize * 2 * self.stride..][..2 * self.stride].split_at(self.stride)
    }

    /// Returns the range of a node in [`KdTree::order`].
    pub(crate) fn range(&self, part: u32) -> Range<usize> {
        let part = self.parts[part as usize];
        part.start as usize..part.end as usize
    }

    /// Returns all points, contiguous per node.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    /// Visits leaves in ascending order of the loss between `place` and their box, until `visit` returns false.
    /// Subtrees for which `is_wanted` returns false are skipped.
    pub(crate) fn visit_nearest(
        &self,
        axes: &LossSpace,
        place: &[f32],
        is_wanted: impl Fn(u32) -> bool,
        mut visit: impl FnMut(u32) -> bool,
    ) {
        // Bits of a non-negative float sort like its value; the node id in the low bits breaks ties.
        let ticket = |loss: f32, part: u32| Reverse(u64::from(loss.to_bits()) << 32 | u64::from(part));
        let mut open = BinaryHeap::with_capacity(OPEN_NODES);
        if !self.parts.is_empty() {
            open.push(ticket(0.0, 0));
        }
        while let Some(Reverse(next)) = open.pop() {
            let part = next as u32;
            let Some(halves) = self.halves(part) else {
                if !visit(part) {
                    return;
                }
                continue;
            };
            for half in halves.into_iter().filter(|half| is_wanted(*half)) {
                let loss = axes.loss_to(place, self.ranges(half));
                open.push(ticket(loss, half));
            }
        }
    }
}

#[cfg(test)]
#[path = "kd_tree_tests.rs"]
mod tests;
