//! The order of a release: class by class, and inside a class by a keyed hash of what the row shows besides.
//!
//! Rows of one group are interchangeable, so where a group is shared by several classes its rows are dealt in the order
//! of their hashes. Equal hashes mean equal rows. So neither the release nor its order depends on the order of arrival.

use rayon::prelude::*;

use super::Recoding;
use crate::survey::SUPPRESSED;

/// Which row comes where.
#[derive(Clone, Debug)]
pub struct ReleaseOrder {
    /// Input rows in the order of the release.
    pub rows: Vec<u32>,
    /// The class of each input row; [`SUPPRESSED`] for rows that are left out.
    pub class_of: Vec<u32>,
}

impl ReleaseOrder {
    /// Places rows, given the group and the content hash of each. There must be fewer than 2^32 of them.
    pub fn new(recoding: &Recoding, groups: &[u32], content: &[u128]) -> Self {
        let class_of = deal(recoding, groups, content);
        let mut next = Vec::with_capacity(recoding.class_rows().len());
        let mut total = 0;
        for rows in recoding.class_rows() {
            next.push(total);
            total += *rows as usize;
        }
        let mut rows = vec![0; total];
        for (row, class) in class_of.iter().enumerate().filter(|(_, class)| **class != SUPPRESSED) {
            let place = &mut next[*class as usize];
            rows[*place] = row as u32;
            *place += 1;
        }
        rows.par_chunk_by_mut(|a, b| class_of[*a as usize] == class_of[*b as usize])
            .for_each(|class| class.sort_unstable_by_key(|row| content[*row as usize]));
        Self { rows, class_of }
    }
}

/// The class of each row.
fn deal(recoding: &Recoding, groups: &[u32], content: &[u128]) -> Vec<u32> {
    let mut class_of = vec![SUPPRESSED; groups.len()];
    let mut shared: Vec<u32> = Vec::new();
    for (row, group) in groups.iter().enumerate().filter(|(_, group)| **group != SUPPRESSED) {
        match recoding.shares(*group) {
            [only] => class_of[row] = only.class,
            _ => shared.push(row as u32),
        }
    }
    shared.sort_unstable_by_key(|row| (groups[*row as usize], content[*row as usize]));
    for rows in shared.chunk_by(|a, b| groups[*a as usize] == groups[*b as usize]) {
        let shares = recoding.shares(groups[rows[0] as usize]);
        let classes = shares.iter().flat_map(|share| std::iter::repeat_n(share.class, share.rows as usize));
        for (row, class) in rows.iter().zip(classes) {
            class_of[*row as usize] = class;
        }
    }
    class_of
}
