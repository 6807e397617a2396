//! Incognito: full-domain generalization, which raises every value of a column to one level of its hierarchy
//! [LeFevre 2005]. The second baseline of [Truta 2007].
//!
//! ```text
//!            (1,2)              a node is a vector of levels; a step up raises one column
//!           /     \
//!       (1,1)     (0,2)         passes: every class of equal shown values satisfies the model
//!       /    \    /
//!    (1,0)   (0,1)              above a node that passes all nodes pass       (generalization property)
//!        \   /                  a node passes only if its projections passed  (subset property)
//!        (0,0)
//! ```
//!
//! Both properties hold for every row-monotone model. The search visits subsets of the columns of growing size and each
//! lattice from the bottom, and evaluates the cells only where neither property decides. Of the minimal nodes that pass
//! with all columns, it selects the one with the least weighted information loss [Truta 2007, Def. 9], and the
//! lexicographically first of equal ones.
//!
//! A subset size whose lattices together have more than [`LATTICE_LIMIT`] nodes is skipped, and so are all sizes
//! between it and the full set: such a pass would cost more than it saves.
//!
//! Leaves cover the whole range that they show, including values that none of their rows has. A node with a single
//! child has the label of that child, as everywhere in a release. Levels are searched for the given cells: with limits,
//! separately for each class of the maximum allowed microdata.

mod lattice;
mod levels;

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::{CoreError, Result};
use crate::model::Privacy;
use crate::partition::{Leaf, PartitionMethod};
use crate::table::Table;
use lattice::Lattice;
use levels::CellLevels;

/// Maximum number of combinations of levels that are searched.
pub const LATTICE_LIMIT: u128 = 1_000_000;

/// Relative difference below which losses count as equal, because of rounding.
const ROUNDING: f64 = 1e-12;

/// Incognito partition.
#[derive(Clone, Copy, Debug)]
pub struct Incognito;

impl PartitionMethod for Incognito {
    fn partition(&self, cells: Vec<u32>, table: &Table, privacy: &Privacy) -> Result<Vec<Leaf>> {
        let levels: Vec<CellLevels> =
            (0..table.quasi().len()).map(|column| CellLevels::of(column, &cells, table)).collect();
        let search = LatticeSearch { cells: &cells, levels: &levels, table, privacy };
        let chosen = search.least_loss()?;
        let mut leaves: BTreeMap<Vec<(u32, u32)>, Vec<u32>> = BTreeMap::new();
        for (place, cell) in cells.iter().enumerate() {
            let shown = levels.iter().zip(&chosen).map(|(levels, level)| levels.shown(*level, place));
            leaves.entry(shown.collect()).or_default().push(*cell);
        }
        Ok(leaves.into_iter().map(|(cover, cells)| Leaf { cover: Some(cover), ..Leaf::of(cells) }).collect())
    }
}

/// Inputs of a search.
struct LatticeSearch<'a> {
    cells: &'a [u32],
    levels: &'a [CellLevels],
    table: &'a Table,
    privacy: &'a Privacy,
}

/// Lattices of all subsets of one size, keyed by their columns.
struct SearchedLattices {
    size: usize,
    of_columns: FxHashMap<Vec<usize>, SearchedLattice>,
}

/// Result of searching a lattice.
struct SearchedLattice {
    lattice: Lattice,
    /// Whether each node passes.
    passes: Vec<bool>,
    /// Nodes that pass and have no node below them that passes.
    minimal: Vec<usize>,
}

