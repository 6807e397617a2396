//! The domain of a quasi-identifier: its values encoded as ordered positions, and the loss of a range of positions.
//!
//! Numbers and dates are ordered by value, categories by the depth-first order of their hierarchy. A class is a
//! bounding box of ranges `[lo, hi]`, one per column, and the algorithms need not distinguish the kinds of columns.
//!
//! The domain of a number with too many values for memory exists only in [slices](PartialDomain), each of which has the values
//! that some rows need, with its own positions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::DataType;

use crate::columns::{Limit, QuasiSpec};
use crate::cover::{CoveredValues, cover};
use crate::error::{CoreError, Result};
use crate::hierarchy::{Tree, build_counted_tree, build_tree};
use crate::numeric_view::{NumericView, coordinates, distances};
pub use crate::partial_domain::{PartialDomain, WholeDomain};

/// Sentinel for null in place of a position or a sensitive code.
pub const NULL: u32 = u32::MAX;

/// Encodes the values of one quasi-identifier as positions.
#[derive(Clone, Debug)]
pub struct Domain {
    kind: DomainKind,
    loss: Loss,
    /// For each position the first position with the same maximum allowed generalization; `None` without a limit.
    blocks: Option<Arc<[u32]>>,
    /// For each position the first and the last position of its cell of the grid; `None` without a cover.
    cells: Option<Arc<[(u32, u32)]>>,
    /// The mapping of the positions to a larger domain, if this is a slice of one.
    slice: Option<PartialDomain>,
}

/// The values that positions encode.
#[derive(Clone, Debug)]
pub enum DomainKind {
    /// Numbers, dates, times: the distinct values of the input in ascending order, with the borders of their cells if
    /// the column has a cover. If there are nulls, position 0 is null and the values follow.
    Ordered {
        /// The distinct values in ascending order, without null.
        values: ArrayRef,
        /// Whether position 0 is null.
        has_null: bool,
    },
    /// Categories: the leaves of a hierarchy in depth-first order, including those that do not occur.
    Category(Arc<Tree>),
}

/// The distinct non-null values of a column, ascending, with their row counts.
#[derive(Clone, Copy, Debug)]
pub struct DistinctValues<'a> {
    /// Distinct values, ascending.
    pub values: &'a ArrayRef,
    /// Number of rows per value, if the hierarchy depends on frequencies.
    pub rows: Option<&'a [u64]>,
    /// Whether the column also has nulls.
    pub has_null: bool,
}

