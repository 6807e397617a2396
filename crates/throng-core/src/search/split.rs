//! Parts the cells of two classes anew.
//!
//! Their cells are put in an order, and cut where both sides lose least. What takes many exchanges, each of which may lose
//! something, is one step here.

use super::bounds::Ranges;
use super::change::Estimate;
use super::draws::Draws;
use super::hood::{Hood, NONE};

/// Two classes with more cells than this are not parted anew: exchanges do as well, and take less time.
const MOST_CELLS: usize = 64;

/// Memory for one proposal after the other.
pub(super) struct Splitter {
    /// The cells of both classes, each with its key, in the order of keys.
    order: Vec<(f32, u16)>,
    /// What the first so many cells lose as a class, and what the others lose.
    before: Vec<Estimate>,
    after: Vec<Estimate>,
    ranges: Ranges,
}

impl Splitter {
    pub(super) fn new(stride: usize) -> Self {
        Self { order: Vec::new(), before: Vec::new(), after: Vec::new(), ranges: Ranges::new(stride) }
    }

    /// Proposes another border between two classes, the first of which has this cell.
    pub(super) fn propose(
        &mut self,
        hood: &mut Hood<'_>,
        classes: [usize; 2],
        cell: u16,
        heat: f32,
        draws: &mut Draws,
    ) {
        let sizes = classes.map(|class| hood.classes[class].members.len());
        if sizes[0] + sizes[1] > MOST_CELLS {
            return;
        }
        self.put_in_order(hood, classes, cell, draws);
        self.measure(hood, classes);
        let now = hood.classes[classes[0]].cost + hood.classes[classes[1]].cost;
        let most = now - heat * (1.0 - draws.share()).ln();
        let Some(cut) = self.best_cut(hood, classes, most) else { return };
        let (left, right) = self.order.split_at(cut);
        let of_first = |part: &[(f32, u16)]| part.iter().filter(|(_, cell)| hood.class_of(*cell) == classes[0]).count();
        let lenders = [self.before[cut].lender, self.after[cut].lender];
        // The fewer cells move, the better.
        let stays = of_first(left) + (right.len() - of_first(right));
        let (kept, lenders) = match 2 * stays >= self.order.len() {
            true => (classes, lenders),
            false => ([classes[1], classes[0]], [lenders[1], lenders[0]]),
        };
        let homes = [(left, kept[0]), (right, kept[1])];
        let cells = homes.iter().flat_map(|(part, class)| part.iter().map(|(_, cell)| (*cell, *class)));
        let cells: Vec<u16> =
            cells.filter(|(cell, class)| hood.class_of(*cell) != *class).map(|(cell, _)| cell).collect();
        hood.apply(classes, &cells, lenders, most);
    }

    /// From the cell to the one that is farthest from it, or along one of the columns.
    fn put_in_order(&mut self, hood: &Hood<'_>, classes: [usize; 2], cell: u16, draws: &mut Draws) {
        let cells = || classes.iter().flat_map(|class| hood.classes[*class].members.iter().copied());
        let lane = draws.below(2 * hood.axes.width());
        let differs = |lane: usize| {
            let [(lo, hi), (other_lo, other_hi)] = classes.map(|class| hood.bounds.get(class));
            lo[lane].min(other_lo[lane]) < hi[lane].max(other_hi[lane])
        };
        self.order.clear();
        if lane < hood.axes.width() && differs(lane) {
            self.order.extend(cells().map(|cell| (f32::from(hood.place(cell)[lane]), cell)));
        } else {
            let apart = |a: u16, b: u16| hood.axes.loss_of_pair(hood.place(a), hood.place(b));
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

    fn measure(&mut self, hood: &Hood<'_>, classes: [usize; 2]) {
        let Self { order, before, after, ranges } = self;
        estimates(hood, classes, order.iter(), ranges, before);
        estimates(hood, classes, order.iter().rev(), ranges, after);
        after.reverse();
    }

    fn best_cut(&self, hood: &Hood<'_>, classes: [usize; 2], most: f32) -> Option<usize> {
        let sizes = classes.map(|class| hood.classes[class].members.len());
        let (mut best, mut of_first) = ((most, None), 0);
        for cut in 0..self.order.len() {
            let is_as_before = (cut == sizes[0] && of_first == cut) || (cut == sizes[1] && of_first == 0);
            let cost = self.before[cut].cost + self.after[cut].cost;
            if cost < best.0 && !is_as_before {
                best = (cost, Some(cut));
            }
            of_first += usize::from(hood.class_of(self.order[cut].1) == classes[0]);
        }
        best.1
    }
}

/// What the first cells lose as a class: none of them, one, two, and so on.
fn estimates<'a>(
    hood: &Hood<'_>,
    classes: [usize; 2],
    cells: impl Iterator<Item = &'a (f32, u16)>,
    ranges: &mut Ranges,
    found: &mut Vec<Estimate>,
) {
    found.clear();
    found.push(Estimate { cost: 0.0, lender: NONE });
    ranges.clear();
    let mut rows = 0;
    for (_, cell) in cells {
        ranges.include(hood.place(*cell));
        rows += hood.cells.rows[usize::from(*cell)];
        let lacking = hood.least_rows.saturating_sub(rows);
        found.push(match lacking {
            0 => Estimate { cost: rows as f32 * hood.axes.loss(&ranges.lo, &ranges.hi), lender: NONE },
            _ if hood.is_without_lenders() => Estimate { cost: f32::INFINITY, lender: NONE },
            lacking => hood.borrowing(classes, *cell, rows, lacking, ranges),
        });
    }
}