impl LatticeSearch<'_> {
    /// Returns the level of each column with the least loss.
    fn least_loss(&self) -> Result<Vec<usize>> {
        // In a column with one level all cells show the same value; it does not separate them.
        let columns: Vec<usize> = (0..self.levels.len()).filter(|column| self.levels[*column].count() > 1).collect();
        let counts: Vec<u128> = columns.iter().map(|column| self.levels[*column].count() as u128).collect();
        let nodes = counts.iter().fold(1_u128, |product, count| product.saturating_mul(*count));
        if nodes > LATTICE_LIMIT {
            return Err(CoreError::Lattice { nodes, limit: LATTICE_LIMIT });
        }
        let mut known = SearchedLattices { size: 0, of_columns: FxHashMap::default() };
        for size in worthwhile_sizes(&counts) {
            let search = |subset: Vec<usize>| (subset.clone(), self.search(subset, &known));
            let of_columns = subsets(&columns, size).into_par_iter().map(search).collect();
            known = SearchedLattices { size, of_columns };
        }
        let mut chosen: Vec<usize> = self.levels.iter().map(|levels| levels.count() - 1).collect();
        // The last size is the full set, a single lattice. Its top passes, because all cells together satisfy the
        // model.
        for SearchedLattice { lattice, minimal, .. } in known.of_columns.into_values() {
            let loss = |node: usize| -> f64 {
                lattice.columns().iter().zip(lattice.levels(node)).map(|(at, level)| self.levels[*at].loss(level)).sum()
            };
            let least = minimal.iter().map(|node| loss(*node)).fold(f64::INFINITY, f64::min);
            let is_least = |node: &&usize| loss(**node) <= least * (1.0 + ROUNDING);
            if let Some(node) = minimal.iter().filter(is_least).min() {
                for (column, level) in lattice.columns().iter().zip(lattice.levels(*node)) {
                    chosen[*column] = level;
                }
            }
        }
        Ok(chosen)
    }

    /// Searches the lattice of some columns.
    fn search(&self, columns: Vec<usize>, known: &SearchedLattices) -> SearchedLattice {
        let levels = columns.iter().map(|column| self.levels[*column].count()).collect();
        let lattice = Lattice::new(columns, levels);
        let parts: Vec<(&SearchedLattice, Vec<usize>)> = subsets(lattice.columns(), known.size)
            .iter()
            .filter_map(|subset| known.of_columns.get(subset))
            .map(|part| (part, lattice.projection(&part.lattice)))
            .collect();
        let mut passes = vec![false; lattice.nodes()];
        let mut minimal = Vec::new();
        for nodes in lattice.by_height() {
            let found: Vec<usize> = nodes
                .par_iter()
                .copied()
                .filter(|node| !lattice.below(*node).any(|below| passes[below]))
                .filter(|node| parts.iter().all(|(part, onto)| part.passes[lattice.project(*node, onto)]))
                .filter(|node| self.is_satisfied(lattice.columns().iter().copied().zip(lattice.levels(*node))))
                .collect();
            for node in nodes {
                passes[node] = lattice.below(node).any(|below| passes[below]);
            }
            for node in &found {
                passes[*node] = true;
            }
            minimal.extend(found);
        }
        SearchedLattice { lattice, passes, minimal }
    }

    /// Returns whether every class of cells with equal values in these columns at these levels satisfies the model.
    fn is_satisfied(&self, at_levels: impl Iterator<Item = (usize, usize)>) -> bool {
        let mut keys = vec![0_u64; self.cells.len()];
        let mut distinct = 1_u64;
        for (column, level) in at_levels {
            let levels = &self.levels[column];
            let span = levels.distinct(level);
            if distinct.checked_mul(span).is_none() {
                // At most 2^32 cells and 2^32 positions, so the product fits after renumbering.
                distinct = renumber(&mut keys);
            }
            distinct *= span;
            for (key, code) in keys.iter_mut().zip(levels.codes(level)) {
                *key = *key * span + u64::from(code);
            }
        }
        let mut by_key: Vec<(u64, u32)> = keys.into_iter().zip(self.cells.iter().copied()).collect();
        by_key.sort_unstable();
        let mut classes = by_key.chunk_by(|a, b| a.0 == b.0);
        classes.all(|class| self.privacy.is_satisfied_by(self.table, class.iter().map(|(_, cell)| *cell)))
    }
}

/// Replaces keys by dense numbers from 0 and returns the number of distinct keys.
fn renumber(keys: &mut [u64]) -> u64 {
    let mut numbers: FxHashMap<u64, u64> = FxHashMap::default();
    for key in keys {
        let next = numbers.len() as u64;
        *key = *numbers.entry(*key).or_insert(next);
    }
    numbers.len() as u64
}

/// Returns the subset sizes that are searched, ascending; the last is the full set.
fn worthwhile_sizes(counts: &[u128]) -> Vec<usize> {
    // Number of nodes of all subsets of one size: the coefficients of the product of (1 + count x).
    let mut nodes = vec![1_u128];
    for count in counts {
        nodes.push(0);
        for size in (1..nodes.len()).rev() {
            nodes[size] += nodes[size - 1] * count;
        }
    }
    let smaller = (1..counts.len()).take_while(|size| nodes[*size] <= LATTICE_LIMIT);
    smaller.chain([counts.len()]).collect()
}

/// Returns all subsets of one size, each ascending, in lexicographic order.
fn subsets(columns: &[usize], size: usize) -> Vec<Vec<usize>> {
    let mut found = vec![(Vec::new(), 0)];
    for _ in 0..size {
        let longer = |(subset, from): (Vec<usize>, usize)| {
            (from..columns.len()).map(move |at| ([subset.as_slice(), &[columns[at]]].concat(), at + 1))
        };
        found = found.into_iter().flat_map(longer).collect();
    }
    found.into_iter().map(|(subset, _)| subset).collect()
}

#[cfg(test)]
#[path = "incognito_tests.rs"]
mod tests;
