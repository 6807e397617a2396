//! The sum of the highest prices among rows that are added cell by cell.

/// The `count` rows with the highest prices.
#[derive(Debug)]
pub(super) struct TopRows {
    count: u64,
    /// Prices, rows and cells, highest price first.
    entries: Vec<(f64, u64, u32)>,
    rows: u64,
    sum: f64,
}

impl TopRows {
    pub(super) fn new(count: u64) -> Self {
        Self { count, entries: Vec::new(), rows: 0, sum: 0.0 }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        (self.rows, self.sum) = (0, 0.0);
    }

    /// Adds the rows of a cell.
    pub(super) fn add(&mut self, cell: u32, price: f64, rows: u64) {
        let rows = rows.min(self.count);
        if price <= 0.0 || (self.rows == self.count && self.entries.last().is_none_or(|(least, _, _)| price <= *least))
        {
            return;
        }
        let at = self.entries.partition_point(|(known, _, _)| *known >= price);
        self.entries.insert(at, (price, rows, cell));
        self.rows += rows;
        self.sum += price * rows as f64;
        while self.rows > self.count {
            let Some((least, last, _)) = self.entries.last_mut() else { return };
            let removed = (self.rows - self.count).min(*last);
            *last -= removed;
            self.rows -= removed;
            self.sum -= *least * removed as f64;
            if *last == 0 {
                self.entries.pop();
            }
        }
    }

    /// Returns the cells of these rows, with their number.
    pub(super) fn cells(&self) -> impl Iterator<Item = (u32, u64)> {
        self.entries.iter().map(|(_, rows, cell)| (*cell, *rows))
    }

    /// Returns the sum of the prices.
    pub(super) fn sum(&self) -> f64 {
        self.sum
    }
}
