//! The tightest of many boxes around a point.
//!
//! Boxes are numbered by loss. Positions of a column that the same labels stand for are one *set*, which has a bit for each box. The
//! boxes around a point are the bits that its sets have in common, and the first of them is the tightest.

use rustc_hash::FxHashMap;

use super::extent::PlacedLabel;
use crate::local_search::rng::SplitMix64;

/// Maximum number of words of the sets of a column. Boxes are compared one by one in a column with more of them.
const MOST_WORDS: usize = 1 << 20;

/// Boxes of a table, to be searched by position.
#[derive(Debug)]
pub(super) struct BoxIndex {
    /// Numbers of the boxes, by ascending loss.
    order: Vec<u32>,
    losses: Vec<f64>,
    /// Number of words of a set.
    words: usize,
    columns: Vec<ColumnIndex>,
}

/// How the boxes around a position are found in one column.
#[derive(Debug)]
enum ColumnIndex {
    /// The set of each position, and the bits of all sets.
    Sets { set_of: Vec<u32>, bits: Vec<u64> },
    /// The label of each box, in the order of loss.
    Labels { placed: Vec<PlacedLabel>, label_of: Vec<u32> },
}

impl PlacedLabel {
    fn has(&self, position: u32) -> bool {
        let (lo, hi) = self.range;
        lo <= position
            && position <= hi
            && self.listed.as_ref().is_none_or(|listed| listed.binary_search(&position).is_ok())
    }
}

impl BoxIndex {
    /// Indexes boxes. `columns` has the labels of each column in the table, and the number of its positions; `label_of` is the label of
    /// each box in each column, box-major.
    pub(super) fn new(columns: Vec<(Vec<PlacedLabel>, usize)>, label_of: &[u32], losses: &[f64]) -> Self {
        let width = columns.len();
        let mut order: Vec<u32> = (0..losses.len() as u32).collect();
        order.sort_unstable_by(|a, b| losses[*a as usize].total_cmp(&losses[*b as usize]).then(a.cmp(b)));
        let words = losses.len().div_ceil(u64::BITS as usize);
        let column = |(at, (placed, positions)): (usize, (Vec<PlacedLabel>, usize))| {
            let label_of: Vec<u32> = order.iter().map(|number| label_of[*number as usize * width + at]).collect();
            let (set_of, first_of_set) = sets(&placed, positions);
            if first_of_set.len().saturating_mul(words) > MOST_WORDS {
                return ColumnIndex::Labels { placed, label_of };
            }
            ColumnIndex::Sets { set_of, bits: bits(&placed, &label_of, &first_of_set, words) }
        };
        let columns = columns.into_iter().enumerate().map(column).collect();
        let losses = order.iter().map(|number| losses[*number as usize]).collect();
        Self { order, losses, words, columns }
    }

    /// Returns the box of least loss that has these positions, with its loss. Of equal ones it is the first.
    pub(super) fn tightest(&self, positions: &[u32]) -> Option<(u32, f64)> {
        let (mut sets, mut others) = (Vec::with_capacity(positions.len()), Vec::new());
        for (column, position) in self.columns.iter().zip(positions) {
            match column {
                ColumnIndex::Sets { set_of, bits } => {
                    sets.push(&bits[set_of[*position as usize] as usize * self.words..][..self.words]);
                }
                ColumnIndex::Labels { placed, label_of } => others.push((placed, label_of, *position)),
            }
        }
        for word in 0..self.words {
            let mut common = sets.iter().fold(u64::MAX, |common, set| common & set[word]);
            while common != 0 {
                let place = word * u64::BITS as usize + common.trailing_zeros() as usize;
                common &= common - 1;
                if place >= self.order.len() {
                    return None;
                }
                let has = |(placed, label_of, position): &(&Vec<PlacedLabel>, &Vec<u32>, u32)| {
                    placed[label_of[place] as usize].has(*position)
                };
                if others.iter().all(has) {
                    return Some((self.order[place], self.losses[place]));
                }
            }
        }
        None
    }
}

/// Returns the set of each position, and the first position of each set, ascending.
fn sets(placed: &[PlacedLabel], positions: usize) -> (Vec<u32>, Vec<u32>) {
    // Each label has a random number; a position has the sum of the numbers of its labels, without carries.
    let mut draws = SplitMix64::new(0);
    let mut changes = vec![0_u128; positions + 1];
    for label in placed {
        let number = u128::from(draws.next()) << 64 | u128::from(draws.next());
        let mut add = |(lo, hi): (u32, u32)| {
            if lo <= hi {
                changes[lo as usize] ^= number;
                changes[hi as usize + 1] ^= number;
            }
        };
        match &label.listed {
            None => add(label.range),
            Some(listed) => listed.iter().for_each(|position| add((*position, *position))),
        }
    }
    let (mut known, mut first, mut sum) = (FxHashMap::default(), Vec::new(), 0);
    let set_of = |(position, change): (usize, &u128)| {
        sum ^= change;
        *known.entry(sum).or_insert_with(|| {
            first.push(position as u32);
            first.len() as u32 - 1
        })
    };
    let set_of = changes[..positions].iter().enumerate().map(set_of).collect();
    (set_of, first)
}

/// Returns the bits of all sets: of each box whose label stands for the positions of the set.
fn bits(placed: &[PlacedLabel], label_of: &[u32], first_of_set: &[u32], words: usize) -> Vec<u64> {
    let sets = first_of_set.len();
    // The sets of each label, and the boxes of labels that stand for all positions.
    let sets_of = |label: &PlacedLabel| -> Vec<u32> {
        let (lo, hi) = label.range;
        let from = first_of_set.partition_point(|first| *first < lo);
        let end = first_of_set.partition_point(|first| *first <= hi);
        (from..end.max(from)).filter(|set| label.has(first_of_set[*set])).map(|set| set as u32).collect()
    };
    let sets_of: Vec<Vec<u32>> = placed.iter().map(sets_of).collect();
    let mut of_all = vec![0; words];
    let mask = |place: usize| (place / u64::BITS as usize, 1_u64 << (place % u64::BITS as usize));
    for (place, label) in label_of.iter().enumerate() {
        if sets_of[*label as usize].len() == sets {
            let (word, bit) = mask(place);
            of_all[word] |= bit;
        }
    }
    let mut bits = of_all.repeat(sets);
    for (place, label) in label_of.iter().enumerate() {
        let own = &sets_of[*label as usize];
        if own.len() < sets {
            let (word, bit) = mask(place);
            own.iter().for_each(|set| bits[*set as usize * words + word] |= bit);
        }
    }
    bits
}
