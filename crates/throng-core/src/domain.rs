//! The domain of a quasi-identifier: its values as ordered positions, and what a range of positions loses.
//!
//! Numbers and dates are positioned by size, categories by the depth-first order of their hierarchy. From here on a
//! class is a box of ranges `[lo, hi]`, one per column, and no algorithm asks what kind of column it looks at.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::DataType;

use crate::columns::{Limit, QuasiSpec};
use crate::error::{CoreError, Result};
use crate::hierarchy::{Tree, build_counted_tree, build_tree};
use crate::numeric_view::{coordinates, distances};

/// The code of a null, in place of a position or of a sensitive code, while a domain is being built.
pub const NULL: u32 = u32::MAX;

/// The values of one quasi-identifier as positions.
#[derive(Clone, Debug)]
pub struct Domain {
    kind: DomainKind,
    loss: Loss,
    /// For each position, the first one with the same maximum allowed generalization; none without a limit.
    blocks: Option<Arc<[u32]>>,
}

/// What positions stand for.
#[derive(Clone, Debug)]
pub enum DomainKind {
    /// Numbers, dates, times: the distinct values of the input in ascending order. With nulls, position 0 is null and
    /// the values follow.
    Ordered {
        /// The distinct values in ascending order, without null.
        values: ArrayRef,
        /// Whether position 0 is null.
        has_null: bool,
    },
    /// Categories: the leaves of a hierarchy in depth-first order, also those that do not occur.
    Category(Arc<Tree>),
}

/// The distinct non-null values of a column, ascending, and the rows that have each of them.
#[derive(Clone, Copy, Debug)]
pub struct DistinctValues<'a> {
    /// The values.
    pub values: &'a ArrayRef,
    /// How many rows have each value, where the hierarchy wants to know.
    pub rows: Option<&'a [u64]>,
    /// Whether there are rows with null besides.
    pub has_null: bool,
}

impl Domain {
    /// Builds the domain of a column from its distinct values. Also tells the position of each.
    pub fn build(spec: &QuasiSpec, distinct: DistinctValues<'_>) -> Result<(Self, Vec<u32>)> {
        let DistinctValues { values, rows, has_null } = distinct;
        let (kind, positions) = if spec.release.is_ordered() {
            let first = u32::from(has_null);
            (
                DomainKind::Ordered { values: Arc::clone(values), has_null },
                (first..first + values.len() as u32).collect(),
            )
        } else {
            let (tree, positions) = match rows {
                Some(rows) => build_counted_tree(&spec.hierarchy, values, rows),
                None => build_tree(&spec.hierarchy, values),
            }
            .map_err(|source| CoreError::Hierarchy { column: spec.name.clone(), source })?;
            let tree = if has_null { tree.with_null() } else { tree };
            (DomainKind::Category(Arc::new(tree)), positions)
        };
        let type_error = || CoreError::Type {
            column: spec.name.clone(),
            data_type: values.data_type().to_string(),
            role: "quasi-identifier with intervals",
        };
        let loss = Loss::of(&kind).ok_or_else(type_error)?;
        let blocks = match &spec.limit {
            Some(limit) => {
                let blocks = blocks(&kind, limit).ok_or_else(|| CoreError::Limit { column: spec.name.clone() })?;
                Some(blocks.into())
            }
            None => None,
        };
        Ok((Self { kind, loss, blocks }, positions))
    }

    /// What the positions stand for.
    pub fn kind(&self) -> &DomainKind {
        &self.kind
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        match &self.kind {
            DomainKind::Ordered { values, has_null } => values.len() + usize::from(*has_null),
            DomainKind::Category(tree) => tree.leaf_count(),
        }
    }

    /// Whether there is no position at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of null, where the column has nulls.
    pub fn null_position(&self) -> Option<u32> {
        match &self.kind {
            DomainKind::Ordered { has_null, .. } => has_null.then_some(0),
            DomainKind::Category(tree) => tree.null_leaf(),
        }
    }

    /// Whether the policy limits how far values may be generalized.
    pub fn is_limited(&self) -> bool {
        self.blocks.is_some()
    }

    /// What stands for the maximum allowed generalization of a position: equal for two positions if and only if they
    /// may be in one class (MAGVal, [Campan 2010, Def. 4]).
    pub fn block(&self, position: u32) -> u32 {
        self.blocks.as_ref().map_or(0, |blocks| blocks[position as usize])
    }

