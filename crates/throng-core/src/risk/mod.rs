//! Re-identification risk of a table, from its quasi-identifiers alone.
//!
//! A *class* is all rows with equal quasi-identifiers, and a *unique* is a class of one row. An intruder who knows the
//! quasi-identifiers of a person in a class of `f` rows picks the right row with probability `1/f`, the risk of these
//! rows. The three usual attacker models are named as in ARX:
//!
//! | intruder | knows | risk of a row | over the table |
//! |---|---|---|---|
//! | prosecutor | that the person is in the table | `1/f` | highest, mean over rows, share of rows above a threshold |
//! | journalist | a register of the population | `1/F`, `F >= f` rows of the register | the same |
//! | marketer | the register, and matches all its records | | expected share of correctly matched rows |
//!
//! Without a register the table is treated as the whole population: `F = f`. If the table is a sample, the journalist and
//! marketer risks are then upper bounds; if its sampling fraction is known, they are estimated ([`SamplingFraction`]), and if
//! the people of every class are known, they are counted ([`ReleasePeople`]). The mean of `1/f` over rows is `classes / rows`,
//! which is also the marketer risk.
//!
//! The contribution of a column is measured by the risk that remains without it ([`ColumnRisk`]).
//!
//! All figures are counts and shares over the whole table and contain no values.

mod class_sizes;
mod columns;
mod effective;
mod people;
mod population;
mod sensitive;
mod sizes;
mod summary;
mod weights;

pub use class_sizes::{COMMON_THRESHOLDS, ClassSizes, share};
pub use columns::ColumnRisk;
pub use effective::BorrowedRows;
pub use people::{ClassPeople, PeopleLimits, PeopleSource, Presence, ReleasePeople};
pub use population::{PopulationRisk, SamplingFraction};
pub use sensitive::SensitiveRisk;
pub use sizes::SizeBand;
pub use summary::RiskSummary;
pub use weights::WeightedClasses;

use crate::error::Result;
use crate::survey::CountedTuples;

/// Default risk threshold: that of classes below 5 rows.
pub const DEFAULT_THRESHOLD: f64 = 0.2;

/// Re-identification risk of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Risk {
    /// Number of rows of the table.
    pub rows: u64,
    /// Number of distinct quasi-identifier tuples.
    pub classes: u64,
    /// Number of classes of one row.
    pub uniques: u64,
    /// Size of the smallest class; 0 in a table without rows.
    pub smallest_class: u64,
    /// Size of the largest class.
    pub largest_class: u64,
    /// Risk threshold of `rows_at_risk`.
    pub threshold: f64,
    /// Number of rows whose risk is above the threshold.
    pub rows_at_risk: u64,
    /// Classes and rows by class size.
    pub sizes: Vec<SizeBand>,
    /// Contribution of each quasi-identifier, in the order given.
    pub columns: Vec<ColumnRisk>,
    /// Attribute disclosure by the classes, for each sensitive column.
    pub sensitive: Vec<SensitiveRisk>,
    /// Risk in the population, if the table is a sample with a known fraction.
    pub population: Option<PopulationRisk>,
    class_sizes: ClassSizes,
}

impl Risk {
    /// Computes the risk of a table from its distinct tuples with row counts. The first `quasi.len()` columns are the
    /// quasi-identifiers, the others the sensitive columns. Values are encoded; [`crate::domain::NULL`] is null.
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
            population: None,
            class_sizes: sizes,
        })
    }

    /// Adds the risk in the population of which the table is a sample.
    #[must_use]
    pub fn with_sampling_fraction(self, fraction: Option<SamplingFraction>) -> Self {
        let population = fraction.map(|fraction| fraction.risk(&self.class_sizes, self.threshold));
        Self { population, ..self }
    }

    /// Adds the risk in the population that sampling weights stand for.
    #[must_use]
    pub fn with_weights(self, classes: &WeightedClasses) -> Self {
        Self { population: classes.risk(self.threshold), ..self }
    }

    /// Adds the risk in the population whose people were counted in each class. `None` for a population without people.
    #[must_use]
    pub fn with_people(self, people: &ReleasePeople) -> Self {
        let estimated = people.fraction(self.rows).map(|fraction| fraction.risk(&self.class_sizes, self.threshold));
        let population = estimated.map(|estimated| PopulationRisk {
            people: people.people,
            highest: people.highest(),
            average: people.average(),
            rows_at_risk: people.rows_above(self.threshold),
            reidentified: people.reidentified(),
            fewest: Some(people.fewest()),
            ..estimated
        });
        Self { population, ..self }
    }

    /// Returns the highest risk of a row, for prosecutor and journalist.
    pub fn highest(&self) -> f64 {
        if self.smallest_class == 0 { 0.0 } else { 1.0 / self.smallest_class as f64 }
    }

    /// Returns the mean risk over rows, which is also the marketer risk.
    pub fn average(&self) -> f64 {
        share(self.classes, self.rows)
    }

    /// Returns the mean class size.
    pub fn average_class(&self) -> f64 {
        share(self.rows, self.classes)
    }

    /// Returns the share of rows above the threshold.
    pub fn share_at_risk(&self) -> f64 {
        share(self.rows_at_risk, self.rows)
    }
}

#[cfg(test)]
#[path = "risk_tests.rs"]
mod tests;
