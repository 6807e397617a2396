//! Estimates the NCP of clusters before recoding.

use crate::cluster::Class;
use crate::table::Table;

/// Returns the NCP of clusters, summed over rows and averaged over columns with equal weights, and their number of
/// rows.
///
/// Estimates by the ranges of each cluster. The released NCP differs for sets, which lose at most as much, and for
/// clusters with equal labels, which become one class.
pub fn estimated_ncp(table: &Table, clusters: &[Class]) -> (f64, u64) {
    let cells = 0..table.cell_count() as u32;
    let cell_of: Vec<u32> = cells.flat_map(|cell| std::iter::repeat_n(cell, table.groups(cell).len())).collect();
    let (mut sum, mut all_rows) = (0.0, 0);
    for class in clusters {
        let rows: u64 = class.portions.iter().map(|portion| u64::from(portion.rows)).sum();
        let loss = |(column, quasi): (usize, &crate::table::QuasiColumn)| {
            let positions =
                class.portions.iter().map(|portion| table.positions(cell_of[portion.group as usize])[column]);
            let cover = class.cover.as_ref().map(|cover| cover[column]);
            let range = cover.or(positions.clone().min().zip(positions.max()));
            let range = range.map(|(lo, hi)| quasi.domain.covered(lo, hi));
            range.map_or(0.0, |(lo, hi)| quasi.domain.loss(lo, hi))
        };
        let losses = table.quasi().iter().enumerate().map(loss).sum::<f64>();
        sum += rows as f64 * losses / table.quasi().len().max(1) as f64;
        all_rows += rows;
    }
    (sum, all_rows)
}
