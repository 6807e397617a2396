//! Bins of a column, and the share of each label in them.

use crate::extent::{Condition, Extent, NULL, code_number};
use crate::lexicon::{CodeDomain, Lexicon};
use crate::table::ReleasedTable;

/// Bins of a quasi-identifier: runs of numbers with about equally many people, or names. Names that are too many for a bin each
/// share the last bin but one; the last is for missing values.
#[derive(Debug)]
pub(crate) struct Binning {
    conditions: Vec<Condition>,
}

/// The share of each label in each bin, without zeros.
pub(crate) type LabelShares = Vec<Vec<(u32, f64)>>;

impl Binning {
    /// Returns at most about `most` bins of a column of the original.
    pub(crate) fn new(lexicon: &Lexicon, exact: &ReleasedTable, column: usize, most: usize) -> Self {
        let known = &exact.columns[column];
        let mut rows = vec![0_u64; known.extents.len()];
        for class in 0..exact.classes() as u32 {
            rows[exact.labels(class)[column] as usize] += exact.class_rows[class as usize];
        }
        let codes = known.extents.iter().map(|extent| extent.only().unwrap_or(NULL));
        let mut values: Vec<(u64, u64)> = codes.zip(rows).filter(|(code, _)| *code != NULL).collect();
        let conditions = match &lexicon.quasi[column] {
            CodeDomain::Ordered(_) => {
                values.sort_unstable_by(|a, b| f64::from_bits(a.0).total_cmp(&f64::from_bits(b.0)));
                number_bins(&values, most)
            }
            CodeDomain::Names(names) => {
                values.sort_unstable_by_key(|(code, rows)| (std::cmp::Reverse(*rows), *code));
                let single = |code: u64| {
                    let mut included = vec![false; names.len()];
                    included[code as usize] = true;
                    Condition::Leaves(included)
                };
                let mut bins: Vec<Condition> = values.iter().take(most).map(|(code, _)| single(*code)).collect();
                let mut others = vec![true; names.len()];
                values.iter().take(most).for_each(|(code, _)| others[*code as usize] = false);
                bins.push(Condition::Leaves(others));
                bins
            }
        };
        Self { conditions }
    }

    /// Returns the number of bins, that of missing values included.
    pub(crate) fn len(&self) -> usize {
        self.conditions.len() + 1
    }

    /// Returns the shares of the labels of a column in the bins. Those of a label add up to one, except for values that the
    /// original does not have.
    pub(crate) fn shares(&self, table: &ReleasedTable, column: usize) -> LabelShares {
        let known = &table.columns[column];
        let of = |extent: &Extent| {
            if *extent == Extent::Null {
                return vec![(self.conditions.len() as u32, 1.0)];
            }
            let shares = self.conditions.iter().map(|condition| extent.share(condition, &known.range));
            (0..).zip(shares).filter(|(_, share)| *share > 0.0).collect()
        };
        known.extents.iter().map(of).collect()
    }
}

/// Joins ascending numbers to runs with about equally many people. Runs touch, so that hidden values between two numbers of the
/// original are in one of them.
fn number_bins(values: &[(u64, u64)], most: usize) -> Vec<Condition> {
    let total: u64 = values.iter().map(|(_, rows)| rows).sum();
    let wanted = (total as f64 / most.max(1) as f64).max(1.0);
    let mut starts: Vec<f64> = Vec::new();
    let mut rows = f64::INFINITY;
    for (code, count) in values {
        if rows >= wanted {
            starts.extend(code_number(*code));
            rows = 0.0;
        }
        rows += *count as f64;
    }
    let ends = starts.iter().skip(1).map(|start| start.next_down()).chain([f64::INFINITY]);
    let firsts = [f64::NEG_INFINITY].into_iter().chain(starts.iter().skip(1).copied());
    firsts.zip(ends).take(starts.len()).map(|(low, high)| Condition::Range { low, high }).collect()
}