    /// The NCP of a class that spans the positions `lo ..= hi`: 0 for a single value, 1 for the whole domain.
    pub fn loss(&self, lo: u32, hi: u32) -> f64 {
        match &self.loss {
            Loss::Width { .. } if lo == hi => 0.0,
            Loss::Width { coordinates, has_null } => {
                if *has_null && lo == 0 {
                    1.0
                } else {
                    coordinates[hi as usize] - coordinates[lo as usize]
                }
            }
            Loss::Ancestor(tree) => tree.extent(tree.common_ancestor(lo, hi)),
        }
    }

    /// By position the coordinate of a number between 0 and 1; none for categories and where there are nulls.
    pub(crate) fn line(&self) -> Option<&[f64]> {
        match &self.loss {
            Loss::Width { coordinates, has_null: false } => Some(coordinates),
            _ => None,
        }
    }

    /// The information loss of a class that spans the positions `lo ..= hi` [Truta 2007, Def. 9]: the width of a number
    /// over its range, the height of a category's common ancestor over the height of its hierarchy.
    pub fn information_loss(&self, lo: u32, hi: u32) -> f64 {
        match &self.kind {
            DomainKind::Ordered { .. } => self.loss(lo, hi),
            DomainKind::Category(tree) => {
                let height = tree.height(tree.common_ancestor(lo, hi));
                f64::from(height) / f64::from(tree.height(tree.root()).max(1))
            }
        }
    }

    /// Whether a cut between two positions respects the hierarchy inside a range: it must fall between two children of
    /// the lowest node above that range. Numbers may be cut anywhere.
    pub fn is_border(&self, range: (u32, u32), between: (u32, u32)) -> bool {
        match &self.kind {
            DomainKind::Ordered { .. } => true,
            DomainKind::Category(tree) => {
                tree.common_ancestor(between.0, between.1) == tree.common_ancestor(range.0, range.1)
            }
        }
    }
}

/// For each position the first one of its block; none when the limit does not go with the kind.
///
/// Null may only be in a class with other nulls, unless the limit allows the root.
fn blocks(kind: &DomainKind, limit: &Limit) -> Option<Vec<u32>> {
    match (kind, limit) {
        (DomainKind::Ordered { values, has_null }, Limit::Bands(borders)) => {
            let band = |value: &f64| borders.partition_point(|border| border <= value);
            let bands: Vec<usize> = as_written(values)?.iter().map(band).collect();
            let first = u32::from(*has_null);
            let start = |band: &usize| first + bands.partition_point(|other| other < band) as u32;
            Some(has_null.then_some(0).into_iter().chain(bands.iter().map(start)).collect())
        }
        (DomainKind::Category(tree), Limit::Level(level)) => {
            // By height and not by steps: null and tails lie directly below the root, beside deeper branches.
            let top = |position: u32| {
                let upwards = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
                let allowed = upwards.take_while(|node| tree.height(*node) <= *level);
                allowed.last().unwrap_or(tree.leaf_node(position))
            };
            Some((0..tree.leaf_count() as u32).map(|position| tree.leaf_range(top(position)).0).collect())
        }
        (DomainKind::Category(tree), Limit::Values(values)) => {
            let top = |position: u32| {
                let upwards = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
                let listed = upwards.filter(|node| values.iter().any(|value| value == tree.label(*node)));
                listed.last().unwrap_or(tree.leaf_node(position))
            };
            Some((0..tree.leaf_count() as u32).map(|position| tree.leaf_range(top(position)).0).collect())
        }
        _ => None,
    }
}

/// Numbers as a reader takes them from a release: 0.7 in single precision is 0.7, and not the double just below it.
fn as_written(values: &ArrayRef) -> Option<Vec<f64>> {
    match values.data_type() {
        DataType::Float16 | DataType::Float32 => {
            coordinates(&cast(&cast(values, &DataType::Utf8).ok()?, &DataType::Float64).ok()?)
        }
        _ => coordinates(values),
    }
}

/// The loss of a range, prepared for many look-ups.
#[derive(Clone, Debug)]
enum Loss {
    /// Width over range; mixed with null everything is lost.
    Width { coordinates: Arc<[f64]>, has_null: bool },
    /// The extent of the common ancestor.
    Ancestor(Arc<Tree>),
}

impl Loss {
    fn of(kind: &DomainKind) -> Option<Self> {
        match kind {
            DomainKind::Category(tree) => Some(Self::Ancestor(Arc::clone(tree))),
            DomainKind::Ordered { values, has_null } => {
                let raw = distances(values)?;
                let range = raw.last().copied().unwrap_or(0.0);
                let scale = |distance: &f64| if range > 0.0 { distance / range } else { 0.0 };
                let null = has_null.then_some(0.0);
                Some(Self::Width {
                    coordinates: null.into_iter().chain(raw.iter().map(scale)).collect(),
                    has_null: *has_null,
                })
            }
        }
    }
}
