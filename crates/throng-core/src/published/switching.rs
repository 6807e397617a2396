//! Switching [Sun 2008, Algorithm 2]: a p-sensitive clustering whose rows are switched until it is (p+,
//! alpha)-sensitive.
//!
//! [`GreedyPk`] forms classes that satisfy all models except (p+, alpha)-sensitivity. Then, as long as a class fails:
//!
//! 1. One of its rows and a row of another class are exchanged, if this lowers the deficit of the failing class and
//!    does not increase that of the other one. Of all such switches the one with the least increase of information loss
//!    [Truta 2007, Def. 9] is applied; ties are broken by the first row of the failing class, then the first other
//!    class, then the first row of that class.
//! 2. If no switch helps, the failing class is merged into the class with the least increase of information loss.
//!
//! [Sun 2008] only says "switch tuples". These rules terminate, because every switch lowers the total deficit and every
//! merge removes a class. A class that satisfies all models keeps doing so, because a switch leaves its deficit at zero
//! and the models are merge-closed. If one class remains it is the whole leaf.

mod box_extremes;

use rustc_hash::FxHashMap;

use self::box_extremes::BoxExtremes;
use super::GreedyPk;
use crate::cluster::leaf_view::{DenseBox, LeafView, LossMeasure, WideningLosses};
use crate::cluster::{Class, ClusterMethod, Portion};
use crate::model::{Privacy, Tally};
use crate::table::Table;

/// The switching algorithm [Sun 2008].
#[derive(Clone, Copy, Debug)]
pub struct Switching;

impl ClusterMethod for Switching {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        let start = GreedyPk.cluster(leaf, table, &privacy.without_p_plus_alpha());
        let frame = LeafView::new(leaf, table, LossMeasure::InformationLoss);
        let mut exchange = Exchange::new(&frame, privacy, start);
        while exchange.switch_best() {}
        exchange.classes.into_iter().map(|held| Class::of_portions(held.portions)).collect()
    }
}

/// Classes that may exchange rows.
struct Exchange<'a> {
    frame: &'a LeafView<'a>,
    privacy: &'a Privacy,
    /// For each group its cell in the leaf and its kind; groups with equal sensitive codes have the same kind.
    places: FxHashMap<u32, CellAndKind>,
    kinds: usize,
    classes: Vec<SwitchableClass>,
}

#[derive(Clone, Copy, Debug)]
struct CellAndKind {
    cell: usize,
    kind: usize,
}

/// A class with precomputed figures.
#[derive(Clone, Debug)]
struct SwitchableClass {
    portions: Vec<Portion>,
    /// Cell and kind of each portion.
    places: Vec<CellAndKind>,
    tally: Tally,
    edges: BoxExtremes,
    /// Loss per row.
    loss: f64,
    /// For each portion, the loss per row without one of its rows.
    least_losses: Vec<f64>,
    /// Deficit over all models; zero if the class satisfies all of them.
    shortage: u64,
}

impl SwitchableClass {
    fn rows(&self) -> f64 {
        self.tally.rows() as f64
    }
}

/// Exchange of a row of one class and a row of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Switch {
    failing: usize,
    other: usize,
    /// Group of the row that leaves the failing class.
    leaves: u32,
    /// Group of the row that joins it.
    comes: u32,
}

impl<'a> Exchange<'a> {
    fn new(frame: &'a LeafView<'a>, privacy: &'a Privacy, classes: Vec<Class>) -> Self {
        let table = frame.table();
        let mut kind_of: FxHashMap<&[u32], usize> = FxHashMap::default();
        let mut places = FxHashMap::default();
        for cell in 0..frame.len() {
            for group in table.groups(frame.cell(cell)) {
                let next = kind_of.len();
                let kind = *kind_of.entry(table.codes(group)).or_insert(next);
                places.insert(group, CellAndKind { cell, kind });
            }
        }
        let mut exchange = Self { frame, privacy, places, kinds: kind_of.len(), classes: Vec::new() };
        exchange.classes = classes.into_iter().map(|class| exchange.hold(class)).collect();
        exchange
    }

    fn hold(&self, class: Class) -> SwitchableClass {
        let places: Vec<CellAndKind> = class.portions.iter().map(|portion| self.places[&portion.group]).collect();
        let rows = places.iter().zip(&class.portions).map(|(place, portion)| (place.cell, portion.rows));
        let edges = BoxExtremes::of(self.frame, rows);
        let tally = class.tally(self.frame.table());
        let (loss, shortage) = (edges.loss(self.frame), self.privacy.shortage(&tally));
        let least_loss = |place: &CellAndKind| edges.loss_without(self.frame, place.cell);
        let least_losses = places.iter().map(least_loss).collect();
        SwitchableClass { portions: class.portions, places, tally, edges, loss, least_losses, shortage }
    }

