//! Near cells and near lenders of the cells of one neighbourhood.
//!
//! Where cells get several proposals each, these are the lists of the whole table ([`NearestCells`]). Where they get one, most of
//! such lists would be read once or never; the cells of a small leaf of a k-d tree over the neighbourhood do as well, and take
//! a fraction of the time.

use super::nearest_cells::{NO_CELL, NearestCells};
use super::neighbourhood::LocalAddresses;
use crate::geometry::{KdTree, LossSpace};

/// Number of cells, and of lenders, in a leaf.
const LEAF: usize = 8;

/// For each cell of a neighbourhood a list of local indices.
pub(super) struct LocalNear {
    pub(super) cells: LocalLists,
    pub(super) lenders: LocalLists,
}

/// Lists in one buffer, which several cells may share.
#[derive(Default)]
pub(super) struct LocalLists {
    /// Start and end of the list of each cell.
    ranges: Vec<(u32, u32)>,
    items: Vec<u16>,
}

impl LocalNear {
    /// Returns the lists of these cells, restricted to a neighbourhood.
    pub(super) fn of_table(near: &NearestCells, cells: &[u32], addresses: &LocalAddresses, neighbourhood: u32) -> Self {
        let (mut near_cells, mut near_lenders) = (LocalLists::default(), LocalLists::default());
        for cell in cells {
            near_cells.push(near.cells(*cell), &addresses.cells, neighbourhood);
            near_lenders.push(near.lenders(*cell), &addresses.lenders, neighbourhood);
        }
        Self { cells: near_cells, lenders: near_lenders }
    }

    /// Returns for each cell the cells of its leaf, itself among them, and the lenders of the leaf nearest to that. `places` are the
    /// points of the cells, whose numbers in the table are `of_table`, and then those of `lenders` lenders.
    ///
    /// Cells of a neighbourhood are numbered class by class. Cells at one place are therefore ordered as in the table: in the
    /// order of their numbers, leaves would have whole classes, and too few other classes to choose from.
    pub(super) fn in_leaves(axes: &LossSpace, places: &[f32], of_table: &[u32], lenders: usize) -> Self {
        let cells = of_table.len();
        let (moving, end) = (cells as u32, (cells + lenders) as u32);
        let rank = |cell: u32| of_table[cell as usize];
        let of_cells = KdTree::with_ties(axes, places, (0..moving).collect(), LEAF, &rank);
        let of_lenders = KdTree::new(axes, places, (moving..end).collect(), LEAF);
        let mut near_cells = LocalLists::of_order(of_cells.order(), 0, cells);
        let mut near_lenders = LocalLists::of_order(of_lenders.order(), moving, cells);
        for leaf in of_cells.leaves() {
            let members = of_cells.places(leaf);
            let middle = members[members.len() / 2] as usize;
            let place = &places[middle * axes.stride()..][..axes.stride()];
            let mut nearest = 0..0;
            of_lenders.visit_nearest(
                axes,
                place,
                |_| true,
                |leaf| {
                    nearest = of_lenders.range(leaf);
                    false
                },
            );
            let own = of_cells.range(leaf);
            for cell in members {
                near_cells.ranges[*cell as usize] = (own.start as u32, own.end as u32);
                near_lenders.ranges[*cell as usize] = (nearest.start as u32, nearest.end as u32);
            }
        }
        Self { cells: near_cells, lenders: near_lenders }
    }
}

impl LocalLists {
    /// Returns empty lists of `cells` cells. Items are the points of an order, counted from `first`.
    fn of_order(order: &[u32], first: u32, cells: usize) -> Self {
        Self { ranges: vec![(0, 0); cells], items: order.iter().map(|point| (point - first) as u16).collect() }
    }

    /// Adds the list of the next cell, restricted to a neighbourhood and mapped to local indices.
    fn push(&mut self, list: &[u32], addresses: &[(u32, u16)], neighbourhood: u32) {
        let start = self.items.len() as u32;
        let addresses = list.iter().take_while(|id| **id != NO_CELL).map(|id| addresses[*id as usize]);
        self.items.extend(addresses.filter(|(of, _)| *of == neighbourhood).map(|(_, local)| local));
        self.ranges.push((start, self.items.len() as u32));
    }

    pub(super) fn get(&self, cell: u16) -> &[u16] {
        let (start, end) = self.ranges[usize::from(cell)];
        &self.items[start as usize..end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_tables::{interval, ints, survey};

    #[test]
    fn leaves_have_every_cell_once_and_the_nearest_lenders() {
        let ages: Vec<i64> = (0..100).collect();
        let rows = survey(&[(interval("age"), ints(&ages))], &[]);
        let (axes, places) = LossSpace::new(&rows.table, 0..100);
        // Cells 0 to 59, and lenders at 60 to 99.
        let near = LocalNear::in_leaves(&axes, &places, &(0..60).collect::<Vec<u32>>(), 40);
        let mut seen = vec![0; 60];
        for cell in 0..60_u16 {
            let list = near.cells.get(cell);
            assert!(list.contains(&cell) && list.len() <= LEAF, "{list:?}");
            assert!(list.iter().all(|other| other.abs_diff(cell) < LEAF as u16 && near.cells.get(*other) == list));
            list.iter().filter(|other| **other == cell).for_each(|other| seen[usize::from(*other)] += 1);
            // The leaf of the lowest lenders is nearest to all cells.
            assert!((1..=LEAF).contains(&near.lenders.get(cell).len()));
            assert!(near.lenders.get(cell).iter().all(|lender| usize::from(*lender) < LEAF));
        }
        assert_eq!(seen, vec![1; 60]);
        let alone = LocalNear::in_leaves(&axes, &places, &[0, 1, 2, 3, 4], 0);
        assert_eq!((alone.cells.get(4).len(), alone.lenders.get(4).len()), (5, 0));
    }
}
