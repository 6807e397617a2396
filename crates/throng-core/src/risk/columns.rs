//! Contribution of each quasi-identifier to the risk: uniques with it alone, and without it.

use rayon::prelude::*;

use super::share;
use crate::domain::NULL;
use crate::error::Result;
use crate::survey::{CountedTuples, distinct_tuples};

/// Contribution of one quasi-identifier to the risk.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRisk {
    /// Name of the column.
    pub name: String,
    /// Number of distinct values; null counts as one.
    pub distinct: u64,
    /// Number of uniques if only this column is known.
    pub uniques_alone: u64,
    /// Number of classes if all quasi-identifiers but this one are known.
    pub classes_without: u64,
    /// Number of uniques if all quasi-identifiers but this one are known.
    pub uniques_without: u64,
    /// Share of the mean risk that disappears without the column: 0 if the other columns determine it, towards 1 if all
    /// rows are alike without it.
    pub share: f64,
}

/// Computes the contribution of each column; `classes` are the distinct tuples of all columns.
pub(super) fn columns(classes: &CountedTuples, names: &[String]) -> Result<Vec<ColumnRisk>> {
    let of_column = |(column, name): (usize, &String)| -> Result<ColumnRisk> {
        let alone = projected(classes, |other| other == column)?;
        let without = projected(classes, |other| other != column)?;
        Ok(ColumnRisk {
            name: name.clone(),
            distinct: alone.len() as u64,
            uniques_alone: uniques(&alone),
            classes_without: without.len() as u64,
            uniques_without: uniques(&without),
            share: 1.0 - share(without.len() as u64, classes.len() as u64).min(1.0),
        })
    };
    names.par_iter().enumerate().map(of_column).collect()
}

fn uniques(tuples: &CountedTuples) -> u64 {
    tuples.iter().filter(|(_, rows)| *rows == 1).count() as u64
}

/// Returns the distinct tuples of the selected columns with row counts.
pub(super) fn projected(tuples: &CountedTuples, is_kept: impl Fn(usize) -> bool) -> Result<CountedTuples> {
    let kept: Vec<usize> = (0..tuples.width()).filter(|column| is_kept(*column)).collect();
    let mut sizes = vec![0_usize; kept.len()];
    for (tuple, _) in tuples.iter() {
        for (size, column) in sizes.iter_mut().zip(&kept) {
            if tuple[*column] != NULL {
                *size = (*size).max(tuple[*column] as usize + 1);
            }
        }
    }
    let parts = tuples.iter().map(|(tuple, rows)| (kept.iter().map(|column| tuple[*column]), rows));
    distinct_tuples(&sizes, parts)
}
