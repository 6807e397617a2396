//! How much each quasi-identifier singles people out: what is found with it alone, and what is left without it.

use rayon::prelude::*;

use super::share;
use crate::domain::NULL;
use crate::error::Result;
use crate::survey::{CountedTuples, distinct_tuples};

/// What one quasi-identifier contributes to the risk.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRisk {
    /// The name of the column.
    pub name: String,
    /// Its distinct values; null counts as one.
    pub distinct: u64,
    /// Rows that are alone in their class when only this column is known.
    pub uniques_alone: u64,
    /// Classes when all quasi-identifiers but this one are known.
    pub classes_without: u64,
    /// Rows that are alone in their class when all but this one are known.
    pub uniques_without: u64,
    /// The share of the mean risk that goes away without the column: from 0, when the others tell it anyway, towards 1,
    /// when nobody can be told from anybody without it.
    pub share: f64,
}

/// What each of the columns contributes; `classes` are distinct tuples of all of them.
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

/// The distinct tuples of some columns, with their rows.
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
