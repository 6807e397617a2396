//! Local search: lowers the total loss of classes across the borders of leaves.
//!
//! ```text
//!  classes ─► SearchState ─► Neighbourhood: anneal ─┐      one round; neighbourhoods in parallel
//!                ▲                                  │
//!                └─────────── classes ◄─────────────┘      the next round cuts along other borders
//! ```
//!
//! Leaves are clustered independently, so their borders keep classes apart that would lose less if they exchanged
//! cells. The search therefore regroups nearby classes into neighbourhoods, whatever leaf they came from, and anneals
//! each of them (`anneal.rs`). A *cycle* is a number of rounds with falling temperature; its result is kept only if it
//! lowers the cost and does not raise the loss, so no number of cycles loses more than one, or none. All randomness comes from the seed: the
//! result depends only on the table, the seed and the number of cycles.
//!
//! All rows of a cell move together, and a cell that satisfies the privacy model alone keeps a class of its own
//! (`search_state.rs`). The number of proposals per cell falls with the number of cells, down to a minimum.

mod anneal;
mod cell_exchange;
mod cuts;
mod local_near;
mod nearest_cells;
mod neighbourhood;
mod proposal_mix;
pub(crate) mod rng;
mod round;
mod search_state;
mod split;
mod split_into_neighbourhoods;
mod surplus;

use rayon::prelude::*;

use crate::cluster::{
    Class, ClusterContext, ClusterMethod, DEFAULT_CYCLES, FormedClasses, Greedy, IgnoreProgress, level_groups,
};
use crate::model::Privacy;
use crate::partition::Leaf;
use crate::table::{QuasiColumn, Table};
use anneal::Temperature;
use nearest_cells::NearestCells;
use proposal_mix::ProposalMix;
use rng::SplitMix64;
use round::Round;
use search_state::SearchState;

/// Number of cycles for a search that runs until `may_continue` returns false.
pub const WITHOUT_LIMIT: u32 = u32::MAX;

/// Maximum number of rounds per cycle, and the number of proposals per cell that a round should have.
const ROUNDS: u32 = 4;
const ROUND_PROPOSALS: u32 = 4;

/// Budget of column evaluations per cycle; divided by cells and columns it gives the proposals per cell, clamped to the
/// two constants below. Cycles of several lengths have at least `MIN_OF_LONG` per length.
const PROPOSALS: u64 = 1 << 21;
const MAX_PER_CELL: u64 = 64;
const MIN_PER_CELL: u64 = 1;
const MIN_OF_LONG: u32 = 2;

/// Minimum number of proposals per cycle, for small tables.
const MIN_PROPOSALS: u64 = 1 << 13;

/// First temperature per proposal that a cell gets, as a share of the mean cost of a cell. Longer cycles start hotter,
/// because they have time to recover; a cycle of several lengths by a power of its length.
const FIRST_HEAT: f32 = 1.0 / 128.0;
const LENGTH_POWER: f32 = 0.75;
/// Number of proposals per cell above which the first temperature no longer rises.
const HOTTEST: f32 = 64.0;
/// Last temperature, in the same unit.
const LAST_HEAT: f32 = 0.05;

/// Temperature of a last round, which leaves each class where no single proposal gains; it has `COLD_PROPOSALS` proposals, at
/// most `COLD_PER_CELL` per cell. In larger tables they gain more at a higher temperature.
const COLD_HEAT: f32 = 1e-4;
const COLD_PROPOSALS: usize = 1 << 14;
const COLD_PER_CELL: usize = 16;

/// Number of columns above which the temperature no longer rises: a proposal changes only a few of them.
const HEATING_COLUMNS: f64 = 6.0;

/// Number of proposals per cell for which the near cells of a shorter cycle do.
const ENOUGH_NEAR: u32 = 16;

/// Longest cycle, in units of the first.
const LONGEST: u32 = 64;

/// Number of proposals of a cycle.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    /// Proposals per cell of a cycle of length 1.
    per_cell: u32,
    /// Length of the cycle. One long cycle loses less than many short ones with as many proposals.
    length: u32,
}

impl Schedule {
    /// Returns the schedule of a cycle, given the proposals per cell of a cycle of length 1.
    fn new(per_cell: u32, length: u32) -> Self {
        let least = if length > 1 { MIN_OF_LONG } else { 1 };
        Self { per_cell: per_cell.max(least), length }
    }

    /// Returns the proposals per cell of the cycle.
    fn proposals(self) -> u32 {
        self.per_cell.saturating_mul(self.length)
    }
}

/// Budget and random seed of a search.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// Maximum number of cycles. The first is a cycle of its own; the others are made in cycles that count for several.
    pub cycles: u32,
    /// Maximum number of proposals per cell in a cycle, where small tables would get more.
    pub most_proposals: u32,
    /// Seed of the proposals.
    pub seed: u64,
    /// Polled before every round; once it returns false, the search ends with its best result.
    pub may_continue: &'a (dyn Fn() -> bool + Sync),
}

