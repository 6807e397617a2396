//! A cycle of annealing rounds with falling temperature.
//!
//! A small table is annealed as a whole, by several chains from the same classes with other random choices, of which the
//! best counts. A large table is annealed in regions whose borders differ in every round.

use rayon::prelude::*;

use super::anneal::{ErrorTemperature, anneal, can_change, near_units};
use super::privacy_by_kind::PrivacyByKind;
use super::regions::UnitLists;
use super::subproblem::Subproblem;
use super::units::Units;
use super::{DEFAULT_ROUNDS, grouping_of, in_regions, mix, searched, total_errors};

/// Maximum number of rounds of a cycle.
const MAX_ROUNDS: u32 = 15 * DEFAULT_ROUNDS;

/// Maximum number of units that are annealed together: a table with more is annealed in regions. Chains in regions can reach fewer
/// arrangements, and end higher.
const WHOLE_UNITS: usize = 4096;
/// Number of chains of a table that is annealed as a whole.
const CHAINS: u32 = 4;

/// Units times proposals of a round, and the range of proposals per unit.
const PROPOSALS: u64 = 1 << 17;
const MIN_PER_UNIT: u64 = 16;
const MAX_PER_UNIT: u64 = 96;

/// First and last temperature of a cycle, in units of the mean errors of a unit.
const FIRST_HEAT: f64 = 0.8;
const LAST_HEAT: f64 = 0.05;

/// Annealing of the classes of a table.
pub(super) struct Annealing<'a> {
    units: &'a Units,
    rules: &'a PrivacyByKind<'a>,
    /// The classes before the cycle, and their errors.
    before: UnitLists,
    errors: f64,
    rounds: u32,
    done: u32,
    state: AnnealingState<'a>,
}

/// What is annealed.
enum AnnealingState<'a> {
    /// All units in each chain; `near` are the [near units](near_units) of each.
    Whole {
        chains: Vec<Subproblem<'a>>,
        units: Vec<u32>,
        near: Vec<u32>,
    },
    Regions(UnitLists),
}

impl<'a> Annealing<'a> {
    /// Begins a cycle of at most `rounds` rounds.
    pub(super) fn new(units: &'a Units, rules: &'a PrivacyByKind<'a>, before: &UnitLists, rounds: u32) -> Self {
        let state = match units.len() <= WHOLE_UNITS {
            true => {
                let chain = Subproblem::of_classes(units, rules, before, 0..before.len() as u32);
                let units = (0..before.len() as u32).flat_map(|class| before.class(class)).copied().collect();
                let near = near_units(&chain);
                AnnealingState::Whole { chains: (0..CHAINS).map(|_| chain.clone()).collect(), units, near }
            }
            false => AnnealingState::Regions(before.clone()),
        };
        let errors = total_errors(units, before);
        Self { units, rules, before: before.clone(), errors, rounds: rounds.min(MAX_ROUNDS), done: 0, state }
    }

    pub(super) fn is_over(&self) -> bool {
        self.done == self.rounds
    }

    /// Returns the temperature after a share of the cycle.
    fn heat(&self, done: u32) -> f64 {
        let share = f64::from(done) / f64::from(self.rounds);
        FIRST_HEAT * (LAST_HEAT / FIRST_HEAT).powf(share) * self.errors / self.units.len() as f64
    }

    /// Makes the proposals of a round. `round` keys the random choices.
    pub(super) fn round(&mut self, round: u32) {
        let heat = ErrorTemperature { from: self.heat(self.done), to: self.heat(self.done + 1) };
        self.done += 1;
        if self.errors <= 0.0 {
            return;
        }
        let proposals = (PROPOSALS / self.units.len() as u64).clamp(MIN_PER_UNIT, MAX_PER_UNIT) as u32;
        match &mut self.state {
            AnnealingState::Whole { chains, near, .. } => {
                chains.par_iter_mut().zip(0..CHAINS).for_each(|(patch, chain)| {
                    anneal(patch, near, proposals, heat, mix(u64::from(round) ^ mix(u64::from(chain))));
                })
            }
            AnnealingState::Regions(classes) => {
                let search = |patch: &mut Subproblem<'a>, draw| {
                    // A region is larger only where a few classes have most of the table.
                    if can_change(patch) && patch.len() <= WHOLE_UNITS {
                        anneal(patch, &near_units(patch), proposals, heat, draw);
                    }
                    true
                };
                *classes = in_regions(self.units, self.rules, classes, round, search).0;
            }
        }
    }

    /// Returns the best of the classes before the cycle and those after it, with moves that only gain.
    pub(super) fn best(self, round: u32) -> UnitLists {
        let after = match &self.state {
            AnnealingState::Whole { chains, units, .. } => {
                chains.iter().map(|chain| grouping_of(chain, units)).collect()
            }
            AnnealingState::Regions(classes) => vec![classes.clone()],
        };
        let (mut best, mut least) = (self.before, self.errors);
        for after in after {
            let after = searched(self.units, self.rules, &after, round).0;
            let errors = total_errors(self.units, &after);
            if errors < least {
                (best, least) = (after, errors);
            }
        }
        best
    }
}
