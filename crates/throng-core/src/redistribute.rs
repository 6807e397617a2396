//! Draws at random which rows of a shared cell go to which of its classes.
//!
//! A class that lacks rows borrows some of a cell that can spare them (its *lender*), and row-by-row algorithms cut a cell
//! into several classes. Rows of one cell have the same quasi-identifiers, so no loss depends on which of them goes where,
//! but the sensitive values do. If a public rule chose them ("the most frequent value first"), an intruder who knows the
//! quasi-identifiers of everyone could subtract what the rule would have lent and read off the value of the one person
//! that the class hides. Therefore the algorithms decide only *how many* rows of a cell each class gets, and this module
//! draws *which* ones, by a key that no reader of the release has.
//!
//! # What an intruder learns
//!
//! Let a class of `m` rows with the histogram `h` have one row of its own, of unknown value, and `m - 1` rows drawn
//! uniformly from the `N` rows of a lender, whose remaining rows show the histogram `g`. If the own value is `v`, the lender
//! had `n = g + h - e_v`. Given that, one of `N! / prod n_u!` equally likely arrangements of values over the people of
//! the lender holds, and a uniform draw yields this release with the probability
//! `prod C(n_u, h_u - [u = v]) / C(N, m - 1)`. The product of the two is proportional to
//!
//! ```text
//!  prod 1 / (h_u - [u = v])!   which is proportional to   h_v
//! ```
//!
//! so the posterior of `v` is its share `h_v / m` of the class: the intruder learns no more than every reader of the class
//! sees. With `r` own rows the same argument gives `prod C(h_u, V_u)` for a multiset `V` of own values: own rows are
//! exchangeable with borrowed ones.
//!
//! A draw must leave every class satisfied. Conditioning on that divides the weight of `v` by `Z_v`, the probability that a
//! free draw satisfies the models if the own value is `v`. So the posterior is at most `1 / min Z` times the share; it is
//! exactly the share where the own rows satisfy the diversity models, or the lender is diverse enough that any draw does.
//!
//! # How it is drawn
//!
//! The classes and cells that share rows form connected components, which are independent of each other. Within a
//! component, each class in turn returns its rows of a cell to the class that has most of that cell, and redraws the
//! same number, until both satisfy the models (Gibbs sampling: each step leaves the uniform distribution over satisfying
//! assignments unchanged).

use rayon::prelude::*;

use crate::cluster::{Class, Portion};
use crate::key::{KeyStream, ReleaseKey};
use crate::model::{Privacy, Tally};
use crate::table::Table;

/// Number of times every class redraws its rows. The first state follows a public rule, so one sweep is not enough
/// where several classes share a cell.
const SWEEPS: usize = 4;

/// After this many draws that leave a class unsatisfied, it keeps its previous rows.
const ATTEMPTS: usize = 256;

/// The rows of one cell that are in one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SharedPortion {
    /// The smallest class of the connected component.
    component: u32,
    cell: u32,
    class: u32,
    rows: u32,
}

/// Memory per row of a shared cell while its component is drawn: the group of the row, and for some rows the exchange.
const SHARED_ROW_BYTES: usize = 2 * size_of::<u32>();

/// Cells that several classes share, before their rows are drawn.
#[derive(Debug)]
pub struct SharedCells {
    shared_portions: Vec<SharedPortion>,
}

impl SharedCells {
    /// Finds the cells that several classes share.
    pub fn of(table: &Table, classes: &[Class]) -> Self {
        Self { shared_portions: shared_portions(table, classes) }
    }

    /// Returns the memory of [`SharedCells::redistribute`] in bytes: every row of a shared cell is in it while its component
    /// is drawn, and each thread draws one component at a time.
    pub fn size(&self) -> usize {
        let rows = |shared_portions: &[SharedPortion]| {
            shared_portions.iter().map(|portion| portion.rows as usize).sum::<usize>()
        };
        let mut rows: Vec<usize> = self.components().map(rows).collect();
        rows.sort_unstable_by(|a, b| b.cmp(a));
        let at_a_time: usize = rows.iter().take(rayon::current_num_threads()).sum();
        self.shared_portions.len() * size_of::<SharedPortion>() + at_a_time * SHARED_ROW_BYTES
    }

    fn components(&self) -> impl Iterator<Item = &[SharedPortion]> {
        self.shared_portions.chunk_by(|a, b| a.component == b.component)
    }

