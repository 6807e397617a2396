//! What stands for the rows of a cluster in columns of means, medians and modes.
//!
//! The rows of a cluster lie all over the table. So a cluster is looked at once, for all of these columns, and clusters
//! are looked at in parallel.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, UInt32Array};
use arrow::compute::take;
use rayon::prelude::*;

use super::recoder::Part;
use crate::cluster::Class;
use crate::columns::Release;
use crate::domain::Kind;
use crate::error::{Error, Result, kernel};
use crate::hierarchy::Tree;
use crate::table::QuasiColumn;
use crate::values::{Mean, Numbers, from_means};

/// So many clusters are looked at in one go.
const CLUSTERS: usize = 256;

/// What stands for a cluster in one column, and the moments of its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StandIn {
    /// None for null.
    value: Option<Value>,
    pub(super) moments: Moments,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Mean(Mean),
    /// A value of the column: of numbers counted without null, of categories the position.
    Known(u32),
}

/// The count, the mean and the squared deviations of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    pub(super) rows: f64,
    pub(super) mean: f64,
    pub(super) squares: f64,
}

impl Moments {
    fn of(numbers: &[(f64, f64)]) -> Self {
        let rows = numbers.iter().map(|(_, rows)| rows).sum::<f64>();
        if rows == 0.0 {
            return Self::default();
        }
        let mean = numbers.iter().map(|(number, count)| number * (count / rows)).sum::<f64>();
        let squares = numbers.iter().map(|(number, count)| count * (number - mean).powi(2)).sum();
        Self { rows, mean, squares }
    }
}

/// A column of stand-ins.
#[derive(Debug)]
struct Column<'a> {
    at: usize,
    release: Release,
    kind: &'a Kind,
    /// Of a number, unless its type has no order of magnitude.
    numbers: Option<Numbers>,
}

/// The values of one cluster in one column, in memory that is used again.
#[derive(Debug, Default)]
struct Members {
    /// Values that occur and how many rows have each: ascending, each once, unless nobody asks for that.
    rows: Vec<(u32, u64)>,
    numbers: Vec<(f64, f64)>,
}

/// Per column and cluster, what stands for it; nothing for columns that show something else.
pub(super) fn stand_ins(part: Part<'_>, quasi: &[QuasiColumn]) -> Vec<Vec<StandIn>> {
    let columns = quasi.par_iter().enumerate().filter(|(_, quasi)| quasi.spec.release.is_aggregate());
    let columns: Vec<Column<'_>> = columns.map(|(at, quasi)| Column::new(at, quasi)).collect();
    let mut found = vec![Vec::new(); quasi.len()];
    if columns.is_empty() {
        return found;
    }
    let of_clusters = |clusters: &[Class]| {
        let mut members = Members::default();
        let of_cluster =
            |class: &Class| columns.iter().map(|column| column.stand_in(part, class, &mut members)).collect::<Vec<_>>();
        clusters.iter().flat_map(of_cluster).collect::<Vec<_>>()
    };
    let blocks: Vec<Vec<StandIn>> = part.clusters.par_chunks(CLUSTERS).map(of_clusters).collect();
    for (place, column) in columns.iter().enumerate() {
        let of_block =
            |block: &Vec<StandIn>| block.iter().skip(place).step_by(columns.len()).copied().collect::<Vec<_>>();
        found[column.at] = blocks.iter().flat_map(of_block).collect();
    }
    found
}

impl<'a> Column<'a> {
    fn new(at: usize, quasi: &'a QuasiColumn) -> Self {
        let kind = quasi.domain.kind();
        let numbers = match kind {
            Kind::Ordered { values, .. } => Numbers::of(values),
            Kind::Category(_) => None,
        };
        Self { at, release: quasi.spec.release, kind, numbers }
    }

    fn stand_in(&self, part: Part<'_>, class: &Class, members: &mut Members) -> StandIn {
        let Members { rows, numbers } = members;
        let first = match self.kind {
            Kind::Ordered { has_null, .. } => u32::from(*has_null),
            Kind::Category(_) => 0,
        };
        rows.clear();
        let mut has_null = false;
        for portion in &class.portions {
            let position = part.table.positions(part.cell_of[portion.group as usize])[self.at];
            match position.checked_sub(first) {
                Some(value) => rows.push((value, u64::from(portion.rows))),
                None => has_null = true,
            }
        }
        let is_mean = matches!(self.kind, Kind::Ordered { .. }) && self.release != Release::Median;
        if !is_mean || self.numbers.as_ref().is_some_and(|numbers| !numbers.is_exact()) {
            put_in_order(rows);
        }
        numbers.clear();
        if let Some(line) = &self.numbers {
            numbers.extend(rows.iter().map(|(value, rows)| (line.distance(*value), *rows as f64)));
        }
        let value = match self.kind {
            // No number would stand for all rows.
            Kind::Ordered { .. } if has_null => None,
            Kind::Ordered { .. } if is_mean => {
                self.numbers.as_ref().and_then(|numbers| numbers.mean(rows)).map(Value::Mean)
            }
            Kind::Ordered { .. } => median(rows).map(Value::Known),
            Kind::Category(_) => mode(rows).map(Value::Known),
        };
        StandIn { value, moments: Moments::of(numbers) }
    }
}

/// Ascending, each value once.
fn put_in_order(rows: &mut Vec<(u32, u64)>) {
    rows.sort_unstable();
    rows.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0 };
        is_same
    });
}

/// The lower median.
fn median(rows: &[(u32, u64)]) -> Option<u32> {
    let total: u64 = rows.iter().map(|(_, rows)| rows).sum();
    let mut seen = 0;
    let reaches_half = |(_, rows): &&(u32, u64)| {
        seen += rows;
        2 * seen >= total
    };
    rows.iter().find(reaches_half).map(|(value, _)| *value)
}

/// The most frequent value, the first in the hierarchy among equals.
fn mode(rows: &[(u32, u64)]) -> Option<u32> {
    rows.iter().max_by_key(|(position, rows)| (*rows, std::cmp::Reverse(*position))).map(|(position, _)| *position)
}

/// What is shown where these stand for clusters.
pub(super) fn shown(quasi: &QuasiColumn, stand_ins: &[StandIn]) -> Result<ArrayRef> {
    let known = || {
        stand_ins.iter().map(|stand_in| match stand_in.value {
            Some(Value::Known(value)) => Some(value),
            _ => None,
        })
    };
    let means = || {
        stand_ins.iter().map(|stand_in| match stand_in.value {
            Some(Value::Mean(mean)) => Some(mean),
            _ => None,
        })
    };
    match quasi.domain.kind() {
        Kind::Ordered { values, .. } if quasi.spec.release == Release::Median => {
            take(values, &known().collect::<UInt32Array>(), None).map_err(kernel("take"))
        }
        Kind::Ordered { values, .. } => from_means(means(), values.data_type()).ok_or_else(|| Error::Type {
            column: quasi.spec.name.clone(),
            data_type: values.data_type().to_string(),
            role: "quasi-identifier with means",
        }),
        Kind::Category(tree) => {
            Ok(Arc::new(known().map(|leaf| leaf.and_then(|leaf| name(tree, leaf))).collect::<StringArray>()))
        }
    }
}

fn name(tree: &Tree, leaf: u32) -> Option<&str> {
    (tree.null_leaf() != Some(leaf)).then(|| tree.label(tree.leaf_node(leaf)))
}
