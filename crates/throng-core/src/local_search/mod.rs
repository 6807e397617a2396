//! Local search: lowers what classes lose together, across the borders of leaves.
//!
//! ```text
//!  classes ─► State ─► neighbourhoods ─► Hood: anneal ─┐      one round; hoods in parallel
//!                ▲                                     │
//!                └──────────── classes ◄───────────────┘      the next round cuts along other borders
//! ```
//!
//! A leaf is clustered on its own, so its border runs through places where classes would better reach across. Here classes
//! that lie near each other are looked at together, whatever leaf they came from, and cells move from one to the other
//! while that loses less in the end (`anneal.rs`). A *cycle* is some rounds that begin hot and end cold. Its result is
//! taken only if it loses less than what was there before: more cycles never lose more. Numbers are drawn from the seed,
//! so the result depends on the table, the seed and the number of cycles alone.
//!
//! All rows of a cell move together, and cells that satisfy the model alone stay at home (`state.rs`). Time grows with
//! the number of cells: small tables are searched longer per cell, large ones at least a little.

mod anneal;
mod cell_exchange;
mod nearest_cells;
mod neighbourhood;
pub(crate) mod rng;
mod round;
mod search_state;
mod split;
mod split_into_neighbourhoods;
mod surplus;

use crate::cluster::Class;
use crate::model::Privacy;
use crate::table::Table;
use anneal::Temperature;
use nearest_cells::NearestCells;
use rng::SplitMix64;
use round::Round;
use search_state::SearchState;

/// Cycles without a limit: the search goes on until it is told to stop.
pub const WITHOUT_LIMIT: u32 = u32::MAX;

/// Rounds of a cycle, as long as each cell gets so many proposals in each of them.
const ROUNDS: u32 = 4;
const ROUND_PROPOSALS: u32 = 4;

/// About so many proposals are made in a cycle, over the number of columns that each of them looks at, as long as each cell
/// gets neither more nor less than these.
const PROPOSALS: u64 = 7 << 18;
const MOST_PER_CELL: u64 = 40;
const LEAST_PER_CELL: u64 = 1;

/// A cycle of a small table has so many proposals whatever that is per cell: they take no time.
const LEAST_PROPOSALS: u64 = 1 << 13;

/// How hot a cycle begins, per proposal that each cell gets, and how hot it ends, as a share of what a cell loses on
/// average. The longer a cycle, the more it can lose at first and still make up for it.
const FIRST_HEAT: f32 = 1.0 / 64.0;
/// So many proposals per cell make it as hot as it gets.
const HOTTEST: u32 = 64;
const LAST_HEAT: f32 = 0.02;
/// What is lost in more columns than so many is no reason for more heat: a change matters in few of them.
const HEATING_COLUMNS: f64 = 6.0;

/// How long to search.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// How many cycles.
    pub cycles: u32,
    /// Drives what is proposed.
    pub seed: u64,
    /// Asked before every round; once it says no, the search ends with the best that it has.
    pub may_continue: &'a (dyn Fn() -> bool + Sync),
}

/// Classes of the same rows that lose no more than these, which all satisfy the model, and how many cycles it took.
pub fn improve(table: &Table, privacy: &Privacy, classes: Vec<Class>, effort: Effort<'_>) -> (Vec<Class>, u32) {
    if effort.cycles == 0 || !(effort.may_continue)() {
        return (classes, 0);
    }
    let mut state = SearchState::new(table, privacy, classes);
    if state.classes.len() < 2 {
        return (state.into_classes(), 0);
    }
    let draws = SplitMix64::new(effort.seed);
    let cells = state.movable.len() as u64;
    let columns = state.table.quasi().len() as u64;
    let per_cell =
        (PROPOSALS / (cells * columns)).clamp(LEAST_PER_CELL, MOST_PER_CELL).max(LEAST_PROPOSALS / cells) as u32;
    let near = NearestCells::find(&state, per_cell, &draws);
    state.measure();
    let mut done = 0;
    while done < effort.cycles
        && cycle(&mut state, &near, per_cell, &draws.of_part(u64::from(done) + 1), effort.may_continue)
    {
        done += 1;
    }
    (state.into_classes(), done)
}

/// One cycle; false when it was cut short.
fn cycle(
    state: &mut SearchState<'_>,
    near: &NearestCells,
    per_cell: u32,
    draws: &SplitMix64,
    may_continue: &(dyn Fn() -> bool + Sync),
) -> bool {
    let (cost, loss) = (state.cost(), state.loss());
    let share = (HEATING_COLUMNS / state.table.quasi().len() as f64).min(1.0);
    let mean = (share * cost / state.movable.len() as f64) as f32;
    let rounds = (per_cell / ROUND_PROPOSALS).clamp(1, ROUNDS);
    let first = FIRST_HEAT * per_cell.min(HOTTEST) as f32;
    let cooling = (LAST_HEAT / first).powf(1.0 / rounds as f32);
    let mut heat = Temperature { from: first * mean, to: first * mean * cooling };
    let (mut before, mut round) = (None, 0);
    while round < rounds && mean > 0.0 && may_continue() {
        let proposals = per_cell / rounds;
        let classes = Round { proposals, heat }.run(state, near, &draws.of_part(u64::from(round) + 1));
        let replaced = state.set_classes(classes);
        before.get_or_insert(replaced);
        heat = Temperature { from: heat.to, to: heat.to * cooling };
        round += 1;
    }
    let is_whole = round == rounds;
    if let Some(before) = before
        && (state.cost() >= cost || state.loss() > loss)
    {
        state.set_classes(before);
    }
    is_whole
}

#[cfg(test)]
#[path = "local_search_tests.rs"]
mod tests;