    /// Improves the first failing class by a switch, or merges it. Returns false if no class fails, or one is left.
    fn switch_best(&mut self) -> bool {
        let Some(failing) = self.classes.iter().position(|class| class.shortage > 0) else { return false };
        if let Some(switch) = self.best_switch(failing) {
            self.switch(switch);
            return true;
        }
        match self.nearest(failing) {
            Some(other) => {
                let held = self.classes.remove(failing.max(other));
                let home = failing.min(other);
                let portions = [held.portions, std::mem::take(&mut self.classes[home].portions)].concat();
                self.classes[home] = self.hold(Class::of_portions(portions));
                true
            }
            None => false,
        }
    }

    /// Returns the switch that lowers the deficit of a failing class at the least increase of information loss.
    ///
    /// Considers every pair of rows, and prunes most of them by a lower bound: the loss of a donor is at least its loss
    /// without the row that it gives.
    fn best_switch(&self, failing: usize) -> Option<Switch> {
        let class = &self.classes[failing];
        let mut best: Option<(f64, Switch)> = None;
        let mut reach = WideningLosses::new(self.frame, DenseBox::origin(self.frame));
        // By kind of the joining row: whether it lowers the deficit of the failing class.
        let mut helps: Vec<Option<bool>> = vec![None; self.kinds];
        let mut tally = class.tally.clone();
        for (Portion { group: leaves, .. }, from) in class.portions.iter().zip(&class.places) {
            helps.fill(None);
            reach.move_to(self.frame, &class.edges.without(self.frame, from.cell));
            for (other, donor) in self.classes.iter().enumerate().filter(|(other, _)| *other != failing) {
                let mut donor_tally: Option<Tally> = None;
                let places = donor.places.iter().zip(&donor.least_losses);
                for (Portion { group: comes, .. }, (to, least_loss)) in donor.portions.iter().zip(places) {
                    let is_better = || self.shortage_exchanged(&mut tally, *leaves, *comes) < class.shortage;
                    if !*helps[to.kind].get_or_insert_with(is_better) {
                        continue;
                    }
                    let after = f64::from(reach.loss_with(self.frame, to.cell));
                    let cost = |donor_after: f64| {
                        class.rows() * (after - class.loss) + donor.rows() * (donor_after - donor.loss)
                    };
                    if best.is_some_and(|(least, _)| cost(*least_loss) >= least) {
                        continue;
                    }
                    let cost = cost(donor.edges.loss_exchanged(self.frame, to.cell, from.cell));
                    let donor_tally = donor_tally.get_or_insert_with(|| donor.tally.clone());
                    if best.is_none_or(|(least, _)| cost < least)
                        && self.shortage_exchanged(donor_tally, *comes, *leaves) <= donor.shortage
                    {
                        best = Some((cost, Switch { failing, other, leaves: *leaves, comes: *comes }));
                    }
                }
            }
        }
        best.map(|(_, switch)| switch)
    }

    /// Returns the deficit of a class after exchanging a row of one group for a row of another. The tally is restored.
    fn shortage_exchanged(&self, class: &mut Tally, leaves: u32, comes: u32) -> u64 {
        let (leaves, comes) = (self.frame.table().codes(leaves), self.frame.table().codes(comes));
        class.remove(leaves, 1);
        class.add(comes, 1);
        let shortage = self.privacy.shortage(class);
        class.remove(comes, 1);
        class.add(leaves, 1);
        shortage
    }

    fn switch(&mut self, switch: Switch) {
        let Switch { failing, other, leaves, comes } = switch;
        for (class, leaves, comes) in [(failing, leaves, comes), (other, comes, leaves)] {
            let mut portions = std::mem::take(&mut self.classes[class].portions);
            if let Some(portion) = portions.iter_mut().find(|portion| portion.group == leaves) {
                portion.rows -= 1;
            }
            portions.retain(|portion| portion.rows > 0);
            portions.push(Portion { group: comes, rows: 1 });
            self.classes[class] = self.hold(Class::of_portions(portions));
        }
    }

    /// Returns the class whose merge with the failing class increases the loss least.
    fn nearest(&self, failing: usize) -> Option<usize> {
        let class = &self.classes[failing];
        let cost = |other: &SwitchableClass| {
            let together = class.edges.loss_together(&other.edges, self.frame);
            class.rows() * (together - class.loss) + other.rows() * (together - other.loss)
        };
        let others = self.classes.iter().enumerate().filter(|(other, _)| *other != failing);
        others.map(|(other, held)| (cost(held), other)).min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other)| other)
    }
}

#[cfg(test)]
#[path = "switching_tests.rs"]
mod tests;
