use proptest::prelude::*;

use super::*;
use crate::anonymize::{ClusterChoice, Method, PartitionChoice};
use crate::cluster::Class;
use crate::cluster::IgnoreProgress;
use crate::columns::{Limit, QuasiSpec};
use crate::hierarchy::HierarchySpec;
use crate::metrics::Utility;
use crate::recode::Recoding;
use crate::test_tables::{
    Surveyed, ancestor, cases, census_or_skip, countries, floats, interval, ints, maybe_ints, maybe_texts, quasi,
    set_partitions, survey, texts,
};

const ALWAYS: &(dyn Fn() -> bool + Sync) = &|| true;

fn bound(rows: &Surveyed, privacy: &Privacy) -> LowerBound {
    lower_bound(&rows.table, privacy, BoundEffort::once(ALWAYS))
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "found {found}, expected {expected}");
}

/// The measure of a release.
fn measured(measure: BoundedMeasure, table: &Table, recoding: &Recoding) -> f64 {
    let utility = Utility::of(table, recoding, 2);
    match measure {
        BoundedMeasure::Ncp => utility.weighted_ncp,
        BoundedMeasure::SseSst => utility.sse_sst.unwrap(),
    }
}

/// Returns the least loss of all releases, found by trying every partition of the rows that can be kept.
fn least_loss(rows: &Surveyed, privacy: &Privacy, measure: BoundedMeasure) -> Option<f64> {
    let table = &rows.table;
    let regions = FeasibleRegions::of(table, privacy);
    let cell_of = table.cells_of_groups();
    let region_of = |row: usize| {
        let cell = cell_of[rows.groups[row] as usize];
        regions.classes.iter().position(|cells| cells.contains(&cell))
    };
    let kept: Vec<usize> = (0..rows.groups.len()).filter(|row| region_of(*row).is_some()).collect();
    if kept.is_empty() {
        return None;
    }
    let mut least: Option<f64> = None;
    for partition in set_partitions(kept.len()) {
        let blocks: Vec<Vec<usize>> =
            partition.iter().map(|block| block.iter().map(|at| kept[*at]).collect()).collect();
        let is_allowed = |block: &Vec<usize>| block.iter().all(|row| region_of(*row) == region_of(block[0]));
        let classes: Vec<Class> = blocks.iter().map(|block| rows.cluster(block.iter().copied())).collect();
        if !blocks.iter().all(is_allowed) || !classes.iter().all(|class| privacy.is_satisfied(&class.tally(table))) {
            continue;
        }
        let recoding = Recoding::without(table, &classes, &regions.suppressed_cells).unwrap();
        let loss = measured(measure, table, &recoding);
        least = Some(least.map_or(loss, |least| least.min(loss)));
    }
    least
}

#[test]
fn two_pairs_are_exact() {
    // {1, 2} and {50, 51} lose 1/50 each, and no release loses less.
    let rows = survey(&[(interval("age"), ints(&[1, 2, 50, 51]))], &[]);
    let found = bound(&rows, &Privacy::p_sensitive_k_anonymity(2, 1, 0));
    assert_eq!(found.measure, BoundedMeasure::Ncp);
    near(found.value, 0.02);
    near(found.gap(0.03).unwrap(), 0.5);
}

#[test]
fn the_row_in_the_middle_gives_way() {
    // All three rows are one class and lose 1 each. Nearest boxes are 0.1, 0.1 and 0.9; the best prices are 0.2, 0, 1.8.
    let rows = survey(&[(interval("age"), ints(&[0, 1, 10]))], &[]);
    let found = bound(&rows, &Privacy::p_sensitive_k_anonymity(2, 1, 0));
    assert!(found.value * 3.0 > 1.9, "{found:?}");
    assert!(found.value * 3.0 <= 2.0, "{found:?}");
}

#[test]
fn values_that_are_missing_nearby_raise_the_bound() {
    // Pairs of neighbours have one value only, so every class spans at least two of three steps.
    let rows = survey(&[(interval("age"), ints(&[1, 2, 3, 4]))], &[texts(&["a", "a", "b", "b"])]);
    let without = bound(&rows, &Privacy::p_sensitive_k_anonymity(2, 1, 1)).value;
    let with = bound(&rows, &Privacy::p_sensitive_k_anonymity(2, 2, 1)).value;
    near(without, 1.0 / 3.0);
    assert!(with > without, "{with} {without}");
}

#[test]
fn rich_cells_have_no_loss() {
    let rows = survey(&[(interval("age"), ints(&[1, 1, 9, 9]))], &[]);
    let found = bound(&rows, &Privacy::p_sensitive_k_anonymity(2, 1, 0));
    assert_eq!((found.value, found.gap(0.0)), (0.0, None));
}

