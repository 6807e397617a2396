//! Summarizes clusters per column: the range of positions, and the aggregate of columns that release mean, median or
//! mode.
//!
//! The cells of a cluster are scattered over the table. Positions of many clusters are therefore gathered first and
//! then processed column by column.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray, UInt32Array};
use arrow::compute::take;
use rayon::prelude::*;

use crate::cluster::Class;
use crate::columns::ColumnRecoding;
use crate::domain::DomainKind;
use crate::error::{CoreError, Result, kernel};
use crate::hierarchy::Tree;
use crate::numeric_view::{Mean, NarrowNumbers, NumericView, from_means};
use crate::table::{QuasiColumn, Table};

/// Number of clusters per block.
const CLUSTERS: usize = 256;

/// Aggregate of a cluster in one column, and the moments of its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClusterAggregate {
    /// `None` for null.
    value: Option<AggregateValue>,
    pub(super) moments: Moments,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum AggregateValue {
    Mean(Mean),
    /// A value of the column: its index without null for numbers, its position for categories.
    Known(u32),
}

/// Count, mean and sum of squared deviations of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    pub(super) rows: f64,
    pub(super) mean: f64,
    pub(super) squares: f64,
}

impl Moments {
    fn of(numbers: impl Iterator<Item = (f64, u64)> + Clone) -> Self {
        let rows = numbers.clone().map(|(_, rows)| rows as f64).sum::<f64>();
        if rows == 0.0 {
            return Self::default();
        }
        let mean = numbers.clone().map(|(number, count)| number * (count as f64 / rows)).sum::<f64>();
        let squares = numbers.map(|(number, count)| count as f64 * (number - mean).powi(2)).sum();
        Self { rows, mean, squares }
    }
}

/// Summary of clusters over all columns.
#[derive(Debug)]
pub(super) struct ClusterSummary {
    /// Cluster-major: the first and last position to release of each column; `None` for an empty cluster.
    pub(super) ranges: Vec<Option<(u32, u32)>>,
    /// Per column, the aggregate of each cluster; empty for columns without aggregates.
    pub(super) aggregates: Vec<Vec<ClusterAggregate>>,
}

/// Summarizes clusters over all columns.
pub(super) fn summarize(table: &Table, cell_of: &[u32], clusters: &[Class]) -> ClusterSummary {
    let fetched: Vec<FetchedPositions> =
        clusters.par_chunks(CLUSTERS).map(|clusters| FetchedPositions::of(table, cell_of, clusters)).collect();
    let ranges = || {
        let of_block = |(fetched, clusters): (&FetchedPositions, &[Class])| fetched.ranges(clusters);
        fetched.par_iter().zip(clusters.par_chunks(CLUSTERS)).map(of_block).collect::<Vec<_>>().concat()
    };
    // Process one column for all clusters before the next, so that its values stay in cache.
    let aggregates = |(at, quasi): (usize, &QuasiColumn)| match quasi.spec.release.is_aggregate() {
        true => {
            let column = AggregateSource::new(at, quasi);
            fetched.par_iter().map(|fetched| column.aggregates(fetched)).collect::<Vec<_>>().concat()
        }
        false => Vec::new(),
    };
    ClusterSummary { ranges: ranges(), aggregates: table.quasi().iter().enumerate().map(aggregates).collect() }
}

/// Gathered positions of some clusters.
#[derive(Debug)]
struct FetchedPositions {
    width: usize,
    /// Portion-major.
    positions: Vec<u32>,
    rows: Vec<u32>,
    /// End offset of each cluster, in portions.
    ends: Vec<usize>,
}

impl FetchedPositions {
    fn of(table: &Table, cell_of: &[u32], clusters: &[Class]) -> Self {
        let width = table.quasi().len();
        let mut count = 0;
        let end = |class: &Class| {
            count += class.portions.len();
            count
        };
        let ends: Vec<usize> = clusters.iter().map(end).collect();
        let (mut cells, mut rows) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for portion in clusters.iter().flat_map(|class| &class.portions) {
            cells.push(cell_of[portion.group as usize]);
            rows.push(portion.rows);
        }
        let mut positions = vec![0; count * width];
        for (slots, cell) in positions.chunks_exact_mut(width.max(1)).zip(cells) {
            slots.iter_mut().zip(table.positions(cell)).for_each(|(slot, position)| *slot = *position);
        }
        Self { width, positions, rows, ends }
    }

