//! A round: every class is in one neighbourhood, and every neighbourhood is annealed.

use rayon::prelude::*;

use super::anneal::{Heat, anneal};
use super::draws::Draws;
use super::hood::{Addresses, Hood, NONE};
use super::near::Near;
use super::neighbourhoods::{Item, neighbourhoods};
use super::state::{Searched, State};

/// How many cells and lenders a neighbourhood has at most, unless a single class has more.
const HOOD: u32 = 1 << 12;

/// One round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// How many changes are proposed per cell.
    pub(super) proposals: u32,
    pub(super) heat: Heat,
}

/// The classes and lenders of one neighbourhood.
struct Members {
    classes: Vec<u32>,
    lenders: Vec<u32>,
}

impl Round {
    /// The classes after the round.
    pub(super) fn run(&self, state: &State<'_>, near: &Near, draws: &Draws) -> Vec<Searched> {
        let hoods = members(state, draws);
        let addresses = addresses(state, &hoods);
        let work = |(number, hood): (usize, &Members)| {
            let mut hood = Hood::new(state, near, &addresses, number as u32, &hood.classes, &hood.lenders);
            anneal(&mut hood, self.proposals, self.heat, draws.of_part(number as u64 + 1));
            hood.finish()
        };
        hoods.par_iter().enumerate().flat_map_iter(work).collect()
    }
}

fn members(state: &State<'_>, draws: &Draws) -> Vec<Members> {
    let width = state.table.quasi().len();
    let count = state.classes.len() as u32;
    let sizes = state.classes.iter().map(|class| class.cells.len() as u32);
    let sizes = sizes.chain(std::iter::repeat_n(1, state.lenders.len()));
    let items: Vec<Item> = sizes.zip(0..).map(|(size, id)| Item { id, size }).collect();
    let mut places = vec![0; width * state.classes.len()];
    places.par_chunks_mut(width).zip(&state.classes).for_each(|(place, class)| {
        for (column, at) in place.iter_mut().enumerate() {
            let cells = class.cells.iter().map(|cell| state.movable[*cell as usize]);
            let positions = cells.map(|cell| state.table.positions(cell)[column]);
            let (lo, hi) = positions.fold((u32::MAX, 0), |(lo, hi), at| (lo.min(at), hi.max(at)));
            *at = lo + (hi - lo) / 2;
        }
    });
    places.extend(state.lenders.iter().flat_map(|lender| state.table.positions(*lender)));
    let split = |items: Vec<Item>| {
        let (classes, lenders) = items.iter().map(|item| item.id).partition::<Vec<u32>, _>(|id| *id < count);
        Members { classes, lenders: lenders.into_iter().map(|id| id - count).collect() }
    };
    neighbourhoods(state.table, items, &places, HOOD, draws).into_iter().map(split).collect()
}

fn addresses(state: &State<'_>, hoods: &[Members]) -> Addresses {
    let mut addresses = Addresses {
        cells: vec![(u32::MAX, NONE); state.movable.len()],
        lenders: vec![(u32::MAX, NONE); state.lenders.len()],
    };
    for (hood, number) in hoods.iter().zip(0..) {
        let cells = hood.classes.iter().flat_map(|class| &state.classes[*class as usize].cells);
        for (cell, local) in cells.zip(0..) {
            addresses.cells[*cell as usize] = (number, local);
        }
        for (lender, local) in hood.lenders.iter().zip(0..) {
            addresses.lenders[*lender as usize] = (number, local);
        }
    }
    addresses
}
