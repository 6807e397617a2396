//! The domain of a quasi-identifier: its values as ordered positions, and what a range of positions loses.
//!
//! Numbers and dates are positioned by size, categories by the depth-first order of their hierarchy. From here on a
//! class is a box of ranges `[lo, hi]`, one per column, and no algorithm asks what kind of column it looks at.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::{SortOptions, sort_to_indices, take};

use crate::columns::{QuasiSpec, Release};
use crate::error::{Error, Result, kernel};
use crate::hierarchy::{Tree, build_tree};
use crate::values::distances;

/// The code of a null, in place of a position or of a sensitive code, while a domain is being built.
pub const NULL: u32 = u32::MAX;

/// The values of one quasi-identifier as positions.
#[derive(Clone, Debug)]
pub struct Domain {
    kind: Kind,
    loss: Loss,
}

/// What positions stand for.
#[derive(Clone, Debug)]
pub enum Kind {
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

impl Domain {
    /// Builds the domain of a column from its distinct non-null values in any order. Also tells the position of each.
    pub fn build(spec: &QuasiSpec, distinct: &ArrayRef, has_null: bool) -> Result<(Self, Vec<u32>)> {
        let order = sort_to_indices(distinct, Some(SortOptions::default()), None).map_err(kernel("sort"))?;
        let values = take(distinct, &order, None).map_err(kernel("take"))?;
        let (kind, by_rank) = match spec.release {
            Release::Interval | Release::Bounds => {
                let first = u32::from(has_null);
                (Kind::Ordered { values, has_null }, (first..first + distinct.len() as u32).collect())
            }
            Release::Ancestor | Release::Set => {
                let (tree, positions) = build_tree(&spec.hierarchy, &values)
                    .map_err(|source| Error::Hierarchy { column: spec.name.clone(), source })?;
                let tree = if has_null { tree.with_null() } else { tree };
                (Kind::Category(Arc::new(tree)), positions)
            }
        };
        let loss = Loss::of(&kind).ok_or_else(|| Error::Type {
            column: spec.name.clone(),
            data_type: distinct.data_type().to_string(),
            role: "quasi-identifier with intervals",
        })?;
        let mut positions = vec![0; distinct.len()];
        for (rank, index) in order.values().iter().enumerate() {
            positions[*index as usize] = by_rank[rank];
        }
        Ok((Self { kind, loss }, positions))
    }

    /// What the positions stand for.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// How many positions there are.
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Ordered { values, has_null } => values.len() + usize::from(*has_null),
            Kind::Category(tree) => tree.leaf_count(),
        }
    }

    /// Whether there is no position at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of null, where the column has nulls.
    pub fn null_position(&self) -> Option<u32> {
        match &self.kind {
            Kind::Ordered { has_null, .. } => has_null.then_some(0),
            Kind::Category(tree) => tree.null_leaf(),
        }
    }

    /// The NCP of a class that spans the positions `lo ..= hi`: 0 for a single value, 1 for the whole domain.
    pub fn loss(&self, lo: u32, hi: u32) -> f64 {
        match &self.loss {
            _ if lo == hi => 0.0,
            Loss::Width { coordinates, has_null } => {
                if *has_null && lo == 0 {
                    1.0
                } else {
                    coordinates[hi as usize] - coordinates[lo as usize]
                }
            }
            Loss::Ancestor(tree) => {
                let node = tree.common_ancestor(lo, hi);
                f64::from(tree.leaves_below(node)) / tree.leaf_count() as f64
            }
        }
    }

    /// Whether a cut between two positions respects the hierarchy inside a range: it must fall between two children of
    /// the lowest node above that range. Numbers may be cut anywhere.
    pub fn is_border(&self, range: (u32, u32), between: (u32, u32)) -> bool {
        match &self.kind {
            Kind::Ordered { .. } => true,
            Kind::Category(tree) => {
                tree.common_ancestor(between.0, between.1) == tree.common_ancestor(range.0, range.1)
            }
        }
    }
}

/// The loss of a range, prepared for many look-ups.
#[derive(Clone, Debug)]
enum Loss {
    /// Width over range; mixed with null everything is lost.
    Width { coordinates: Vec<f64>, has_null: bool },
    /// Leaves below the common ancestor over all leaves.
    Ancestor(Arc<Tree>),
}

impl Loss {
    fn of(kind: &Kind) -> Option<Self> {
        match kind {
            Kind::Category(tree) => Some(Self::Ancestor(Arc::clone(tree))),
            Kind::Ordered { values, has_null } => {
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
