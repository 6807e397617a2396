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
mod axes;
mod bounds;
mod change;
mod draws;
mod hood;
mod kd_tree;
mod lenders;
mod near;
mod neighbourhoods;
mod round;
mod state;

use crate::cluster::Class;
use crate::model::Privacy;
use crate::table::Table;
use anneal::Heat;
use draws::Draws;
use near::Near;
use round::Round;
use state::State;

/// Cycles without a limit: the search goes on until it is told to stop.
pub const WITHOUT_LIMIT: u32 = u32::MAX;

/// Rounds of a cycle, where each cell gets enough proposals to fill them; half as many otherwise.
const ROUNDS: u32 = 4;
const ROUND_PROPOSALS: u32 = 8;

/// About so many proposals are made in a cycle, as long as each cell gets neither more nor less than these.
const PROPOSALS: u64 = 1 << 19;
const MOST_PER_CELL: u32 = 96;
const LEAST_PER_CELL: u32 = 8;

/// How hot a cycle begins and ends, as a share of what a class loses on average. The first cycle begins hotter: what it
/// starts from was made in a hurry.
const FIRST_HEAT: f32 = 0.3;
const LATER_HEAT: f32 = 0.1;
const LAST_HEAT: f32 = 0.01;

/// How long to search.
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// How many cycles.
    pub cycles: u32,
    /// Drives what is proposed.
    pub seed: u64,
    /// Asked before every round; once it says no, the search ends with the best that it has.
    pub goes_on: &'a (dyn Fn() -> bool + Sync),
}

/// Classes of the same rows that lose no more than these, which all satisfy the model, and how many cycles it took.
pub fn improve(table: &Table, privacy: &Privacy, classes: Vec<Class>, effort: Effort<'_>) -> (Vec<Class>, u32) {
    if effort.cycles == 0 || !(effort.goes_on)() {
        return (classes, 0);
    }
    let mut state = State::new(table, privacy, classes);
    if state.classes.len() < 2 {
        return (state.into_classes(), 0);
    }
    let draws = Draws::new(effort.seed);
    let near = Near::find(&state, &draws);
    state.measure();
    let mut done = 0;
    while done < effort.cycles && cycle(&mut state, &near, done, &draws.of_part(u64::from(done) + 1), effort.goes_on) {
        done += 1;
    }
    (state.into_classes(), done)
}

/// One cycle; false when it was cut short.
fn cycle(state: &mut State<'_>, near: &Near, number: u32, draws: &Draws, goes_on: &(dyn Fn() -> bool + Sync)) -> bool {
    let (before, cost) = (state.classes.clone(), state.cost());
    let mean = (cost / before.len() as f64) as f32;
    let per_cell = (PROPOSALS / state.movable.len() as u64).clamp(LEAST_PER_CELL.into(), MOST_PER_CELL.into()) as u32;
    let rounds = if per_cell >= ROUNDS * ROUND_PROPOSALS { ROUNDS } else { ROUNDS / 2 };
    let first = if number == 0 { FIRST_HEAT } else { LATER_HEAT };
    let cooling = (LAST_HEAT / first).powf(1.0 / rounds as f32);
    let mut from = first * mean;
    let mut is_whole = true;
    for round in 0..rounds {
        is_whole = mean > 0.0 && goes_on();
        if !is_whole {
            break;
        }
        let heat = Heat { from, to: from * cooling };
        let proposals = per_cell / rounds;
        Round { proposals, heat }.run(state, near, &draws.of_part(u64::from(round) + 1));
        from = heat.to;
    }
    if state.cost() >= cost {
        state.set_classes(before);
    }
    is_whole
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
