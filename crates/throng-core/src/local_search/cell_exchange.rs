//! Estimates changes of two classes, and applies changes of several.

use super::neighbourhood::{LocalClass, NONE, Neighbourhood, small};
use super::search_state::{Allocation, UNDIVERSE};
use super::split::MAX_CLASSES;
use crate::geometry::BoundingBox;

/// The cells that leave and join a class; [`NONE`] if there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellExchange {
    pub(super) leaves: u16,
    pub(super) joins: u16,
}

impl CellExchange {
    /// Returns the change as seen from the other class.
    pub(super) fn reversed(self) -> Self {
        Self { leaves: self.joins, joins: self.leaves }
    }
}

/// Sentinel for a gain that is not cached.
const UNKNOWN: f32 = f32::NAN;

/// Cost of a class after a change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) cost: f32,
    /// Lender of the missing rows; [`NONE`] if none are missing.
    pub(super) lender: u16,
}

impl Neighbourhood<'_> {
    /// Whether the neighbourhood has no lender.
    pub(super) fn is_without_lenders(&self) -> bool {
        self.lenders.stocks.is_empty()
    }

    /// Whether a class is empty or still has `least_rows` rows of its own without a cell.
    pub(super) fn has_rows_without(&self, class: usize, cell: u16) -> bool {
        let rows = self.classes[class].rows - self.cells.rows[usize::from(cell)];
        rows == 0 || rows >= self.least_rows
    }

    /// Returns how much the cost of a class grows by a cell, ignoring missing rows.
    pub(super) fn growth(&self, class: usize, cell: u16) -> f32 {
        let (local, (lo, hi)) = (&self.classes[class], self.bounds.get(class));
        let rows = local.rows + self.cells.rows[usize::from(cell)];
        let loss = self.axes.loss_with(lo, hi, self.place(cell));
        rows as f32 * loss - local.cost
    }

    /// Estimates the cost of a class after a change, assuming that both classes have returned their borrowed rows. An
    /// estimate above `most` may be too low.
    pub(super) fn estimate(
        &mut self,
        class: usize,
        change: CellExchange,
        other: usize,
        most: f32,
        ranges: &mut BoundingBox,
    ) -> Estimate {
        let rows = self.rows_after(class, change);
        if rows == 0 {
            return Estimate { cost: 0.0, lender: NONE };
        }
        let lacking = self.lacking_after(class, change, rows);
        if lacking > 0 && self.is_without_lenders() {
            return Estimate { cost: f32::INFINITY, lender: NONE };
        }
        self.fill_ranges(class, change, ranges);
        // Lower bound: borrowed rows never shrink the bounding box.
        let least = (rows + lacking) as f32 * self.axes.loss(&ranges.lo, &ranges.hi);
        if lacking == 0 || least > most {
            return Estimate { cost: least, lender: NONE };
        }
        let seed = match change.joins {
            NONE => self.classes[class].members[0],
            joins => joins,
        };
        self.borrowing(&[class, other], seed, rows, lacking, ranges)
    }

    /// Returns the least cost of a class with `rows` rows in the box `ranges` once it has borrowed `lacking` rows from
    /// one lender near `seed`. Rows that `classes` have borrowed count as returned.
    pub(super) fn borrowing(
        &self,
        classes: &[usize],
        seed: u16,
        rows: u32,
        lacking: u32,
        ranges: &BoundingBox,
    ) -> Estimate {
        let allocations = || classes.iter().flat_map(|class| &self.classes[*class].allocations);
        let borrowed = |lender: u16| -> u32 {
            allocations()
                .filter(|allocation| allocation.lender == u32::from(lender))
                .map(|allocation| allocation.rows)
                .sum()
        };
        let mut best = Estimate { cost: f32::INFINITY, lender: NONE };
        let known = allocations().map(|allocation| allocation.lender as u16);
        for lender in known.chain(self.near_lenders(seed).iter().copied()) {
            if self.lenders.stocks[usize::from(lender)].rows() + borrowed(lender) < lacking {
                continue;
            }
            let loss = self.axes.loss_with(&ranges.lo, &ranges.hi, self.lender_place(lender));
            let cost = (rows + lacking) as f32 * loss;
            if cost < best.cost {
                best = Estimate { cost, lender };
            }
        }
        best
    }

    fn rows_after(&self, class: usize, change: CellExchange) -> u32 {
        let of = |cell: u16| if cell == NONE { 0 } else { self.cells.rows[usize::from(cell)] };
        self.classes[class].rows + of(change.joins) - of(change.leaves)
    }

    /// Returns a lower bound of the rows that a class lacks after a change.
    fn lacking_after(&mut self, class: usize, change: CellExchange, rows: u32) -> u32 {
        let of_any = self.least_rows.saturating_sub(rows);
        let kinds = self.required.len();
        let taken = |kind: usize| match change.leaves {
            NONE => 0,
            cell => self.cells.brings[usize::from(cell) * kinds + kind],
        };
        let reached = &self.classes[class].reached;
        let is_reached = |kind: usize| reached[kind] >= self.required[kind] + taken(kind);
        if !self.has_frequency_models && (0..kinds).all(is_reached) {
            return of_any;
        }
        self.exchange_rows(class, change);
        let deficits = self.privacy.diversity_models().map(|model| model.deficit(&self.classes[class].tally));
        let of_kind = deficits.fold(0, u64::max);
        self.exchange_rows(class, change.reversed());
        of_any.max(small(of_kind))
    }

    /// Applies a change to the tally of a class.
    fn exchange_rows(&mut self, class: usize, change: CellExchange) {
        let tally = &mut self.classes[class].tally;
        if change.joins != NONE {
            tally.add_cell(self.table, self.cells.of_table[usize::from(change.joins)]);
        }
        if change.leaves != NONE {
            tally.remove_cell(self.table, self.cells.of_table[usize::from(change.leaves)]);
        }
    }

    /// Writes the bounding box of a class after a change to `ranges`, without borrowed rows.
    pub(super) fn fill_ranges(&self, class: usize, change: CellExchange, ranges: &mut BoundingBox) {
        if change.leaves == NONE {
            let (lo, hi) = self.bounds.get(class);
            ranges.lo.copy_from_slice(lo);
            ranges.hi.copy_from_slice(hi);
        } else {
            self.bounds.without(class, self.place(change.leaves), ranges);
        }
        if change.joins != NONE {
            ranges.include(self.place(change.joins));
        }
    }

    /// Moves each of some cells to one of `classes`, which have all of them. Returns false and rolls back if the classes
    /// would cost more than `most` or violate the privacy model.
    pub(super) fn apply(&mut self, classes: &[usize], moving: &[(u16, usize)], lenders: &[u16], most: f32) -> bool {
        let before: [Vec<Allocation>; MAX_CLASSES] =
            std::array::from_fn(|at| classes.get(at).map_or_else(Vec::new, |class| self.give_back(*class)));
        let mut origins = std::mem::take(&mut self.origins);
        origins.clear();
        origins.extend(moving.iter().map(|(cell, _)| (*cell, self.class_of(*cell))));
        self.relocate(moving);
        // The last class is served first: in a plain move it is the one that grows and lacks least.
        let is_served = classes.iter().zip(lenders).rev().all(|(class, lender)| self.borrow(*class, *lender));
        let is_applied = is_served && {
            classes.iter().for_each(|class| self.measure(*class));
            classes.iter().map(|class| self.classes[*class].cost).sum::<f32>() <= most
        };
        if !is_applied {
            classes.iter().for_each(|class| drop(self.give_back(*class)));
            self.relocate(&origins);
            for (class, allocations) in classes.iter().zip(before) {
                allocations
                    .iter()
                    .for_each(|allocation| self.lenders.stocks[allocation.lender as usize].take(&allocation.portions));
                self.classes[*class].allocations = allocations;
                self.measure(*class);
            }
        }
        self.origins = origins;
        is_applied
    }

    fn give_back(&mut self, class: usize) -> Vec<Allocation> {
        let allocations = std::mem::take(&mut self.classes[class].allocations);
        allocations
            .iter()
            .for_each(|allocation| self.lenders.stocks[allocation.lender as usize].give_back(&allocation.portions));
        allocations
    }

    fn relocate(&mut self, moving: &[(u16, usize)]) {
        for (cell, to) in moving {
            let from = self.class_of(*cell);
            let of_table = self.cells.of_table[usize::from(*cell)];
            self.classes[from].tally.remove_cell(self.table, of_table);
            self.classes[from].members.retain(|member| member != cell);
            self.classes[*to].tally.add_cell(self.table, of_table);
            self.classes[*to].members.push(*cell);
            self.cells.class_of[usize::from(*cell)] = *to as u16;
        }
    }

    /// Borrows the missing rows of a class from a lender; returns false if the privacy model still is not satisfied.
    fn borrow(&mut self, class: usize, lender: u16) -> bool {
        let local = &mut self.classes[class];
        if local.members.is_empty() {
            return true;
        }
        if lender == NONE {
            return self.privacy.is_satisfied(&local.tally);
        }
        let surplus = &mut self.lenders.stocks[usize::from(lender)];
        let Some(portions) = surplus.allocate(self.table, self.privacy, &local.tally) else { return false };
        let rows = portions.iter().map(|portion| portion.rows).sum();
        local.allocations.push(Allocation { lender: u32::from(lender), portions, rows });
        true
    }

    /// Recomputes everything derived from the members, tally and allocations of a class.
    pub(super) fn measure(&mut self, class: usize) {
        let mut local = std::mem::replace(&mut self.classes[class], LocalClass::nothing());
        let mut ranges = std::mem::take(&mut self.ranges);
        for (reached, model) in local.reached.iter_mut().zip(self.privacy.counting_diversity()) {
            *reached = small(model.achieved(&local.tally));
        }
        local.rows = local.members.iter().map(|cell| self.cells.rows[usize::from(*cell)]).sum();
        let (stride, places) = (self.axes.stride(), &self.cells.places);
        let place = |cell: &u16| &places[usize::from(*cell) * stride..][..stride];
        self.bounds.set(class, local.members.iter().map(place));
        local.is_undiverse = !local.allocations.is_empty()
            && local.reached.iter().zip(&self.required).any(|(reached, required)| reached < required);
        local.cost = self.cost(class, &local, &mut ranges);
        local.members.iter().for_each(|cell| self.cells.gains[usize::from(*cell)] = UNKNOWN);
        self.ranges = ranges;
        self.note_emptiness(class, local.members.is_empty());
        self.classes[class] = local;
    }

    /// Returns how much the class of a cell saves without it, ignoring missing rows. Cached.
    pub(super) fn gain(&mut self, cell: u16, ranges: &mut BoundingBox) -> f32 {
        let known = self.cells.gains[usize::from(cell)];
        if !known.is_nan() {
            return known;
        }
        let class = self.class_of(cell);
        let rows = self.classes[class].rows - self.cells.rows[usize::from(cell)];
        self.bounds.without(class, self.place(cell), ranges);
        let left = if rows == 0 { 0.0 } else { rows as f32 * self.axes.loss(&ranges.lo, &ranges.hi) };
        let gain = self.classes[class].cost - left;
        self.cells.gains[usize::from(cell)] = gain;
        gain
    }

    /// Returns the cost of a class, borrowed rows and the penalty for undiverse classes included.
    fn cost(&self, class: usize, local: &LocalClass, ranges: &mut BoundingBox) -> f32 {
        if local.members.is_empty() {
            return 0.0;
        }
        let (lo, hi) = self.bounds.get(class);
        if local.allocations.is_empty() {
            return local.rows as f32 * self.axes.loss(lo, hi);
        }
        ranges.lo.copy_from_slice(lo);
        ranges.hi.copy_from_slice(hi);
        local.allocations.iter().for_each(|allocation| ranges.include(self.lender_place(allocation.lender as u16)));
        let borrowed: u32 = local.allocations.iter().map(|allocation| allocation.rows).sum();
        let price = if local.is_undiverse { UNDIVERSE } else { 1.0 };
        (local.rows + borrowed) as f32 * self.axes.loss(&ranges.lo, &ranges.hi) * price
    }
}
