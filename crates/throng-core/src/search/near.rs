//! For every cell that moves, the cells and lenders nearby.

use rayon::prelude::*;

use super::axes::Axes;
use super::draws::Draws;
use super::kd_tree::KdTree;
use super::neighbourhoods::{Item, neighbourhoods};
use super::state::State;

/// So many cells nearby are remembered.
pub(super) const CELLS: usize = 8;

/// So many lenders nearby are remembered.
pub(super) const LENDERS: usize = 4;

/// The size of a block in which the nearest are looked for.
const BLOCK: u32 = 1 << 13;

/// The nearest are looked for among at least so many cells, and so many lenders.
const CELL_POOL: usize = 96;
const LENDER_POOL: usize = 16;

/// No cell or lender.
pub(super) const NOBODY: u32 = u32::MAX;

/// Numbers of cells and of lenders, the nearest first, and [`NOBODY`] where there are not enough.
#[derive(Debug)]
pub(super) struct Near {
    cells: Vec<[u32; CELLS]>,
    lenders: Vec<[u32; LENDERS]>,
}

impl Near {
    pub(super) fn find(state: &State<'_>, draws: &Draws) -> Self {
        let movable = state.movable.len();
        let mut places = Vec::with_capacity((movable + state.lenders.len()) * state.table.quasi().len());
        for cell in state.movable.iter().chain(&state.lenders) {
            places.extend_from_slice(state.table.positions(*cell));
        }
        let items = (0..movable + state.lenders.len()).map(|id| Item { id: id as u32, size: 1 }).collect();
        let blocks = neighbourhoods(state.table, items, &places, BLOCK, draws);
        let mut near = Self { cells: vec![[NOBODY; CELLS]; movable], lenders: vec![[NOBODY; LENDERS]; movable] };
        let found: Vec<_> = blocks.par_iter().map(|block| of_block(state, block)).collect();
        for (cell, cells, lenders) in found.into_iter().flatten() {
            near.cells[cell as usize] = cells;
            near.lenders[cell as usize] = lenders;
        }
        near
    }

    pub(super) fn cells(&self, cell: u32) -> &[u32; CELLS] {
        &self.cells[cell as usize]
    }

    pub(super) fn lenders(&self, cell: u32) -> &[u32; LENDERS] {
        &self.lenders[cell as usize]
    }
}

/// For each movable cell of a block its number, the cells and the lenders nearby.
fn of_block(state: &State<'_>, block: &[Item]) -> Vec<(u32, [u32; CELLS], [u32; LENDERS])> {
    let movable = state.movable.len() as u32;
    let (cells, lenders): (Vec<u32>, Vec<u32>) = block.iter().map(|item| item.id).partition(|id| *id < movable);
    let of_table = cells.iter().map(|id| state.movable[*id as usize]);
    let all: Vec<u32> = of_table.chain(lenders.iter().map(|id| state.lenders[(*id - movable) as usize])).collect();
    let (axes, places) = Axes::new(state.table, all.iter().copied());
    let (moving, end) = (cells.len() as u16, all.len() as u16);
    let near_cells = KdTree::new(&axes, &places, 0..moving);
    let near_lenders = KdTree::new(&axes, &places, moving..end);
    let place = |local: u16| &places[usize::from(local) * axes.width()..][..axes.width()];
    let mut found = Vec::with_capacity(cells.len());
    let mut lender_pool = Vec::new();
    near_cells.for_each_pool(CELL_POOL, |part, pool| {
        let (lo, hi) = (place(part[0]), place(part[0]));
        near_lenders.fill_pool(lo, hi, LENDER_POOL, &mut lender_pool);
        for local in part {
            let at = place(*local);
            let mut near = Nearest::<CELLS>::new();
            for other in pool.iter().filter(|other| *other != local) {
                near.offer(axes.loss_with(at, at, place(*other)), cells[usize::from(*other)]);
            }
            let mut lending = Nearest::<LENDERS>::new();
            for other in &lender_pool {
                let number = lenders[usize::from(*other - moving)] - movable;
                lending.offer(axes.loss_with(at, at, place(*other)), number);
            }
            found.push((cells[usize::from(*local)], near.found, lending.found));
        }
    });
    found
}

/// The few that lose least together with a cell, ascending.
struct Nearest<const COUNT: usize> {
    found: [u32; COUNT],
    losses: [f32; COUNT],
}

impl<const COUNT: usize> Nearest<COUNT> {
    fn new() -> Self {
        Self { found: [NOBODY; COUNT], losses: [f32::INFINITY; COUNT] }
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
