//! Routing tree: the first cuts of a table that has too many cells to be processed at once.
//!
//! A tree of thresholds is built from a sample of cells and routes every row, sampled or not, to a part. Each part is
//! then anonymized separately, with all of its cells.
//!
//! - Both sides of a cut within a class of the maximum allowed microdata ([`super::FeasibleRegions`]) satisfy the model
//!   in the sample. Models are row-monotone and a sampled cell has all of its rows, so both sides satisfy it in the
//!   table.
//! - As long as a part may hold more than one such class, it is cut only between the blocks of a limited column: no
//!   class is divided, so the suppressed rows are those of the whole table.

use super::mondrian::{CategoryCuts, Cut, cut_near_median, spreads};
use crate::model::Privacy;
use crate::table::Table;

/// Routes tuples of positions to parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingTree {
    nodes: Vec<RoutingNode>,
    parts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RoutingNode {
    /// Positions up to `position` of `column` go left, the others right.
    Cut {
        cut: Cut,
        left: u32,
        right: u32,
    },
    Part(u32),
}

/// First and last position per column: the bounding box of a node.
type Region = Vec<(u32, u32)>;

impl RoutingTree {
    /// Returns the tree with a single part.
    pub fn one() -> Self {
        Self { nodes: vec![RoutingNode::Part(0)], parts: 1 }
    }

    /// Builds a tree from a sample of the table, with about `part_cells` sampled cells per part.
    pub fn of(sample: &Table, privacy: &Privacy, part_cells: usize) -> Self {
        Self::grown(sample, Some(privacy), part_cells)
    }

    /// Like [`RoutingTree::of`], but no class of the maximum allowed microdata is cut, however large it is.
    pub fn between_blocks(sample: &Table, part_cells: usize) -> Self {
        Self::grown(sample, None, part_cells)
    }

    fn grown(sample: &Table, privacy: Option<&Privacy>, part_cells: usize) -> Self {
        let mut parts = Self { nodes: Vec::new(), parts: 0 };
        let region = sample.quasi().iter().map(|quasi| (0, (quasi.domain.len() as u32).saturating_sub(1))).collect();
        let cells = (0..sample.cell_count() as u32).collect();
        parts.grow(cells, region, sample, privacy, part_cells.max(1));
        parts
    }

    /// Returns the tree for positions of the whole domains, of which `sample` may have slices.
    pub fn in_whole(mut self, sample: &Table) -> Self {
        for node in &mut self.nodes {
            if let RoutingNode::Cut { cut, .. } = node {
                cut.position = sample.quasi()[cut.column].domain.in_whole(cut.position);
            }
        }
        self
    }

    /// Returns the number of parts.
    pub fn len(&self) -> usize {
        self.parts as usize
    }

    /// Returns whether there is no part. Always false.
    pub fn is_empty(&self) -> bool {
        self.parts == 0
    }

    /// Returns the part of a row with these positions.
    pub fn part(&self, positions: &[u32]) -> u32 {
        let mut node = 0;
        loop {
            match self.nodes[node as usize] {
                RoutingNode::Part(part) => return part,
                RoutingNode::Cut { cut, left, right } => {
                    node = if positions[cut.column] <= cut.position { left } else { right };
                }
            }
        }
    }

    /// Adds the subtree of these cells and returns the index of its root.
    fn grow(
        &mut self,
        cells: Vec<u32>,
        region: Region,
        table: &Table,
        privacy: Option<&Privacy>,
        part_cells: usize,
    ) -> u32 {
        let number = self.nodes.len() as u32;
        let cut = if cells.len() > part_cells { cut(&cells, &region, table, privacy) } else { None };
        let Some(cut) = cut else {
            self.nodes.push(RoutingNode::Part(self.parts));
            self.parts += 1;
            return number;
        };
        self.nodes.push(RoutingNode::Cut { cut, left: 0, right: 0 });
        let (below, above): (Vec<u32>, Vec<u32>) =
            cells.into_iter().partition(|cell| table.positions(*cell)[cut.column] <= cut.position);
        let (mut lower, mut upper) = (region.clone(), region);
        lower[cut.column].1 = cut.position;
        upper[cut.column].0 = cut.position + 1;
        let left = self.grow(below, lower, table, privacy, part_cells);
        let right = self.grow(above, upper, table, privacy, part_cells);
        self.nodes[number as usize] = RoutingNode::Cut { cut, left, right };
        number
    }
}

/// Returns the next cut; only one between blocks without the models that cut parts must satisfy.
fn cut(cells: &[u32], region: &Region, table: &Table, privacy: Option<&Privacy>) -> Option<Cut> {
    let mut divided = (0..region.len()).filter(|column| is_divided(region[*column], table, *column)).peekable();
    if divided.peek().is_some() {
        return divided.find_map(|column| block_cut(cells, table, column, region[column]));
    }
    let privacy = privacy?;
    let spreads = spreads(cells, table);
    [CategoryCuts::BetweenChildren, CategoryCuts::Any]
        .iter()
        .find_map(|borders| spreads.iter().find_map(|spread| cut_near_median(cells, table, privacy, spread, *borders)))
}

/// Returns whether a limited column may have more than one block in this range.
fn is_divided(range: (u32, u32), table: &Table, column: usize) -> bool {
    let domain = &table.quasi()[column].domain;
    domain.is_limited() && domain.block(range.0) != domain.block(range.1)
}

/// Returns the cut between two blocks that is nearest to the median of the rows; if all cells are in one block, a cut
/// next to that block.
fn block_cut(cells: &[u32], table: &Table, column: usize, region: (u32, u32)) -> Option<Cut> {
    let domain = &table.quasi()[column].domain;
    let mut rows: Vec<(u32, u64)> =
        cells.iter().map(|cell| (domain.block(table.positions(*cell)[column]), table.cell_rows(*cell))).collect();
    rows.sort_unstable();
    let total: u64 = rows.iter().map(|(_, rows)| rows).sum();
    let runs: Vec<(u32, u64)> =
        rows.chunk_by(|a, b| a.0 == b.0).map(|run| (run[0].0, run.iter().map(|(_, rows)| rows).sum())).collect();
    let mut below = 0;
    let mut best: Option<(u64, u32)> = None;
    for pair in runs.windows(2) {
        below += pair[0].1;
        let imbalance = (2 * below).abs_diff(total);
        if best.is_none_or(|(least, _)| imbalance < least) {
            best = Some((imbalance, pair[1].0));
        }
    }
    let first_above = match best {
        Some((_, first)) => Some(first),
        None => {
            let block = runs.first()?.0;
            if block > region.0 {
                Some(block)
            } else {
                (block..=region.1).find(|position| domain.block(*position) != block)
            }
        }
    };
    first_above.map(|first| Cut { column, position: first - 1 })
}

#[cfg(test)]
#[path = "routing_tree_tests.rs"]
mod tests;
