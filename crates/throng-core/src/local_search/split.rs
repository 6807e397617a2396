//! Splits the cells of two or three classes along other cuts.
//!
//! The cells are sorted by a key and cut where all parts together cost least. One such step replaces a long sequence of
//! exchanges, each of which may raise the loss. Parts may be empty, so two classes can become one, and three two; a class and
//! an empty one become two.

use super::cuts::{ChosenPart, Cuts};
use super::neighbourhood::{NONE, Neighbourhood};
use super::rng::SplitMix64;

/// Two, and three, classes with more cells than this in all are not split. The time for two grows with their cells, and
/// for three with the square.
const MAX_CELLS_OF_TWO: usize = 192;
const MAX_CELLS_OF_THREE: usize = 64;

/// Most classes of a proposal.
pub(super) const MAX_CLASSES: usize = 3;

/// Proposes splits; owns the buffers that proposals reuse.
pub(super) struct Splitter {
    /// Sort keys in the upper bits, cells in the lower ones.
    keys: Vec<u64>,
    cuts: Cuts,
    moving: Vec<(u16, usize)>,
    /// One in this many proposals orders the cells along a column.
    by_column: usize,
}

impl Splitter {
    pub(super) fn new(stride: usize, by_column: usize) -> Self {
        Self { keys: Vec::new(), cuts: Cuts::new(stride), moving: Vec::new(), by_column }
    }

    /// Whether the classes are small enough to be split.
    pub(super) fn can_split(neighbourhood: &Neighbourhood<'_>, classes: &[usize]) -> bool {
        let cells: usize = classes.iter().map(|class| neighbourhood.classes[*class].members.len()).sum();
        cells <= if classes.len() > 2 { MAX_CELLS_OF_THREE } else { MAX_CELLS_OF_TWO }
    }

    /// Proposes other cuts between two or three classes, the first of which has `cell`.
    pub(super) fn propose(
        &mut self,
        neighbourhood: &mut Neighbourhood<'_>,
        classes: &[usize],
        cell: u16,
        heat: f32,
        draws: &mut SplitMix64,
    ) {
        debug_assert!(Self::can_split(neighbourhood, classes));
        let now: f32 = classes.iter().map(|class| neighbourhood.classes[*class].cost).sum();
        let most = now - heat * (1.0 - draws.share()).ln();
        self.put_in_order(neighbourhood, classes, cell, draws);
        let Some(mut parts) = self.cuts.best(neighbourhood, classes, most) else { return };
        let lenders = self.place_parts(neighbourhood, classes, &mut parts[..classes.len()]);
        if !self.moving.is_empty() {
            neighbourhood.apply(classes, &self.moving, &lenders[..classes.len()], most);
        }
    }

    /// Assigns the parts to the classes such that few cells move, lists these, and returns the lender of each class.
    fn place_parts(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: &[usize],
        parts: &mut [ChosenPart],
    ) -> [u16; MAX_CLASSES] {
        let order = self.cuts.order();
        let stays = |part: &ChosenPart, class: usize| {
            order[part.start..part.end].iter().filter(|cell| neighbourhood.class_of(**cell) == class).count()
        };
        for (at, class) in classes.iter().enumerate() {
            let most = (at..parts.len()).max_by_key(|part| (stays(&parts[*part], *class), std::cmp::Reverse(*part)));
            parts.swap(at, most.unwrap_or(at));
        }
        let mut lenders = [NONE; MAX_CLASSES];
        self.moving.clear();
        for ((part, class), lender) in parts.iter().zip(classes).zip(&mut lenders) {
            *lender = part.lender;
            let cells = order[part.start..part.end].iter().filter(|cell| neighbourhood.class_of(**cell) != *class);
            self.moving.extend(cells.map(|cell| (*cell, *class)));
        }
        lenders
    }

    /// Sorts the cells along one column, or from `cell` towards the cell farthest from it.
    fn put_in_order(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: &[usize],
        cell: u16,
        draws: &mut SplitMix64,
    ) {
        let cells = || classes.iter().flat_map(|class| neighbourhood.classes[*class].members.iter().copied());
        let lane = draws.below(self.by_column * neighbourhood.axes.width());
        let differs = |lane: usize| {
            let mut filled =
                classes.iter().filter(|class| !neighbourhood.classes[**class].members.is_empty()).map(|class| {
                    let (lo, hi) = neighbourhood.bounds.get(*class);
                    (lo[lane], hi[lane])
                });
            let first = filled.next();
            first.is_some_and(|(lo, hi)| lo < hi || filled.any(|range| range != (lo, hi)))
        };
        self.keys.clear();
        if lane < neighbourhood.axes.width() && differs(lane) {
            self.keys.extend(cells().map(|cell| sort_key(neighbourhood.place(cell)[lane], cell)));
        } else {
            let apart =
                |a: u16, b: u16| neighbourhood.axes.loss_of_pair(neighbourhood.place(a), neighbourhood.place(b));
            let mut farthest = (0.0, cell);
            for other in cells() {
                let loss = apart(cell, other);
                self.keys.push(u64::from(loss.to_bits()) << u16::BITS | u64::from(other));
                if loss > farthest.0 {
                    farthest = (loss, other);
                }
            }
            for key in &mut self.keys {
                let (loss, other) = (f32::from_bits((*key >> u16::BITS) as u32), *key as u16);
                *key = sort_key(loss - apart(farthest.1, other), other);
            }
        }
        self.keys.sort_unstable();
        self.cuts.fill(neighbourhood, self.keys.iter().map(|key| *key as u16));
    }
}

/// Returns a number that orders cells by a key, equal ones by cell.
fn sort_key(key: f32, cell: u16) -> u64 {
    let bits = key.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(ordered) << u16::BITS | u64::from(cell)
}
