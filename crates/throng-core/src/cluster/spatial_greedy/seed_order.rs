//! Order of the seeds of classes.
//!
//! With few columns classes tile the space, and gaps between them would be left for the last ones. Seeds therefore
//! start at the outermost cells. With many columns there are no such gaps, and classes should start where most cells
//! are, as they do with seeds in quasi-random order. Measured on up to ten columns, both orders have the same loss with
//! five.

use rayon::prelude::*;

use crate::geometry::LossSpace;
use crate::local_search::rng::SplitMix64;

/// Random perturbation of the order of seeds, as a share of their distance from the middle. More noise would leave
/// gaps.
const SEED_NOISE: f32 = 0.05;

/// Up to this number of columns, seeds are ordered from the outside in.
const FEW_COLUMNS: usize = 5;

/// Returns the seed order of all cells, given their points.
pub(super) fn in_order(axes: &LossSpace, places: &[f32], random_seed: u64) -> Vec<u32> {
    match axes.width() <= FEW_COLUMNS {
        true => outermost_first(axes, places, random_seed),
        false => spread(places.len() / axes.stride(), random_seed),
    }
}

/// Orders cells from the outside in, with noise.
fn outermost_first(axes: &LossSpace, places: &[f32], random_seed: u64) -> Vec<u32> {
    let stride = axes.stride();
    let median = |lane: usize| {
        let mut coordinates: Vec<f32> = places.iter().skip(lane).step_by(stride).copied().collect();
        let middle = coordinates.len() / 2;
        *coordinates.select_nth_unstable_by(middle, f32::total_cmp).1
    };
    let middle: Vec<f32> = (0..stride).into_par_iter().map(median).collect();
    let mut draws = SplitMix64::new(random_seed);
    let mut noise = || 1.0 + SEED_NOISE * draws.share();
    let far = |(place, cell): (&[f32], u32)| (axes.loss_of_pair(place, &middle) * noise(), cell);
    let mut seeds: Vec<(f32, u32)> = places.chunks_exact(stride).zip(0..).map(far).collect();
    seeds.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    seeds.into_iter().map(|(_, cell)| cell).collect()
}

/// Visits cells in steps of about the golden ratio, a low-discrepancy sequence. Cells are numbered by content, so that
/// consecutive seeds are far apart.
fn spread(cells: usize, random_seed: u64) -> Vec<u32> {
    let cells = cells as u64;
    let first = random_seed % cells.max(1);
    let golden = (cells as f64 * 0.618) as u64 + 1;
    let step = (golden..).find(|step| greatest_common_divisor(*step, cells) == 1).unwrap_or(1);
    (0..cells).map(|at| ((first + at * step) % cells) as u32).collect()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_comes_once() {
        for cells in [1, 2, 3, 10, 64, 999, 1000] {
            let mut seeds = spread(cells, 7);
            seeds.sort_unstable();
            assert_eq!(seeds, (0..cells as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn cells_that_follow_each_other_are_far_apart() {
        let seeds = spread(1000, 7);
        assert!(seeds.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 300));
    }
}
