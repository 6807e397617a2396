//! A view of a leaf in which finding the cell nearest to a class is a tight loop.
//!
//! Only some positions of each column occur in a leaf. They are numbered densely, and for the growing class every
//! column keeps a small array: the loss of the range of the class, widened to include each of these positions. The cost
//! of a cell is then one lookup per column, for numbers and categories alike. Columns in which all cells of the leaf
//! are equal lose nothing, and are skipped.

use super::dense_ranks::dense_ranks;
use crate::loss_tables::{LossForm, LossGrid, LossLine, LossSteps, steps};
use crate::table::{QuasiColumn, Table};

/// Measure of the loss of a range of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossMeasure {
    /// NCP, the default loss.
    Ncp,
    /// Information loss [Truta 2007, Def. 9], which the algorithms of [Truta 2007] and [Sun 2008] minimize.
    InformationLoss,
}

/// Cells of a leaf with dense positions.
#[derive(Debug)]
pub(crate) struct LeafView<'a> {
    table: &'a Table,
    cells: &'a [u32],
    /// Per column the positions that occur, ascending.
    positions: Vec<Vec<u32>>,
    /// Cell-major: the dense position of each cell in each column.
    dense: Vec<u32>,
    /// Columns in which cells differ.
    varying: Vec<usize>,
    /// Cell-major: the dense positions in the varying columns, as indices into a [`WideningLosses`].
    slots: Vec<u32>,
    /// Weight of each column, relative to the largest.
    weights: Vec<f64>,
    losses: Vec<RangeLosses>,
}

/// Losses of the ranges of one column.
#[derive(Debug)]
enum RangeLosses {
    /// Weighted NCP.
    Line(LossLine),
    Grid(LossGrid),
    Steps(LossSteps),
    /// Information loss, computed by the domain.
    Asked,
}

impl<'a> LeafView<'a> {
    pub(crate) fn new(cells: &'a [u32], table: &'a Table, measure: LossMeasure) -> Self {
        let width = table.quasi().len();
        let mut dense = vec![0; cells.len() * width];
        let ranked = |column| {
            let positions = cells.iter().map(|cell| table.positions(*cell)[column]);
            dense_ranks(positions, dense.iter_mut().skip(column).step_by(width))
        };
        let positions: Vec<Vec<u32>> = (0..width).map(ranked).collect();
        let heaviest = table.quasi().iter().map(|quasi| quasi.spec.weight).fold(0.0, f64::max);
        let weights: Vec<f64> = table.quasi().iter().map(|quasi| quasi.spec.weight / heaviest).collect();
        let columns = table.quasi().iter().zip(&positions).zip(&weights);
        let losses = columns.map(|((quasi, list), weight)| RangeLosses::new(quasi, list, *weight, measure)).collect();
        let varying = (0..width).filter(|column| positions[*column].len() > 1).collect();
        let mut frame = Self { table, cells, positions, dense, varying, slots: Vec::new(), weights, losses };
        frame.slots = frame.slots();
        frame
    }

    fn slots(&self) -> Vec<u32> {
        let mut slots = Vec::with_capacity(self.cells.len() * self.varying.len());
        for cell in self.dense.chunks_exact(self.positions.len()) {
            let mut start = 0;
            for column in &self.varying {
                slots.push(start + cell[*column]);
                start += self.positions[*column].len() as u32;
            }
        }
        slots
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(crate) fn table(&self) -> &'a Table {
        self.table
    }

    /// Returns the cell of the table for a cell of this leaf.
    pub(crate) fn cell(&self, local: usize) -> u32 {
        self.cells[local]
    }

    /// Returns the positions of a column that occur, ascending.
    pub(crate) fn positions(&self, column: usize) -> &[u32] {
        &self.positions[column]
    }

    /// Returns the weight of a column, relative to the largest.
    pub(crate) fn weight(&self, column: usize) -> f64 {
        self.weights[column]
    }

    /// Returns the dense positions of a cell, one per column.
    pub(crate) fn dense(&self, local: usize) -> &[u32] {
        let width = self.positions.len();
        &self.dense[local * width..(local + 1) * width]
    }

