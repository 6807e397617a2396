//! Necessary conditions for a release, checked before any work is done [Truta 2007, Conditions 1 and 2].
//!
//! Condition 1: no class can have more distinct sensitive values than the whole table. Condition 2 bounds the number of
//! classes: every class needs at least `i` of the rows outside the `p - i` most frequent values. With constraints on
//! quasi-identifiers, both apply to every class of the maximum allowed microdata ([`FeasibleRegions`]).

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;

use crate::model::{Privacy, Tally, highest_p};
use crate::partition::FeasibleRegions;
use crate::table::{SensitiveColumn, Table};

/// Number of cells per parallel task.
const CHUNK_CELLS: usize = 1 << 14;

/// Reason why no release of a table can keep its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// Fewer rows than `k`.
    Rows {
        /// Number of rows of the table.
        rows: u64,
        /// The requirement.
        k: u64,
    },
    /// Fewer distinct values than `p` [Truta 2007, Condition 1].
    Distinct {
        /// The sensitive column.
        column: String,
        /// Number of distinct values, which is the highest feasible `p`.
        distinct: u64,
        /// The requirement.
        p: u64,
    },
    /// The categories of all rows together weigh less than alpha.
    Weight {
        /// The sensitive column.
        column: String,
    },
    /// Fewer units of privacy than `k`.
    Units {
        /// Number of units of the table.
        units: u64,
        /// The requirement.
        k: u64,
    },
    /// Fewer values than `p` that different units carry.
    Carriers {
        /// The sensitive column.
        column: String,
        /// Number of values that different units carry, which is the highest feasible `p`.
        carried: u64,
        /// The requirement.
        p: u64,
    },
    /// The frequencies of all rows together violate a model.
    Frequency {
        /// The sensitive column.
        column: String,
        /// Name of the model.
        model: &'static str,
    },
    /// Under the constraints of the quasi-identifiers, no class satisfies the model.
    Limits {
        /// Number of rows of the table, all of which would have to be suppressed.
        rows: u64,
    },
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { rows: 1, k } => write!(f, "there is 1 row to release, and k = {k} needs at least that many"),
            Self::Rows { rows, k } => {
                write!(f, "there are {rows} rows to release, and k = {k} needs at least that many")
            }
            Self::Distinct { column, distinct: 0, p } => {
                write!(
                    f,
                    "sensitive column `{column}` has no value that counts, and p = {p} needs as many; give it a `p` of 1"
                )
            }
            Self::Distinct { column, distinct, p } => write!(
                f,
                "sensitive column `{column}` has {distinct} distinct {}, and p = {p} needs at least that many; \
                 the highest p that works for it is {distinct}",
                if *distinct == 1 { "value" } else { "values" }
            ),
            Self::Weight { column } => write!(
                f,
                "the categories of sensitive column `{column}` weigh less than alpha even in all rows together; lower alpha"
            ),
            Self::Units { units, k } => {
                write!(f, "the rows to release belong to {units} units, and k = {k} needs at least that many")
            }
            Self::Carriers { column, carried, p } => write!(
                f,
                "only {carried} values of sensitive column `{column}` are carried by different units, and p = {p} needs at \
                 least that many; the highest p that works for it is {carried}"
            ),
            Self::Frequency { column, model } => write!(
                f,
                "sensitive column `{column}` violates {model} even in all rows together; relax that requirement"
            ),
            Self::Limits { rows } => write!(
                f,
                "within the limits of the quasi-identifiers none of the {rows} rows can be released; raise a `limit`, or \
                 lower k or p"
            ),
        }
    }
}

/// Feasibility of a promise for a table.
#[derive(Clone, Debug)]
pub struct Feasibility {
    /// Number of rows of the table.
    pub rows: u64,
    /// Number of rows that must be suppressed, because the constraints leave no class for them.
    pub suppressed: u64,
    /// Feasibility of each sensitive column, in the order of the table.
    pub columns: Vec<ColumnFeasibility>,
    /// Upper bound of the number of classes of any release: Condition 2 over all columns, and at most `rows / k`.
    pub max_classes: u64,
    /// Unmet conditions; empty if the promise is feasible.
    pub shortfalls: Vec<Shortfall>,
}

/// Feasibility of one sensitive column.
#[derive(Clone, Debug)]
pub struct ColumnFeasibility {
    /// Name of the column.
    pub name: String,
    /// Counted unit: values, strong values or categories.
    pub counted: &'static str,
    /// Number of distinct ones in the whole table, which is the highest feasible `p`. For lists it is that `p` itself, at
    /// most k.
    pub distinct: u64,
    /// Upper bound of the number of classes by the models of this column (Condition 2); zero if they are infeasible.
    pub max_classes: u64,
}

