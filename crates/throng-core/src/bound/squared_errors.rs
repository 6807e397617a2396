//! Lower bound of the squared errors of means and medians.
//!
//! A class `C` of `m` rows shows one number per column. Its squared errors are least about its mean, where they are
//! `Σ d² / 2m` over all ordered pairs of its rows. A row has `m - 1` partners, so it contributes at least the sum `S(m - 1)` of
//! the `m - 1` least `d²` over `2m`. The least of the partners lie below the mean, so `S(m - 1) / (m - 1) ≥ S(k - 1) / (k -
//! 1)`, and with `(m - 1) / m ≥ (k - 1) / k` the contribution is at least `S(k - 1) / 2k`, for every `m ≥ k`.
//!
//! Columns are scaled by their SST, so that `d²` over the number of columns measures the mean of SSE / SST. A null is at
//! distance 0 from everything in its column: the numbers of a class are at most `m`, and a class that shows null has
//! higher errors.

use rayon::prelude::*;

use super::block::CountedModels;
use crate::table::Table;

/// Returns a lower bound of the mean SSE / SST over all columns. `blocks` has the cells of each limit block.
pub(super) fn sse_sst(
    table: &Table,
    models: &CountedModels,
    blocks: &[Vec<u32>],
    may_continue: &(dyn Fn() -> bool + Sync),
) -> f64 {
    let columns = table.quasi().len();
    let scales: Vec<(u32, f64)> = (0..columns).map(|column| scale(table, column, blocks)).collect();
    let point = |cell: u32| {
        let coordinate = |(column, (origin, scale)): (usize, &(u32, f64))| {
            let at = table.positions(cell)[column];
            let domain = &table.quasi()[column].domain;
            if Some(at) == domain.null_position() { f64::NAN } else { domain.loss(*origin, at) * scale }
        };
        scales.iter().enumerate().map(coordinate).collect::<Vec<f64>>()
    };
    let of_block = |cells: &Vec<u32>| -> f64 {
        let mut points: Vec<(Vec<f64>, u64)> =
            cells.iter().map(|cell| (point(*cell), table.cell_rows(*cell))).collect();
        // Partners are searched outwards along the first column; null, which is at distance 0 from everything, comes
        // first.
        points.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]).then(a.1.cmp(&b.1)));
        let nulls = points.iter().filter(|point| point.0[0].is_nan()).count();
        points.rotate_right(nulls);
        let contributions = (0..points.len()).into_par_iter().map(|at| {
            if !may_continue() {
                return 0.0;
            }
            let partners = nearest(&points, nulls, at, models.rows - 1);
            points[at].1 as f64 * partners / (2.0 * models.rows as f64)
        });
        contributions.collect::<Vec<f64>>().iter().sum()
    };
    blocks.iter().map(of_block).sum::<f64>() / columns as f64
}

/// Returns the position of the least number of a column among the rows kept, and the scale that makes its SST one.
fn scale(table: &Table, column: usize, blocks: &[Vec<u32>]) -> (u32, f64) {
    let domain = &table.quasi()[column].domain;
    let cells =
        || blocks.iter().flatten().filter(|cell| Some(table.positions(**cell)[column]) != domain.null_position());
    let Some(origin) = cells().map(|cell| table.positions(*cell)[column]).min() else { return (0, 0.0) };
    let numbers =
        || cells().map(|cell| (domain.loss(origin, table.positions(*cell)[column]), table.cell_rows(*cell) as f64));
    let rows: f64 = numbers().map(|(_, rows)| rows).sum();
    let mean = numbers().map(|(number, rows)| number * rows).sum::<f64>() / rows;
    let sst: f64 = numbers().map(|(number, rows)| rows * (number - mean).powi(2)).sum();
    (origin, if sst > 0.0 { sst.sqrt().recip() } else { 0.0 })
}

/// Returns the sum of the `count` least squared distances from point `at` to rows, its own cell included. All points from
/// `nulls` on are ordered by their first coordinate.
fn nearest(points: &[(Vec<f64>, u64)], nulls: usize, at: usize, count: u64) -> f64 {
    let here = &points[at].0;
    let mut partners = LeastRows { count, entries: Vec::new(), rows: 0 };
    partners.add(0.0, points[at].1 - 1);
    let mut look = |other: usize| partners.add(squared_distance(here, &points[other].0), points[other].1);
    if at < nulls {
        (0..points.len()).filter(|other| *other != at).for_each(|other| {
            look(other);
        });
        return partners.sum();
    }
    (0..nulls).for_each(|other| {
        look(other);
    });
    let along = |other: usize| (points[other].0[0] - here[0]).powi(2);
    let (mut below, mut above) = ((nulls..at).rev().peekable(), (at + 1..points.len()).peekable());
    loop {
        let next = match (below.peek(), above.peek()) {
            (None, None) => break,
            (Some(_), None) => below.next(),
            (None, Some(_)) => above.next(),
            (Some(a), Some(b)) => {
                if along(*a) <= along(*b) {
                    below.next()
                } else {
                    above.next()
                }
            }
        };
        let Some(other) = next else { break };
        if along(other) >= look(other) {
            break;
        }
    }
    partners.sum()
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).filter(|square| !square.is_nan()).sum()
}

/// The rows at the least distances.
struct LeastRows {
    count: u64,
    /// Distances and rows, least first.
    entries: Vec<(f64, u64)>,
    rows: u64,
}

impl LeastRows {
    /// Adds rows, and returns the distance beyond which no row is needed.
    fn add(&mut self, distance: f64, rows: u64) -> f64 {
        let rows = rows.min(self.count);
        let farthest = |entries: &[(f64, u64)]| entries.last().map_or(0.0, |(farthest, _)| *farthest);
        if rows > 0 && (self.rows < self.count || distance < farthest(&self.entries)) {
            let place = self.entries.partition_point(|(known, _)| *known <= distance);
            self.entries.insert(place, (distance, rows));
            self.rows += rows;
            while let Some((_, last)) = self.entries.last_mut() {
                let removed = (self.rows - self.count.min(self.rows)).min(*last);
                (*last, self.rows) = (*last - removed, self.rows - removed);
                if *last > 0 {
                    break;
                }
                self.entries.pop();
            }
        }
        if self.rows < self.count { f64::INFINITY } else { farthest(&self.entries) }
    }

    fn sum(&self) -> f64 {
        self.entries.iter().map(|(distance, rows)| distance * *rows as f64).sum()
    }
}