#[test]
fn a_stopped_bound_is_still_a_bound() {
    let rows = survey(&[(interval("age"), ints(&[1, 2, 50, 51]))], &[]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 1, 0);
    let stopped = lower_bound(&rows.table, &privacy, BoundEffort::once(&|| false));
    assert_eq!((stopped.value, stopped.sweeps), (0.0, 0));
    let no_work = lower_bound(&rows.table, &privacy, BoundEffort { work: 1, ..BoundEffort::once(ALWAYS) });
    assert_eq!(no_work.sweeps, 0);
    assert!(no_work.value <= 0.02, "{no_work:?}");
}

#[test]
fn nearest_boxes_that_were_found_in_time_count() {
    use std::sync::atomic::{AtomicU32, Ordering};
    // Pairs a step apart, far from each other: every row loses 1/391 in one of two columns. With sets, balls prove nothing.
    let ages: Vec<i64> = (0..40).flat_map(|pair| [10 * pair, 10 * pair + 1]).collect();
    let set = quasi("sex", ColumnRecoding::Set, HierarchySpec::Flat);
    let rows = survey(&[(interval("age"), ints(&ages)), (set, texts(&["Female"; 80]))], &[]);
    let privacy = Privacy::p_sensitive_k_anonymity(2, 1, 0);
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let after = |polls: u32, work: u64| {
        let polled = AtomicU32::new(0);
        let may_continue = || polled.fetch_add(1, Ordering::Relaxed) < polls;
        let effort = BoundEffort { epochs: 1, work, may_continue: &may_continue };
        let found = one_thread.install(|| lower_bound(&rows.table, &privacy, effort));
        (found, polled.load(Ordering::Relaxed))
    };
    let (whole, polls) = after(u32::MAX, u64::MAX);
    near(whole.value, 0.5 / 391.0);
    assert_eq!(after(u32::MAX, BoundEffort::WORK).0, whole);
    let found: Vec<LowerBound> = (0..polls).map(|polls| after(polls, u64::MAX).0).collect();
    assert!(found.is_sorted_by(|a, b| a.value <= b.value), "{found:?}");
    for share in 1..4 {
        let (low, high) = (f64::from(share - 1) / 4.0 * whole.value, f64::from(share) / 4.0 * whole.value);
        let is_between = |found: &LowerBound| found.sweeps == 0 && low < found.value && found.value < high * 1.01;
        assert!(found.iter().any(is_between), "{share}: {found:?}");
    }
    // What a budget of work visits before it ends would depend on threads.
    for work in 0..400 {
        let found = after(u32::MAX, work).0;
        assert!(found.sweeps > 0 || found.value == 0.0, "{work}: {found:?}");
    }
}

#[test]
fn squared_errors_of_the_census() {
    // The expected figures come from a naive program.
    let Some(columns) = census_or_skip() else { return };
    let mean = |(number, values): (usize, &Vec<f64>)| {
        (quasi(&format!("c{number}"), ColumnRecoding::Mean, HierarchySpec::Flat), floats(values))
    };
    let rows = survey(&columns.iter().enumerate().map(mean).collect::<Vec<_>>(), &[]);
    for (k, percent) in [(3, 3.444), (4, 4.323), (5, 5.017), (10, 7.336)] {
        let found = bound(&rows, &Privacy::p_sensitive_k_anonymity(k, 1, 0));
        assert_eq!(found.measure, BoundedMeasure::SseSst);
        assert!((found.value * 100.0 - percent).abs() < 0.001, "k = {k}: {found:?}");
    }
}

/// The rows of a tiny table: two numbers, a country that may be null, and two sensitive values.
type Person = (Option<i64>, i64, usize, usize, usize);

