//! Which classes are looked at together.
//!
//! Classes are parted at the middle of their widest column, again and again, until few are left. How wide a column
//! counts differs from round to round, so that a border of one round lies inside a neighbourhood of the next.

use super::draws::Draws;
use crate::table::Table;

/// How much wider or narrower a column may count.
const LEAST_FACTOR: f32 = 0.4;
const MOST_FACTOR: f32 = 1.6;

/// Something with a place and a size.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// What it is.
    pub(super) id: u32,
    /// How much of a neighbourhood it takes.
    pub(super) size: u32,
}

/// Parts items into neighbourhoods of at most so large a size, unless a single item is larger.
pub(super) fn neighbourhoods(
    table: &Table,
    mut items: Vec<Item>,
    places: &[u32],
    most: u32,
    draws: &Draws,
) -> Vec<Vec<Item>> {
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
    fn cut(&self, items: &mut [Item], mut draws: Draws) -> Vec<Vec<Item>> {
        let total: u64 = items.iter().map(|item| u64::from(item.size)).sum();
        let Some(column) = (total > u64::from(self.most)).then(|| self.widest(items, &mut draws)).flatten() else {
            return vec![items.to_vec()];
        };
        items.sort_unstable_by_key(|item| (self.place(item, column), item.id));
        let mut sizes = 0;
        let is_left = |item: &&Item| {
            sizes += u64::from(item.size);
            sizes <= total / 2
        };
        let middle = items.iter().take_while(is_left).count().clamp(1, items.len() - 1);
        let (left, right) = items.split_at_mut(middle);
        let (a, b) = (draws.of_part(1), draws.of_part(2));
        let (mut hoods, more) = rayon::join(|| self.cut(left, a), || self.cut(right, b));
        hoods.extend(more);
        hoods
    }

    /// The column in which these items lose most when they are taken together; none when they are all in one place and
    /// can't be parted.
    fn widest(&self, items: &[Item], draws: &mut Draws) -> Option<usize> {
        if items.len() < 2 {
            return None;
        }
        let width = |(column, quasi): (usize, &crate::table::QuasiColumn)| {
            let factor = LEAST_FACTOR + (MOST_FACTOR - LEAST_FACTOR) * draws.share();
            let range = items.iter().map(|item| self.place(item, column));
            let range = range.fold((u32::MAX, 0), |(lo, hi), place| (lo.min(place), hi.max(place)));
            (quasi.domain.loss(range.0, range.1) * quasi.spec.weight) as f32 * factor
        };
        let widths = self.table.quasi().iter().enumerate().map(width);
        widths.enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(column, _)| column)
    }

    fn place(&self, item: &Item, column: usize) -> u32 {
        self.places[item.id as usize * self.table.quasi().len() + column]
    }
}
