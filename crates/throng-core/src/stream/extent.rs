//! What a label stands for, in terms that any table can look up in its own domain.
//!
//! Positions number the values of one table. A box that was published by one emission is compared with the rows of another, whose
//! positions are others.

use arrow::array::ArrayRef;
use arrow::row::{RowConverter, Rows, SortField};
use rustc_hash::FxHashMap;

use crate::columns::ColumnRecoding;
use crate::domain::{Domain, DomainKind};
use crate::error::{Result, kernel};
use crate::hierarchy::{Node, Tree};
use crate::numeric_view::distances;
use crate::table::QuasiColumn;

/// The values that a label stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReleasedExtent {
    /// Null.
    Null,
    /// Null and any number.
    Everything,
    /// Numbers from the first to the last, as bytes of the same order.
    Between(Box<[u8]>, Box<[u8]>),
    /// Categories below the node with this label.
    Below(Box<str>),
    /// These categories; `None` is null.
    Listed(Box<[Option<Box<str>>]>),
}

/// A label in the domain of one table.
#[derive(Clone, Debug)]
pub(super) struct PlacedLabel {
    /// First and last position that it may stand for; the first is larger if there is none.
    pub(super) range: (u32, u32),
    /// The positions, ascending and each once, if they are not all of the range.
    pub(super) listed: Option<Box<[u32]>>,
    /// NCP of a row with this label, relative to the domain of the table.
    pub(super) loss: f64,
}

impl PlacedLabel {
    /// A label that no value of the table has.
    const NOWHERE: Self = Self { range: (1, 0), listed: None, loss: 1.0 };
}

/// The values of a domain, ready to be looked up.
pub(super) struct ValueLookup<'a> {
    domain: &'a Domain,
    values: Values<'a>,
}

enum Values<'a> {
    Ordered {
        /// The values as bytes, ascending.
        rows: Rows,
        first: u32,
        /// Difference of the last and the first value.
        range: f64,
    },
    Category {
        tree: &'a Tree,
        /// The node of each label; `None` if several nodes without a common branch have it.
        nodes: FxHashMap<&'a str, Option<Node>>,
    },
}

impl<'a> ValueLookup<'a> {
    /// Prepares a column of a table.
    pub(super) fn new(quasi: &'a QuasiColumn) -> Result<Self> {
        let domain = &quasi.domain;
        let values = match domain.kind() {
            DomainKind::Ordered { values, has_null } => {
                let range = distances(values).and_then(|distances| distances.last().copied()).unwrap_or(0.0);
                Values::Ordered { rows: as_bytes(std::slice::from_ref(values))?, first: u32::from(*has_null), range }
            }
            DomainKind::Category(tree) => Values::Category { tree, nodes: nodes_by_label(tree) },
        };
        Ok(Self { domain, values })
    }

    /// Returns what a label with this key stands for, and its width if it is a range of numbers; `None` if it can't be used again,
    /// because it is an aggregate or its domain is not in memory.
    pub(super) fn extent(&self, release: ColumnRecoding, key: &[u32]) -> Option<(ReleasedExtent, f64)> {
        let (lo, hi) = (*key.first()?, *key.last()?);
        let null = self.domain.null_position();
        if release.is_aggregate() || self.domain.slice().is_some() {
            return None;
        }
        match &self.values {
            _ if lo == hi && Some(lo) == null => Some((ReleasedExtent::Null, 0.0)),
            Values::Ordered { .. } if Some(lo) == null => Some((ReleasedExtent::Everything, 1.0)),
            Values::Ordered { rows, first, range } => {
                let bytes = |position: u32| Box::from(rows.row((position - first) as usize).data());
                Some((ReleasedExtent::Between(bytes(lo), bytes(hi)), self.domain.loss(lo, hi) * range))
            }
            Values::Category { tree, .. } if release == ColumnRecoding::Set => {
                let name =
                    |position: &u32| (Some(*position) != null).then(|| tree.label(tree.leaf_node(*position)).into());
                Some((ReleasedExtent::Listed(key.iter().map(name).collect()), 0.0))
            }
            Values::Category { tree, .. } => {
                Some((ReleasedExtent::Below(tree.label(tree.common_ancestor(lo, hi)).into()), 0.0))
            }
        }
    }

