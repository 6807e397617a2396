//! Which classes are looked at together.
//!
//! Classes are parted at the middle of their widest column, again and again, until few are left. How wide a column
//! counts differs from round to round, so that a border of one round lies inside a neighbourhood of the next.

use super::rng::SplitMix64;
use crate::table::{QuasiColumn, Table};

/// How much wider or narrower a column may count.
const LEAST_FACTOR: f32 = 0.4;
const MOST_FACTOR: f32 = 1.6;

/// Something with a place and a size.
#[derive(Clone, Debug)]
pub(super) struct SizedItem {
    /// What it is.
    pub(super) id: u32,
    /// How much of a neighbourhood it takes.
    pub(super) size: u32,
}

/// Parts items into neighbourhoods of at most so large a size, unless a single item is larger.
pub(super) fn neighbourhoods(
    table: &Table,
    mut items: Vec<SizedItem>,
    places: &[u32],
    most: u32,
    draws: &SplitMix64,
) -> Vec<Vec<SizedItem>> {
    let cutter = Cutter { table, places, most };
    cutter.cut(&mut items, draws.clone())
}

struct Cutter<'a> {
    table: &'a Table,
    /// By item the position in each column.
    places: &'a [u32],
    most: u32,
}

impl Cutter<'_> {
    fn cut(&self, items: &mut [SizedItem], mut draws: SplitMix64) -> Vec<Vec<SizedItem>> {
        let total: u64 = items.iter().map(|item| u64::from(item.size)).sum();
        if total <= u64::from(self.most) || items.len() < 2 {
            return vec![items.to_vec()];
        }
        let column = self.widest(items, &mut draws);
        let middle = items.len() / 2;
        items.select_nth_unstable_by_key(middle, |item| (self.place(item)[column], item.id));
        let (left, right) = items.split_at_mut(middle);
        let (a, b) = (draws.of_part(1), draws.of_part(2));
        let (mut hoods, more) = rayon::join(|| self.cut(left, a), || self.cut(right, b));
        hoods.extend(more);
        hoods
    }

    /// The column in which these items lose most when they are taken together.
    fn widest(&self, items: &[SizedItem], draws: &mut SplitMix64) -> usize {
        let mut ranges = vec![(u32::MAX, 0); self.table.quasi().len()];
        for item in items {
            for ((lo, hi), at) in ranges.iter_mut().zip(self.place(item)) {
                (*lo, *hi) = ((*lo).min(*at), (*hi).max(*at));
            }
        }
        let width = |(quasi, (lo, hi)): (&QuasiColumn, &(u32, u32))| {
            let factor = LEAST_FACTOR + (MOST_FACTOR - LEAST_FACTOR) * draws.share();
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
