//! The order of a release: class by class, and inside a class by a keyed hash of what the row shows besides.
//!
//! Equal hashes mean equal rows, so neither the release nor its order depends on the order of arrival, and the order is
//! a function of what the release shows and the seed. Which rows of a shared group a class gets is decided before, and
//! not foreseeably ([`super::deal`]).

use rayon::prelude::*;

use super::Recoding;
use super::deal::{DealKey, deal};
use crate::survey::SUPPRESSED;

/// So many classes are put in order at a time.
const BLOCK_CLASSES: usize = 1024;

/// Which row comes where.
#[derive(Clone, Debug)]
pub struct ReleaseOrder {
    /// Input rows in the order of the release.
    pub rows: Vec<u32>,
    /// The class of each input row; [`SUPPRESSED`] for rows that are left out.
    pub class_of: Vec<u32>,
    /// How many rows there are up to the end of each class.
    pub class_ends: Vec<u32>,
}

impl ReleaseOrder {
    /// Places rows, given the group and the content hash of each. There must be fewer than 2^32 of them.
    pub fn new(recoding: &Recoding, groups: &[u32], content: &[u128], key: &DealKey) -> Self {
        let class_of = deal(recoding, groups, content, key);
        let mut next = Vec::with_capacity(recoding.class_rows().len());
        let mut total = 0;
        for rows in recoding.class_rows() {
            next.push(total);
            total += *rows as u32;
        }
        let mut rows = vec![0; total as usize];
        for (row, class) in class_of.iter().enumerate().filter(|(_, class)| **class != SUPPRESSED) {
            let place = &mut next[*class as usize];
            rows[*place as usize] = row as u32;
            *place += 1;
        }
        let class_ends = next;
        let (mut blocks, mut rest, mut start) = (Vec::new(), rows.as_mut_slice(), 0);
        for ends in class_ends.chunks(BLOCK_CLASSES) {
            let end = ends.last().map_or(start, |end| *end);
            let (block, after) = rest.split_at_mut((end - start) as usize);
            blocks.push((block, start, ends));
            (rest, start) = (after, end);
        }
        blocks.into_par_iter().for_each(|(block, start, ends)| {
            // Hashes lie all over the memory, and are fetched at once.
            let mut keyed: Vec<(u128, u32)> = block.iter().map(|row| (content[*row as usize], *row)).collect();
            let mut from = start;
            for end in ends {
                keyed[(from - start) as usize..(end - start) as usize].sort_unstable_by_key(|(hash, _)| *hash);
                from = *end;
            }
            block.iter_mut().zip(keyed).for_each(|(row, (_, sorted))| *row = sorted);
        });
        Self { rows, class_of, class_ends }
    }
}