    /// Returns the positions of the table that a label stands for.
    pub(super) fn place(&self, extent: &ReleasedExtent, width: f64) -> PlacedLabel {
        let null = self.domain.null_position();
        let found = match (extent, &self.values) {
            (ReleasedExtent::Null, _) => null.map(|null| PlacedLabel { range: (null, null), listed: None, loss: 0.0 }),
            (ReleasedExtent::Everything, _) => {
                let last = (self.domain.len() as u32).checked_sub(1);
                last.map(|last| PlacedLabel { range: (0, last), listed: None, loss: 1.0 })
            }
            (ReleasedExtent::Between(lo, hi), Values::Ordered { rows, first, range }) => {
                let below = |bound: &dyn Fn(&[u8]) -> bool| {
                    let (mut low, mut high) = (0, rows.num_rows());
                    while low < high {
                        let middle = low.midpoint(high);
                        if bound(rows.row(middle).data()) { low = middle + 1 } else { high = middle }
                    }
                    low as u32
                };
                let (from, end) = (below(&|value| value < &**lo), below(&|value| value <= &**hi));
                let loss = if width > 0.0 { (width / range).min(1.0) } else { 0.0 };
                (from < end).then(|| PlacedLabel { range: (first + from, first + end - 1), listed: None, loss })
            }
            (ReleasedExtent::Below(label), Values::Category { tree, nodes }) => {
                let node = nodes.get(&**label).copied().flatten();
                node.map(|node| PlacedLabel { range: tree.leaf_range(node), listed: None, loss: tree.extent(node) })
            }
            (ReleasedExtent::Listed(names), Values::Category { tree, .. }) => {
                let position = |name: &Option<Box<str>>| match name {
                    None => null,
                    Some(name) => tree.leaf(name).filter(|position| Some(*position) != null),
                };
                let mut listed: Vec<u32> = names.iter().filter_map(position).collect();
                listed.sort_unstable();
                listed.dedup();
                let range = listed.first().copied().zip(listed.last().copied());
                let loss =
                    if names.len() == 1 { 0.0 } else { names.len() as f64 / tree.leaf_count().max(names.len()) as f64 };
                range.map(|range| PlacedLabel { range, listed: Some(listed.into()), loss })
            }
            _ => None,
        };
        found.unwrap_or(PlacedLabel::NOWHERE)
    }
}

/// Returns rows of values as bytes of the same order.
pub(super) fn as_bytes(columns: &[ArrayRef]) -> Result<Rows> {
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    RowConverter::new(fields).and_then(|converter| converter.convert_columns(columns)).map_err(kernel("rows"))
}

/// Returns the node of each label. Where a label repeats along a branch, it is the highest of them.
fn nodes_by_label(tree: &Tree) -> FxHashMap<&str, Option<Node>> {
    let mut nodes: FxHashMap<&str, Option<Node>> = FxHashMap::default();
    for position in 0..tree.leaf_count() as u32 {
        if Some(position) == tree.null_leaf() {
            continue;
        }
        let upwards = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
        for node in upwards {
            let known = nodes.entry(tree.label(node)).or_insert(Some(node));
            *known = known.and_then(|known| match (contains(tree, known, node), contains(tree, node, known)) {
                (true, _) => Some(known),
                (_, true) => Some(node),
                _ => None,
            });
        }
    }
    nodes
}

fn contains(tree: &Tree, node: Node, other: Node) -> bool {
    let ((lo, hi), (other_lo, other_hi)) = (tree.leaf_range(node), tree.leaf_range(other));
    lo <= other_lo && other_hi <= hi
}
