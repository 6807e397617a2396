//! Greedy clustering of rows: k-member [Byun 2007] with p, the baseline for clustering of cells.
//!
//! A class starts at the row furthest from the previous seed and repeatedly takes the row that widens its box least,
//! until it has k rows and p distinct values. Once the missing rows must all bring new sensitive values, only rows that
//! do are taken. Leftover rows join the class where the loss grows least.
//!
//! The cost of each row is kept in one list, computed column by column in loops that vectorize, and recomputed only
//! when the box has grown. The original algorithm evaluates every remaining row at every step: [`Pace::Literal`] does
//! so, and forms the same classes.

use throng_core::model::{Need, Tally};

use crate::rows::{Column, Range, RowTable};

/// How the nearest row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Evaluates every remaining row at every step.
    Literal,
    /// Keeps a list of costs.
    Quick,
}

/// A class under construction.
struct Growing {
    span: Vec<Range>,
    rows: Vec<u32>,
}

/// Unassigned rows with their values, in columnar layout.
struct Pool {
    rows: Vec<u32>,
    values: Vec<Values>,
    /// Loss per row of the growing class with each of them.
    costs: Vec<f32>,
}

enum Values {
    Number(Vec<f32>),
    Category(Vec<u32>),
}

impl RowTable<'_> {
    /// Returns classes of these rows, which must together satisfy the model.
    pub(crate) fn grow(&self, rows: Vec<u32>, pace: Pace) -> Vec<Vec<u32>> {
        let mut pool = Pool::new(self, rows);
        let mut classes: Vec<Growing> = Vec::new();
        let mut left = Vec::new();
        let mut before: Option<u32> = None;
        while !pool.rows.is_empty() {
            let seed = match before {
                Some(before) => pool.furthest(self, before),
                None => 0,
            };
            before = Some(pool.rows[seed]);
            let (class, is_whole) = self.class(seed, &mut pool, pace);
            if is_whole {
                classes.push(class);
            } else {
                // No remaining row brings what the class lacks, so no further class is possible.
                left = class.rows;
                left.append(&mut pool.rows);
            }
        }
        if classes.is_empty() {
            return vec![left];
        }
        for row in left {
            self.join_nearest(row, &mut classes);
        }
        classes.into_iter().map(|class| class.rows).collect()
    }

    /// Grows the class of a seed; also returns whether it satisfies the model.
    fn class(&self, seed: usize, pool: &mut Pool, pace: Pace) -> (Growing, bool) {
        let mut class = Growing { span: self.span(pool.rows[seed]), rows: Vec::new() };
        let mut tally = Tally::empty(self.table.tally_shape());
        let mut next = Some(seed);
        let mut has_grown = true;
        while let Some(at) = next {
            let row = pool.take(at);
            tally.add(self.codes(row), 1);
            class.rows.push(row);
            has_grown |= class.include(self, row);
            let need = self.privacy.need(&tally);
            if need == Need::Nothing {
                return (class, true);
            }
            if has_grown && pace == Pace::Quick {
                pool.cost(self, &class.span);
                has_grown = false;
            }
            next = match need {
                _ if pace == Pace::Literal => {
                    let helps =
                        |row| !matches!(need, Need::DiverseRow(_)) || self.privacy.helps(&tally, self.codes(row));
                    pool.nearest_of_all(self, &class.span, helps)
                }
                Need::DiverseRow(_) => pool.nearest_that(|row| self.privacy.helps(&tally, self.codes(row))),
                _ => pool.nearest(self.loss(&class.span)),
            };
        }
        (class, false)
    }

    fn join_nearest(&self, row: u32, classes: &mut [Growing]) {
        let cost = |class: &Growing| {
            let with = class.span.iter().zip(&self.columns).map(|(range, column)| range.with(column.range(row)));
            let after: f32 = with.zip(&self.columns).map(|(range, column)| column.loss(range)).sum();
            let rows = class.rows.len() as f32;
            rows * (after - self.loss(&class.span)) + after
        };
        let costs = classes.iter().map(cost).enumerate();
        if let Some((home, _)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) {
            classes[home].rows.push(row);
            classes[home].include(self, row);
        }
    }

    fn span(&self, row: u32) -> Vec<Range> {
        self.columns.iter().map(|column| column.range(row)).collect()
    }

    fn loss(&self, span: &[Range]) -> f32 {
        span.iter().zip(&self.columns).fold(0.0, |loss, (range, column)| loss + column.loss(*range))
    }
}

