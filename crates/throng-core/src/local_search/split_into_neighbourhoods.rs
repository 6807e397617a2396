//! Divides classes into neighbourhoods.
//!
//! Items are split recursively at the median of their widest column. The width of a column is scaled by a random factor
//! per round, so that a border of one round falls inside a neighbourhood of the next.

use super::rng::SplitMix64;
use crate::table::{QuasiColumn, Table};

/// Range of the random factor on the width of a column.
const MIN_FACTOR: f32 = 0.4;
const MAX_FACTOR: f32 = 1.6;

/// An item with a position per column and a size.
#[derive(Clone, Debug)]
pub(super) struct SizedItem {
    /// Index of the item.
    pub(super) id: u32,
    /// Share of the size limit that it takes.
    pub(super) size: u32,
}

/// Splits items into neighbourhoods of total size at most `most`, unless a single item is larger. Within a neighbourhood,
/// near items follow each other, down to runs of total size `together`.
pub(super) fn neighbourhoods(
    table: &Table,
    mut items: Vec<SizedItem>,
    places: &[u32],
    (most, together): (u32, u32),
    draws: &SplitMix64,
) -> Vec<Vec<SizedItem>> {
    let cutter = Cutter { table, places, most, together };
    cutter.cut(&mut items, draws.clone())
}

struct Cutter<'a> {
    table: &'a Table,
    /// Item-major: the position of each item in each column.
    places: &'a [u32],
    most: u32,
    together: u32,
}

impl Cutter<'_> {
    fn cut(&self, items: &mut [SizedItem], mut draws: SplitMix64) -> Vec<Vec<SizedItem>> {
        if has_at_most(items, self.most) {
            self.arrange(items, draws);
            return vec![items.to_vec()];
        }
        let (left, right) = self.halves(items, &mut draws);
        let (a, b) = (draws.of_part(1), draws.of_part(2));
        let (mut hoods, more) = rayon::join(|| self.cut(left, a), || self.cut(right, b));
        hoods.extend(more);
        hoods
    }

    /// Puts near items next to each other.
    fn arrange(&self, items: &mut [SizedItem], mut draws: SplitMix64) {
        if has_at_most(items, self.together) {
            return;
        }
        let (left, right) = self.halves(items, &mut draws);
        self.arrange(left, draws.of_part(1));
        self.arrange(right, draws.of_part(2));
    }

    /// Divides items at the median of the widest column.
    fn halves<'b>(
        &self,
        items: &'b mut [SizedItem],
        draws: &mut SplitMix64,
    ) -> (&'b mut [SizedItem], &'b mut [SizedItem]) {
        let column = self.widest(items, draws);
        let middle = items.len() / 2;
        items.select_nth_unstable_by_key(middle, |item| (self.place(item)[column], item.id));
        items.split_at_mut(middle)
    }

    /// Returns the column with the greatest scaled loss over all items.
    fn widest(&self, items: &[SizedItem], draws: &mut SplitMix64) -> usize {
        let mut ranges = vec![(u32::MAX, 0); self.table.quasi().len()];
        for item in items {
            for ((lo, hi), at) in ranges.iter_mut().zip(self.place(item)) {
                (*lo, *hi) = ((*lo).min(*at), (*hi).max(*at));
            }
        }
        let width = |(quasi, (lo, hi)): (&QuasiColumn, &(u32, u32))| {
            let factor = MIN_FACTOR + (MAX_FACTOR - MIN_FACTOR) * draws.share();
            (quasi.domain.loss(*lo, *hi) * quasi.spec.weight) as f32 * factor
        };
        let widths = self.table.quasi().iter().zip(&ranges).map(width).enumerate();
        widths.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map_or(0, |(column, _)| column)
    }

    fn place(&self, item: &SizedItem) -> &[u32] {
        let width = self.table.quasi().len();
        &self.places[item.id as usize * width..][..width]
    }
}

/// Whether the total size of items is at most `most`, or they can't be divided.
fn has_at_most(items: &[SizedItem], most: u32) -> bool {
    items.len() < 2 || items.iter().map(|item| u64::from(item.size)).sum::<u64>() <= u64::from(most)
}
