//! Grows a single class.

use super::free_cells::FreeCells;
use crate::geometry::{BoundingBox, LossSpace};
use crate::model::{Need, Privacy, Tally};
use crate::table::Table;

/// Number of cells visited near the seed, plus `LOOKS_PER_ROW` for each row that a class needs.
const LOOKS: usize = 1024;
const LOOKS_PER_ROW: usize = 32;

/// Number of the nearest of them that are candidates, plus `POOL_PER_ROW` for each row that a class needs.
const POOL: usize = 64;
const POOL_PER_ROW: usize = 16;

/// Grows classes.
pub(super) struct Grower<'a> {
    axes: &'a LossSpace,
    leaf: &'a [u32],
    table: &'a Table,
    privacy: &'a Privacy,
    /// Number of rows that a class needs, at most the number of cells.
    least_rows: usize,
}

/// A class that is valid as long as its cells are free.
pub(super) struct TentativeClass {
    pub(super) slots: Vec<u32>,
    pub(super) rows: u64,
    pub(super) ranges: BoundingBox,
}

/// Candidates of a class.
struct CandidateCells {
    slots: Vec<u32>,
    /// Lane-major coordinates.
    coordinates: Vec<f32>,
    /// Loss of the class with each candidate; infinite for those that have joined.
    losses: Vec<f32>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(axes: &'a LossSpace, leaf: &'a [u32], table: &'a Table, privacy: &'a Privacy) -> Self {
        let rows = usize::try_from(privacy.least_rows()).unwrap_or(usize::MAX);
        Self { axes, leaf, table, privacy, least_rows: rows.clamp(1, leaf.len().max(1)) }
    }

    pub(super) fn axes(&self) -> &'a LossSpace {
        self.axes
    }

    /// Number of free cells per class at which two classes seldom compete for the same cell.
    pub(super) fn apart(&self) -> usize {
        4 * self.least_rows * self.least_rows
    }

    pub(super) fn rows(&self, free_cells: &FreeCells, slot: u32) -> u64 {
        self.table.cell_rows(self.table_cell(free_cells, slot))
    }

    fn table_cell(&self, free_cells: &FreeCells, slot: u32) -> u32 {
        self.leaf[free_cells.cell(slot) as usize]
    }

    /// Grows the class of a seed; returns `None` if it can't be completed.
    pub(super) fn grow(&self, free_cells: &FreeCells, seed: u32) -> Option<TentativeClass> {
        let place = free_cells.place(seed);
        let mut ranges = BoundingBox { lo: place.to_vec(), hi: place.to_vec() };
        let mut pool = CandidateCells::new(self.axes, free_cells, self.near(free_cells, seed), &ranges);
        let mut tally = Tally::of_cell(self.table, self.table_cell(free_cells, seed));
        let (mut slots, mut is_of_all) = (vec![seed], false);
        loop {
            let nearest = match self.privacy.need(&tally) {
                Need::Nothing => return Some(TentativeClass { slots, rows: tally.rows(), ranges }),
                Need::AnyRow(_) => pool.nearest(),
                Need::DiverseRow(_) => pool.nearest_that(|slot| self.helps(&tally, self.table_cell(free_cells, slot))),
            };
            match nearest {
                Some(at) => {
                    let slot = pool.join(at, self.axes, &mut ranges, free_cells);
                    tally.add_cell(self.table, self.table_cell(free_cells, slot));
                    slots.push(slot);
                }
                // The candidates near the seed do not suffice: consider all free cells.
                None if !is_of_all => {
                    is_of_all = true;
                    let others = free_cells.free_slots().filter(|slot| !slots.contains(slot)).collect();
                    pool = CandidateCells::new(self.axes, free_cells, others, &ranges);
                }
                None => return None,
            }
        }
    }

    fn helps(&self, tally: &Tally, cell: u32) -> bool {
        self.table.groups(cell).any(|group| self.privacy.helps(tally, self.table.codes(group)))
    }

    /// Returns the free cells near a seed.
    fn near(&self, free_cells: &FreeCells, seed: u32) -> Vec<u32> {
        let count = POOL + POOL_PER_ROW * self.least_rows;
        let mut near: Vec<(f32, u32)> = Vec::with_capacity(2 * count.min(free_cells.left()) + 1);
        let mut most = f32::INFINITY;
        let looks = LOOKS + LOOKS_PER_ROW * self.least_rows;
        free_cells.look_around(self.axes, free_cells.place(seed), looks, |loss, slot| {
            if loss <= most && slot != seed {
                near.push((loss, slot));
                if near.len() > 2 * count {
                    most = keep_nearest(&mut near, count);
                }
            }
        });
        if near.len() > count {
            keep_nearest(&mut near, count);
        }
        near.into_iter().map(|(_, slot)| slot).collect()
    }
}

/// Keeps the `count` entries with the least losses, and returns the greatest of these losses.
fn keep_nearest(near: &mut Vec<(f32, u32)>, count: usize) -> f32 {
    let (_, last, _) = near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let most = last.0;
    near.truncate(count);
    most
}

impl CandidateCells {
    /// Creates candidates for a class with this bounding box.
    fn new(axes: &LossSpace, free_cells: &FreeCells, slots: Vec<u32>, ranges: &BoundingBox) -> Self {
        let mut coordinates = vec![0.0; axes.width() * slots.len()];
        for (at, slot) in slots.iter().enumerate() {
            let lanes = coordinates[at..].iter_mut().step_by(slots.len());
            lanes.zip(free_cells.place(*slot)).for_each(|(lane, coordinate)| *lane = *coordinate);
        }
        let losses = slots.iter().map(|slot| axes.loss_with(&ranges.lo, &ranges.hi, free_cells.place(*slot))).collect();
        Self { slots, coordinates, losses }
    }

    /// Returns the candidate with the least loss.
    fn nearest(&self) -> Option<usize> {
        const LANES: usize = 8;
        let (chunks, rest) = self.losses.as_chunks::<LANES>();
        let mut least = [f32::INFINITY; LANES];
        for chunk in chunks {
            least = std::array::from_fn(|lane| if chunk[lane] < least[lane] { chunk[lane] } else { least[lane] });
        }
        let least = least.iter().chain(rest).copied().fold(f32::INFINITY, f32::min);
        self.losses.iter().position(|loss| *loss == least && least < f32::INFINITY)
    }

    /// Returns the wanted candidate with the least loss.
    fn nearest_that(&self, is_wanted: impl Fn(u32) -> bool) -> Option<usize> {
        let (mut least, mut nearest) = (f32::INFINITY, None);
        for (at, loss) in self.losses.iter().enumerate() {
            if *loss < least && is_wanted(self.slots[at]) {
                (least, nearest) = (*loss, Some(at));
            }
        }
        nearest
    }

    /// Adds a candidate to the class and widens its bounding box. Returns the slot.
    fn join(&mut self, at: usize, axes: &LossSpace, ranges: &mut BoundingBox, free_cells: &FreeCells) -> u32 {
        let slot = self.slots[at];
        let place = free_cells.place(slot);
        for (lane, coordinate) in place[..axes.width()].iter().enumerate() {
            let before = (ranges.lo[lane], ranges.hi[lane]);
            let after = (before.0.min(*coordinate), before.1.max(*coordinate));
            if before != after {
                let coordinates = &self.coordinates[lane * self.slots.len()..][..self.slots.len()];
                axes.add_growth(lane, [before, after], coordinates, &mut self.losses);
            }
        }
        self.losses[at] = f32::INFINITY;
        ranges.include(place);
        slot
    }
}
