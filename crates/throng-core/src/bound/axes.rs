//! The columns of a block as axes: which ranges a class may span, and a lower bound of their loss.
//!
//! Positions are replaced by their ranks among those that occur in the block.

use super::block::BlockCells;
use crate::columns::ColumnRecoding;
use crate::domain::DomainKind;
use crate::table::{QuasiColumn, Table};

/// One column.
#[derive(Debug)]
pub(super) enum Axis {
    Tree(TreeAxis),
    Line(LineAxis),
}

/// A category: its ranges are the nodes of a tree over the ranks, of which every node loses more than its children.
#[derive(Debug)]
pub(super) struct TreeAxis {
    /// Rank of each cell.
    pub(super) ranks: Vec<u32>,
    /// The root is node 0.
    nodes: Vec<AxisNode>,
}

/// A node of a [`TreeAxis`].
#[derive(Debug)]
pub(super) struct AxisNode {
    /// Weighted loss of a class that spans more than one child.
    pub(super) loss: f64,
    /// First rank of each child, ascending.
    starts: Vec<u32>,
    /// Node of each child; `None` for a single rank, which loses nothing.
    children: Vec<Option<u32>>,
}

/// A number: its ranges are intervals of ranks.
#[derive(Debug)]
pub(super) struct LineAxis {
    /// Rank of each cell.
    pub(super) ranks: Vec<u32>,
    /// Weighted coordinate of each rank. That of null is unused.
    pub(super) coordinates: Vec<f64>,
    /// Whether rank 0 is null.
    pub(super) has_null: bool,
    /// Weighted loss of a class with null and numbers.
    pub(super) mixed: f64,
}

impl Axis {
    /// Builds the axis of a column. `share` is its share of the total weight.
    pub(super) fn new(table: &Table, column: usize, share: f64, cells: &[u32], kept: &[u32]) -> Self {
        let quasi = &table.quasi()[column];
        let mut positions: Vec<u32> = cells.iter().map(|cell| table.positions(*cell)[column]).collect();
        positions.sort_unstable();
        positions.dedup();
        let rank = |cell: &u32| {
            let at = table.positions(*cell)[column];
            positions.partition_point(|position| *position < at) as u32
        };
        let ranks = cells.iter().map(rank).collect();
        match quasi.domain.kind() {
            DomainKind::Ordered { .. } => {
                let null = quasi.domain.null_position();
                let has_null = null.is_some() && positions.first().copied() == null;
                let numbers = &positions[usize::from(has_null)..];
                let origin = numbers.first().copied().unwrap_or(0);
                // No release has a wider range than the rows that it keeps, so losses are at least relative to that.
                let range = range_of_kept(table, column, kept);
                let scale = if range > 0.0 { share / range } else { 0.0 };
                let null = has_null.then_some(0.0).into_iter();
                let numbers = numbers.iter().map(|at| quasi.domain.loss(origin, *at) * scale);
                Self::Line(LineAxis { ranks, coordinates: null.chain(numbers).collect(), has_null, mixed: share })
            }
            DomainKind::Category(tree) => {
                let losses = match quasi.spec.release {
                    // A set of two or more values loses at least as much as any set of two.
                    ColumnRecoding::Set => vec![2.0 * share / tree.leaf_count() as f64; positions.len().max(1) - 1],
                    _ => positions.windows(2).map(|pair| quasi.domain.loss(pair[0], pair[1]) * share).collect(),
                };
                Self::Tree(TreeAxis { ranks, nodes: nodes(&losses) })
            }
        }
    }
}

