//! State of the search: the classes of a table between rounds.
//!
//! A cell that satisfies the privacy model alone has a *home*, a class of its own without loss, and may lend its
//! surplus rows. All other cells move between classes as a whole.

use rayon::prelude::*;

use super::neighbourhood::small;
use super::surplus::Surplus;
use super::{loss_of_cells, total_loss};
use crate::cluster::{Class, Portion};
use crate::model::{Privacy, Tally};
use crate::table::{QuasiColumn, Table};

/// Penalty factor on the loss of an undiverse class: one that has borrowed rows while its own rows are not diverse
/// enough. An intruder who recognizes the borrowed rows would find fewer values among the rest than required.
pub(super) const UNDIVERSE: f32 = 1.5;

/// Classes with more cells than this are not changed: local indices are 16 bits wide.
const LARGE_CLASS: usize = 1 << 14;

/// Sentinel: the cell is no lender.
const NO_LENDER: u32 = u32::MAX;

/// Number of cells whose units are counted with one tally.
const COUNTED_AT_ONCE: usize = 1 << 10;

/// The mutable classes, the lenders, and the classes that stay fixed.
#[derive(Debug)]
pub(super) struct SearchState<'a> {
    pub(super) table: &'a Table,
    pub(super) privacy: &'a Privacy,
    /// The movable cells, each in one of `classes`.
    pub(super) movable: Vec<u32>,
    /// Units that each movable cell alone contributes to each counting diversity model.
    brings: Vec<u32>,
    pub(super) classes: Vec<MutableClass>,
    /// The lenders: cells that have lent rows, or can.
    pub(super) lenders: Vec<u32>,
    /// Surplus of each lender that is not allocated.
    pub(super) stocks: Vec<Surplus>,
    /// Surplus of each lender with all allocations returned.
    lendable: Vec<Surplus>,
    /// The cells with a home, ascending.
    homes: Vec<u32>,
    /// Classes that the search does not change.
    fixed: Vec<Class>,
}

/// A class that the search may change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MutableClass {
    /// Its cells with all of their rows, as indices into `movable`.
    pub(super) cells: Vec<u32>,
    /// Its borrowed rows.
    pub(super) allocations: Vec<Allocation>,
    /// Loss, times [`UNDIVERSE`] if the class is undiverse; infinite until measured.
    pub(super) cost: f32,
    /// Whether it has borrowed rows while its own rows are not diverse enough.
    pub(super) is_undiverse: bool,
}

/// Rows that one lender has lent to one class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Allocation {
    /// Index of the lender.
    pub(super) lender: u32,
    pub(super) portions: Vec<Portion>,
    /// Total rows of `portions`.
    pub(super) rows: u32,
}

impl<'a> SearchState<'a> {
    /// Builds the state from classes of a table, all of which must satisfy the model.
    pub(super) fn new(table: &'a Table, privacy: &'a Privacy, classes: Vec<Class>) -> Self {
        let cell_of = table.cells_of_groups();
        let cell_of = |portion: &Portion| cell_of[portion.group as usize];
        let is_home = |class: &Class| {
            let first = class.portions.first().map(cell_of);
            class.cover.is_none() && class.portions.last().map(cell_of) == first
        };
        let (homes, others): (Vec<Class>, Vec<Class>) = classes.into_iter().partition(is_home);
        let mut state = Self {
            table,
            privacy,
            movable: Vec::new(),
            brings: Vec::new(),
            classes: Vec::with_capacity(others.len()),
            lenders: Vec::with_capacity(homes.len()),
            stocks: Vec::new(),
            lendable: Vec::new(),
            homes: Vec::new(),
            fixed: Vec::new(),
        };
        let mut lender_of = vec![NO_LENDER; table.cell_count()];
        let mut lending: Vec<Class> = Vec::with_capacity(homes.len());
        for home in homes {
            let Some(cell) = home.portions.first().map(cell_of) else { continue };
            let lender = &mut lender_of[cell as usize];
            if *lender != NO_LENDER {
                state.fixed.push(home);
                continue;
            }
            *lender = state.lenders.len() as u32;
            state.lenders.push(cell);
            lending.push(home);
        }
        state.homes.clone_from(&state.lenders);
        state.homes.sort_unstable();
        let can_lend = privacy.lends() && privacy.is_closed_under_adding_rows();
        let surplus = |(home, cell): (&Class, &u32)| match can_lend {
            true => Surplus::of_singleton(table, privacy, *cell, &home.portions),
            false => Surplus::none(table, *cell),
        };
        state.stocks = lending.par_iter().zip(&state.lenders).map(surplus).collect();
        state.lendable.clone_from(&state.stocks);
        let read = |class: &Class| {
            // A lender that gets rows back could violate a model that is closed under merging only.
            MutableClass::of(table, class, &cell_of, &lender_of)
                .filter(|class| can_lend || class.allocations.is_empty())
        };
        let found: Vec<Result<MutableClass, Class>> =
            others.into_par_iter().map(|class| read(&class).ok_or(class)).collect();
        for found in found {
            match found {
                Ok(searched) => state.add(searched),
                Err(class) => state.fixed.push(class),
            }
        }
        state.brings = units_brought(table, privacy, &state.movable);
        state
    }

