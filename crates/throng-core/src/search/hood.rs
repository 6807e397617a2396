//! A neighbourhood: some classes and the cells nearby that can lend rows, with everything at hand that a change of two
//! classes has to look at.

use super::lenders::Stock;
use super::near::{NOBODY, Near};
use super::state::{Loan, Searched, State};
use crate::model::{Privacy, Tally};
use crate::places::{Axes, Bounds, Ranges};
use crate::table::Table;

/// No cell, no lender.
pub(super) const NONE: u16 = u16::MAX;

/// A neighbourhood.
pub(super) struct Hood<'a> {
    pub(super) table: &'a Table,
    pub(super) privacy: &'a Privacy,
    pub(super) least_rows: u32,
    /// What each model of a kind asks for.
    pub(super) required: Vec<u32>,
    pub(super) axes: Axes,
    pub(super) cells: Cells,
    pub(super) lenders: Lenders,
    pub(super) classes: Vec<LocalClass>,
    /// The boxes of the classes, without borrowed rows.
    pub(super) bounds: Bounds,
    /// Memory that questions share.
    pub(super) ranges: Ranges,
}

/// The cells that move.
pub(super) struct Cells {
    /// Numbers among all cells that move.
    numbers: Vec<u32>,
    /// Cells of the table.
    pub(super) of_table: Vec<u32>,
    pub(super) places: Vec<f32>,
    pub(super) rows: Vec<u32>,
    /// What each cell alone brings to each model of a kind. It takes no more than that away when it leaves.
    pub(super) brings: Vec<u32>,
    pub(super) class_of: Vec<u16>,
    /// What its class would gain without it.
    pub(super) gains: Vec<f32>,
    near: Spans,
    near_lenders: Spans,
}

/// The cells that lend.
pub(super) struct Lenders {
    /// Numbers among all lenders.
    numbers: Vec<u32>,
    pub(super) places: Vec<f32>,
    pub(super) stocks: Vec<Stock>,
}

/// Lists of different lengths, one after the other.
#[derive(Default)]
struct Spans {
    ends: Vec<u32>,
    items: Vec<u16>,
}

/// A class of a neighbourhood.
#[derive(Clone, Debug)]
pub(super) struct LocalClass {
    pub(super) members: Vec<u16>,
    pub(super) rows: u32,
    /// Without borrowed rows, like the rows before and what is reached.
    pub(super) tally: Tally,
    /// What it has of each model of a kind.
    pub(super) reached: Vec<u32>,
    /// Lenders are numbers of this neighbourhood.
    pub(super) loans: Vec<Loan>,
    /// What it loses, borrowed rows included, and the price of being undiverse.
    pub(super) cost: f32,
    pub(super) is_undiverse: bool,
}

/// Where the cells and lenders of a state are in this round: their neighbourhood, and their number there.
pub(super) struct Addresses {
    pub(super) cells: Vec<(u32, u16)>,
    pub(super) lenders: Vec<(u32, u16)>,
}

impl<'a> Hood<'a> {
    /// The neighbourhood of this number, which has these classes and lenders.
    pub(super) fn new(
        state: &State<'a>,
        near: &Near,
        addresses: &Addresses,
        number: u32,
        classes: &[u32],
        lenders: &[u32],
    ) -> Self {
        let (table, privacy) = (state.table, state.privacy);
        let searched = || classes.iter().map(|class| &state.classes[*class as usize]);
        let numbers: Vec<u32> = searched().flat_map(|class| class.cells.iter().copied()).collect();
        let is_here = |lender: u32| addresses.lenders[lender as usize].0 == number;
        // Lenders of other neighbourhoods lend no more than they have lent already.
        let loans = searched().flat_map(|class| &class.loans).map(|loan| loan.lender);
        let mut strangers: Vec<u32> = loans.filter(|lender| !is_here(*lender)).collect();
        strangers.sort_unstable();
        strangers.dedup();
        let of_table: Vec<u32> = numbers.iter().map(|cell| state.movable[*cell as usize]).collect();
        let all_lenders: Vec<u32> = lenders.iter().chain(&strangers).copied().collect();
        let lending = all_lenders.iter().map(|lender| state.lenders[*lender as usize]);
        let all: Vec<u32> = of_table.iter().copied().chain(lending).collect();
        let (axes, mut places) = Axes::new(table, all.iter().copied());
        let lender_places = places.split_off(numbers.len() * axes.stride());
        let stock = |lender: &u32| state.stocks[*lender as usize].clone();
        let stocks = lenders.iter().map(stock).chain(strangers.iter().map(|lender| stock(lender).emptied())).collect();
        let models: Vec<_> = privacy.models_of_kind().collect();
        let mut cells = Cells {
            places,
            rows: of_table.iter().map(|cell| small(table.cell_rows(*cell))).collect(),
            brings: Vec::with_capacity(numbers.len() * models.len()),
            class_of: vec![0; numbers.len()],
            gains: vec![0.0; numbers.len()],
            near: Spans::default(),
            near_lenders: Spans::default(),
            numbers,
            of_table,
        };
        for cell in &cells.numbers {
            cells.brings.extend_from_slice(state.brings(*cell));
            cells.near.push(near.cells(*cell), &addresses.cells, number);
            cells.near_lenders.push(near.lenders(*cell), &addresses.lenders, number);
        }
        let lenders = Lenders { places: lender_places, stocks, numbers: all_lenders };
        let stride = axes.stride();
        let mut hood = Self {
            table,
            privacy,
            least_rows: small(privacy.least_rows()),
            required: models.iter().map(|model| small(model.required())).collect(),
            axes,
            cells,
            lenders,
            bounds: Bounds::new(stride),
            ranges: Ranges::new(stride),
            classes: Vec::with_capacity(classes.len() + 1),
        };
        let own = hood.lenders.numbers.len() - strangers.len();
        let local = |lender: u32| match addresses.lenders[lender as usize] {
            (hood, local) if hood == number => Some(u32::from(local)),
            _ => strangers.binary_search(&lender).ok().map(|place| (own + place) as u32),
        };
        hood.add_classes(searched(), local);
        hood
    }

