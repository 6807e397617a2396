//! One round: divides all classes into neighbourhoods and anneals these in parallel.

use rayon::prelude::*;

use super::anneal::{Temperature, WINDOW, anneal};
use super::nearest_cells::NearestCells;
use super::neighbourhood::{LocalAddresses, NONE, Neighbourhood};
use super::proposal_mix::ProposalMix;
use super::rng::SplitMix64;
use super::search_state::{MutableClass, SearchState};
use super::split_into_neighbourhoods::{SizedItem, neighbourhoods};

/// Maximum number of cells and lenders of a neighbourhood, unless a single class has more. Smaller ones would occupy more
/// threads on small tables, but proposals do not cross their borders: a quarter of this size loses 2 % more.
const HOOD: u32 = 1 << 14;

/// Parameters of one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) mix: ProposalMix,
    pub(super) heat: Temperature,
}

/// Indices of the classes and lenders of one neighbourhood.
struct NeighbourhoodMembers {
    classes: Vec<u32>,
    lenders: Vec<u32>,
}

impl Round {
    /// Runs the round and returns the new classes. Without `near`, neighbourhoods find the near cells of their cells.
    pub(super) fn run(
        &self,
        state: &SearchState<'_>,
        near: Option<&NearestCells>,
        draws: &SplitMix64,
    ) -> Vec<MutableClass> {
        let hoods = members(state, draws);
        let addresses = addresses(state, &hoods);
        let work = |(number, neighbourhood): (usize, &NeighbourhoodMembers)| {
            let mut neighbourhood = Neighbourhood::new(
                state,
                near,
                &addresses,
                number as u32,
                &neighbourhood.classes,
                &neighbourhood.lenders,
            );
            anneal(&mut neighbourhood, self.mix, self.heat, draws.of_part(number as u64 + 1));
            neighbourhood.finish()
        };
        hoods.par_iter().enumerate().flat_map_iter(work).collect()
    }
}

fn members(state: &SearchState<'_>, draws: &SplitMix64) -> Vec<NeighbourhoodMembers> {
    let width = state.table.quasi().len();
    let count = state.classes.len() as u32;
    let sizes = state.classes.iter().map(|class| class.cells.len() as u32);
    let sizes = sizes.chain(std::iter::repeat_n(1, state.lenders.len()));
    let items: Vec<SizedItem> = sizes.zip(0..).map(|(size, id)| SizedItem { id, size }).collect();
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
    let split = |items: Vec<SizedItem>| {
        let (classes, lenders) = items.iter().map(|item| item.id).partition::<Vec<u32>, _>(|id| *id < count);
        NeighbourhoodMembers { classes, lenders: lenders.into_iter().map(|id| id - count).collect() }
    };
    neighbourhoods(state.table, items, &places, (HOOD, WINDOW as u32), draws).into_iter().map(split).collect()
}

fn addresses(state: &SearchState<'_>, hoods: &[NeighbourhoodMembers]) -> LocalAddresses {
    let mut addresses = LocalAddresses {
        cells: vec![(u32::MAX, NONE); state.movable.len()],
        lenders: vec![(u32::MAX, NONE); state.lenders.len()],
    };
    for (neighbourhood, number) in hoods.iter().zip(0..) {
        let cells = neighbourhood.classes.iter().flat_map(|class| &state.classes[*class as usize].cells);
        for (cell, local) in cells.zip(0..) {
            addresses.cells[*cell as usize] = (number, local);
        }
        for (lender, local) in neighbourhood.lenders.iter().zip(0..) {
            addresses.lenders[*lender as usize] = (number, local);
        }
    }
    addresses
}