impl Growing {
    /// Widens the box to a row; returns whether it has grown.
    fn include(&mut self, table: &RowTable<'_>, row: u32) -> bool {
        let mut has_grown = false;
        for (range, column) in self.span.iter_mut().zip(&table.columns) {
            let with = range.with(column.range(row));
            has_grown |= with != *range;
            *range = with;
        }
        has_grown
    }
}

impl Pool {
    fn new(table: &RowTable<'_>, rows: Vec<u32>) -> Self {
        let values = table.columns.iter().map(|column| match column {
            Column::Number(values) => Values::Number(rows.iter().map(|row| values[*row as usize]).collect()),
            Column::Category { leaves, .. } => Values::Category(rows.iter().map(|row| leaves[*row as usize]).collect()),
        });
        Self { values: values.collect(), costs: vec![0.0; rows.len()], rows }
    }

    fn take(&mut self, at: usize) -> u32 {
        for values in &mut self.values {
            match values {
                Values::Number(values) => drop(values.swap_remove(at)),
                Values::Category(leaves) => drop(leaves.swap_remove(at)),
            }
        }
        self.costs.swap_remove(at);
        self.rows.swap_remove(at)
    }

    /// Computes the loss of a box with each row.
    fn cost(&mut self, table: &RowTable<'_>, span: &[Range]) {
        self.costs.fill(0.0);
        for ((values, column), range) in self.values.iter().zip(&table.columns).zip(span) {
            match (values, range) {
                (Values::Number(values), Range::Number(lo, hi)) => {
                    for (cost, value) in self.costs.iter_mut().zip(values) {
                        *cost += hi.max(*value) - lo.min(*value);
                    }
                }
                (Values::Category(leaves), Range::Category(..)) => {
                    let Column::Category { count, .. } = column else { continue };
                    let widened = |leaf| column.loss(range.with(Range::Category(leaf, leaf)));
                    let widened: Vec<f32> = (0..*count as u32).map(widened).collect();
                    for (cost, leaf) in self.costs.iter_mut().zip(leaves) {
                        *cost += widened[*leaf as usize];
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the row of least cost; stops at the first chunk whose least cost is at most `free`.
    fn nearest(&self, free: f32) -> Option<usize> {
        const LANES: usize = 8;
        const CHUNK: usize = 64 * LANES;
        let (mut least, mut chunk_of_least) = (f32::INFINITY, 0);
        for (number, chunk) in self.costs.chunks(CHUNK).enumerate() {
            let mut lanes = [f32::INFINITY; LANES];
            let (whole, rest) = chunk.as_chunks::<LANES>();
            for costs in whole {
                for (lane, cost) in lanes.iter_mut().zip(costs) {
                    *lane = if *cost < *lane { *cost } else { *lane };
                }
            }
            let of_chunk = lanes.iter().chain(rest).fold(f32::INFINITY, |least, cost| least.min(*cost));
            if of_chunk < least {
                (least, chunk_of_least) = (of_chunk, number * CHUNK);
                if least <= free {
                    break;
                }
            }
        }
        let costs = self.costs.get(chunk_of_least..)?;
        costs.iter().position(|cost| *cost == least).map(|at| chunk_of_least + at)
    }

    /// Returns the wanted row of least cost, evaluating every row.
    fn nearest_of_all(&self, table: &RowTable<'_>, span: &[Range], is_wanted: impl Fn(u32) -> bool) -> Option<usize> {
        let mut best: Option<(f32, usize)> = None;
        for (at, row) in self.rows.iter().enumerate() {
            let widened = span.iter().zip(&table.columns).map(|(range, column)| range.with(column.range(*row)));
            let cost = widened.zip(&table.columns).fold(0.0, |cost, (range, column)| cost + column.loss(range));
            if best.is_none_or(|(least, _)| cost < least) && is_wanted(*row) {
                best = Some((cost, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Returns the wanted row of least cost, from the list of costs.
    fn nearest_that(&self, is_wanted: impl Fn(u32) -> bool) -> Option<usize> {
        let mut best: Option<(f32, usize)> = None;
        for (at, cost) in self.costs.iter().enumerate() {
            if best.is_none_or(|(least, _)| *cost < least) && is_wanted(self.rows[at]) {
                best = Some((*cost, at));
            }
        }
        best.map(|(_, at)| at)
    }

    /// Returns the row with the greatest pairwise loss with `row`, which is no longer in the pool.
    fn furthest(&mut self, table: &RowTable<'_>, row: u32) -> usize {
        self.cost(table, &table.span(row));
        let costs = self.costs.iter().enumerate();
        costs.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))).map_or(0, |(at, _)| at)
    }
}
