//! Centroid clustering: minimizes squared errors by local search within a budget, for columns that release means,
//! medians or modes.
//!
//! ```text
//!  cells ─► points ─► leaves ─► classes grow ─► rounds: regions ─► move, swap, recluster ─► classes
//!           units     (k-d)     in each leaf            (k-d over classes, other borders each time)
//! ```
//!
//! The space is that of microaggregation (`cluster/euclidean_embedding.rs`), standardized over all cells that are
//! clustered together. A cell that satisfies the model alone starts as a class, at no loss. All other units are divided
//! into small leaves, in which classes grow. Local search then improves neighbouring classes in rounds, across the
//! borders of leaves. Every change keeps the model satisfied and lowers the squared errors, so these rounds never increase
//! the loss, and the search can stop after any of them. Long searches then anneal (`anneal.rs`) and keep the better result.
//!
//! Growing is `O(n log n)`, and so is a round. Leaves and regions do not share rows, so both are processed in parallel,
//! and the result does not depend on threads. Random choices are hashes of the round and of numbers that depend on
//! content only.

mod anneal;
mod annealing_cycle;
mod cut;
mod embedding;
mod grow;
mod lanes;
mod leaves;
mod privacy_by_kind;
mod recluster;
mod refine;
mod regions;
mod subproblem;
mod units;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use self::annealing_cycle::Annealing;
use self::grow::{Seeds, grow, join_cheapest};
use self::leaves::leaves;
use self::privacy_by_kind::PrivacyByKind;
use self::recluster::recluster;
use self::refine::{RefineEffort, refine};
use self::regions::{UnitLists, regions};
use self::subproblem::Subproblem;
use self::units::{UnitSurvey, Units};
use super::{Class, ClusterContext, ClusterMethod, FormedClasses, satisfied};
use crate::model::Privacy;
use crate::partition::Leaf;
use crate::table::Table;

/// Default number of rounds. On the Census data of the literature, doubling it lowers the squared errors by less than 1
/// %.
pub const DEFAULT_ROUNDS: u32 = 32;

/// Number of rounds without a gain after which the search stops.
const PATIENCE: u32 = 8;

/// Budget per cycle, in cells times rounds. A round takes far longer than everything else, so large tables get none.
const CELL_ROUNDS: u64 = 1 << 17;

/// Longer searches anneal after the default number of rounds. Fewer rounds than this are too few to cool.
const MIN_ANNEALING: u32 = 64;

/// Clustering that minimizes squared errors.
#[derive(Clone, Copy, Debug)]
pub struct Centroid {
    /// Number of search rounds, per cycle where the context limits them; more rounds never increase the loss.
    pub rounds: u32,
}

impl Default for Centroid {
    fn default() -> Self {
        Self { rounds: DEFAULT_ROUNDS }
    }
}

impl ClusterMethod for Centroid {
    fn cluster(&self, leaf: &[u32], table: &Table, privacy: &Privacy) -> Vec<Class> {
        classes(table, leaf, privacy, self.rounds, &|_| true)
    }

    fn cluster_region(
        &self,
        leaves: &[Leaf],
        table: &Table,
        privacy: &Privacy,
        context: &ClusterContext<'_>,
    ) -> FormedClasses {
        let cycles = u64::from(context.cycles());
        let may_continue = |cells: usize| {
            context.advance(cells);
            context.may_search()
        };
        let classes = |leaf: &Leaf| {
            let most = cycles * CELL_ROUNDS / (leaf.cells.len() as u64).max(1);
            let rounds = u32::try_from(most.min(cycles * u64::from(self.rounds))).unwrap_or(u32::MAX);
            satisfied(table, privacy, false, |privacy| classes(table, &leaf.cells, privacy, rounds, &may_continue))
        };
        FormedClasses { classes: leaves.par_iter().flat_map_iter(classes).collect(), cycles: 0 }
    }
}

/// Clusters cells that together satisfy the model. Every row is in exactly one class, and every class satisfies the
/// model.
///
/// `on_progress` receives the number of cells newly processed, which adds up to the number of cells, and returns
/// whether to continue. Once it returns false, the classes found so far are returned.
pub fn classes(
    table: &Table,
    cells: &[u32],
    privacy: &Privacy,
    rounds: u32,
    on_progress: &(dyn Fn(usize) -> bool + Sync),
) -> Vec<Class> {
    if cells.is_empty() {
        return Vec::new();
    }
    let UnitSurvey { units, rules, rich, poor } = UnitSurvey::new(table, cells, privacy);
    let care = if rounds == 0 { RefineEffort::LITTLE } else { RefineEffort::ONCE };
    let mut grouping = grown(&units, &rules, rich, poor, care);
    let done = |stages: u64| (cells.len() as u64 * stages / (u64::from(rounds) + 1)) as usize;
    let mut may_continue = on_progress(done(1));
    let (mut idle, mut annealing) = (0, None);
    for round in 0..rounds {
        if !may_continue {
            break;
        }
        if rounds >= DEFAULT_ROUNDS + MIN_ANNEALING && round >= DEFAULT_ROUNDS {
            let cycle = annealing.get_or_insert_with(|| Annealing::new(&units, &rules, &grouping, rounds - round));
            cycle.round(round);
            if cycle.is_over()
                && let Some(cycle) = annealing.take()
            {
                grouping = cycle.best(round);
            }
        } else if idle < PATIENCE {
            let (better, has_gained) = searched(&units, &rules, &grouping, round);
            idle = if has_gained { 0 } else { idle + 1 };
            grouping = better;
        }
        may_continue = on_progress(done(u64::from(round) + 2) - done(u64::from(round) + 1));
    }
    if let Some(cycle) = annealing {
        grouping = cycle.best(rounds);
    }
    let numbers = (0..grouping.len() as u32).into_par_iter();
    numbers.with_min_len(256).map(|class| units.class(grouping.class(class))).collect()
}

