//! Dense numbers of the positions that occur in a column of a leaf.

/// Columns whose positions span up to this many times their number of cells are ranked by counting, others by sorting.
const MAX_SPAN_PER_CELL: usize = 16;

/// Returns the positions that occur, ascending, and writes the rank of each cell's position among these to `ranks`.
pub(super) fn dense_ranks<'a>(
    positions: impl ExactSizeIterator<Item = u32> + Clone,
    ranks: impl Iterator<Item = &'a mut u32>,
) -> Vec<u32> {
    let (lo, hi) = positions.clone().fold((u32::MAX, 0), |(lo, hi), at| (lo.min(at), hi.max(at)));
    if lo > hi {
        return Vec::new();
    }
    let span = (hi - lo) as usize + 1;
    if span > MAX_SPAN_PER_CELL.saturating_mul(positions.len()) {
        let mut known: Vec<u32> = positions.clone().collect();
        known.sort_unstable();
        known.dedup();
        for (rank, at) in ranks.zip(positions) {
            *rank = known.partition_point(|other| *other < at) as u32;
        }
        return known;
    }
    // Marks the positions that occur, then numbers them.
    let mut numbers = vec![0_u32; span];
    positions.clone().for_each(|at| numbers[(at - lo) as usize] = 1);
    let mut known = Vec::with_capacity(positions.len().min(span));
    for (number, at) in numbers.iter_mut().zip(lo..) {
        if *number == 1 {
            *number = known.len() as u32;
            known.push(at);
        }
    }
    ranks.zip(positions).for_each(|(rank, at)| *rank = numbers[(at - lo) as usize]);
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_and_sorting_rank_alike() {
        for positions in [vec![], vec![7], vec![9, 4, 4, 6, 9], vec![1_000_000, 0, 5, 1_000_000, 3]] {
            let mut ranks = vec![0; positions.len()];
            let known = dense_ranks(positions.iter().copied(), ranks.iter_mut());
            let mut sorted = positions.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(known, sorted);
            let found: Vec<u32> = ranks.iter().map(|rank| known[*rank as usize]).collect();
            assert_eq!(found, positions);
        }
    }
}
