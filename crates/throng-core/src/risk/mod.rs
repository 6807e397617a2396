//! The risk that people are found in a table as it is, from its quasi-identifiers alone.
//!
//! A *class* is all rows with the same quasi-identifiers, and a *unique* is a class of one row. Whoever knows the
//! quasi-identifiers of somebody in a class of `f` rows finds the right row with a probability of `1/f`, the risk of these
//! rows. Three kinds of intruders are usually told apart (El Emam and Dankar, 2008):
//!
//! | intruder | knows | risk of a row | over the table |
//! |---|---|---|---|
//! | prosecutor | that the person is in the table | `1/f` | highest, mean over rows, share of rows above a threshold |
//! | journalist | a register of the population | `1/F`, `F >= f` rows of the register | the same |
//! | marketer | the register, and matches everybody | | expected share of rows that are matched rightly |
//!
//! The register is not at hand, so that the table is taken for the whole population: `F = f`. Where the table is a sample,
//! the risks of journalist and marketer are upper bounds. The mean of `1/f` over rows is `classes / rows`, which is the
//! marketer's risk too.
//!
//! How much a column singles people out is told by what is left without it ([`ColumnRisk`]).
//!
//! All figures are counts and shares over the whole table. None of them holds a value.

mod class_sizes;
mod columns;
mod effective;
mod sensitive;
mod sizes;
mod summary;

pub use class_sizes::{COMMON_THRESHOLDS, ClassSizes, share};
pub use columns::ColumnRisk;
pub use effective::BorrowedRows;
pub use sensitive::SensitiveRisk;
pub use sizes::SizeBand;
pub use summary::RiskSummary;

use crate::error::Result;
use crate::survey::CountedTuples;

/// The risk above which rows are counted, unless another is asked for: that of classes below 5 rows.
pub const DEFAULT_THRESHOLD: f64 = 0.2;

/// The risk of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Risk {
    /// All rows.
    pub rows: u64,
    /// Distinct combinations of quasi-identifiers.
    pub classes: u64,
    /// Classes of one row.
    pub uniques: u64,
    /// The rows of the smallest class; 0 in a table without rows.
    pub smallest_class: u64,
    /// The rows of the largest class.
    pub largest_class: u64,
    /// The risk above which rows are counted.
    pub threshold: f64,
    /// Rows whose risk is above the threshold.
    pub rows_at_risk: u64,
    /// Classes and rows by the size of the class.
    pub sizes: Vec<SizeBand>,
    /// What each quasi-identifier contributes, in the order in which they were given.
    pub columns: Vec<ColumnRisk>,
    /// What the classes give away of each sensitive column.
    pub sensitive: Vec<SensitiveRisk>,
}

impl Risk {
    /// The risk of a table whose distinct tuples are given with their rows: the quasi-identifiers first, `quasi` of
    /// them, then the sensitive columns. Columns are numbers; [`crate::domain::NULL`] is null.
    pub fn of(tuples: &CountedTuples, quasi: &[String], sensitive: &[String], threshold: f64) -> Result<Self> {
        let classes = columns::projected(tuples, |column| column < quasi.len())?;
        let sizes: ClassSizes = classes.iter().map(|(_, rows)| u64::from(rows)).collect();
        Ok(Self {
            rows: sizes.rows(),
            classes: sizes.classes(),
            uniques: sizes.unique_rows(),
            smallest_class: sizes.smallest(),
            largest_class: sizes.iter().last().map_or(0, |(size, _)| size),
            threshold,
            rows_at_risk: sizes.rows_above(threshold),
            sizes: SizeBand::of(&sizes),
            columns: columns::columns(&classes, quasi)?,
            sensitive: sensitive::sensitive(tuples, quasi.len(), sensitive)?,
        })
    }

    /// The highest risk of a row, of a prosecutor and of a journalist.
    pub fn highest(&self) -> f64 {
        if self.smallest_class == 0 { 0.0 } else { 1.0 / self.smallest_class as f64 }
    }

    /// The mean risk of all rows, which is also the share that a marketer matches rightly.
    pub fn average(&self) -> f64 {
        share(self.classes, self.rows)
    }

    /// The mean number of rows in a class.
    pub fn average_class(&self) -> f64 {
        share(self.rows, self.classes)
    }

    /// The share of rows above the threshold.
    pub fn share_at_risk(&self) -> f64 {
        share(self.rows_at_risk, self.rows)
    }
}

#[cfg(test)]
#[path = "risk_tests.rs"]
mod tests;