/// Returns the squared errors of classes.
fn total_errors(units: &Units, classes: &UnitLists) -> f64 {
    let of_class = |class: u32| {
        let list = classes.class(class);
        let rows: f64 = list.iter().map(|unit| f64::from(units.rows(*unit))).sum();
        let (mut sums, mut squares) = (vec![0.0; units.dimensions()], 0.0);
        for unit in list {
            let rows = f64::from(units.rows(*unit));
            for (sum, coordinate) in sums.iter_mut().zip(units.point(*unit)) {
                *sum += rows * f64::from(*coordinate);
                squares += rows * f64::from(*coordinate).powi(2);
            }
        }
        squares - sums.iter().map(|sum| sum * sum).sum::<f64>() / rows
    };
    let numbers = (0..classes.len() as u32).into_par_iter();
    numbers.map(of_class).collect::<Vec<f64>>().iter().sum()
}

/// Forms the initial classes.
fn grown(
    units: &Units,
    rules: &PrivacyByKind<'_>,
    rich: Vec<Vec<u32>>,
    poor: Vec<u32>,
    care: RefineEffort,
) -> UnitLists {
    let satisfies =
        |list: &mut dyn Iterator<Item = u32>| rules.is_satisfied_by(list.map(|unit| units.kind_and_rows(unit)));
    if !satisfies(&mut poor.iter().copied()) {
        return joined(units, rules, rich, poor);
    }
    let mut grouping = UnitLists::default();
    rich.into_iter().for_each(|class| grouping.push(class));
    let leaves = leaves(units, poor, &satisfies);
    let grown = leaves.par_iter().map(|leaf| {
        let mut patch = Subproblem::of_units(units, rules, leaf.iter().copied());
        grow(&mut patch, Seeds::Rim);
        refine(&mut patch, care);
        grouping_of(&patch, leaf)
    });
    grown.collect::<Vec<_>>().iter().for_each(|leaf| grouping.append(leaf));
    grouping
}

/// Forms the initial classes if the units of poor cells do not satisfy the model together: they join rich cells near
/// them.
fn joined(units: &Units, rules: &PrivacyByKind<'_>, rich: Vec<Vec<u32>>, poor: Vec<u32>) -> UnitLists {
    let mut grouping = UnitLists::default();
    if rich.is_empty() {
        grouping.push(poor);
        return grouping;
    }
    // A rich cell is represented by its first unit. Every leaf has one.
    let class_of: FxHashMap<u32, &Vec<u32>> = rich.iter().map(|class| (class[0], class)).collect();
    let all = class_of.keys().copied().chain(poor);
    let mut all: Vec<u32> = all.collect();
    all.sort_unstable();
    let leaves = leaves(units, all, &|list| list.fuse().any(|unit| class_of.contains_key(&unit)));
    let joined = leaves.par_iter().map(|leaf| {
        let classes: Vec<&Vec<u32>> = leaf.iter().filter_map(|unit| class_of.get(unit).copied()).collect();
        let poor = leaf.iter().copied().filter(|unit| !class_of.contains_key(unit));
        let all: Vec<u32> = classes.iter().copied().flatten().copied().chain(poor).collect();
        let mut patch = Subproblem::of_units(units, rules, all.iter().copied());
        let rest = patch.open_all(classes.iter().map(|class| class.len()));
        join_cheapest(&mut patch, (rest..all.len() as u32).collect());
        grouping_of(&patch, &all)
    });
    joined.collect::<Vec<_>>().iter().for_each(|leaf| grouping.append(leaf));
    grouping
}

/// Runs one round. Returns the classes and whether the squared errors were lowered.
fn searched(units: &Units, rules: &PrivacyByKind<'_>, classes: &UnitLists, round: u32) -> (UnitLists, bool) {
    in_regions(units, rules, classes, round, |patch, draw| {
        let is_refined = refine(patch, RefineEffort::FULL);
        recluster(patch, draw) || is_refined
    })
}

/// Searches the regions of a round in parallel. Returns the classes and whether any search returned true.
fn in_regions<'a>(
    units: &Units,
    rules: &'a PrivacyByKind<'a>,
    classes: &UnitLists,
    round: u32,
    search: impl Fn(&mut Subproblem<'a>, u64) -> bool + Sync,
) -> (UnitLists, bool) {
    let regions = regions(units, classes, round);
    let searched = regions.par_iter().map(|region| {
        let all: Vec<u32> = region.iter().flat_map(|class| classes.class(*class)).copied().collect();
        let mut patch = Subproblem::of_classes(units, rules, classes, region.iter().copied());
        let has_gained = search(&mut patch, mix(u64::from(round) ^ mix(u64::from(all[0]))));
        (grouping_of(&patch, &all), has_gained)
    });
    let (mut grouping, mut has_gained) = (UnitLists::default(), false);
    for (region, gained) in searched.collect::<Vec<_>>() {
        grouping.append(&region);
        has_gained |= gained;
    }
    (grouping, has_gained)
}

/// Returns the classes of a subproblem in terms of the original units.
fn grouping_of(patch: &Subproblem<'_>, units: &[u32]) -> UnitLists {
    let mut grouping = UnitLists::default();
    for block in patch.classes.iter().filter(|block| !block.units.is_empty()) {
        grouping.push(block.units.iter().map(|unit| units[*unit as usize]));
    }
    grouping
}

/// Mixes the bits of a number (the finalizer of SplitMix64, [Steele 2014]).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
#[path = "centroid_tests.rs"]
mod tests;
