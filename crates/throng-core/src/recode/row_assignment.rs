//! Assigns the rows of a shared group to its classes.
//!
//! Rows of one group are interchangeable for every privacy model, but their assignment must be unpredictable: otherwise
//! a reader of the release could distinguish borrowed rows of a class from its own. Rows are therefore ordered by a
//! keyed hash of their content, and each class takes its quota in that order.

use rayon::prelude::*;

use super::Shares;
use crate::key::ReleaseKey;
use crate::survey::SUPPRESSED;

/// Returns the class of each row; [`SUPPRESSED`] for rows that are left out.
pub(super) fn assign_rows(shares: &Shares, groups: &[u32], content: &[u128], key: ReleaseKey) -> Vec<u32> {
    let shares = |group: u32| if group == SUPPRESSED { &[][..] } else { shares.of(group) };
    let only = |group: &u32| if let [only] = shares(*group) { only.class } else { SUPPRESSED };
    let mut class_of: Vec<u32> = groups.par_iter().map(only).collect();
    let shared = (0..groups.len() as u32).into_par_iter().filter(|row| shares(groups[*row as usize]).len() > 1);
    let place = |row: u32| (groups[row as usize], key.hash(content[row as usize]), row);
    let mut shared: Vec<(u32, u128, u32)> = shared.map(place).collect();
    shared.par_sort_unstable();
    for rows in shared.chunk_by(|a, b| a.0 == b.0) {
        let classes = shares(rows[0].0).iter().flat_map(|share| std::iter::repeat_n(share.class, share.rows as usize));
        for ((_, _, row), class) in rows.iter().zip(classes) {
            class_of[*row as usize] = class;
        }
    }
    class_of
}
