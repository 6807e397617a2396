//! Whether a promise can be kept at all, before any work is done (Conditions 1 and 2 of paper A).
//!
//! Condition 1: no class can have more distinct sensitive values than the whole table. Condition 2 bounds the number of
//! classes: of the rows that do not carry one of the `p - i` most frequent values, every class needs at least `i`.

use std::fmt;

use crate::table::Table;

/// Why no release of a table can keep its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// Fewer rows than `k`.
    Rows {
        /// The rows of the table.
        rows: u64,
        /// What was asked for.
        k: u64,
    },
    /// Fewer distinct values than `p` (Condition 1).
    Distinct {
        /// The sensitive column.
        column: String,
        /// How many distinct values it has, which is the highest `p` that would do.
        distinct: u64,
        /// What was asked for.
        p: u64,
    },
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { rows, k } => {
                write!(f, "there are {rows} rows to release, and k = {k} needs at least that many")
            }
            Self::Distinct { column, distinct, p } => write!(
                f,
                "sensitive column `{column}` has {distinct} distinct values, and p = {p} needs at least that many; \
                 the highest p that works for it is {distinct}"
            ),
        }
    }
}

/// What a table allows.
#[derive(Clone, Debug)]
pub struct Feasibility {
    /// The rows of the table.
    pub rows: u64,
    /// The sensitive columns in the order of the table.
    pub columns: Vec<ColumnFeasibility>,
    /// The most classes that any release can have: Condition 2 over all columns, and no more than `rows / k`.
    pub max_classes: u64,
    /// Everything that stands in the way; empty when the promise can be kept.
    pub shortfalls: Vec<Shortfall>,
}

/// What one sensitive column allows.
#[derive(Clone, Debug)]
pub struct ColumnFeasibility {
    /// Its name.
    pub name: String,
    /// Its distinct values, which is the highest `p` that can be met.
    pub distinct: u64,
    /// The most classes that this column allows (Condition 2); zero when `p` can't be met.
    pub max_classes: u64,
}

impl Feasibility {
    /// Examines a table. One class with all rows is the last resort of every algorithm, and all models are monotone: so
    /// when that class satisfies the models a release exists, and when it does not there is none.
    pub fn of(table: &Table, k: u64, p: u64) -> Self {
        let rows = table.rows();
        let mut shortfalls = Vec::new();
        if rows < k {
            shortfalls.push(Shortfall::Rows { rows, k });
        }
        let mut columns = Vec::new();
        for (index, column) in table.sensitive().iter().enumerate() {
            let counts = counts(table, index);
            let distinct = counts.len() as u64;
            if p > 1 && distinct < p {
                shortfalls.push(Shortfall::Distinct { column: column.name.clone(), distinct, p });
            }
            let max_classes = if p > 1 { max_classes(counts, p) } else { rows };
            columns.push(ColumnFeasibility { name: column.name.clone(), distinct, max_classes });
        }
        let by_size = rows.checked_div(k).unwrap_or(rows);
        let max_classes = columns.iter().map(|column| column.max_classes).fold(by_size, u64::min);
        Self { rows, columns, max_classes, shortfalls }
    }
}

/// How many rows have each value of a sensitive column.
fn counts(table: &Table, column: usize) -> Vec<u64> {
    let mut counts = vec![0; table.sensitive()[column].distinct as usize];
    for group in 0..table.group_count() as u32 {
        if let Some(count) = counts.get_mut(table.codes(group)[column] as usize) {
            *count += u64::from(table.group_rows(group));
        }
    }
    // A value may have occurred in suppressed rows only.
    counts.retain(|count| *count > 0);
    counts
}

/// Condition 2 for one column: `min over i = 1..p of floor((n - cf_(p-i)) / i)`, with `n` the rows that have a value and
/// `cf_j` the rows of its `j` most frequent values.
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

#[cfg(test)]
#[path = "feasibility_tests.rs"]
mod tests;
