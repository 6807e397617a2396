//! What clusters would lose, before anything is recoded.

use crate::cluster::Class;
use crate::table::Table;

/// The NCP of some clusters, summed over their rows, and how many rows they have. Columns count alike.
///
/// The ranges of a cluster are what it will show, except for sets, which lose at most as much, and for clusters that read
/// the same and become one class.
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
            range.map_or(0.0, |(lo, hi)| quasi.domain.loss(lo, hi))
        };
        let losses = table.quasi().iter().enumerate().map(loss).sum::<f64>();
        sum += rows as f64 * losses / table.quasi().len().max(1) as f64;
        all_rows += rows;
    }
    (sum, all_rows)
}
