//! Upper bounds of beliefs, from the histograms of the released classes alone.
//!
//! An intruder who believes every candidate row to be the person's with the same probability pools the histograms of classes. The
//! share of a value in pooled rows is a mediant of its shares in the classes,
//!
//! ```text
//!  (a + c) / (b + d)  ≤  max(a / b, c / d),
//! ```
//!
//! so it is at most the largest share of the value in any one class. This holds for any set of classes that an intruder considers
//! and any weighting of them, and also for one who knows the class of a person. The mean over people of the largest share of
//! their own value is therefore a bound of the mean success, and the requirements of a policy bound it in turn:
//!
//! - `max_share` is a bound of every share;
//! - with `t` and equal distances no share exceeds that in all released rows by more than t, so the mean success is at most
//!   `prior + t` if no rows are suppressed;
//! - with `beta` it is at most `(1 + beta) * prior`, and with `delta_disclosure` at most `exp(delta_disclosure) * prior`;
//! - with p alone a class of n rows has at least p - 1 rows of other values, and a share is at most `1 - (p - 1) / n`.

use crate::table::ReleasedTable;

/// Returns, for each of `values` values of a sensitive column, the largest share that a class has of it. `group` maps each
/// code to the value that it counts as.
pub(super) fn largest_shares(
    release: &ReleasedTable,
    column: usize,
    values: usize,
    group: impl Fn(u32) -> u32,
) -> Vec<f64> {
    let mut largest = vec![0.0_f64; values];
    let mut counts: Vec<(u32, u32)> = Vec::new();
    for class in 0..release.classes() as u32 {
        counts.clear();
        counts.extend(release.tallies[column].of(class).iter().map(|(value, rows)| (group(*value), *rows)));
        counts.sort_unstable();
        let all: u64 = counts.iter().map(|(_, rows)| u64::from(*rows)).sum();
        for alike in counts.chunk_by(|a, b| a.0 == b.0) {
            let rows: u64 = alike.iter().map(|(_, rows)| u64::from(*rows)).sum();
            let share = &mut largest[alike[0].0 as usize];
            *share = share.max(rows as f64 / all as f64);
        }
    }
    largest
}

/// Returns the same for an intruder who has ruled out up to `known` other values. In the worst case these are the most frequent ones
/// of the class; the share of a value in what is left is a mediant again.
pub(super) fn largest_shares_without(release: &ReleasedTable, column: usize, values: usize, known: usize) -> Vec<f64> {
    let mut largest = vec![0.0_f64; values];
    for class in 0..release.classes() as u32 {
        let counts = release.tallies[column].of(class);
        let all: u64 = counts.iter().map(|(_, rows)| u64::from(*rows)).sum();
        let mut order: Vec<(u32, u32)> = counts.iter().map(|(value, rows)| (*rows, *value)).collect();
        order.sort_unstable_by(|a, b| b.cmp(a));
        for (value, rows) in counts {
            let others = order.iter().filter(|(_, other)| other != value).take(known);
            let ruled_out: u64 = others.map(|(rows, _)| u64::from(*rows)).sum();
            let share = &mut largest[*value as usize];
            *share = share.max(f64::from(*rows) / (all - ruled_out) as f64);
        }
    }
    largest
}

/// Returns the fewest rows with a value of a sensitive column that a class has.
pub(super) fn fewest_rows(release: &ReleasedTable, column: usize) -> u64 {
    let rows = |class: u32| release.tallies[column].of(class).iter().map(|(_, rows)| u64::from(*rows)).sum();
    (0..release.classes() as u32).map(rows).filter(|rows| *rows > 0).min().unwrap_or(0)
}