    /// Returns the range of portions of each cluster.
    fn clusters(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| start..*end)
    }

    /// Returns the positions of all portions in one column.
    fn column(&self, at: usize) -> impl Iterator<Item = u32> {
        self.positions.chunks_exact(self.width.max(1)).map(move |positions| positions[at])
    }

    fn ranges(&self, clusters: &[Class]) -> Vec<Option<(u32, u32)>> {
        let mut ranges = vec![None; clusters.len() * self.width];
        let of_clusters = ranges.chunks_mut(self.width.max(1)).zip(clusters).zip(self.clusters());
        for ((ranges, class), portions) in of_clusters {
            if let Some(cover) = &class.cover {
                ranges.iter_mut().zip(cover).for_each(|(range, shown)| *range = Some(*shown));
                continue;
            }
            let positions = &self.positions[portions.start * self.width..portions.end * self.width];
            for positions in positions.chunks_exact(self.width.max(1)) {
                for (range, at) in ranges.iter_mut().zip(positions) {
                    let (lo, hi) = range.unwrap_or((*at, *at));
                    *range = Some((lo.min(*at), hi.max(*at)));
                }
            }
        }
        ranges
    }
}

/// Source of the aggregates of one column.
#[derive(Debug)]
struct AggregateSource<'a> {
    at: usize,
    release: ColumnRecoding,
    kind: &'a DomainKind,
    /// Numeric view of an ordered column; `None` if its type has none.
    numbers: Option<NumericView>,
}

impl<'a> AggregateSource<'a> {
    fn new(at: usize, quasi: &'a QuasiColumn) -> Self {
        let kind = quasi.domain.kind();
        let numbers = match kind {
            DomainKind::Ordered { values, .. } => NumericView::of(values),
            DomainKind::Category(_) => None,
        };
        Self { at, release: quasi.spec.release, kind, numbers }
    }

    fn aggregates(&self, fetched: &FetchedPositions) -> Vec<ClusterAggregate> {
        match (self.kind, &self.numbers) {
            (DomainKind::Ordered { has_null, .. }, Some(NumericView::Narrow(numbers)))
                if self.release != ColumnRecoding::Median =>
            {
                means(fetched, self.at, numbers, *has_null)
            }
            _ => {
                let positions: Vec<u32> = fetched.column(self.at).collect();
                let of_cluster = |portions: Range<usize>| {
                    let rows = fetched.rows[portions.clone()].iter().map(|rows| u64::from(*rows));
                    self.aggregate(positions[portions].iter().copied().zip(rows))
                };
                fetched.clusters().map(of_cluster).collect()
            }
        }
    }

    /// Returns the aggregate of rows at these positions.
    fn aggregate(&self, members: impl Iterator<Item = (u32, u64)>) -> ClusterAggregate {
        let first = match self.kind {
            DomainKind::Ordered { has_null, .. } => u32::from(*has_null),
            DomainKind::Category(_) => 0,
        };
        let (mut rows, mut has_null) = (Vec::new(), false);
        for (position, count) in members {
            match position.checked_sub(first) {
                Some(value) => rows.push((value, count)),
                None => has_null = true,
            }
        }
        put_in_order(&mut rows);
        let moments = self.numbers.as_ref().map_or(Moments::default(), |numbers| {
            Moments::of(rows.iter().map(|(value, rows)| (numbers.distance(*value), *rows)))
        });
        let value = match self.kind {
            // No number represents null: release null.
            DomainKind::Ordered { .. } if has_null => None,
            DomainKind::Ordered { .. } if self.release == ColumnRecoding::Median => {
                median(&rows).map(AggregateValue::Known)
            }
            DomainKind::Ordered { .. } => {
                self.numbers.as_ref().and_then(|numbers| numbers.mean(&rows)).map(AggregateValue::Mean)
            }
            DomainKind::Category(_) => mode(&rows).map(AggregateValue::Known),
        };
        ClusterAggregate { value, moments }
    }
}