/// Greedy clustering of each leaf, or grouping by levels where that loses less, then local search across the leaves of a region.
#[derive(Clone, Copy, Debug)]
pub struct LocalSearch {
    /// Forms the initial classes.
    pub start: Greedy,
    /// Seed of the proposals.
    pub seed: u64,
}

impl ClusterMethod for LocalSearch {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        let leaf = Leaf::of(leaf.to_vec());
        let context = ClusterContext::new(DEFAULT_CYCLES, &IgnoreProgress);
        self.cluster_region(&[leaf], table, privacy, &context).classes
    }

    fn cluster_region(
        &self,
        leaves: &[Leaf],
        table: &Table,
        privacy: &Privacy,
        context: &ClusterContext<'_>,
    ) -> FormedClasses {
        let (start, grouped) = rayon::join(
            || self.start.cluster_region(leaves, table, privacy, context).classes,
            || level_groups(leaves, table, privacy, self.start.seed, context),
        );
        let may_continue = || context.may_search();
        let (cycles, most_proposals) = (context.cycles(), context.most_proposals());
        let effort = Effort { cycles, most_proposals, seed: self.seed, may_continue: &may_continue };
        let (classes, cycles) = match grouped {
            None => improve(table, privacy, start, effort),
            Some(grouped) => improve_better(table, privacy, [start, grouped], effort),
        };
        FormedClasses { classes, cycles }
    }
}

/// Improves `clustered`, or `grouped` if these classes lose less than the others do after the first cycle: grouped classes gain
/// little from a search, and clustered ones much. The choice is the same for any larger number of cycles, so a longer
/// search never loses more.
fn improve_better(
    table: &Table,
    privacy: &Privacy,
    [clustered, grouped]: [Vec<Class>; 2],
    effort: Effort<'_>,
) -> (Vec<Class>, u32) {
    let loss = total_loss(table, &grouped);
    match Search::begin(table, privacy, clustered, effort) {
        Err(clustered) if total_loss(table, &clustered) <= loss => (clustered, 0),
        Ok(mut search) => {
            search.run(1);
            if search.loss() <= loss {
                search.run(effort.cycles);
                return search.finish();
            }
            drop(search);
            improve(table, privacy, grouped, effort)
        }
        Err(_) => improve(table, privacy, grouped, effort),
    }
}

/// Returns the weighted loss of classes, summed over their rows.
fn total_loss(table: &Table, classes: &[Class]) -> f64 {
    let cell_of = table.cells_of_groups();
    let loss = |class: &Class| {
        let rows = class.portions.iter().map(|portion| u64::from(portion.rows)).sum();
        let cells = class.portions.iter().map(|portion| cell_of[portion.group as usize]);
        loss_of_cells(table, cells, rows)
    };
    // Summed in order, so that the sum does not depend on threads.
    let losses: Vec<f64> = classes.par_iter().map(loss).collect();
    losses.iter().sum()
}

/// Returns the weighted loss of `rows` rows in the bounding box of some cells.
pub(crate) fn loss_of_cells(table: &Table, cells: impl Iterator<Item = u32> + Clone, rows: u64) -> f64 {
    let of_column = |(column, quasi): (usize, &QuasiColumn)| {
        let positions = cells.clone().map(|cell| table.positions(cell)[column]);
        let (lo, hi) = positions.fold((u32::MAX, 0), |(lo, hi), at| (lo.min(at), hi.max(at)));
        quasi.spec.weight * quasi.domain.loss(lo.min(hi), hi)
    };
    rows as f64 * table.quasi().iter().enumerate().map(of_column).sum::<f64>()
}

/// Returns classes of the same rows that lose no more than `classes`, and the number of completed cycles. All of
/// `classes` must satisfy `privacy`, and so do the returned ones.
pub fn improve(table: &Table, privacy: &Privacy, classes: Vec<Class>, effort: Effort<'_>) -> (Vec<Class>, u32) {
    match Search::begin(table, privacy, classes, effort) {
        Err(classes) => (classes, 0),
        Ok(mut search) => {
            search.run(effort.cycles);
            search.finish()
        }
    }
}

/// A search between two cycles.
struct Search<'a> {
    state: SearchState<'a>,
    effort: Effort<'a>,
    draws: SplitMix64,
    /// Proposals per cell of a cycle of length 1.
    per_cell: u32,
    /// The near cells, unless no cycle has had more than one proposal per cell.
    near: Option<NearestCells>,
    /// Number of proposals per cell for which `near` was found.
    sought: u32,
    /// Number of completed cycles.
    done: u32,
    /// Length of the next cycle of a search without limit.
    length: u32,
    is_interrupted: bool,
}

