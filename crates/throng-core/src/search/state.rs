//! The classes of a table while they are searched for better ones.
//!
//! A cell that satisfies the model alone has a *home*, a class of its own at no loss, and may lend rows. All other cells
//! move as a whole from class to class.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::lenders::Stock;
use crate::cluster::{Class, Portion};
use crate::model::Privacy;
use crate::table::{QuasiColumn, Table};

/// A class with more cells than this stays as it is: places in a neighbourhood are small numbers.
const LARGE_CLASS: usize = 1 << 14;

/// Classes that can be changed, and everything else.
#[derive(Debug)]
pub(super) struct State<'a> {
    pub(super) table: &'a Table,
    pub(super) privacy: &'a Privacy,
    /// The cells that move, each in one of the classes.
    pub(super) movable: Vec<u32>,
    pub(super) classes: Vec<Searched>,
    /// The cells that have lent rows, or can.
    pub(super) lenders: Vec<u32>,
    /// What each lender can lend besides what it has lent.
    pub(super) stocks: Vec<Stock>,
    /// What each lender could lend if everything were given back.
    lendable: Vec<Stock>,
    /// The cells that have a home, ascending.
    homes: Vec<u32>,
    /// Classes that stay as they are.
    fixed: Vec<Class>,
}

/// A class that can be changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Searched {
    /// Its cells, with all of their rows, as numbers among those that move.
    pub(super) cells: Vec<u32>,
    /// The rows that it has borrowed.
    pub(super) loans: Vec<Loan>,
    /// What it loses, once it was measured.
    pub(super) cost: f32,
}

/// Rows that one cell has lent to one class.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Loan {
    /// The number of the lender.
    pub(super) lender: u32,
    pub(super) portions: Vec<Portion>,
    /// How many rows these are.
    pub(super) rows: u32,
}

impl<'a> State<'a> {
    /// These classes of a table, which all satisfy the model.
    pub(super) fn new(table: &'a Table, privacy: &'a Privacy, classes: Vec<Class>) -> Self {
        let cells = 0..table.cell_count() as u32;
        let cell_of: Vec<u32> = cells.flat_map(|cell| std::iter::repeat_n(cell, table.groups(cell).len())).collect();
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
            classes: Vec::new(),
            lenders: Vec::new(),
            stocks: Vec::new(),
            lendable: Vec::new(),
            homes: Vec::new(),
            fixed: Vec::new(),
        };
        let mut lender_of: FxHashMap<u32, u32> = FxHashMap::default();
        for home in homes {
            let Some(cell) = home.portions.first().map(cell_of) else { continue };
            if lender_of.contains_key(&cell) {
                state.fixed.push(home);
                continue;
            }
            lender_of.insert(cell, state.lenders.len() as u32);
            state.homes.push(cell);
            state.lenders.push(cell);
            state.stocks.push(Stock::of_home(table, privacy, cell, &home.portions));
        }
        state.homes.sort_unstable();
        state.lendable.clone_from(&state.stocks);
        for class in others {
            state.add(class, &cell_of, &lender_of);
        }
        state
    }

    fn add(&mut self, class: Class, cell_of: &impl Fn(&Portion) -> u32, lender_of: &FxHashMap<u32, u32>) {
        let (mut cells, mut loans) = (Vec::new(), Vec::new());
        let mut is_whole = class.cover.is_none();
        for run in class.portions.chunk_by(|a, b| cell_of(a) == cell_of(b)) {
            let cell = cell_of(&run[0]);
            let rows = run.iter().map(|portion| portion.rows).sum();
            if let Some(lender) = lender_of.get(&cell) {
                loans.push(Loan { lender: *lender, portions: run.to_vec(), rows });
            } else {
                is_whole &= u64::from(rows) == self.table.cell_rows(cell);
                cells.push(cell);
            }
        }
        if cells.is_empty() || cells.len() > LARGE_CLASS || !is_whole {
            self.fixed.push(class);
            return;
        }
        for loan in &loans {
            self.lendable[loan.lender as usize].give_back(&loan.portions);
        }
        let first = self.movable.len() as u32;
        let numbers = first..first + cells.len() as u32;
        self.movable.extend(cells);
        self.classes.push(Searched { cells: numbers.collect(), loans, cost: f32::INFINITY });
    }

    /// Goes on with other classes of the same cells.
    pub(super) fn set_classes(&mut self, classes: Vec<Searched>) {
        self.stocks.clone_from(&self.lendable);
        for loan in classes.iter().flat_map(|class| &class.loans) {
            self.stocks[loan.lender as usize].take(&loan.portions);
        }
        self.classes = classes;
    }

    /// All classes.
    pub(super) fn into_classes(self) -> Vec<Class> {
        let Self { table, movable, classes, homes, fixed, .. } = self;
        let mut away: FxHashMap<u32, u32> = FxHashMap::default();
        let lent = classes.iter().flat_map(|class| &class.loans).flat_map(|loan| &loan.portions);
        for portion in lent.chain(fixed.iter().flat_map(|class| &class.portions)) {
            *away.entry(portion.group).or_default() += portion.rows;
        }
        let homes = homes.into_iter().map(|cell| {
            let left = |group: u32| table.group_rows(group) - away.get(&group).copied().unwrap_or(0);
            let portions = table.groups(cell).map(|group| Portion { group, rows: left(group) });
            Class::of_portions(portions.filter(|portion| portion.rows > 0).collect())
        });
        let searched = classes.iter().map(|class| {
            let cells: Vec<u32> = class.cells.iter().map(|number| movable[*number as usize]).collect();
            let borrowed = class.loans.iter().flat_map(|loan| loan.portions.iter().copied());
            Class::of_portions(Class::of_cells(table, &cells).portions.into_iter().chain(borrowed).collect())
        });
        searched.chain(homes).chain(fixed).collect()
    }

    /// Finds out what the classes lose that can be changed.
    pub(super) fn measure(&mut self) {
        let (table, movable, lenders) = (self.table, &self.movable, &self.lenders);
        let heaviest = table.quasi().iter().map(|quasi| quasi.spec.weight).fold(0.0, f64::max);
        self.classes.par_iter_mut().for_each(|class| {
            let cells = class.cells.iter().map(|cell| movable[*cell as usize]);
            let lending = class.loans.iter().map(|loan| lenders[loan.lender as usize]);
            let all: Vec<u32> = cells.clone().chain(lending).collect();
            let loss = |(column, quasi): (usize, &QuasiColumn)| {
                let positions = all.iter().map(|cell| table.positions(*cell)[column]);
                let (lo, hi) = positions.fold((u32::MAX, 0), |(lo, hi), at| (lo.min(at), hi.max(at)));
                quasi.domain.loss(lo, hi) * (quasi.spec.weight / heaviest)
            };
            let losses: f64 = table.quasi().iter().enumerate().map(loss).sum();
            let borrowed: u64 = class.loans.iter().map(|loan| u64::from(loan.rows)).sum();
            let rows = cells.map(|cell| table.cell_rows(cell)).sum::<u64>() + borrowed;
            class.cost = (rows as f64 * losses) as f32;
        });
    }

    /// What the classes lose that can be changed.
    pub(super) fn cost(&self) -> f64 {
        self.classes.iter().map(|class| f64::from(class.cost)).sum()
    }
}