/// Means of integers, whose sums do not depend on the order of rows.
fn means(fetched: &FetchedPositions, column: usize, numbers: &NarrowNumbers, has_null: bool) -> Vec<ClusterAggregate> {
    let first = u32::from(has_null);
    let far: Vec<u64> = fetched.column(column).map(|at| numbers.distance(at.max(first) - first)).collect();
    let of_cluster = |portions: Range<usize>| {
        let rows = fetched.rows[portions.clone()].iter().map(|rows| u64::from(*rows));
        let all = far[portions.clone()].iter().copied().zip(rows);
        if !has_null {
            return mean(numbers, all);
        }
        let positions = &fetched.positions[portions.start * fetched.width..portions.end * fetched.width];
        let is_null: Vec<bool> = positions.chunks_exact(fetched.width).map(|row| row[column] == 0).collect();
        let aggregate = mean(numbers, all.zip(&is_null).filter(|(_, is_null)| !**is_null).map(|(number, _)| number));
        // No number represents null: release null.
        if is_null.contains(&true) { ClusterAggregate { value: None, ..aggregate } } else { aggregate }
    };
    fetched.clusters().map(of_cluster).collect()
}

/// Returns the mean and the moments of integers, given as (distance from the first value of the column, rows).
fn mean(numbers: &NarrowNumbers, far: impl Iterator<Item = (u64, u64)> + Clone) -> ClusterAggregate {
    let (mut sum, mut rows) = (0.0, 0.0);
    for (far, count) in far.clone() {
        sum += far as f64 * count as f64;
        rows += count as f64;
    }
    if rows == 0.0 {
        return ClusterAggregate { value: None, moments: Moments::default() };
    }
    let middle = sum / rows;
    let squares = far.clone().map(|(far, count)| count as f64 * (far as f64 - middle).powi(2)).sum();
    ClusterAggregate {
        value: numbers.mean(far).map(AggregateValue::Mean),
        moments: Moments { rows, mean: middle, squares },
    }
}

/// Sorts by value and merges the counts of equal values.
fn put_in_order(rows: &mut Vec<(u32, u64)>) {
    rows.sort_unstable();
    rows.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 += if is_same { next.1 } else { 0 };
        is_same
    });
}

/// Returns the lower median.
fn median(rows: &[(u32, u64)]) -> Option<u32> {
    let total: u64 = rows.iter().map(|(_, rows)| rows).sum();
    let mut seen = 0;
    let reaches_half = |(_, rows): &&(u32, u64)| {
        seen += rows;
        2 * seen >= total
    };
    rows.iter().find(reaches_half).map(|(value, _)| *value)
}

/// Returns the most frequent value; ties go to the first in hierarchy order.
fn mode(rows: &[(u32, u64)]) -> Option<u32> {
    rows.iter().max_by_key(|(position, rows)| (*rows, std::cmp::Reverse(*position))).map(|(position, _)| *position)
}

/// Converts aggregates to the released array.
pub(super) fn shown(quasi: &QuasiColumn, aggregates: &[ClusterAggregate]) -> Result<ArrayRef> {
    let known = || {
        aggregates.iter().map(|aggregate| match aggregate.value {
            Some(AggregateValue::Known(value)) => Some(value),
            _ => None,
        })
    };
    let means = || {
        aggregates.iter().map(|aggregate| match aggregate.value {
            Some(AggregateValue::Mean(mean)) => Some(mean),
            _ => None,
        })
    };
    match quasi.domain.kind() {
        DomainKind::Ordered { values, .. } if quasi.spec.release == ColumnRecoding::Median => {
            take(values, &known().collect::<UInt32Array>(), None).map_err(kernel("take"))
        }
        DomainKind::Ordered { values, .. } => from_means(means(), values.data_type()).ok_or_else(|| CoreError::Type {
            column: quasi.spec.name.clone(),
            data_type: values.data_type().to_string(),
            role: "quasi-identifier with means",
        }),
        DomainKind::Category(tree) => {
            Ok(Arc::new(known().map(|leaf| leaf.and_then(|leaf| name(tree, leaf))).collect::<StringArray>()))
        }
    }
}

fn name(tree: &Tree, leaf: u32) -> Option<&str> {
    (tree.null_leaf() != Some(leaf)).then(|| tree.label(tree.leaf_node(leaf)))
}
