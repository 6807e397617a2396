//! Splits the cells of two or three classes along other cuts.
//!
//! The cells are sorted by a key and cut where all parts together cost least. One such step replaces a long sequence of
//! exchanges, each of which may raise the loss. Parts may be empty, so two classes can become one, and three two; a class and
//! an empty one become two.

use super::cell_exchange::Estimate;
use super::neighbourhood::{NONE, Neighbourhood};
use super::rng::SplitMix64;
use crate::geometry::BoundingBox;

/// Two, and three, classes with more cells than this in all are not split. The time for two grows with their cells, and
/// for three with the square.
const MAX_CELLS_OF_TWO: usize = 192;
const MAX_CELLS_OF_THREE: usize = 64;

/// Most classes of a proposal.
pub(super) const MAX_CLASSES: usize = 3;

/// Proposes splits; owns the buffers that proposals reuse.
pub(super) struct Splitter {
    /// The cells of all classes, ordered by their sort keys.
    order: Vec<u16>,
    /// Sort keys in the upper bits, cells in the lower ones.
    keys: Vec<u64>,
    /// By cut, the cells before it as a class, and the cells after it.
    before: Vec<Part>,
    after: Vec<Part>,
    ranges: BoundingBox,
    lending: BoundingBox,
    moving: Vec<(u16, usize)>,
}

/// Consecutive cells of the order as a class.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Lower bound of its cost; exact if no rows are missing.
    least: f32,
    rows: u32,
    /// Number of missing rows.
    lacking: u32,
}

/// A part of the order and the lender of its missing rows.
#[derive(Clone, Copy, Debug)]
struct ChosenPart {
    start: usize,
    end: usize,
    lender: u16,
}

impl Part {
    const EMPTY: Self = Self { least: 0.0, rows: 0, lacking: 0 };
    const IMPOSSIBLE: Self = Self { least: f32::INFINITY, rows: 0, lacking: 0 };
}

impl Splitter {
    pub(super) fn new(stride: usize) -> Self {
        Self {
            order: Vec::new(),
            keys: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            ranges: BoundingBox::new(stride),
            lending: BoundingBox::new(stride),
            moving: Vec::new(),
        }
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
        self.measure(neighbourhood, classes.len(), most);
        let best = match classes {
            [_, _] => self.best_cut(neighbourhood, classes, most),
            _ => self.best_cuts(neighbourhood, classes, most),
        };
        let Some(mut parts) = best else { return };
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
        let order = &self.order;
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
        let lane = draws.below(2 * neighbourhood.axes.width());
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
        self.order.clear();
        self.order.extend(self.keys.iter().map(|key| *key as u16));
    }

    /// Measures the parts before and after each cut. Those that cost more than `most` are impossible, and so are those after the
    /// cuts between two classes whose other part is.
    fn measure(&mut self, neighbourhood: &Neighbourhood<'_>, classes: usize, most: f32) {
        let Self { order, before, after, ranges, .. } = self;
        let end = order.len();
        parts(neighbourhood, order.iter(), most, |_| true, ranges, before);
        let is_wanted = |cells: usize| classes > 2 || before[end - cells].least < most;
        parts(neighbourhood, order.iter().rev(), most, is_wanted, ranges, after);
        after.reverse();
    }

    /// Returns the cut of least total cost below `most`.
    fn best_cut(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: &[usize],
        most: f32,
    ) -> Option<[ChosenPart; MAX_CLASSES]> {
        let end = self.order.len();
        let sizes = [0, 1].map(|at| neighbourhood.classes[classes[at]].members.len());
        let (mut least, mut best, mut of_first) = (most, None, 0);
        for cut in 0..end {
            let is_as_before = (cut == sizes[0] && of_first == cut) || (cut == sizes[1] && of_first == 0);
            of_first += usize::from(neighbourhood.class_of(self.order[cut]) == classes[0]);
            let (before, after) = (self.before[cut], self.after[cut]);
            if is_as_before || before.least + after.least >= least {
                continue;
            }
            let first = self.whole(neighbourhood, classes, before, (0, cut), cut.checked_sub(1));
            let last = self.whole(neighbourhood, classes, after, (cut, end), Some(cut));
            let cost = first.cost + last.cost;
            if cost < least {
                let chosen = |start, end, lender| ChosenPart { start, end, lender };
                best = Some([chosen(0, cut, first.lender), chosen(cut, end, last.lender), chosen(end, end, NONE)]);
                least = cost;
            }
        }
        best
    }

