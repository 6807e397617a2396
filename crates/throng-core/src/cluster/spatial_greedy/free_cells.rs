//! Cells without a class, in k-d tree order, so that near ones are close in memory.

use crate::geometry::{KdTree, LossSpace};

/// Number of cells of a leaf node of the k-d tree, except the last one.
pub(super) const PART: usize = 64;

/// Sentinel for no slot.
const NONE: u32 = u32::MAX;

/// Cells in the order of the k-d tree. The slot of a cell is its index in that order.
pub(super) struct FreeCells {
    /// Cell of each slot.
    cells: Vec<u32>,
    /// Slot of each cell.
    slots: Vec<u32>,
    stride: usize,
    places: Vec<f32>,
    /// The coordinates of `places` in blocks of [`PART`] slots, lane-major within a block.
    lanes: Vec<f32>,
    width: usize,
    is_free: Vec<bool>,
    tree: KdTree,
    /// Number of free cells of each k-d tree node.
    free: Vec<u32>,
    /// Parent of each k-d tree node.
    whole: Vec<u32>,
    /// Leaf node of each slot.
    part: Vec<u32>,
}

impl FreeCells {
    /// Builds the index of cells at these points.
    pub(super) fn new(axes: &LossSpace, cells: Vec<u32>, places: Vec<f32>) -> Self {
        let slots = vec![NONE; cells.iter().max().map_or(0, |last| *last as usize + 1)];
        Self::with_slots(axes, cells, &places, slots)
    }

    fn with_slots(axes: &LossSpace, cells: Vec<u32>, places: &[f32], mut slots: Vec<u32>) -> Self {
        let (stride, width) = (axes.stride(), axes.width());
        let tree = KdTree::new(axes, places, (0..cells.len() as u32).collect(), PART);
        let (mut whole, mut part) = (vec![0; tree.len()], vec![0; cells.len()]);
        for number in 0..tree.len() as u32 {
            match tree.halves(number) {
                Some(halves) => halves.iter().for_each(|half| whole[*half as usize] = number),
                None => part[tree.range(number)].fill(number),
            }
        }
        let mut ordered = Vec::with_capacity(places.len());
        let mut lanes = vec![0.0; cells.len().next_multiple_of(PART) * width];
        for (slot, before) in tree.order().iter().enumerate() {
            let place = &places[*before as usize * stride..][..stride];
            ordered.extend_from_slice(place);
            let of_slot = lanes[slot / PART * PART * width + slot % PART..].iter_mut().step_by(PART);
            of_slot.zip(&place[..width]).for_each(|(lane, coordinate)| *lane = *coordinate);
        }
        let cells: Vec<u32> = tree.order().iter().map(|before| cells[*before as usize]).collect();
        slots.fill(NONE);
        cells.iter().zip(0..).for_each(|(cell, slot)| slots[*cell as usize] = slot);
        let free = (0..tree.len() as u32).map(|part| tree.range(part).len() as u32).collect();
        let is_free = vec![true; cells.len()];
        Self { cells, slots, stride, places: ordered, lanes, width, is_free, tree, free, whole, part }
    }

    /// Rebuilds the index without the taken cells once at least half are taken. Slots change.
    pub(super) fn forget_taken(&mut self, axes: &LossSpace) {
        if 2 * self.left() > self.cells.len() {
            return;
        }
        let cells = self.free_slots().map(|slot| self.cell(slot)).collect();
        let places: Vec<f32> = self.free_slots().flat_map(|slot| self.place(slot)).copied().collect();
        *self = Self::with_slots(axes, cells, &places, std::mem::take(&mut self.slots));
    }

    /// Returns the number of free cells.
    pub(super) fn left(&self) -> usize {
        self.free.first().map_or(0, |free| *free as usize)
    }

    pub(super) fn is_free(&self, slot: u32) -> bool {
        self.is_free[slot as usize]
    }

    pub(super) fn free_slots(&self) -> impl Iterator<Item = u32> {
        (0..self.cells.len() as u32).filter(|slot| self.is_free(*slot))
    }

    /// Returns the slot of a cell if it is free.
    pub(super) fn free_slot(&self, cell: u32) -> Option<u32> {
        Some(self.slots[cell as usize]).filter(|slot| *slot != NONE && self.is_free(*slot))
    }

    pub(super) fn cell(&self, slot: u32) -> u32 {
        self.cells[slot as usize]
    }

    pub(super) fn place(&self, slot: u32) -> &[f32] {
        &self.places[slot as usize * self.stride..][..self.stride]
    }

    /// Takes the cell of a free slot.
    pub(super) fn take(&mut self, slot: u32) -> u32 {
        self.is_free[slot as usize] = false;
        let mut part = self.part[slot as usize] as usize;
        while part > 0 {
            self.free[part] -= 1;
            part = self.whole[part] as usize;
        }
        self.free[0] -= 1;
        self.cells[slot as usize]
    }

    /// Calls `found` with free slots near a point and their pairwise loss, until at least `looks` of them were visited
    /// or none is left.
    pub(super) fn look_around(&self, axes: &LossSpace, place: &[f32], looks: usize, mut found: impl FnMut(f32, u32)) {
        let mut visited = 0;
        let visit = |part: u32| {
            let slots = self.tree.range(part);
            let losses: [f32; PART] = axes.line_losses(place, &self.lanes[slots.start * self.width..]);
            for (slot, loss) in slots.zip(losses).filter(|(slot, _)| self.is_free[*slot]) {
                found(loss, slot as u32);
            }
            visited += self.free[part as usize] as usize;
            visited < looks
        };
        self.tree.visit_nearest(axes, place, |part| self.free[part as usize] > 0, visit);
    }
}
