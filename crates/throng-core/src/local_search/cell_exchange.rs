//! A change of two classes: what it would gain, and how it is made.

use super::neighbourhood::{LocalClass, NONE, Neighbourhood, small};
use super::search_state::{Allocation, UNDIVERSE};
use crate::geometry::BoundingBox;

/// The cells that leave and join a class; [`NONE`] for nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellExchange {
    pub(super) leaves: u16,
    pub(super) joins: u16,
}

impl CellExchange {
    /// What the change is to the other class.
    pub(super) fn reversed(self) -> Self {
        Self { leaves: self.joins, joins: self.leaves }
    }
}

/// A gain that is yet to be found out.
const UNKNOWN: f32 = f32::NAN;

/// What a class would be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) cost: f32,
    /// Who would lend what it lacks.
    pub(super) lender: u16,
}

impl Neighbourhood<'_> {
    /// Whether nobody lends.
    pub(super) fn is_without_lenders(&self) -> bool {
        self.lenders.stocks.is_empty()
    }

    /// Whether a class would still have enough rows of its own without a cell.
    pub(super) fn has_rows_without(&self, class: usize, cell: u16) -> bool {
        let rows = self.classes[class].rows - self.cells.rows[usize::from(cell)];
        rows == 0 || rows >= self.least_rows
    }

    /// What a class would lose more with a cell, as long as it lacks nothing.
    pub(super) fn growth(&self, class: usize, cell: u16) -> f32 {
        let (local, (lo, hi)) = (&self.classes[class], self.bounds.get(class));
        let rows = local.rows + self.cells.rows[usize::from(cell)];
        let loss = self.axes.loss_with(lo, hi, self.place(cell));
        rows as f32 * loss - local.cost
    }

    /// What a class would lose after a change, as long as it is no more than `most`; what both classes have borrowed is
    /// given back before.
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
        // What it borrows makes it no smaller.
        let least = (rows + lacking) as f32 * self.axes.loss(&ranges.lo, &ranges.hi);
        if lacking == 0 || least > most {
            return Estimate { cost: least, lender: NONE };
        }
        let seed = match change.joins {
            NONE => self.classes[class].members[0],
            joins => joins,
        };
        self.borrowing([class, other], seed, rows, lacking, ranges)
    }

    /// What a class with this box and so many rows would lose, once it has borrowed what it lacks. What both classes have
    /// borrowed is given back before.
    pub(super) fn borrowing(
        &self,
        classes: [usize; 2],
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

    /// How many rows a class lacks at least, after a change.
    fn lacking_after(&mut self, class: usize, change: CellExchange, rows: u32) -> u32 {
        let of_any = self.least_rows.saturating_sub(rows);
        let kinds = self.required.len();
        let taken = |kind: usize| match change.leaves {
            NONE => 0,
            cell => self.cells.brings[usize::from(cell) * kinds + kind],
        };
        let reached = &self.classes[class].reached;
        if (0..kinds).all(|kind| reached[kind] >= self.required[kind] + taken(kind)) {
            return of_any;
        }
        self.exchange_rows(class, change);
        let deficits = self.privacy.diversity_models().map(|model| model.deficit(&self.classes[class].tally));
        let of_kind = deficits.fold(0, u64::max);
        self.exchange_rows(class, change.reversed());
        of_any.max(small(of_kind))
    }

    /// Changes the tally of a class.
    fn exchange_rows(&mut self, class: usize, change: CellExchange) {
        let tally = &mut self.classes[class].tally;
        if change.joins != NONE {
            tally.add_cell(self.table, self.cells.of_table[usize::from(change.joins)]);
        }
        if change.leaves != NONE {
            tally.remove_cell(self.table, self.cells.of_table[usize::from(change.leaves)]);
        }
    }

    /// The box of a class after a change, without borrowed rows.
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

    /// Moves cells of two classes from one to the other. False, and nothing changed, when they would lose more than
    /// `most`.
    pub(super) fn apply(&mut self, classes: [usize; 2], moving: &[u16], lenders: [u16; 2], most: f32) -> bool {
        let before = classes.map(|class| self.give_back(class));
        self.exchange(classes, moving);
        // The class that grows lacks least, and so finds rows even where there are few.
        if [1, 0].iter().all(|at| self.borrow(classes[*at], lenders[*at])) {
            classes.iter().for_each(|class| self.measure(*class));
            if self.classes[classes[0]].cost + self.classes[classes[1]].cost <= most {
                return true;
            }
        }
        classes.iter().for_each(|class| drop(self.give_back(*class)));
        self.exchange(classes, moving);
        for (class, allocations) in classes.into_iter().zip(before) {
            allocations
                .iter()
                .for_each(|allocation| self.lenders.stocks[allocation.lender as usize].take(&allocation.portions));
            self.classes[class].allocations = allocations;
            self.measure(class);
        }
        false
    }

    fn give_back(&mut self, class: usize) -> Vec<Allocation> {
        let allocations = std::mem::take(&mut self.classes[class].allocations);
        allocations
            .iter()
            .for_each(|allocation| self.lenders.stocks[allocation.lender as usize].give_back(&allocation.portions));
        allocations
    }

    fn exchange(&mut self, [first, second]: [usize; 2], moving: &[u16]) {
        for cell in moving {
            let from = self.class_of(*cell);
            let to = if from == first { second } else { first };
            let of_table = self.cells.of_table[usize::from(*cell)];
            self.classes[from].tally.remove_cell(self.table, of_table);
            self.classes[from].members.retain(|member| member != cell);
            self.classes[to].tally.add_cell(self.table, of_table);
            self.classes[to].members.push(*cell);
            self.cells.class_of[usize::from(*cell)] = to as u16;
        }
    }

    /// Borrows what a class lacks from a lender.
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

    /// Brings everything up to date that follows from the members, the tally and the loans of a class.
    pub(super) fn measure(&mut self, class: usize) {
        let mut local = std::mem::replace(&mut self.classes[class], LocalClass::nothing());
        let mut ranges = std::mem::take(&mut self.ranges);
        for (reached, model) in local.reached.iter_mut().zip(self.privacy.diversity_models()) {
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
        self.classes[class] = local;
    }

    /// What the class of a cell would gain without it, as long as it lacks nothing.
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

    /// What a class loses, borrowed rows included.
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