impl Feasibility {
    /// Computes the feasibility of a table. Models are closed under merging, so a class of the maximum allowed microdata
    /// can be released if and only if the class as a whole satisfies the models.
    pub fn of(table: &Table, privacy: &Privacy, allowed: &FeasibleRegions) -> Self {
        let mut examined = FeasibilityCounts::new(table);
        examined.add(table, allowed);
        examined.conclude(privacy)
    }
}

/// Feasibility counts over the parts of a table added so far.
#[derive(Clone, Debug)]
pub struct FeasibilityCounts {
    sensitive: Arc<[SensitiveColumn]>,
    whole: Tally,
    suppressed: u64,
    /// Classes of the maximum allowed microdata that satisfy the models. Without constraints there is one, over all
    /// parts.
    classes: Vec<Tally>,
    is_limited: bool,
}

impl FeasibilityCounts {
    /// Creates empty counts for `table`, or for any table with the same columns.
    pub fn new(table: &Table) -> Self {
        let is_limited = table.quasi().iter().any(|quasi| quasi.domain.is_limited());
        let sensitive = Arc::clone(table.sensitive_columns());
        let whole = Tally::empty(table.tally_shape());
        Self { sensitive, whole, suppressed: 0, classes: Vec::new(), is_limited }
    }

    /// Adds a part, which must contain classes of the maximum allowed microdata with all of their rows, or part of one
    /// that satisfies the models by itself.
    pub fn add(&mut self, part: &Table, allowed: &FeasibleRegions) {
        self.suppressed += allowed.suppressed_rows(part);
        self.whole.merge(&tally(part, allowed.suppressed_cells.iter().copied()));
        for cells in &allowed.classes {
            let class = tally(part, cells.iter().copied());
            self.whole.merge(&class);
            match self.classes.first_mut() {
                Some(one) if !self.is_limited => one.merge(&class),
                _ => self.classes.push(class),
            }
        }
    }

    /// Returns the feasibility over all parts.
    pub fn conclude(&self, privacy: &Privacy) -> Feasibility {
        let privacy = &privacy.for_release(&self.sensitive, &self.whole);
        let mut shortfalls: Vec<Shortfall> = privacy
            .models()
            .filter(|model| model.deficit(&self.whole) > 0)
            .map(|model| {
                let column = model.column().map_or("", |column| self.sensitive[column].name.as_str());
                model.shortfall(column, &self.whole)
            })
            .collect();
        if shortfalls.is_empty() && self.classes.is_empty() {
            shortfalls.push(Shortfall::Limits { rows: self.whole.rows() });
        }
        let most = |column: usize| {
            let of_class = |class: &Tally| {
                let models = privacy.models().filter(|model| model.column() == Some(column));
                models.map(|model| model.max_classes(class)).fold(class.rows(), u64::min)
            };
            self.classes.iter().map(of_class).sum()
        };
        let columns = self.sensitive.iter().enumerate().filter(|(_, column)| !column.is_unit);
        let columns = columns.map(|(index, column)| ColumnFeasibility {
            name: column.name.clone(),
            counted: column.counted,
            distinct: match column.elements {
                Some(_) => highest_p(&self.sensitive, index, &self.whole, privacy.least_rows()),
                None => self.whole.distinct(index),
            },
            max_classes: most(index),
        });
        let most_of_class = |class: &Tally| privacy.models().map(|model| model.max_classes(class)).min();
        Feasibility {
            rows: self.whole.rows(),
            suppressed: self.suppressed,
            columns: columns.collect(),
            max_classes: self.classes.iter().map(|class| most_of_class(class).unwrap_or(0)).sum(),
            shortfalls,
        }
    }
}

/// Condition 2 [Truta 2007] for one column: `min over i = 1..p of floor((n - cf_(p-i)) / i)`, with `n` the rows that
/// have a value and `cf_j` the rows of its `j` most frequent values.
pub fn max_classes(mut counts: Vec<u64>, p: u64) -> u64 {
    counts.sort_unstable_by(|a, b| b.cmp(a));
    if (counts.len() as u64) < p {
        return 0;
    }
    let n: u64 = counts.iter().sum();
    let mut most_frequent = 0;
    let mut bound = n;
    for j in 0..p {
        bound = bound.min((n - most_frequent) / (p - j));
        most_frequent += counts[j as usize];
    }
    bound
}

/// Tallies many cells in parallel.
pub(crate) fn tally(table: &Table, cells: impl IntoIterator<Item = u32>) -> Tally {
    let cells: Vec<u32> = cells.into_iter().collect();
    let of_chunk = |cells: &[u32]| Tally::of_cells(table, cells.iter().copied());
    let merged = |mut a: Tally, b: Tally| {
        a.merge(&b);
        a
    };
    cells.par_chunks(CHUNK_CELLS).map(of_chunk).reduce(|| Tally::empty(table.tally_shape()), merged)
}

#[cfg(test)]
#[path = "feasibility_tests.rs"]
mod tests;