    /// Returns the weighted loss per row of each cell with each of the `ahead` cells that follow it, cell by cell; zero
    /// where there are fewer.
    pub(crate) fn losses_of_pairs(&self, ahead: usize) -> Vec<f32> {
        let mut losses = vec![0.0; self.cells.len() * ahead];
        for column in &self.varying {
            match &self.losses[*column] {
                RangeLosses::Line(line) => self.add_pairs(*column, ahead, &mut losses, |lo, hi| line.loss(lo, hi)),
                RangeLosses::Grid(grid) => self.add_pairs(*column, ahead, &mut losses, |lo, hi| grid.loss(lo, hi)),
                RangeLosses::Steps(steps) => self.add_pairs(*column, ahead, &mut losses, |lo, hi| steps.loss(lo, hi)),
                RangeLosses::Asked => {
                    let loss = |lo, hi| self.column_loss(*column, lo as u32, hi as u32);
                    self.add_pairs(*column, ahead, &mut losses, loss);
                }
            }
        }
        losses
    }

    /// Adds the losses of one column to those of pairs of cells.
    fn add_pairs(&self, column: usize, ahead: usize, losses: &mut [f32], loss: impl Fn(usize, usize) -> f32) {
        let width = self.positions.len();
        let ranks: Vec<usize> = self.dense.iter().skip(column).step_by(width).map(|rank| *rank as usize).collect();
        for (local, losses) in losses.chunks_exact_mut(ahead).enumerate() {
            let (rank, following) = (ranks[local], &ranks[local + 1..]);
            for (sum, other) in losses.iter_mut().zip(following) {
                *sum += loss(rank.min(*other), rank.max(*other));
            }
        }
    }

    /// Returns the weighted loss per row of one column for a range of dense positions.
    pub(crate) fn column_loss(&self, column: usize, lo: u32, hi: u32) -> f32 {
        match &self.losses[column] {
            RangeLosses::Line(line) => line.loss(lo as usize, hi as usize),
            RangeLosses::Grid(grid) => grid.loss(lo as usize, hi as usize),
            RangeLosses::Steps(steps) => steps.loss(lo as usize, hi as usize),
            RangeLosses::Asked => {
                let list = &self.positions[column];
                let domain = &self.table.quasi()[column].domain;
                (domain.information_loss(list[lo as usize], list[hi as usize]) * self.weights[column]) as f32
            }
        }
    }
}

impl RangeLosses {
    fn new(quasi: &QuasiColumn, positions: &[u32], weight: f64, measure: LossMeasure) -> Self {
        match LossForm::of(quasi, positions.len()) {
            _ if measure == LossMeasure::InformationLoss => Self::Asked,
            LossForm::Line => Self::Line(LossLine::new(quasi, positions, weight)),
            LossForm::Grid => Self::Grid(LossGrid::new(&steps(quasi, positions, weight))),
            LossForm::Steps => Self::Steps(LossSteps::new(steps(quasi, positions, weight))),
        }
    }
}

/// Bounding box of a class in dense positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DenseBox {
    ranges: Vec<(u32, u32)>,
}

impl DenseBox {
    pub(crate) fn of(frame: &LeafView<'_>, local: usize) -> Self {
        Self { ranges: frame.dense(local).iter().map(|position| (*position, *position)).collect() }
    }

    pub(crate) fn new(ranges: Vec<(u32, u32)>) -> Self {
        Self { ranges }
    }

    /// Returns the box at the lowest positions, for a [`WideningLosses`] that is to be moved to a class.
    pub(crate) fn origin(frame: &LeafView<'_>) -> Self {
        Self { ranges: vec![(0, 0); frame.positions.len()] }
    }

    pub(crate) fn include(&mut self, frame: &LeafView<'_>, local: usize) {
        for ((lo, hi), position) in self.ranges.iter_mut().zip(frame.dense(local)) {
            *lo = (*lo).min(*position);
            *hi = (*hi).max(*position);
        }
    }

    /// Returns the weighted loss per row.
    pub(crate) fn loss(&self, frame: &LeafView<'_>) -> f32 {
        let ranges = self.ranges.iter().enumerate();
        ranges.map(|(column, (lo, hi))| frame.column_loss(column, *lo, *hi)).sum()
    }

    /// Returns the weighted loss per row after adding a cell.
    pub(crate) fn loss_with(&self, frame: &LeafView<'_>, local: usize) -> f32 {
        let ranges = self.ranges.iter().zip(frame.dense(local)).enumerate();
        ranges.map(|(column, ((lo, hi), at))| frame.column_loss(column, *lo.min(at), *hi.max(at))).sum()
    }
}

/// A bounding box with its loss after widening to each dense position of each varying column.
#[derive(Debug)]
pub(crate) struct WideningLosses {
    span: DenseBox,
    /// Column-major.
    widened: Vec<f32>,
}