fn people(rows: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Person>> {
    let age = prop_oneof![6 => (0_i64..12).prop_map(Some), 1 => Just(None)];
    proptest::collection::vec((age, 0_i64..4, 0_usize..6, 0_usize..3, 0_usize..3), rows)
}

fn columns(people: &[Person], release: ColumnRecoding, limit: Option<Limit>) -> Surveyed {
    let ages: Vec<Option<i64>> = people.iter().map(|person| person.0).collect();
    let sizes: Vec<i64> = people.iter().map(|person| person.1 * person.1).collect();
    let names = [Some("France"), Some("Spain"), Some("Italy"), Some("Japan"), Some("China"), None];
    let places: Vec<Option<&str>> = people.iter().map(|person| names[person.2]).collect();
    let secrets =
        |of: fn(&Person) -> usize| texts(&people.iter().map(|person| ["a", "b", "c"][of(person)]).collect::<Vec<_>>());
    let country = QuasiSpec { release, limit, weight: 2.5, ..ancestor("country", &countries()) };
    let quasi =
        [(interval("age"), maybe_ints(&ages)), (interval("size"), ints(&sizes)), (country, maybe_texts(&places))];
    survey(&quasi, &[secrets(|person| person.3), secrets(|person| person.4)])
}

proptest! {
    #![proptest_config(cases(96))]

    /// No release of a tiny table is below the bound: intervals, ancestors and sets, weights, nulls, limits.
    #[test]
    fn no_partition_is_below_the_bound(
        people in people(2..8), k in 1_u64..4, p in 1_u64..3, form in 0_usize..2, level in 0_u32..3,
    ) {
        let limit = (level < 2).then_some(Limit::Level(level));
        let rows = columns(&people, [ColumnRecoding::Ancestor, ColumnRecoding::Set][form], limit);
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 2);
        let found = bound(&rows, &privacy);
        if let Some(least) = least_loss(&rows, &privacy, BoundedMeasure::Ncp) {
            prop_assert!(found.value <= least + 1e-12, "{found:?} is above {least}");
        }
    }

    /// The same for squared errors of means and medians.
    #[test]
    fn no_partition_has_smaller_errors(people in people(2..8), k in 1_u64..4, form in 0_usize..2) {
        let release = [ColumnRecoding::Mean, ColumnRecoding::Median][form];
        let number = |name: &str| quasi(name, release, HierarchySpec::Flat);
        let ages: Vec<Option<i64>> = people.iter().map(|person| person.0.map(|age| 1000 * age)).collect();
        let sizes: Vec<i64> = people.iter().map(|person| 1000 * person.1).collect();
        let rows = survey(&[(number("age"), maybe_ints(&ages)), (number("size"), ints(&sizes))], &[]);
        let privacy = Privacy::p_sensitive_k_anonymity(k, 1, 0);
        let found = bound(&rows, &privacy);
        prop_assert_eq!(found.measure, BoundedMeasure::SseSst);
        if let Some(least) = least_loss(&rows, &privacy, BoundedMeasure::SseSst) {
            prop_assert!(found.value <= least + 1e-12, "{found:?} is above {least}");
        }
    }

}

proptest! {
    #![proptest_config(cases(16))]

    /// On larger tables no method is below the bound, longer efforts are at least as good, and threads do not matter.
    #[test]
    fn no_method_is_below_the_bound(
        rows in proptest::collection::vec((0_i64..1000, 0_i64..500, 0_i64..200, 0_usize..5, 0_usize..4), 20..120),
        k in 2_u64..6, p in 1_u64..3, width in 1_usize..4,
    ) {
        let numbers: [Vec<i64>; 3] = [
            rows.iter().map(|row| row.0).collect(),
            rows.iter().map(|row| row.1 * row.1).collect(),
            rows.iter().map(|row| row.2).collect(),
        ];
        let places: Vec<&str> =
            rows.iter().map(|row| ["France", "Spain", "Italy", "Japan", "China"][row.3]).collect();
        let secrets: Vec<&str> = rows.iter().map(|row| ["a", "b", "c", "d"][row.4]).collect();
        let mut quasi = vec![(ancestor("country", &countries()), texts(&places))];
        quasi.extend(numbers.iter().take(width).zip(["a", "b", "c"]).map(|(numbers, name)| (interval(name), ints(numbers))));
        let rows = survey(&quasi, &[texts(&secrets)]);
        let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
        let regions = FeasibleRegions::of(&rows.table, &privacy);
        prop_assume!(!regions.classes.is_empty());
        let found = bound(&rows, &privacy);
        for cluster in [ClusterChoice::Search, ClusterChoice::GreedyPk] {
            let method = Method::new(PartitionChoice::Mondrian, cluster);
            let leaves = method.leaves(&regions, &rows.table).unwrap();
            let classes = method.classes(&leaves, &rows.table, &privacy, &IgnoreProgress).classes;
            let recoding = Recoding::new(&rows.table, &classes).unwrap();
            let loss = measured(BoundedMeasure::Ncp, &rows.table, &recoding);
            prop_assert!(found.value <= loss + 1e-12, "{found:?} is above {loss}");
        }
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        prop_assert_eq!(one_thread.install(|| bound(&rows, &privacy)), found);
        let longer = lower_bound(&rows.table, &privacy, BoundEffort { epochs: 2, ..BoundEffort::once(ALWAYS) });
        prop_assert!(longer.value >= found.value, "{longer:?} {found:?}");
    }
}
