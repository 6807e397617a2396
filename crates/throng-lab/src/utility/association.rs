//! Association of two columns by Cramér's V [Cramer 1946], in the original and in the release.
//!
//! V is 0 for independent columns and 1 where one column determines the other. Numbers are binned into ten runs, names into the
//! twelve most frequent ones and the others.

use rayon::prelude::*;
use serde::Serialize;

use super::{Binning, LabelShares};
use crate::lexicon::Lexicon;
use crate::statistics::{mean, rounded};
use crate::table::ReleasedTable;

/// Bins of a column of numbers.
const NUMBER_BINS: usize = 10;

/// Names of a column with a bin of their own.
const NAME_BINS: usize = 12;

/// Association of all pairs of columns.
#[derive(Clone, Debug, Serialize)]
pub struct AssociationReport {
    /// Mean absolute difference.
    pub mean_difference: f64,
    /// Largest absolute difference.
    pub largest_difference: f64,
    /// The pairs.
    pub pairs: Vec<PairAssociation>,
}

/// Association of two columns.
#[derive(Clone, Debug, Serialize)]
pub struct PairAssociation {
    /// The columns.
    pub columns: [String; 2],
    /// Cramér's V in the original.
    pub original: f64,
    /// Cramér's V in the release.
    pub release: f64,
    /// Absolute difference.
    pub difference: f64,
}

/// A binned column of one table.
enum Binned {
    Quasi(usize, LabelShares, usize),
    /// Bin by value.
    Sensitive(usize, Vec<u32>, usize),
}

pub(super) fn measure(lexicon: &Lexicon, exact: &ReleasedTable, release: &ReleasedTable) -> AssociationReport {
    let quasi = lexicon.spec.quasi.len();
    let names: Vec<&str> = (lexicon.spec.quasi.iter().map(|column| column.name.as_str()))
        .chain(lexicon.spec.sensitive.iter().map(|column| column.name.as_str()))
        .collect();
    let columns: Vec<[Binned; 2]> = (0..names.len())
        .map(|column| match column.checked_sub(quasi) {
            None => {
                let most = if lexicon.quasi[column].is_ordered() { NUMBER_BINS } else { NAME_BINS };
                let binning = Binning::new(lexicon, exact, column, most);
                [exact, release].map(|table| Binned::Quasi(column, binning.shares(table, column), binning.len()))
            }
            Some(column) => {
                let bins = value_bins(&exact.tallies[column].totals(lexicon.sensitive[column].len()));
                [Binned::Sensitive(column, bins.clone(), NAME_BINS + 1), Binned::Sensitive(column, bins, NAME_BINS + 1)]
            }
        })
        .collect();
    // Two sensitive columns are released unchanged, and so is their association, but for suppressed rows.
    let pairs: Vec<(usize, usize)> =
        (0..quasi).flat_map(|first| (first + 1..names.len()).map(move |second| (first, second))).collect();
    let pairs: Vec<PairAssociation> = pairs
        .into_par_iter()
        .map(|(first, second)| {
            let original = cramers_v(exact, &columns[first][0], &columns[second][0]);
            let release = cramers_v(release, &columns[first][1], &columns[second][1]);
            PairAssociation {
                columns: [names[first].to_owned(), names[second].to_owned()],
                original: rounded(original),
                release: rounded(release),
                difference: rounded((original - release).abs()),
            }
        })
        .collect();
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.difference).collect();
    AssociationReport {
        mean_difference: rounded(mean(&differences)),
        largest_difference: differences.iter().copied().fold(0.0, f64::max),
        pairs,
    }
}

/// Gives the most frequent values a bin each, and one to all others.
fn value_bins(totals: &[u64]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.sort_by_key(|value| (std::cmp::Reverse(totals[*value]), *value));
    let mut bins = vec![NAME_BINS as u32; totals.len()];
    order.iter().take(NAME_BINS).zip(0..).for_each(|(value, bin)| bins[*value] = bin);
    bins
}

impl Binned {
    fn len(&self) -> usize {
        match self {
            Self::Quasi(_, _, bins) | Self::Sensitive(_, _, bins) => *bins,
        }
    }
}

fn cramers_v(table: &ReleasedTable, first: &Binned, second: &Binned) -> f64 {
    let (rows, columns) = (first.len(), second.len());
    let mut counts = vec![0.0; rows * columns];
    let Binned::Quasi(one, shares, _) = first else { return 0.0 };
    for class in 0..table.classes() as u32 {
        let labels = table.labels(class);
        let people = table.class_rows[class as usize] as f64;
        for (bin, share) in &shares[labels[*one] as usize] {
            let line = &mut counts[*bin as usize * columns..][..columns];
            match second {
                Binned::Quasi(other, shares, _) => {
                    for (bin, other) in &shares[labels[*other] as usize] {
                        line[*bin as usize] += people * share * other;
                    }
                }
                Binned::Sensitive(other, bins, _) => {
                    for (value, rows) in table.tallies[*other].of(class) {
                        line[bins[*value as usize] as usize] += f64::from(*rows) * share;
                    }
                }
            }
        }
    }
    v_of(&counts, columns)
}

/// Returns Cramér's V of a contingency table with this many columns. Empty rows and columns don't count.
fn v_of(counts: &[f64], columns: usize) -> f64 {
    let total: f64 = counts.iter().sum();
    let down: Vec<f64> = (0..columns).map(|at| counts.iter().skip(at).step_by(columns).sum()).collect();
    let across: Vec<f64> = counts.chunks(columns).map(|line| line.iter().sum()).collect();
    let used = |sums: &[f64]| sums.iter().filter(|sum| **sum > 0.0).count();
    let degrees = used(&down).min(used(&across)).saturating_sub(1);
    if total <= 0.0 || degrees == 0 {
        return 0.0;
    }
    let mut chi = 0.0;
    for (line, row) in counts.chunks(columns).zip(&across) {
        for (count, column) in line.iter().zip(&down) {
            let expected = row * column / total;
            if expected > 0.0 {
                chi += (count - expected).powi(2) / expected;
            }
        }
    }
    (chi / total / degrees as f64).sqrt().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::v_of;

    #[test]
    fn v_is_zero_for_independent_and_one_for_determined_columns() {
        assert!(v_of(&[10.0, 20.0, 30.0, 60.0], 2) < 1e-9);
        assert!((v_of(&[50.0, 0.0, 0.0, 50.0], 2) - 1.0).abs() < 1e-9);
        // chi square = 100 * (40 * 40 - 10 * 10)^2 / 50^4 = 36, V = sqrt(36 / 100).
        assert!((v_of(&[40.0, 10.0, 10.0, 40.0], 2) - 0.6).abs() < 1e-9);
    }
}