impl WideningLosses {
    pub(crate) fn new(frame: &LeafView<'_>, span: DenseBox) -> Self {
        let widened = vec![0.0; frame.varying.iter().map(|column| frame.positions[*column].len()).sum()];
        let mut reach = Self { span, widened };
        let mut start = 0;
        for column in &frame.varying {
            start = reach.fill(frame, *column, start);
        }
        reach
    }

    /// Restarts at another cell, reusing the buffer.
    pub(crate) fn restart(&mut self, frame: &LeafView<'_>, local: usize) {
        self.move_by(frame, |column, _| {
            let at = frame.dense(local)[column];
            (at, at)
        });
    }

    pub(crate) fn include(&mut self, frame: &LeafView<'_>, local: usize) {
        self.move_by(frame, |column, (lo, hi)| {
            let at = frame.dense(local)[column];
            (lo.min(at), hi.max(at))
        });
    }

    pub(crate) fn span(&self) -> &DenseBox {
        &self.span
    }

    /// Returns the weighted loss per row after adding a cell.
    pub(crate) fn loss_with(&self, frame: &LeafView<'_>, local: usize) -> f32 {
        let width = frame.varying.len();
        frame.slots[local * width..][..width].iter().map(|slot| self.widened[*slot as usize]).sum()
    }

    /// Computes [`WideningLosses::loss_with`] for many cells.
    pub(crate) fn losses_with(&self, frame: &LeafView<'_>, cells: &[usize], losses: &mut Vec<f32>) {
        losses.clear();
        match frame.varying.len() {
            // Loops of constant width are unrolled.
            2 => losses.extend(self.unrolled::<2>(frame, cells)),
            3 => losses.extend(self.unrolled::<3>(frame, cells)),
            4 => losses.extend(self.unrolled::<4>(frame, cells)),
            5 => losses.extend(self.unrolled::<5>(frame, cells)),
            6 => losses.extend(self.unrolled::<6>(frame, cells)),
            _ => losses.extend(cells.iter().map(|local| self.loss_with(frame, *local))),
        }
    }

    fn unrolled<const WIDTH: usize>(&self, frame: &LeafView<'_>, cells: &[usize]) -> impl Iterator<Item = f32> {
        let (slots, _) = frame.slots.as_chunks::<WIDTH>();
        cells.iter().map(move |local| slots[*local].map(|slot| self.widened[slot as usize]).into_iter().sum())
    }

    /// Moves to another box, reusing the buffer.
    pub(crate) fn move_to(&mut self, frame: &LeafView<'_>, span: &DenseBox) {
        self.move_by(frame, |column, _| span.ranges[column]);
    }

    /// Sets the range of each varying column, and recomputes the losses of those that change.
    fn move_by(&mut self, frame: &LeafView<'_>, range: impl Fn(usize, (u32, u32)) -> (u32, u32)) {
        let mut start = 0;
        for column in &frame.varying {
            let known = &mut self.span.ranges[*column];
            let next = range(*column, *known);
            if *known == next {
                start += frame.positions[*column].len();
            } else {
                *known = next;
                start = self.fill(frame, *column, start);
            }
        }
    }

    /// Fills the slots of a column from `start` on, and returns their end.
    fn fill(&mut self, frame: &LeafView<'_>, column: usize, start: usize) -> usize {
        let (lo, hi) = self.span.ranges[column];
        let (low, high) = (lo as usize, hi as usize);
        let end = start + frame.positions[column].len();
        let slots = &mut self.widened[start..end];
        match &frame.losses[column] {
            RangeLosses::Line(line) => fill(slots, low, high, |lo, hi| line.loss(lo, hi)),
            RangeLosses::Grid(grid) => fill(slots, low, high, |lo, hi| grid.loss(lo, hi)),
            RangeLosses::Steps(steps) => fill(slots, low, high, |lo, hi| steps.loss(lo, hi)),
            RangeLosses::Asked => fill(slots, low, high, |lo, hi| frame.column_loss(column, lo as u32, hi as u32)),
        }
        end
    }
}

/// Computes the loss of a range widened to each position. An empty range has `lo > hi`.
fn fill(slots: &mut [f32], lo: usize, hi: usize, loss: impl Fn(usize, usize) -> f32) {
    if lo > hi {
        return slots.iter_mut().enumerate().for_each(|(position, slot)| *slot = loss(position, position));
    }
    let (up_to, above) = slots.split_at_mut(hi + 1);
    let (below, inside) = up_to.split_at_mut(lo);
    below.iter_mut().enumerate().for_each(|(position, slot)| *slot = loss(position, hi));
    inside.fill(loss(lo, hi));
    above.iter_mut().enumerate().for_each(|(beyond, slot)| *slot = loss(lo, hi + 1 + beyond));
}
