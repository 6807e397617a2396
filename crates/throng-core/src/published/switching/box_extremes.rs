//! Bounding box of a class with second extremes: its loss after exchanging one row, without visiting its other rows.

use crate::cluster::leaf_view::{DenseBox, LeafView};

/// The two lowest and the two highest positions of a class, in each column.
#[derive(Clone, Debug)]
pub(super) struct BoxExtremes {
    columns: Vec<ColumnExtremes>,
}

/// Extremes of one column, in dense positions. Equal rows have equal extremes. Without a second row, the second lowest
/// is greater than any position and the second highest is zero.
#[derive(Clone, Copy, Debug)]
struct ColumnExtremes {
    lowest: [u32; 2],
    highest: [u32; 2],
}

impl ColumnExtremes {
    fn include(&mut self, position: u32) {
        let [first, second] = self.lowest;
        self.lowest = [first.min(position), second.min(first.max(position))];
        let [first, second] = self.highest;
        self.highest = [first.max(position), second.max(first.min(position))];
    }

    fn range(&self) -> (u32, u32) {
        (self.lowest[0], self.highest[0])
    }

    /// Returns the range without one row. If there is no other, it is inverted (from the maximum to zero), so that
    /// including another row yields the range of that row.
    fn without(&self, position: u32) -> (u32, u32) {
        let rest = |edge: [u32; 2]| if edge[0] == position { edge[1] } else { edge[0] };
        (rest(self.lowest), rest(self.highest))
    }
}

impl BoxExtremes {
    /// Computes the extremes of rows, given as cells of the leaf with row counts.
    pub(super) fn of(frame: &LeafView<'_>, rows: impl Iterator<Item = (usize, u32)>) -> Self {
        let mut columns = vec![ColumnExtremes { lowest: [u32::MAX; 2], highest: [0; 2] }; frame.table().quasi().len()];
        for (cell, count) in rows {
            for (edge, position) in columns.iter_mut().zip(frame.dense(cell)) {
                (0..count.min(2)).for_each(|_| edge.include(*position));
            }
        }
        Self { columns }
    }

    /// Returns the ranges without a row of one cell.
    fn ranges_without(&self, frame: &LeafView<'_>, leaves: usize) -> impl Iterator<Item = (u32, u32)> {
        self.columns.iter().zip(frame.dense(leaves)).map(|(edge, position)| edge.without(*position))
    }

    /// Returns the bounding box without a row of one cell.
    pub(super) fn without(&self, frame: &LeafView<'_>, leaves: usize) -> DenseBox {
        DenseBox::new(self.ranges_without(frame, leaves).collect())
    }

    /// Returns the loss per row.
    pub(super) fn loss(&self, frame: &LeafView<'_>) -> f64 {
        loss(frame, self.columns.iter().map(ColumnExtremes::range))
    }

    /// Returns the loss per row without a row of one cell.
    pub(super) fn loss_without(&self, frame: &LeafView<'_>, leaves: usize) -> f64 {
        loss(frame, self.ranges_without(frame, leaves))
    }

    /// Returns the loss per row after exchanging a row of one cell for a row of another.
    pub(super) fn loss_exchanged(&self, frame: &LeafView<'_>, leaves: usize, comes: usize) -> f64 {
        let ranges = self.ranges_without(frame, leaves).zip(frame.dense(comes));
        loss(frame, ranges.map(|((lo, hi), comes)| (lo.min(*comes), hi.max(*comes))))
    }

    /// Returns the loss per row of two classes together.
    pub(super) fn loss_together(&self, other: &Self, frame: &LeafView<'_>) -> f64 {
        let ranges = self.columns.iter().zip(&other.columns).map(|(a, b)| (a.range(), b.range()));
        loss(frame, ranges.map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))))
    }
}

/// Returns the loss per row of ranges, one per column; zero without rows.
fn loss(frame: &LeafView<'_>, ranges: impl Iterator<Item = (u32, u32)>) -> f64 {
    let of_rows = ranges.enumerate().filter(|(_, (lo, hi))| lo <= hi);
    of_rows.map(|(column, (lo, hi))| f64::from(frame.column_loss(column, lo, hi))).sum()
}