    /// Draws which rows of each shared cell go to which class. Sizes of classes and their quasi-identifiers stay as they
    /// are; every class must satisfy `privacy` and still does.
    pub fn redistribute(&self, table: &Table, privacy: &Privacy, classes: &mut [Class], key: ReleaseKey) {
        let key = key.derive("shared cells", &[]);
        let components: Vec<&[SharedPortion]> = self.components().collect();
        let draw =
            |shared_portions: &&[SharedPortion]| Component::new(table, privacy, classes, shared_portions).drawn(key);
        let drawn: Vec<(u32, Class)> = components.par_iter().flat_map_iter(draw).collect();
        for (class, drawn) in drawn {
            classes[class as usize] = drawn;
        }
    }
}

/// Merges classes that share a cell, until every class has whole cells. A merged class satisfies the models, all of which are
/// closed under merging.
pub(crate) fn merge_sharing(table: &Table, classes: Vec<Class>) -> Vec<Class> {
    let shared_portions = shared_portions(table, &classes);
    if shared_portions.is_empty() {
        return classes;
    }
    let mut component_of: Vec<u32> = (0..classes.len() as u32).collect();
    shared_portions.iter().for_each(|portion| component_of[portion.class as usize] = portion.component);
    let mut numbered: Vec<(u32, Class)> = component_of.into_iter().zip(classes).collect();
    numbered.sort_by_key(|(component, _)| *component);
    let merged = numbered.chunk_by(|a, b| a.0 == b.0).map(|parts| match parts {
        [(_, alone)] => alone.clone(),
        several => Class::of_portions(several.iter().flat_map(|(_, class)| class.portions.iter().copied()).collect()),
    });
    merged.collect()
}

/// Returns the rows of every class in every cell that it shares with another class, by component, cell and class.
fn shared_portions(table: &Table, classes: &[Class]) -> Vec<SharedPortion> {
    let cell_of = table.cells_of_groups();
    let of_class = |(class, number): (&Class, u32)| {
        let runs = class.portions.chunk_by(|a, b| cell_of[a.group as usize] == cell_of[b.group as usize]);
        let portion = |run: &[Portion]| {
            let (cell, rows) = (cell_of[run[0].group as usize], run.iter().map(|portion| portion.rows).sum());
            let is_shared = u64::from(rows) < table.cell_rows(cell);
            is_shared.then_some(SharedPortion { component: number, cell, class: number, rows })
        };
        runs.filter_map(portion).collect::<Vec<_>>()
    };
    let mut shared_portions: Vec<SharedPortion> =
        classes.par_iter().zip(0..classes.len() as u32).flat_map_iter(of_class).collect();
    shared_portions.par_sort_unstable_by_key(|portion| (portion.cell, portion.class));
    let mut parents: Vec<u32> = (0..classes.len() as u32).collect();
    for of_cell in shared_portions.chunk_by(|a, b| a.cell == b.cell) {
        for portion in &of_cell[1..] {
            let (a, b) = (root(&mut parents, of_cell[0].class), root(&mut parents, portion.class));
            parents[a.max(b) as usize] = a.min(b);
        }
    }
    shared_portions.iter_mut().for_each(|portion| portion.component = root(&mut parents, portion.class));
    shared_portions.par_sort_unstable();
    shared_portions
}

/// Returns the representative of a set of classes (union-find with path halving).
fn root(parents: &mut [u32], mut class: u32) -> u32 {
    while parents[class as usize] != class {
        let above = parents[parents[class as usize] as usize];
        parents[class as usize] = above;
        class = above;
    }
    class
}

/// Cells and classes that are connected by shared rows.
struct Component<'a> {
    table: &'a Table,
    privacy: &'a Privacy,
    cells: Vec<SharedCell>,
    /// Ascending by class number.
    classes: Vec<SharingClass>,
}

/// A cell of which several classes have rows.
struct SharedCell {
    cell: u32,
    /// The group of each row, class by class.
    rows: Vec<u32>,
    /// Assignment of rows to classes, which are indices into the classes of the component.
    segments: Vec<Segment>,
}

#[derive(Clone, Copy)]
struct Segment {
    class: usize,
    start: usize,
    end: usize,
}

struct SharingClass {
    number: u32,
    tally: Tally,
    /// Rows of cells that only this class has, which are not drawn.
    own: Vec<Portion>,
    cover: Option<Vec<(u32, u32)>>,
}