    /// Returns the two cuts of least total cost below `most`.
    fn best_cuts(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: &[usize],
        most: f32,
    ) -> Option<[ChosenPart; MAX_CLASSES]> {
        let end = self.order.len();
        let (mut least, mut best) = (most, None);
        let mut ranges = std::mem::take(&mut self.ranges);
        for first_cut in 0..end {
            let before = self.before[first_cut];
            if before.least >= least {
                match before.lacking {
                    0 => break,
                    _ => continue,
                }
            }
            ranges.clear();
            let (mut rows, mut loss) = (0, None);
            for second_cut in first_cut + 1..=end {
                let cell = self.order[second_cut - 1];
                if ranges.widen(neighbourhood.place(cell)) {
                    loss = None;
                }
                rows += neighbourhood.cells.rows[usize::from(cell)];
                let after = self.after[second_cut];
                if before.least + after.least >= least {
                    continue;
                }
                let middle = part(neighbourhood, rows, &ranges, &mut loss);
                if before.least + middle.least >= least && middle.lacking == 0 {
                    break;
                }
                if before.least + middle.least + after.least >= least {
                    continue;
                }
                let parts = [
                    (before, (0, first_cut), first_cut.checked_sub(1)),
                    (middle, (first_cut, second_cut), Some(second_cut - 1)),
                    (after, (second_cut, end), Some(second_cut)),
                ];
                let found = parts.map(|(part, range, last)| self.whole(neighbourhood, classes, part, range, last));
                let cost = found[0].cost + found[1].cost + found[2].cost;
                if cost < least {
                    let chosen =
                        |at: usize| ChosenPart { start: parts[at].1.0, end: parts[at].1.1, lender: found[at].lender };
                    (least, best) = (cost, Some([0, 1, 2].map(chosen)));
                }
            }
        }
        self.ranges = ranges;
        best
    }

    /// Returns the cost of a part; if rows are missing, they are borrowed near the cell at `last`.
    fn whole(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: &[usize],
        part: Part,
        (start, end): (usize, usize),
        last: Option<usize>,
    ) -> Estimate {
        match last {
            Some(last) if part.lacking > 0 => {
                self.lending.clear();
                self.order[start..end].iter().for_each(|cell| self.lending.include(neighbourhood.place(*cell)));
                neighbourhood.borrowing(classes, self.order[last], part.rows, part.lacking, &self.lending)
            }
            _ => Estimate { cost: part.least, lender: NONE },
        }
    }
}

/// Returns a number that orders cells by a key, equal ones by cell.
fn sort_key(key: f32, cell: u16) -> u64 {
    let bits = key.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(ordered) << u16::BITS | u64::from(cell)
}

/// Returns the class of `rows` rows in a box; impossible if rows are missing and there is no lender. `loss` is that of the box, and
/// is computed if it is not known.
#[inline]
fn part(neighbourhood: &Neighbourhood<'_>, rows: u32, ranges: &BoundingBox, loss: &mut Option<f32>) -> Part {
    let lacking = neighbourhood.least_rows.saturating_sub(rows);
    if lacking > 0 && neighbourhood.is_without_lenders() {
        return Part { least: f32::INFINITY, rows, lacking };
    }
    let loss = *loss.get_or_insert_with(|| neighbourhood.axes.loss(&ranges.lo, &ranges.hi));
    Part { least: (rows + lacking) as f32 * loss, rows, lacking }
}

/// Measures the prefixes of wanted lengths. A prefix that costs more than `most` ends the search for longer ones.
fn parts<'a>(
    neighbourhood: &Neighbourhood<'_>,
    cells: impl ExactSizeIterator<Item = &'a u16>,
    most: f32,
    is_wanted: impl Fn(usize) -> bool,
    ranges: &mut BoundingBox,
    found: &mut Vec<Part>,
) {
    found.clear();
    found.resize(cells.len() + 1, Part::IMPOSSIBLE);
    found[0] = Part::EMPTY;
    ranges.clear();
    let (mut rows, mut loss) = (0, None);
    for (length, (cell, found)) in (1..).zip(cells.zip(&mut found[1..])) {
        if ranges.widen(neighbourhood.place(*cell)) {
            loss = None;
        }
        rows += neighbourhood.cells.rows[usize::from(*cell)];
        if !is_wanted(length) {
            continue;
        }
        *found = part(neighbourhood, rows, ranges, &mut loss);
        if found.least > most && found.lacking == 0 {
            break;
        }
    }
}
