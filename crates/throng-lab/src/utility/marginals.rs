//! Total variation distance between the distributions of one column: half the sum of absolute differences, from 0 to 1.

use serde::Serialize;

use super::Binning;
use crate::lexicon::Lexicon;
use crate::statistics::rounded;
use crate::table::ReleasedTable;

/// Largest number of bins of a column.
const BINS: usize = 50;

/// Distance between two distributions of a column.
#[derive(Clone, Debug, Serialize)]
pub struct ColumnDistance {
    /// The column.
    pub column: String,
    /// Total variation distance.
    pub total_variation: f64,
}

pub(super) fn measure(lexicon: &Lexicon, exact: &ReleasedTable, release: &ReleasedTable) -> Vec<ColumnDistance> {
    let mut distances = Vec::new();
    for (column, known) in lexicon.spec.quasi.iter().enumerate() {
        let binning = Binning::new(lexicon, exact, column, BINS);
        let [before, after] = [exact, release].map(|table| {
            let mut bins = vec![0.0; binning.len()];
            let shares = binning.shares(table, column);
            for class in 0..table.classes() as u32 {
                let rows = table.class_rows[class as usize] as f64;
                for (bin, share) in &shares[table.labels(class)[column] as usize] {
                    bins[*bin as usize] += rows * share;
                }
            }
            bins
        });
        distances.push(distance(&known.name, &before, &after));
    }
    for (column, known) in lexicon.spec.sensitive.iter().enumerate() {
        let [before, after] = [exact, release].map(|table| {
            let totals = table.tallies[column].totals(lexicon.sensitive[column].len());
            totals.into_iter().map(|rows| rows as f64).collect::<Vec<_>>()
        });
        distances.push(distance(&known.name, &before, &after));
    }
    distances
}

fn distance(column: &str, before: &[f64], after: &[f64]) -> ColumnDistance {
    let share = |rows: f64, all: &[f64]| rows / all.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let differences = before.iter().zip(after).map(|(a, b)| (share(*a, before) - share(*b, after)).abs());
    ColumnDistance { column: column.to_owned(), total_variation: rounded(differences.sum::<f64>() / 2.0) }
}
