//! Row order of a release: by class, and within a class by the seeded content hash of the row.
//!
//! Equal hashes mean equal rows, so neither the release nor its order depends on the input order: the order is a
//! function of the released values and the seed. Rows of shared groups are assigned to classes before, unpredictably
//! ([`super::row_assignment`]).

use rayon::prelude::*;

use super::Shares;
use super::row_assignment::assign_rows;
use crate::key::ReleaseKey;

/// Number of classes whose hashes are gathered at a time.
const BLOCK_CLASSES: usize = 1024;

/// Permutation of the input rows into release order.
#[derive(Clone, Debug)]
pub struct ReleaseOrder {
    /// Input rows in the order of the release.
    pub rows: Vec<u32>,
    /// The class of each input row; [`SUPPRESSED`](crate::survey::SUPPRESSED) for rows that are left out.
    pub class_of: Vec<u32>,
    /// End offset of each class in `rows`.
    pub class_ends: Vec<u32>,
}

impl ReleaseOrder {
    /// Orders rows, given the shares of their groups, the sizes of the classes, and the group and content hash of each row. There must be fewer than 2^32 rows.
    pub fn new(shares: &Shares, class_rows: &[u64], groups: &[u32], content: &[u128], key: ReleaseKey) -> Self {
        let class_of = assign_rows(shares, groups, content, key);
        let mut total = 0;
        let end = |rows: &u64| {
            total += *rows as u32;
            total
        };
        let class_ends: Vec<u32> = class_rows.iter().map(end).collect();
        let mut rows = vec![0; total as usize];
        parts(&mut rows, &class_ends).into_par_iter().for_each(|part| part.fill(&class_of, content));
        Self { rows, class_of, class_ends }
    }
}

/// The slice of the output that belongs to some consecutive classes.
struct OrderSlice<'a> {
    rows: &'a mut [u32],
    /// Offset of the slice in the output.
    start: u32,
    first_class: u32,
    ends: &'a [u32],
}

/// Divides the output into slices of about equal size, one per thread, at class borders.
fn parts<'a>(mut rows: &'a mut [u32], mut ends: &'a [u32]) -> Vec<OrderSlice<'a>> {
    let size = rows.len().div_ceil(rayon::current_num_threads()) as u32;
    let (mut parts, mut start, mut first_class) = (Vec::new(), 0, 0);
    while !ends.is_empty() {
        let classes = (1 + ends.partition_point(|end| end - start < size)).min(ends.len());
        let (ends_here, later) = ends.split_at(classes);
        let end = ends_here.last().map_or(start, |end| *end);
        let (rows_here, others) = rows.split_at_mut((end - start) as usize);
        parts.push(OrderSlice { rows: rows_here, start, first_class, ends: ends_here });
        (rows, ends, start, first_class) = (others, later, end, first_class + classes as u32);
    }
    parts
}

impl OrderSlice<'_> {
    /// Scatters the rows of the classes into the slice, then sorts each class by content hash.
    fn fill(self, class_of: &[u32], content: &[u128]) {
        let Self { rows, start, first_class, ends } = self;
        let starts = std::iter::once(start).chain(ends.iter().copied());
        let mut next: Vec<u32> = starts.take(ends.len()).map(|end| end - start).collect();
        for (row, class) in class_of.iter().enumerate() {
            // Classes before this slice wrap around beyond its end, as does the sentinel of suppressed rows.
            if let Some(place) = next.get_mut(class.wrapping_sub(first_class) as usize) {
                rows[*place as usize] = row as u32;
                *place += 1;
            }
        }
        let (mut rest, mut from, mut keyed) = (rows, start, Vec::new());
        for ends in ends.chunks(BLOCK_CLASSES) {
            let end = ends.last().map_or(from, |end| *end);
            let (block, later) = rest.split_at_mut((end - from) as usize);
            // Gather the hashes of a block first: random reads, then sorting in cache.
            keyed.clear();
            keyed.extend(block.iter().map(|row| (content[*row as usize], *row)));
            let mut of_class = keyed.as_mut_slice();
            for end in ends {
                let (class, others) = of_class.split_at_mut((end - from) as usize);
                class.sort_unstable_by_key(|(hash, _)| *hash);
                (of_class, from) = (others, *end);
            }
            block.iter_mut().zip(&keyed).for_each(|(row, (_, sorted))| *row = *sorted);
            rest = later;
        }
    }
}
