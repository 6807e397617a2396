//! Splits the cells of two classes along another cut.
//!
//! The cells are sorted by a key and cut where both sides cost least. One such step replaces a long sequence of
//! exchanges, each of which may raise the loss.

use super::cell_exchange::Estimate;
use super::neighbourhood::{NONE, Neighbourhood};
use super::rng::SplitMix64;
use crate::geometry::BoundingBox;

/// Pairs of classes with more cells than this are skipped: exchanges do as well and are faster.
const MOST_CELLS: usize = 64;

/// Proposes splits; owns the buffers that proposals reuse.
pub(super) struct Splitter {
    /// The cells of both classes with their sort keys, ascending.
    order: Vec<(f32, u16)>,
    /// By cut, the cells before it as a class, and the cells after it.
    before: Vec<Side>,
    after: Vec<Side>,
    ranges: BoundingBox,
}

/// A prefix or suffix of the cells as a class.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Lower bound of its cost; exact if no rows are missing.
    least: f32,
    rows: u32,
    /// Number of missing rows.
    lacking: u32,
}

impl Splitter {
    pub(super) fn new(stride: usize) -> Self {
        Self { order: Vec::new(), before: Vec::new(), after: Vec::new(), ranges: BoundingBox::new(stride) }
    }

    /// Proposes another cut between two classes, the first of which has `cell`.
    pub(super) fn propose(
        &mut self,
        neighbourhood: &mut Neighbourhood<'_>,
        classes: [usize; 2],
        cell: u16,
        heat: f32,
        draws: &mut SplitMix64,
    ) {
        let sizes = classes.map(|class| neighbourhood.classes[class].members.len());
        if sizes[0] + sizes[1] > MOST_CELLS {
            return;
        }
        self.put_in_order(neighbourhood, classes, cell, draws);
        self.measure(neighbourhood);
        let now = neighbourhood.classes[classes[0]].cost + neighbourhood.classes[classes[1]].cost;
        let most = now - heat * (1.0 - draws.share()).ln();
        let Some((cut, lenders)) = self.best_cut(neighbourhood, classes, most) else { return };
        let (left, right) = self.order.split_at(cut);
        let of_first =
            |part: &[(f32, u16)]| part.iter().filter(|(_, cell)| neighbourhood.class_of(*cell) == classes[0]).count();
        // Assign the sides so that fewer cells move.
        let stays = of_first(left) + (right.len() - of_first(right));
        let (kept, lenders) = match 2 * stays >= self.order.len() {
            true => (classes, lenders),
            false => ([classes[1], classes[0]], [lenders[1], lenders[0]]),
        };
        let homes = [(left, kept[0]), (right, kept[1])];
        let cells = homes.iter().flat_map(|(part, class)| part.iter().map(|(_, cell)| (*cell, *class)));
        let cells: Vec<u16> =
            cells.filter(|(cell, class)| neighbourhood.class_of(*cell) != *class).map(|(cell, _)| cell).collect();
        neighbourhood.apply(classes, &cells, lenders, most);
    }

    /// Sorts the cells along one column, or from `cell` towards the cell farthest from it.
    fn put_in_order(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: [usize; 2],
        cell: u16,
        draws: &mut SplitMix64,
    ) {
        let cells = || classes.iter().flat_map(|class| neighbourhood.classes[*class].members.iter().copied());
        let lane = draws.below(2 * neighbourhood.axes.width());
        let differs = |lane: usize| {
            let [(lo, hi), (other_lo, other_hi)] = classes.map(|class| neighbourhood.bounds.get(class));
            lo[lane].min(other_lo[lane]) < hi[lane].max(other_hi[lane])
        };
        self.order.clear();
        if lane < neighbourhood.axes.width() && differs(lane) {
            self.order.extend(cells().map(|cell| (neighbourhood.place(cell)[lane], cell)));
        } else {
            let apart =
                |a: u16, b: u16| neighbourhood.axes.loss_of_pair(neighbourhood.place(a), neighbourhood.place(b));
            let mut farthest = (0.0, cell);
            for other in cells() {
                let loss = apart(cell, other);
                self.order.push((loss, other));
                if loss > farthest.0 {
                    farthest = (loss, other);
                }
            }
            self.order.iter_mut().for_each(|(key, other)| *key -= apart(farthest.1, *other));
        }
        self.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    }