    /// Adds a class whose `cells` are still cells of the table, and renumbers them.
    fn add(&mut self, mut class: MutableClass) {
        for allocation in &class.allocations {
            self.lendable[allocation.lender as usize].give_back(&allocation.portions);
        }
        for cell in &mut class.cells {
            self.movable.push(*cell);
            *cell = self.movable.len() as u32 - 1;
        }
        self.classes.push(class);
    }

    /// Returns the units that a movable cell alone contributes to each counting diversity model.
    pub(super) fn gain(&self, cell: u32) -> &[u32] {
        let kinds = self.brings.len() / self.movable.len();
        &self.brings[cell as usize * kinds..][..kinds]
    }

    /// Replaces the classes by others of the same cells and returns the previous ones.
    pub(super) fn set_classes(&mut self, classes: Vec<MutableClass>) -> Vec<MutableClass> {
        self.stocks.clone_from(&self.lendable);
        for allocation in classes.iter().flat_map(|class| &class.allocations) {
            self.stocks[allocation.lender as usize].take(&allocation.portions);
        }
        std::mem::replace(&mut self.classes, classes)
    }

    /// Returns all classes: mutable, homes and fixed.
    pub(super) fn into_classes(self) -> Vec<Class> {
        let Self { table, movable, classes, homes, fixed, .. } = self;
        let mut away = vec![0; table.group_count()];
        let allocated = classes.iter().flat_map(|class| &class.allocations).flat_map(|allocation| &allocation.portions);
        for portion in allocated.chain(fixed.iter().flat_map(|class| &class.portions)) {
            away[portion.group as usize] += portion.rows;
        }
        let homes = homes.into_par_iter().map(|cell| {
            let left = |group: u32| table.group_rows(group) - away[group as usize];
            let portions = table.groups(cell).map(|group| Portion { group, rows: left(group) });
            Class::of_portions(portions.filter(|portion| portion.rows > 0).collect())
        });
        let searched = classes.into_par_iter().map(|class| {
            let cells: Vec<u32> = class.cells.iter().map(|number| movable[*number as usize]).collect();
            let own = Class::of_cells(table, &cells);
            if class.allocations.is_empty() {
                return own;
            }
            let borrowed = class.allocations.iter().flat_map(|allocation| allocation.portions.iter().copied());
            Class::of_portions(own.portions.into_iter().chain(borrowed).collect())
        });
        searched.chain(homes).chain(fixed).collect()
    }