    /// Adds classes, whose cells come one after the other; `local` tells the number of a lender in this neighbourhood.
    fn add_classes<'b>(&mut self, searched: impl Iterator<Item = &'b Searched>, local: impl Fn(u32) -> Option<u32>) {
        let mut next = 0;
        for searched in searched {
            let loan = |loan: &Loan| Some(Loan { lender: local(loan.lender)?, ..loan.clone() });
            let loans = searched.loans.iter().filter_map(loan).collect();
            let mut class = LocalClass { loans, ..self.empty_class() };
            for _ in &searched.cells {
                self.cells.class_of[usize::from(next)] = self.classes.len() as u16;
                class.members.push(next);
                class.tally.add_cell(self.table, self.cells.of_table[usize::from(next)]);
                next += 1;
            }
            self.push(class);
            self.measure(self.classes.len() - 1);
        }
    }

    pub(super) fn push(&mut self, class: LocalClass) {
        self.classes.push(class);
        self.bounds.push();
    }

    pub(super) fn empty_class(&self) -> LocalClass {
        LocalClass {
            members: Vec::new(),
            rows: 0,
            tally: Tally::empty(self.table.sensitive().len()),
            reached: vec![0; self.required.len()],
            loans: Vec::new(),
            cost: 0.0,
            is_undiverse: false,
        }
    }

    pub(super) fn place(&self, cell: u16) -> &[f32] {
        let stride = self.axes.stride();
        &self.cells.places[usize::from(cell) * stride..][..stride]
    }

    pub(super) fn lender_place(&self, lender: u16) -> &[f32] {
        let stride = self.axes.stride();
        &self.lenders.places[usize::from(lender) * stride..][..stride]
    }

    /// The class of a cell.
    pub(super) fn class_of(&self, cell: u16) -> usize {
        usize::from(self.cells.class_of[usize::from(cell)])
    }

    /// The cells nearby.
    pub(super) fn near(&self, cell: u16) -> &[u16] {
        self.cells.near.get(cell)
    }

    /// The lenders nearby.
    pub(super) fn near_lenders(&self, cell: u16) -> &[u16] {
        self.cells.near_lenders.get(cell)
    }

    /// The classes as they are now.
    pub(super) fn finish(self) -> Vec<Searched> {
        let Self { cells, lenders, classes, .. } = self;
        let loan = |loan: Loan| Loan { lender: lenders.numbers[loan.lender as usize], ..loan };
        let class = |class: LocalClass| Searched {
            cells: class.members.iter().map(|cell| cells.numbers[usize::from(*cell)]).collect(),
            loans: class.loans.into_iter().map(loan).collect(),
            cost: class.cost,
            is_undiverse: class.is_undiverse,
        };
        classes.into_iter().filter(|class| !class.members.is_empty()).map(class).collect()
    }
}

impl LocalClass {
    /// What stands in for a class while it is worked on.
    pub(super) fn nothing() -> Self {
        let (members, reached, loans) = (Vec::new(), Vec::new(), Vec::new());
        Self { members, rows: 0, tally: Tally::empty(0), reached, loans, cost: 0.0, is_undiverse: false }
    }
}

impl Spans {
    /// Adds a list of those that are in this neighbourhood.
    fn push(&mut self, list: &[u32], addresses: &[(u32, u16)], hood: u32) {
        let addresses = list.iter().take_while(|id| **id != NOBODY).map(|id| addresses[*id as usize]);
        self.items.extend(addresses.filter(|(of, _)| *of == hood).map(|(_, local)| local));
        self.ends.push(self.items.len() as u32);
    }

    fn get(&self, at: u16) -> &[u16] {
        let at = usize::from(at);
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start as usize..self.ends[at] as usize]
    }
}

/// Counts of rows and units that are far below this limit wherever they matter.
pub(super) fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX / 2)
}