    fn measure(&mut self, neighbourhood: &Neighbourhood<'_>) {
        let Self { order, before, after, ranges } = self;
        sides(neighbourhood, order.iter(), ranges, before);
        sides(neighbourhood, order.iter().rev(), ranges, after);
        after.reverse();
    }

    /// Returns the cut of least total cost below `most`, with the lender of each side.
    fn best_cut(
        &mut self,
        neighbourhood: &Neighbourhood<'_>,
        classes: [usize; 2],
        most: f32,
    ) -> Option<(usize, [u16; 2])> {
        let sizes = classes.map(|class| neighbourhood.classes[class].members.len());
        let (mut least, mut best, mut of_first) = (most, None, 0);
        for cut in 0..self.order.len() {
            let is_as_before = (cut == sizes[0] && of_first == cut) || (cut == sizes[1] && of_first == 0);
            of_first += usize::from(neighbourhood.class_of(self.order[cut].1) == classes[0]);
            if is_as_before || self.before[cut].least + self.after[cut].least >= least {
                continue;
            }
            let sides = [self.before(neighbourhood, classes, cut), self.after(neighbourhood, classes, cut)];
            let cost = sides[0].cost + sides[1].cost;
            if cost < least {
                (least, best) = (cost, Some((cut, sides.map(|side| side.lender))));
            }
        }
        best
    }

    /// Estimates the cells before a cut as a class.
    fn before(&mut self, neighbourhood: &Neighbourhood<'_>, classes: [usize; 2], cut: usize) -> Estimate {
        let last = cut.checked_sub(1).map(|last| self.order[last].1);
        whole(neighbourhood, classes, self.before[cut], last, &self.order[..cut], &mut self.ranges)
    }

    /// Estimates the cells from a cut on as a class.
    fn after(&mut self, neighbourhood: &Neighbourhood<'_>, classes: [usize; 2], cut: usize) -> Estimate {
        let last = self.order.get(cut).map(|(_, cell)| *cell);
        whole(neighbourhood, classes, self.after[cut], last, &self.order[cut..], &mut self.ranges)
    }
}

/// Returns the cost of a side; if rows are missing, they are borrowed near its last cell.
fn whole(
    neighbourhood: &Neighbourhood<'_>,
    classes: [usize; 2],
    side: Side,
    last: Option<u16>,
    cells: &[(f32, u16)],
    ranges: &mut BoundingBox,
) -> Estimate {
    match last {
        Some(last) if side.lacking > 0 => {
            ranges.clear();
            cells.iter().for_each(|(_, cell)| ranges.include(neighbourhood.place(*cell)));
            neighbourhood.borrowing(classes, last, side.rows, side.lacking, ranges)
        }
        _ => Estimate { cost: side.least, lender: NONE },
    }
}

/// Computes the sides of all prefixes, from the empty one on.
fn sides<'a>(
    neighbourhood: &Neighbourhood<'_>,
    cells: impl Iterator<Item = &'a (f32, u16)> + Clone,
    ranges: &mut BoundingBox,
    found: &mut Vec<Side>,
) {
    let rows_of = |cell: u16| neighbourhood.cells.rows[usize::from(cell)];
    let total: u32 = cells.clone().map(|(_, cell)| rows_of(*cell)).sum();
    let lacking = |rows: u32| if rows == 0 { 0 } else { neighbourhood.least_rows.saturating_sub(rows) };
    found.clear();
    found.push(Side { least: 0.0, rows: 0, lacking: 0 });
    ranges.clear();
    let mut rows = 0;
    for (_, cell) in cells {
        ranges.include(neighbourhood.place(*cell));
        rows += rows_of(*cell);
        let can_be = !neighbourhood.is_without_lenders() || (lacking(rows) == 0 && lacking(total - rows) == 0);
        let lacking = lacking(rows);
        let least = match can_be {
            true => (rows + lacking) as f32 * neighbourhood.axes.loss(&ranges.lo, &ranges.hi),
            false => f32::INFINITY,
        };
        found.push(Side { least, rows, lacking });
    }
}