    /// Computes the cost of the mutable classes.
    pub(super) fn measure(&mut self) {
        let (table, privacy, movable, lenders) = (self.table, self.privacy, &self.movable, &self.lenders);
        let heaviest = table.quasi().iter().map(|quasi| quasi.spec.weight).fold(0.0, f64::max);
        self.classes.par_iter_mut().for_each(|class| {
            let cells = class.cells.iter().map(|cell| movable[*cell as usize]);
            let lending = class.allocations.iter().map(|allocation| lenders[allocation.lender as usize]);
            let all: Vec<u32> = cells.clone().chain(lending).collect();
            let loss = |(column, quasi): (usize, &QuasiColumn)| {
                let positions = all.iter().map(|cell| table.positions(*cell)[column]);
                let (lo, hi) = positions.fold((u32::MAX, 0), |(lo, hi), at| (lo.min(at), hi.max(at)));
                quasi.domain.loss(lo, hi) * (quasi.spec.weight / heaviest)
            };
            let losses: f64 = table.quasi().iter().enumerate().map(loss).sum();
            let borrowed: u64 = class.allocations.iter().map(|allocation| u64::from(allocation.rows)).sum();
            let rows = cells.clone().map(|cell| table.cell_rows(cell)).sum::<u64>() + borrowed;
            class.is_undiverse = !class.allocations.is_empty() && !privacy.is_diverse(&Tally::of_cells(table, cells));
            class.cost = (rows as f64 * losses) as f32 * if class.is_undiverse { UNDIVERSE } else { 1.0 };
        });
    }

    /// Returns the weighted loss of all classes, summed over their rows. Cells with a home lose nothing.
    pub(super) fn total_loss(&self) -> f64 {
        let of_class = |class: &MutableClass| {
            let own = class.cells.iter().map(|cell| self.movable[*cell as usize]);
            let lending = class.allocations.iter().map(|allocation| self.lenders[allocation.lender as usize]);
            let borrowed: u64 = class.allocations.iter().map(|allocation| u64::from(allocation.rows)).sum();
            let rows = own.clone().map(|cell| self.table.cell_rows(cell)).sum::<u64>() + borrowed;
            loss_of_cells(self.table, own.chain(lending), rows)
        };
        // Summed in order, so that the sum does not depend on threads.
        let losses: Vec<f64> = self.classes.par_iter().map(of_class).collect();
        losses.iter().sum::<f64>() + total_loss(self.table, &self.fixed)
    }

    /// Returns the cost of the mutable classes: their loss, with the penalty for undiverse ones.
    pub(super) fn cost(&self) -> f64 {
        self.classes.iter().map(|class| f64::from(class.cost)).sum()
    }

    /// Returns the loss of the mutable classes, without penalties.
    pub(super) fn loss(&self) -> f64 {
        let price = |class: &MutableClass| if class.is_undiverse { UNDIVERSE } else { 1.0 };
        self.classes.iter().map(|class| f64::from(class.cost / price(class))).sum()
    }
}

impl MutableClass {
    /// Converts a class, with cells of the table; returns `None` if it must stay fixed.
    fn of(table: &Table, class: &Class, cell_of: &impl Fn(&Portion) -> u32, lender_of: &[u32]) -> Option<Self> {
        let cells = Vec::with_capacity(class.portions.len());
        let mut searched = Self { cells, cost: f32::INFINITY, ..Self::default() };
        for run in class.portions.chunk_by(|a, b| cell_of(a) == cell_of(b)) {
            let cell = cell_of(&run[0]);
            let rows = run.iter().map(|portion| portion.rows).sum();
            match lender_of[cell as usize] {
                NO_LENDER if u64::from(rows) == table.cell_rows(cell) => searched.cells.push(cell),
                NO_LENDER => return None,
                lender => searched.allocations.push(Allocation { lender, portions: run.to_vec(), rows }),
            }
        }
        let can_change = class.cover.is_none() && (1..=LARGE_CLASS).contains(&searched.cells.len());
        can_change.then_some(searched)
    }
}

/// Returns the units that each cell alone contributes to each counting diversity model, cell by cell.
fn units_brought(table: &Table, privacy: &Privacy, cells: &[u32]) -> Vec<u32> {
    let of_chunk = |cells: &[u32]| {
        let mut tally = Tally::empty(table.tally_shape());
        let mut units = Vec::with_capacity(cells.len());
        for cell in cells {
            tally.add_cell(table, *cell);
            units.extend(privacy.counting_diversity().map(|model| small(model.achieved(&tally))));
            tally.clear();
        }
        units
    };
    cells.par_chunks(COUNTED_AT_ONCE).flat_map_iter(of_chunk).collect()
}
