//! Approximate nearest neighbours: for every movable cell the near cells and near lenders.
//!
//! Where cells get a single proposal each, every neighbourhood finds its own (`local_near.rs`).

use rayon::prelude::*;

use super::rng::SplitMix64;
use super::search_state::SearchState;
use super::split_into_neighbourhoods::{SizedItem, neighbourhoods};
use crate::geometry::{KdTree, LossSpace};

/// Number of near cells kept per cell.
pub(super) const CELLS: usize = 8;

/// Number of near lenders kept per cell.
pub(super) const LENDERS: usize = 4;

/// Maximum number of cells and lenders per block. Neighbours are searched within a block.
const BLOCK: u32 = 1 << 14;

/// Leaf size of the k-d trees. The cells of a leaf share a candidate pool around their middle cell.
const PART: usize = 4;

/// Size of the candidate pool per proposal that a cell gets, and its maximum; the pool of lenders is a third as large.
const POOL_PER_PROPOSAL: u32 = 8;
const MAX_POOL: u32 = 128;

/// Sentinel: no cell or lender.
pub(super) const NO_CELL: u32 = u32::MAX;

/// Ids of near cells and lenders, nearest first, padded with [`NO_CELL`].
#[derive(Debug)]
pub(super) struct NearestCells {
    blocks: Vec<Vec<NearestOfCell>>,
    /// For each cell its block and its index there.
    found: Vec<(u32, u32)>,
}

impl NearestCells {
    /// Finds the neighbours of every movable cell; more proposals per cell make the search more thorough.
    pub(super) fn find(state: &SearchState<'_>, proposals: u32, draws: &SplitMix64) -> Self {
        let pool = POOL_PER_PROPOSAL.saturating_mul(proposals).min(MAX_POOL) as usize;
        let movable = state.movable.len();
        let width = state.table.quasi().len();
        let mut places = vec![0; (movable + state.lenders.len()) * width];
        let cells = state.movable.par_iter().chain(&state.lenders);
        let copy = |(place, cell): (&mut [u32], &u32)| place.copy_from_slice(state.table.positions(*cell));
        places.par_chunks_exact_mut(width).zip(cells).with_min_len(1 << 12).for_each(copy);
        let items = (0..movable + state.lenders.len()).map(|id| SizedItem { id: id as u32, size: 1 }).collect();
        let blocks = neighbourhoods(state.table, items, &places, (BLOCK, BLOCK), draws);
        let blocks: Vec<Vec<NearestOfCell>> = blocks.par_iter().map(|block| of_block(state, block, pool)).collect();
        let mut found = vec![(0, 0); movable];
        for (number, block) in blocks.iter().enumerate() {
            for (at, near) in block.iter().enumerate() {
                found[near.cell as usize] = (number as u32, at as u32);
            }
        }
        Self { blocks, found }
    }

    pub(super) fn cells(&self, cell: u32) -> &[u32; CELLS] {
        &self.of(cell).cells
    }

    pub(super) fn lenders(&self, cell: u32) -> &[u32; LENDERS] {
        &self.of(cell).lenders
    }

    fn of(&self, cell: u32) -> &NearestOfCell {
        let (block, at) = self.found[cell as usize];
        &self.blocks[block as usize][at as usize]
    }
}

/// Neighbours of one cell.
#[derive(Debug)]
struct NearestOfCell {
    cell: u32,
    cells: [u32; CELLS],
    lenders: [u32; LENDERS],
}

/// Returns the neighbours of each movable cell of a block.
fn of_block(state: &SearchState<'_>, block: &[SizedItem], pool_size: usize) -> Vec<NearestOfCell> {
    let movable = state.movable.len() as u32;
    let (cells, lenders): (Vec<u32>, Vec<u32>) = block.iter().map(|item| item.id).partition(|id| *id < movable);
    let of_table = cells.iter().map(|id| state.movable[*id as usize]);
    let all: Vec<u32> = of_table.chain(lenders.iter().map(|id| state.lenders[(*id - movable) as usize])).collect();
    let (axes, places) = LossSpace::new(state.table, all.iter().copied());
    let (moving, end) = (cells.len() as u32, all.len() as u32);
    let near_cells = KdTree::new(&axes, &places, (0..moving).collect(), PART);
    let near_lenders = KdTree::new(&axes, &places, (moving..end).collect(), PART);
    let place = |local: u32| &places[local as usize * axes.stride()..][..axes.stride()];
    let fill_pool = |tree: &KdTree, at: &[f32], enough: usize, pool: &mut Vec<u32>| {
        tree.visit_nearest(
            &axes,
            at,
            |_| true,
            |part| {
                pool.extend_from_slice(tree.places(part));
                pool.len() < enough
            },
        );
    };
    let of_leaf = |leaf: &u32| {
        let part = near_cells.places(*leaf);
        let middle = place(part[part.len() / 2]);
        let (mut pool, mut lender_pool) = (Vec::with_capacity(2 * pool_size), Vec::with_capacity(pool_size));
        fill_pool(&near_cells, middle, pool_size, &mut pool);
        fill_pool(&near_lenders, middle, (pool_size / 3).max(LENDERS), &mut lender_pool);
        let of_cell = |local: &u32| {
            let at = place(*local);
            let others = pool.iter().filter(|other| *other != local).map(|other| (other, cells[*other as usize]));
            let mut near = NearestList::<CELLS>::new();
            match pool.len() <= CELLS {
                // The pool is no larger than the list: keep all, unsorted.
                true => near.found.iter_mut().zip(others).for_each(|(slot, (_, number))| *slot = number),
                false => others.for_each(|(other, number)| near.offer(axes.loss_of_pair(at, place(*other)), number)),
            }
            let mut lending = NearestList::<LENDERS>::new();
            for other in &lender_pool {
                let number = lenders[(*other - moving) as usize] - movable;
                lending.offer(axes.loss_of_pair(at, place(*other)), number);
            }
            NearestOfCell { cell: cells[*local as usize], cells: near.found, lenders: lending.found }
        };
        part.iter().map(of_cell).collect::<Vec<NearestOfCell>>()
    };
    near_cells.leaves().par_iter().with_min_len(16).flat_map_iter(of_leaf).collect()
}

/// The `COUNT` candidates with the least pairwise loss, ascending.
struct NearestList<const COUNT: usize> {
    found: [u32; COUNT],
    losses: [f32; COUNT],
}

impl<const COUNT: usize> NearestList<COUNT> {
    fn new() -> Self {
        Self { found: [NO_CELL; COUNT], losses: [f32::INFINITY; COUNT] }
    }

    fn offer(&mut self, loss: f32, number: u32) {
        if loss >= self.losses[COUNT - 1] {
            return;
        }
        let mut at = COUNT - 1;
        while at > 0 && self.losses[at - 1] > loss {
            (self.losses[at], self.found[at]) = (self.losses[at - 1], self.found[at - 1]);
            at -= 1;
        }
        (self.losses[at], self.found[at]) = (loss, number);
    }
}