impl Domain {
    /// Builds the domain of a column from its distinct values. Returns it with the position of each value.
    pub fn build(spec: &QuasiSpec, distinct: DistinctValues<'_>) -> Result<(Self, Vec<u32>)> {
        let DistinctValues { values, rows, has_null } = distinct;
        let first = u32::from(has_null);
        let mut cells = None;
        let (kind, positions) = if let (true, Some(grid)) = (spec.release.is_ordered(), spec.cover) {
            let covered = cover(values, grid, spec.limit.as_ref());
            let CoveredValues { values, mut of_value, cells: of_position } =
                covered.ok_or_else(|| CoreError::Cover { column: spec.name.clone() })?;
            let null = has_null.then_some((0, 0)).into_iter();
            cells = Some(null.chain(of_position.into_iter().map(|(lo, hi)| (lo + first, hi + first))).collect());
            of_value.iter_mut().for_each(|position| *position += first);
            (DomainKind::Ordered { values, has_null }, of_value)
        } else if spec.release.is_ordered() {
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
        Ok((Self { kind, loss, blocks, cells, slice: None }, positions))
    }

    /// Creates a slice with these values. `numbers` are the values between the first and the last of the whole domain. If
    /// losses `are_looked_up`, they take more memory and less time.
    pub(crate) fn of_slice(
        values: ArrayRef,
        has_null: bool,
        numbers: NumericView,
        are_looked_up: bool,
        slice: PartialDomain,
    ) -> Self {
        let range = numbers.distance(values.len() as u32 + 1);
        let loss = Loss::Scaled { numbers, range, has_null };
        let loss = match are_looked_up {
            true => {
                let positions = 0..values.len() as u32 + u32::from(has_null);
                let coordinates = positions.map(|position| loss.coordinate(position).unwrap_or(0.0)).collect();
                Loss::Width { coordinates, has_null }
            }
            false => loss,
        };
        Self { kind: DomainKind::Ordered { values, has_null }, loss, blocks: None, cells: None, slice: Some(slice) }
    }

    /// Returns the mapping of the positions to a larger domain, if this is a slice of one.
    pub fn slice(&self) -> Option<&PartialDomain> {
        self.slice.as_ref()
    }

    /// Converts a position to one of the whole domain.
    pub fn in_whole(&self, position: u32) -> u32 {
        self.slice.as_ref().map_or(position, |slice| slice.in_whole(position))
    }

    /// Returns the number of positions of the whole domain.
    pub fn whole_len(&self) -> usize {
        self.slice.as_ref().map_or_else(|| self.len(), |slice| slice.whole().len())
    }

    /// Returns the coordinate of a position, scaled to 0..1; `None` for categories.
    pub(crate) fn coordinate(&self, position: u32) -> Option<f64> {
        self.loss.coordinate(position)
    }

    /// Returns the values that positions stand for.
    pub fn kind(&self) -> &DomainKind {
        &self.kind
    }

    /// Returns the number of positions.
    pub fn len(&self) -> usize {
        match &self.kind {
            DomainKind::Ordered { values, has_null } => values.len() + usize::from(*has_null),
            DomainKind::Category(tree) => tree.leaf_count(),
        }
    }

    /// Returns whether the domain has no position.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the position of null if the column has nulls.
    pub fn null_position(&self) -> Option<u32> {
        match &self.kind {
            DomainKind::Ordered { has_null, .. } => has_null.then_some(0),
            DomainKind::Category(tree) => tree.null_leaf(),
        }
    }

    /// Returns whether the policy limits how far values may be generalized.
    pub fn is_limited(&self) -> bool {
        self.blocks.is_some()
    }

    /// Returns an id of the maximum allowed generalization of a position: two positions may share a class if and only
    /// if their ids are equal (MAGVal, [Campan 2010, Def. 4]).
    pub fn block(&self, position: u32) -> u32 {
        self.blocks.as_ref().map_or(0, |blocks| blocks[position as usize])
    }

    /// Returns the positions to release for a class that spans `lo ..= hi`: with a cover, the borders of the cells of
    /// the first and the last number. A single value is released as itself, and a class of null and numbers shows no
    /// ends.
    pub fn covered(&self, lo: u32, hi: u32) -> (u32, u32) {
        match &self.cells {
            Some(cells) if lo < hi && Some(lo) != self.null_position() => (cells[lo as usize].0, cells[hi as usize].1),
            _ => (lo, hi),
        }
    }

    /// Returns the NCP of a class that spans the positions `lo ..= hi`: 0 for a single value, 1 for the whole domain.
    pub fn loss(&self, lo: u32, hi: u32) -> f64 {
        match &self.loss {
            Loss::Width { .. } | Loss::Scaled { .. } if lo == hi => 0.0,
            Loss::Width { has_null: true, .. } | Loss::Scaled { has_null: true, .. } if lo == 0 => 1.0,
            Loss::Width { coordinates, .. } => coordinates[hi as usize] - coordinates[lo as usize],
            Loss::Scaled { .. } => {
                let ends = self.loss.coordinate(lo).zip(self.loss.coordinate(hi));
                ends.map_or(0.0, |(lo, hi)| hi - lo)
            }
            Loss::Ancestor(tree) => tree.extent(tree.common_ancestor(lo, hi)),
        }
    }

    /// Returns the coordinates of the positions, scaled to 0..1; `None` for categories and for columns with nulls.
    pub(crate) fn line(&self) -> Option<&[f64]> {
        match &self.loss {
            Loss::Width { coordinates, has_null: false } => Some(coordinates),
            _ => None,
        }
    }

    /// Returns the information loss of a class that spans the positions `lo ..= hi` [Truta 2007, Def. 9]: for numbers
    /// the width over the range of the domain, for categories the height of the lowest common ancestor over the height
    /// of the hierarchy.
    pub fn information_loss(&self, lo: u32, hi: u32) -> f64 {
        match &self.kind {
            DomainKind::Ordered { .. } => self.loss(lo, hi),
            DomainKind::Category(tree) => {
                let height = tree.height(tree.common_ancestor(lo, hi));
                f64::from(height) / f64::from(tree.height(tree.root()).max(1))
            }
        }
    }

    /// Returns whether a cut between two positions of a range respects the hierarchy: it must separate two children of
    /// the lowest common ancestor of the range. Numbers may be cut anywhere.
    pub fn is_border(&self, range: (u32, u32), between: (u32, u32)) -> bool {
        match &self.kind {
            DomainKind::Ordered { .. } => true,
            DomainKind::Category(tree) => {
                tree.common_ancestor(between.0, between.1) == tree.common_ancestor(range.0, range.1)
            }
        }
    }
}

/// Returns the first position of the block of each position; `None` if the limit does not apply to this kind of domain.
///
/// Null may share a class only with other nulls, unless the limit allows the root.
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
            // Compare heights, not steps: null and the tails of an MDR tree are direct children of the root, next to
            // deeper branches.
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

/// Parses numbers as a reader of the release would: 0.7 in single precision is 0.7, not the nearest double below it.
fn as_written(values: &ArrayRef) -> Option<Vec<f64>> {
    match values.data_type() {
        DataType::Float16 | DataType::Float32 => {
            coordinates(&cast(&cast(values, &DataType::Utf8).ok()?, &DataType::Float64).ok()?)
        }
        _ => coordinates(values),
    }
}

/// Precomputed loss of a range of positions.
#[derive(Clone, Debug)]
enum Loss {
    /// Width over range; 1 for a range that mixes null and numbers.
    Width { coordinates: Arc<[f64]>, has_null: bool },
    /// The same for a slice of a domain. The numbers begin with the first one of the whole domain, and `range` is the range
    /// of the whole domain.
    Scaled { numbers: NumericView, range: f64, has_null: bool },
    /// Extent of the lowest common ancestor.
    Ancestor(Arc<Tree>),
}

impl Loss {
    /// Returns the coordinate of a position, scaled to 0..1; `None` for categories.
    fn coordinate(&self, position: u32) -> Option<f64> {
        match self {
            Self::Width { coordinates, .. } => coordinates.get(position as usize).copied(),
            Self::Scaled { numbers, range, has_null } => {
                let scaled = |index: u32| if *range > 0.0 { numbers.distance(index + 1) / range } else { 0.0 };
                Some(position.checked_sub(u32::from(*has_null)).map_or(0.0, scaled))
            }
            Self::Ancestor(_) => None,
        }
    }

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