impl<'a> Search<'a> {
    /// Begins a search. Returns the classes if there is nothing to search, or no budget.
    fn begin(
        table: &'a Table,
        privacy: &'a Privacy,
        classes: Vec<Class>,
        effort: Effort<'a>,
    ) -> Result<Self, Vec<Class>> {
        if classes.len() < 2 || effort.cycles == 0 || !(effort.may_continue)() {
            return Err(classes);
        }
        let mut state = SearchState::new(table, privacy, classes);
        if state.classes.len() < 2 {
            return Err(state.into_classes());
        }
        let draws = SplitMix64::new(effort.seed);
        let cells = state.movable.len() as u64;
        let columns = state.table.quasi().len() as u64;
        let per_cell =
            (PROPOSALS / (cells * columns)).clamp(MIN_PER_CELL, MAX_PER_CELL).max(MIN_PROPOSALS / cells) as u32;
        let per_cell = per_cell.min(effort.most_proposals.max(MIN_PER_CELL as u32));
        let near = (per_cell > 1).then(|| NearestCells::find(&state, per_cell, &draws));
        state.measure();
        Ok(Self { state, effort, draws, per_cell, near, sought: per_cell, done: 0, length: 1, is_interrupted: false })
    }

    /// Runs cycles until `cycles` are completed, unless the search is interrupted.
    fn run(&mut self, cycles: u32) {
        while self.done < cycles && !self.is_interrupted {
            // After a first cycle, all others are one long cycle, unless their number is not meant to be reached.
            let left = self.effort.cycles - self.done;
            let schedule =
                Schedule::new(self.per_cell, if self.done > 0 && left < LONGEST { left } else { self.length });
            if self.sought < ENOUGH_NEAR && self.sought < schedule.proposals() {
                self.sought = schedule.proposals();
                self.near = Some(NearestCells::find(&self.state, self.sought, &self.draws));
            }
            let draws = self.draws.of_part(u64::from(self.done) + 1);
            if !cycle(&mut self.state, self.near.as_ref(), schedule, &draws, self.effort) {
                self.is_interrupted = true;
                return;
            }
            self.done += schedule.length;
            self.length = (2 * self.length).min(LONGEST);
        }
    }

    /// Returns the weighted loss of the classes, summed over their rows.
    fn loss(&self) -> f64 {
        self.state.total_loss()
    }

    /// Returns the classes and the number of completed cycles.
    fn finish(self) -> (Vec<Class>, u32) {
        (self.state.into_classes(), self.done)
    }
}

/// Runs one cycle; returns false if it was interrupted.
fn cycle(
    state: &mut SearchState<'_>,
    near: Option<&NearestCells>,
    schedule: Schedule,
    draws: &SplitMix64,
    effort: Effort<'_>,
) -> bool {
    let (cost, loss) = (state.cost(), state.loss());
    let share = (HEATING_COLUMNS / state.table.quasi().len() as f64).min(1.0);
    let mean = (share * cost / state.movable.len() as f64) as f32;
    let per_cell = schedule.proposals();
    let rounds = (per_cell / ROUND_PROPOSALS).clamp(1, ROUNDS * schedule.length);
    let lengthened = schedule.per_cell as f32 * (schedule.length as f32).powf(LENGTH_POWER);
    let first = FIRST_HEAT * lengthened.min(HOTTEST);
    let cooling = (LAST_HEAT.min(first) / first).powf(1.0 / rounds as f32);
    let mut heat = Temperature { from: first * mean, to: first * mean * cooling };
    let mix = if per_cell == 1 { ProposalMix::of_many_cells() } else { ProposalMix::usual(per_cell / rounds) };
    let (mut before, mut round) = (None, 0);
    while round < rounds && mean > 0.0 && (effort.may_continue)() {
        let classes = Round { mix, heat }.run(state, near, &draws.of_part(u64::from(round) + 1));
        let replaced = state.set_classes(classes);
        before.get_or_insert(replaced);
        heat = Temperature { from: heat.to, to: heat.to * cooling };
        round += 1;
    }
    let is_whole = round == rounds;
    let cold = (COLD_PER_CELL.min(COLD_PROPOSALS / state.movable.len()) as u32).min(effort.most_proposals);
    if is_whole && cold > 0 && mean > 0.0 {
        let heat = Temperature { from: COLD_HEAT * mean, to: COLD_HEAT * mean };
        let classes =
            Round { mix: ProposalMix::usual(cold), heat }.run(state, near, &draws.of_part(u64::from(rounds) + 1));
        state.set_classes(classes);
    }
    if let Some(before) = before {
        let is_worse = state.cost() >= cost || state.loss() > loss;
        let discarded = if is_worse { state.set_classes(before) } else { before };
        // Freeing the many small vectors takes time.
        discarded.into_par_iter().for_each(drop);
    }
    is_whole
}

#[cfg(test)]
#[path = "local_search_tests.rs"]
mod tests;
