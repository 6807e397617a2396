//! Where an order of cells is cut into two or three classes that cost least.

use super::cell_exchange::Estimate;
use super::neighbourhood::{NONE, Neighbourhood};
use super::split::MAX_CLASSES;
use crate::geometry::{BoundingBox, FixedBox, GrowingBox, LANES, Lanes, lanes};

/// Cells in an order, and what the cuts between them cost.
pub(super) struct Cuts {
    /// Chunks of coordinates per cell.
    chunks: usize,
    order: Vec<u16>,
    /// Coordinates and rows of the cells, in their order, because each is read many times.
    places: Vec<Lanes>,
    rows: Vec<u32>,
    /// By cut, the cells before it as a class, and the cells after it.
    before: Vec<Part>,
    after: Vec<Part>,
    ranges: BoundingBox,
    lending: BoundingBox,
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
pub(super) struct ChosenPart {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) lender: u16,
}

impl Part {
    const EMPTY: Self = Self { least: 0.0, rows: 0, lacking: 0 };
    const IMPOSSIBLE: Self = Self { least: f32::INFINITY, rows: 0, lacking: 0 };
}

impl Cuts {
    pub(super) fn new(stride: usize) -> Self {
        Self {
            chunks: (stride / LANES).max(1),
            order: Vec::new(),
            places: Vec::new(),
            rows: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            ranges: BoundingBox::new(stride),
            lending: BoundingBox::new(stride),
        }
    }

    /// Replaces the cells.
    pub(super) fn fill(&mut self, neighbourhood: &Neighbourhood<'_>, order: impl Iterator<Item = u16>) {
        self.order.clear();
        self.order.extend(order);
        self.places.clear();
        self.rows.clear();
        for cell in &self.order {
            self.places.extend_from_slice(lanes(neighbourhood.place(*cell)));
            self.rows.push(neighbourhood.cells.rows[usize::from(*cell)]);
        }
    }

    /// Returns the cells in their order.
    pub(super) fn order(&self) -> &[u16] {
        &self.order
    }

    /// Returns the parts of least total cost below `most`: two of two classes, or three of three.
    pub(super) fn best(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: &[usize],
        most: f32,
    ) -> Option<[ChosenPart; MAX_CLASSES]> {
        match self.chunks {
            1 => self.best_in(neighbourhood, classes, most, &mut FixedBox::<1>::empty()),
            2 => self.best_in(neighbourhood, classes, most, &mut FixedBox::<2>::empty()),
            3 => self.best_in(neighbourhood, classes, most, &mut FixedBox::<3>::empty()),
            _ => {
                let mut ranges = std::mem::take(&mut self.ranges);
                let best = self.best_in(neighbourhood, classes, most, &mut ranges);
                self.ranges = ranges;
                best
            }
        }
    }

    fn best_in(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: &[usize],
        most: f32,
        ranges: &mut impl GrowingBox,
    ) -> Option<[ChosenPart; MAX_CLASSES]> {
        self.measure(neighbourhood, classes.len(), most, ranges);
        match classes {
            [_, _] => self.best_cut(neighbourhood, classes, most),
            _ => self.best_cuts(neighbourhood, classes, most, ranges),
        }
    }

    /// Measures the parts before and after each cut. Those that cost more than `most` are impossible, and so are those after the
    /// cuts between two classes whose other part is.
    fn measure(&mut self, neighbourhood: &Neighbourhood<'_>, classes: usize, most: f32, ranges: &mut impl GrowingBox) {
        let Self { chunks, places, rows, before, after, .. } = self;
        let end = rows.len();
        let cells = || places.chunks_exact(*chunks).zip(&*rows);
        parts(neighbourhood, cells(), most, |_| true, ranges, before);
        let is_wanted = |cells: usize| classes > 2 || before[end - cells].least < most;
        parts(neighbourhood, cells().rev(), most, is_wanted, ranges, after);
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
        ranges: &mut impl GrowingBox,
    ) -> Option<[ChosenPart; MAX_CLASSES]> {
        let end = self.order.len();
        let (mut least, mut best) = (most, None);
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
                if ranges.widen(&self.places[(second_cut - 1) * self.chunks..][..self.chunks]) {
                    loss = None;
                }
                rows += self.rows[second_cut - 1];
                let after = self.after[second_cut];
                if before.least + after.least >= least {
                    continue;
                }
                let middle = part(neighbourhood, rows, ranges, &mut loss);
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

/// Returns the class of `rows` rows in a box; impossible if rows are missing and there is no lender. `loss` is that of the box, and
/// is computed if it is not known.
#[inline]
fn part(neighbourhood: &Neighbourhood<'_>, rows: u32, ranges: &impl GrowingBox, loss: &mut Option<f32>) -> Part {
    let lacking = neighbourhood.least_rows.saturating_sub(rows);
    if lacking > 0 && neighbourhood.is_without_lenders() {
        return Part { least: f32::INFINITY, rows, lacking };
    }
    let loss = *loss.get_or_insert_with(|| {
        let (lo, hi) = ranges.sides();
        neighbourhood.axes.loss(lo, hi)
    });
    Part { least: (rows + lacking) as f32 * loss, rows, lacking }
}

/// Measures the prefixes of wanted lengths. A prefix that costs more than `most` ends the search for longer ones.
fn parts<'a>(
    neighbourhood: &Neighbourhood<'_>,
    cells: impl ExactSizeIterator<Item = (&'a [Lanes], &'a u32)>,
    most: f32,
    is_wanted: impl Fn(usize) -> bool,
    ranges: &mut impl GrowingBox,
    found: &mut Vec<Part>,
) {
    found.clear();
    found.resize(cells.len() + 1, Part::IMPOSSIBLE);
    found[0] = Part::EMPTY;
    ranges.clear();
    let (mut rows, mut loss) = (0, None);
    for (length, ((place, of_cell), found)) in (1..).zip(cells.zip(&mut found[1..])) {
        if ranges.widen(place) {
            loss = None;
        }
        rows += of_cell;
        if !is_wanted(length) {
            continue;
        }
        *found = part(neighbourhood, rows, ranges, &mut loss);
        if found.least > most && found.lacking == 0 {
            break;
        }
    }
}
