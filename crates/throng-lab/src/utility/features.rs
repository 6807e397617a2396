//! Features of a class for models: numbers standardized, names as indicators, hidden values by their expectation.
//!
//! A class of `[20-29]` has the number 24.5, and a class of `{Female, Male}` half of each indicator. So a release needs no random
//! draws, and an original, whose classes have single values, needs no special case.

use super::Binning;
use crate::lexicon::Lexicon;
use crate::table::ReleasedTable;

/// Names of a column with an indicator of their own; the others have none.
const NAME_FEATURES: usize = 15;

/// Features of one class with one value, and their number of rows.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    /// Index and value of every feature that is not zero; feature 0 is the constant.
    pub(crate) features: Vec<(u32, f64)>,
    /// Label to be predicted.
    pub(crate) label: u32,
    /// Number of rows.
    pub(crate) weight: f64,
}

/// The features of all quasi-identifiers.
#[derive(Debug)]
pub(crate) struct FeatureSpace {
    columns: Vec<ColumnFeatures>,
    len: usize,
}

#[derive(Debug)]
enum ColumnFeatures {
    Number { feature: u32, mean: f64, deviation: f64 },
    Names { first: u32, binning: Binning, kept: u32 },
}

impl FeatureSpace {
    /// Creates the features from the distribution of the original.
    pub(crate) fn new(lexicon: &Lexicon, exact: &ReleasedTable) -> Self {
        let mut columns = Vec::new();
        let mut len = 1;
        for column in 0..lexicon.quasi.len() {
            if lexicon.quasi[column].is_ordered() {
                let (mean, deviation) = moments(exact, column);
                columns.push(ColumnFeatures::Number { feature: len as u32, mean, deviation });
                len += 1;
            } else {
                let binning = Binning::new(lexicon, exact, column, NAME_FEATURES);
                // The most frequent name is the reference, and so are names without an indicator.
                let kept = (binning.len() as u32).saturating_sub(2);
                columns.push(ColumnFeatures::Names { first: len as u32, binning, kept });
                len += kept.saturating_sub(1) as usize;
            }
        }
        Self { columns, len }
    }

    /// Returns the number of features.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the features of each label of each column.
    pub(crate) fn label_features(&self, table: &ReleasedTable) -> Vec<Vec<Vec<(u32, f64)>>> {
        let of = |(column, features): (usize, &ColumnFeatures)| match features {
            ColumnFeatures::Number { feature, mean, deviation } => {
                let known = &table.columns[column];
                let number = |middle: Option<f64>| {
                    let standard = (middle.unwrap_or(*mean) - mean) / deviation;
                    vec![(*feature, standard)]
                };
                known.extents.iter().map(|extent| number(extent.middle(&known.range))).collect()
            }
            ColumnFeatures::Names { first, binning, kept } => {
                let indicators = |shares: Vec<(u32, f64)>| -> Vec<(u32, f64)> {
                    let kept = shares.into_iter().filter(|(bin, _)| (1..*kept).contains(bin));
                    kept.map(|(bin, share)| (first + bin - 1, share)).collect()
                };
                binning.shares(table, column).into_iter().map(indicators).collect()
            }
        };
        self.columns.iter().enumerate().map(of).collect()
    }

    /// Returns the examples of a table: one for each class and value of a sensitive column. `label` maps values to labels.
    pub(crate) fn examples(&self, table: &ReleasedTable, sensitive: usize, label: impl Fn(u32) -> u32) -> Vec<Example> {
        let of_labels = self.label_features(table);
        let mut examples: Vec<Example> = Vec::new();
        for class in 0..table.classes() as u32 {
            let mut features = vec![(0, 1.0)];
            for (column, label) in table.labels(class).iter().enumerate() {
                features.extend_from_slice(&of_labels[column][*label as usize]);
            }
            let start = examples.len();
            for (value, rows) in table.tallies[sensitive].of(class) {
                let label = label(*value);
                match examples[start..].iter_mut().find(|example| example.label == label) {
                    Some(example) => example.weight += f64::from(*rows),
                    None => examples.push(Example { features: features.clone(), label, weight: f64::from(*rows) }),
                }
            }
        }
        examples
    }
}

/// Returns mean and standard deviation of a column of the original.
fn moments(exact: &ReleasedTable, column: usize) -> (f64, f64) {
    let known = &exact.columns[column];
    let number = |class: u32| known.extents[exact.labels(class)[column] as usize].middle(&known.range);
    // Squares of large numbers would be infinite. A power of two scales without rounding.
    let largest = (0..exact.classes() as u32).filter_map(number).fold(0.0, |most, number| f64::max(most, number.abs()));
    let scale = if largest > 0.0 { largest.log2().floor().exp2() } else { 1.0 };
    let (mut weight, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for class in 0..exact.classes() as u32 {
        let Some(number) = number(class).map(|number| number / scale) else { continue };
        let rows = exact.class_rows[class as usize] as f64;
        weight += rows;
        sum += rows * number;
        squares += rows * number * number;
    }
    let mean = sum / f64::max(weight, 1.0);
    let deviation = (squares / f64::max(weight, 1.0) - mean * mean).max(0.0).sqrt();
    (scale * mean, if deviation > 0.0 { scale * deviation } else { 1.0 })
}