impl Axis {
    /// Returns the loss of a class of these cells.
    pub(super) fn loss(&self, cells: &[u32]) -> f64 {
        let range = |ranks: &[u32]| {
            let ranks = cells.iter().map(|cell| ranks[*cell as usize]);
            ranks.fold((u32::MAX, 0), |(lo, hi), rank| (lo.min(rank), hi.max(rank)))
        };
        match self {
            Self::Line(line) => match range(&line.ranks) {
                (lo, hi) if lo >= hi => 0.0,
                (0, _) if line.has_null => line.mixed,
                (lo, hi) => line.coordinates[hi as usize] - line.coordinates[lo as usize],
            },
            Self::Tree(tree) => {
                let (lo, hi) = range(&tree.ranks);
                let mut here = if lo < hi { tree.root() } else { None };
                while let Some(node) = here.map(|node| tree.node(node)) {
                    if node.child_of(lo) != node.child_of(hi) {
                        return node.loss;
                    }
                    here = node.children[node.child_of(lo)];
                }
                0.0
            }
        }
    }
}

/// Returns the loss of the range of all numbers of the released rows, or of its cover.
fn range_of_kept(table: &Table, column: usize, kept: &[u32]) -> f64 {
    let quasi: &QuasiColumn = &table.quasi()[column];
    let positions = kept.iter().map(|cell| table.positions(*cell)[column]);
    let numbers = positions.filter(|at| Some(*at) != quasi.domain.null_position());
    let range = numbers
        .fold(None, |range: Option<(u32, u32)>, at| Some(range.map_or((at, at), |(lo, hi)| (lo.min(at), hi.max(at)))));
    let range = range.map(|(lo, hi)| quasi.domain.covered(lo, hi));
    range.map_or(0.0, |(lo, hi)| quasi.domain.loss(lo, hi))
}

/// Builds the tree of a category from the losses of adjacent ranks: a range loses the greatest of them.
fn nodes(losses: &[f64]) -> Vec<AxisNode> {
    let mut nodes = Vec::new();
    if !losses.is_empty() {
        add_node(losses, 0, losses.len(), &mut nodes);
    }
    nodes
}

/// Adds the node of the ranks `first ..= last`, which are at least two, and returns its number.
fn add_node(losses: &[f64], first: usize, last: usize, nodes: &mut Vec<AxisNode>) -> u32 {
    let loss = losses[first..last].iter().copied().fold(0.0, f64::max);
    let number = nodes.len();
    nodes.push(AxisNode { loss, starts: Vec::new(), children: Vec::new() });
    let (mut starts, mut children, mut start) = (Vec::new(), Vec::new(), first);
    for end in first..=last {
        if end == last || losses[end] >= loss {
            starts.push(start as u32);
            children.push((start < end).then(|| add_node(losses, start, end, nodes)));
            start = end + 1;
        }
    }
    (nodes[number].starts, nodes[number].children) = (starts, children);
    number as u32
}

impl TreeAxis {
    /// Returns the root; `None` if all cells have the same value.
    pub(super) fn root(&self) -> Option<u32> {
        (!self.nodes.is_empty()).then_some(0)
    }

    pub(super) fn node(&self, node: u32) -> &AxisNode {
        &self.nodes[node as usize]
    }
}

impl AxisNode {
    pub(super) fn children(&self) -> &[Option<u32>] {
        &self.children
    }

    /// Returns the child that has a rank.
    pub(super) fn child_of(&self, rank: u32) -> usize {
        self.starts.partition_point(|start| *start <= rank) - 1
    }
}

/// Returns the axes of a block: categories, then numbers, of which the last has most ranks.
pub(super) fn axes(table: &Table, block: &BlockCells, kept: &[u32]) -> Vec<Axis> {
    let total: f64 = table.quasi().iter().map(|quasi| quasi.spec.weight).sum();
    let axis = |(column, quasi): (usize, &QuasiColumn)| {
        Axis::new(table, column, quasi.spec.weight / total, &block.cells, kept)
    };
    let mut axes: Vec<Axis> = table.quasi().iter().enumerate().map(axis).collect();
    axes.sort_by_key(|axis| match axis {
        Axis::Tree(_) => 0,
        Axis::Line(line) => 1 + line.coordinates.len(),
    });
    axes
}