impl<'a> Component<'a> {
    fn new(table: &'a Table, privacy: &'a Privacy, classes: &[Class], shared_portions: &[SharedPortion]) -> Self {
        let mut numbers: Vec<u32> = shared_portions.iter().map(|portion| portion.class).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let index = |class: u32| numbers.partition_point(|number| *number < class);
        let mut sharing: Vec<SharingClass> = Vec::with_capacity(numbers.len());
        for number in &numbers {
            let class = &classes[*number as usize];
            let own = class.portions.clone();
            sharing.push(SharingClass { number: *number, tally: class.tally(table), own, cover: class.cover.clone() });
        }
        let mut cells = Vec::new();
        for of_cell in shared_portions.chunk_by(|a, b| a.cell == b.cell) {
            let groups = table.groups(of_cell[0].cell);
            let mut shared = SharedCell { cell: of_cell[0].cell, rows: Vec::new(), segments: Vec::new() };
            for portion in of_cell {
                let (class, start) = (index(portion.class), shared.rows.len());
                sharing[class].own.retain(|portion| {
                    let is_shared = groups.contains(&portion.group);
                    if is_shared {
                        shared.rows.extend(std::iter::repeat_n(portion.group, portion.rows as usize));
                    }
                    !is_shared
                });
                shared.segments.push(Segment { class, start, end: shared.rows.len() });
            }
            cells.push(shared);
        }
        Self { table, privacy, cells, classes: sharing }
    }

    /// Draws the rows of all shared cells; returns the classes with their numbers.
    fn drawn(mut self, key: ReleaseKey) -> Vec<(u32, Class)> {
        // The positions of the first cell identify the component by its content.
        let first = self.cells.first().into_iter().flat_map(|shared| self.table.whole_positions(shared.cell));
        let context: Vec<u8> = first.flat_map(u32::to_le_bytes).collect();
        let mut random = key.derive("component", &context).stream();
        for _ in 0..SWEEPS {
            for cell in 0..self.cells.len() {
                self.draw_cell(cell, &mut random);
            }
        }
        let Self { cells, mut classes, .. } = self;
        for SharedCell { mut rows, segments, .. } in cells {
            for segment in segments {
                let rows = &mut rows[segment.start..segment.end];
                rows.sort_unstable();
                let portions = rows.chunk_by(|a, b| a == b);
                let portions = portions.map(|run| Portion { group: run[0], rows: run.len() as u32 });
                classes[segment.class].own.extend(portions);
            }
        }
        let class = |SharingClass { number, own, cover, .. }| (number, Class { cover, ..Class::of_portions(own) });
        classes.into_iter().map(class).collect()
    }

    /// Lets every class except the one with most rows of a cell exchange rows with that one.
    fn draw_cell(&mut self, cell: usize, random: &mut KeyStream) {
        let segments = self.cells[cell].segments.clone();
        let most =
            segments.iter().enumerate().max_by_key(|(at, segment)| (segment.end - segment.start, usize::MAX - at));
        let Some((hub, _)) = most else { return };
        for at in (0..segments.len()).filter(|at| *at != hub) {
            self.exchange(cell, segments[at], segments[hub], random);
        }
    }

    /// Draws the rows of one class from its own and those of another, until both satisfy the models.
    fn exchange(&mut self, cell: usize, drawing: Segment, giving: Segment, random: &mut KeyStream) {
        let others = giving.end - giving.start;
        let mut swaps: Vec<(usize, usize)> = Vec::with_capacity(drawing.end - drawing.start);
        for _ in 0..ATTEMPTS {
            // A partial Fisher-Yates shuffle of both segments; the first rows become those of the class.
            for slot in drawing.start..drawing.end {
                let own = drawing.end - slot;
                let pick = random.below(own + others);
                let from = if pick < own { slot + pick } else { giving.start + pick - own };
                self.swap(cell, (slot, drawing.class), (from, if pick < own { drawing.class } else { giving.class }));
                swaps.push((slot, from));
            }
            let is_satisfied = |segment: &Segment| self.privacy.is_satisfied(&self.classes[segment.class].tally);
            if [drawing, giving].iter().all(is_satisfied) {
                return;
            }
        }
        for (slot, from) in swaps.into_iter().rev() {
            let is_own = (drawing.start..drawing.end).contains(&from);
            self.swap(cell, (slot, drawing.class), (from, if is_own { drawing.class } else { giving.class }));
        }
    }

    /// Swaps two rows of a cell, each given with the class that has it.
    fn swap(&mut self, cell: usize, (a, class_of_a): (usize, usize), (b, class_of_b): (usize, usize)) {
        let rows = &mut self.cells[cell].rows;
        rows.swap(a, b);
        if rows[a] != rows[b] && class_of_a != class_of_b {
            let (of_a, of_b) = (self.table.codes(rows[a]), self.table.codes(rows[b]));
            for (class, comes, goes) in [(class_of_a, of_a, of_b), (class_of_b, of_b, of_a)] {
                self.classes[class].tally.add(comes, 1);
                self.classes[class].tally.remove(goes, 1);
            }
        }
    }
}

#[cfg(test)]
#[path = "redistribute_tests.rs"]
mod tests;
