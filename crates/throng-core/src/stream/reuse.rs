//! Decides which rows of a buffer join a class that was published before.
//!
//! A class that satisfies the models still does when rows join it, if every model is closed under adding rows. The others are only
//! closed under merging: they hold if the rows that join satisfy them among themselves. So neither the values nor the units
//! of a published class have to be remembered.
//!
//! What a row would lose in a new class is found by forming the classes of the whole buffer. Rows that lose much less in a published box
//! leave, and the classes of the others are formed again.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::emission::Place;
use super::published_boxes::BoxesInTable;
use crate::anonymize::Method;
use crate::cluster::IgnoreProgress;
use crate::error::Result;
use crate::feasibility::Feasibility;
use crate::local_search::loss_of_cells;
use crate::model::{Privacy, Tally};
use crate::partition::FeasibleRegions;
use crate::table::Table;

/// How many times as much as in a published box a row must lose in a new class to join the box: a new class that is hardly wider
/// serves the rows that come later, too.
const LEAST_GAIN: f64 = 1.6;

/// How often rows are chosen, at most.
const PASSES: usize = 3;

/// Chooses boxes for the cells of a table.
struct Chooser<'a> {
    table: &'a Table,
    /// The models, with the rows that can be in new classes as the release that some of them refer to.
    privacy: &'a Privacy,
    /// The models that the rows which join a class satisfy among themselves.
    among_themselves: Privacy,
    /// The box of each cell in which it loses least, with that loss.
    tightest: Vec<Option<(u32, f64)>>,
    method: Method,
}

/// Returns where the rows of each group go. All rows of a cell go the same way, so the order of arrival makes no difference.
pub(super) fn joining(table: &Table, privacy: &Privacy, boxes: &BoxesInTable, method: Method) -> Result<Vec<Place>> {
    let allowed = FeasibleRegions::of(table, privacy);
    let cells: Vec<u32> = (0..table.cell_count() as u32).collect();
    let chooser = Chooser {
        table,
        privacy: &allowed.privacy,
        among_themselves: privacy.closed_under_merging_only(),
        tightest: cells.par_iter().map(|cell| boxes.tightest(table.positions(*cell))).collect(),
        method,
    };
    let (regions, others) = match Feasibility::of(table, privacy, &allowed).shortfalls.is_empty() {
        true => (allowed.classes.as_slice(), &allowed.suppressed_cells),
        false => (&[][..], &cells),
    };
    let chosen = regions.par_iter().map(|region| chooser.choose(region)).collect::<Result<Vec<_>>>()?;
    let mut places = vec![Place::None; table.group_count()];
    let mut put = |cells: &[u32], chosen: Vec<Option<u32>>, otherwise: Place| {
        for (cell, number) in cells.iter().zip(chosen) {
            let groups = table.groups(*cell);
            places[groups.start as usize..groups.end as usize].fill(number.map_or(otherwise, Place::Box));
        }
    };
    regions.iter().zip(chosen).for_each(|(region, chosen)| put(region, chosen, Place::Class));
    // Rows that can't be in a new class at all.
    put(others, chooser.boxes(others, |_, _| true), Place::None);
    Ok(places)
}

impl Chooser<'_> {
    /// Returns the box of each of these cells, which together satisfy the models, or `None` for a new class. If the rows that are
    /// left can't be in new classes, either all rows go to boxes, or none.
    fn choose(&self, region: &[u32]) -> Result<Vec<Option<u32>>> {
        let mut chosen = vec![None; region.len()];
        for _ in 0..PASSES {
            let left = left(region, &chosen);
            if !self.have_classes(&left) {
                break;
            }
            let losses = self.losses_in_classes(&left)?;
            let gains = |cell: u32, loss: f64| losses.get(&cell).is_some_and(|own| loss * LEAST_GAIN < *own);
            let mut more = self.boxes(&left, gains).into_iter();
            if more.as_slice().iter().all(Option::is_none) {
                break;
            }
            chosen.iter_mut().filter(|number| number.is_none()).for_each(|number| *number = more.next().flatten());
        }
        let left = left(region, &chosen);
        if !left.is_empty() && !self.have_classes(&left) {
            chosen = self.boxes(region, |_, _| true);
            if chosen.iter().any(Option::is_none) {
                chosen.fill(None);
            }
        }
        Ok(chosen)
    }

    fn have_classes(&self, cells: &[u32]) -> bool {
        !cells.is_empty() && self.privacy.is_satisfied_by(self.table, cells.iter().copied())
    }

    /// Returns the tightest box of each cell that `accepts` it with its loss, if its rows satisfy the models that are only closed under
    /// merging together with the others that join the box.
    fn boxes(&self, cells: &[u32], accepts: impl Fn(u32, f64) -> bool) -> Vec<Option<u32>> {
        let box_of = |cell: &u32| {
            let found = self.tightest[*cell as usize].filter(|(_, loss)| accepts(*cell, *loss));
            found.map(|(number, _)| number)
        };
        joined(self.table, &self.among_themselves, cells, cells.iter().map(box_of).collect())
    }

    /// Returns the mean weighted loss of the rows of each cell in classes of these cells, which together satisfy the models.
    fn losses_in_classes(&self, cells: &[u32]) -> Result<FxHashMap<u32, f64>> {
        let Self { table, privacy, method, .. } = self;
        let region = FeasibleRegions {
            classes: vec![cells.to_vec()],
            suppressed_cells: Vec::new(),
            privacy: (*privacy).clone(),
        };
        let leaves = method.leaves(&region, table)?;
        let formed = method.formed(&leaves, table, privacy, &IgnoreProgress).classes;
        let cell_of = table.cells_of_groups();
        let mut losses: FxHashMap<u32, f64> = FxHashMap::default();
        for class in &formed {
            let cells = || class.portions.iter().map(|portion| cell_of[portion.group as usize]);
            let loss = loss_of_cells(table, cells(), 1);
            for (cell, portion) in cells().zip(&class.portions) {
                *losses.entry(cell).or_default() += f64::from(portion.rows) * loss / table.cell_rows(cell) as f64;
            }
        }
        Ok(losses)
    }
}

/// Returns the cells without a box.
fn left(cells: &[u32], chosen: &[Option<u32>]) -> Vec<u32> {
    cells.iter().zip(chosen).filter(|(_, number)| number.is_none()).map(|(cell, _)| *cell).collect()
}

/// Returns the boxes of those cells whose rows satisfy these models together with the others of the same box.
fn joined(table: &Table, models: &Privacy, cells: &[u32], mut chosen: Vec<Option<u32>>) -> Vec<Option<u32>> {
    if models.models().next().is_none() {
        return chosen;
    }
    let mut tallies: FxHashMap<u32, Tally> = FxHashMap::default();
    for (cell, number) in cells.iter().zip(&chosen) {
        if let Some(number) = number {
            tallies.entry(*number).or_insert_with(|| Tally::empty(table.tally_shape())).add_cell(table, *cell);
        }
    }
    for number in &mut chosen {
        *number = number.filter(|number| tallies.get(number).is_some_and(|tally| models.is_satisfied(tally)));
    }
    chosen
}
