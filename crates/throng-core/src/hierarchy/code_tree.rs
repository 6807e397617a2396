//! A hierarchy over the codes of a sensitive column, for distances between distributions.

use super::{Node, Tree};

/// The nodes above the codes of a sensitive column.
///
/// The distance of two codes is the height of their lowest common ancestor, relative to that of the root, so the
/// maximum is 1 [Li 2007, section 4.3].
#[derive(Clone, Debug)]
pub struct CodeTree {
    /// Parent of each inner node; parents precede their children, and node 0 is the root.
    parents: Vec<u32>,
    /// Height of each inner node over that of the root.
    heights: Vec<f64>,
    /// Inner node directly above each code.
    above: Vec<u32>,
}

impl CodeTree {
    /// Creates the hierarchy of codes that stand for these leaves of a tree.
    pub fn new(tree: &Tree, leaves: &[Node]) -> Self {
        let highest = f64::from(tree.height(tree.root()).max(1));
        let mut own = Self { parents: vec![0], heights: vec![1.0], above: vec![0; leaves.len()] };
        let mut known = vec![None; tree.node_count()];
        known[tree.root().index()] = Some(0_u32);
        for (code, leaf) in leaves.iter().enumerate() {
            let mut missing = Vec::new();
            let mut node = *leaf;
            let mut last = 0;
            while let Some(parent) = tree.parent(node) {
                if let Some(found) = known[parent.index()] {
                    last = found;
                    break;
                }
                missing.push(parent);
                node = parent;
            }
            for node in missing.into_iter().rev() {
                own.parents.push(last);
                own.heights.push(f64::from(tree.height(node)) / highest);
                last = own.parents.len() as u32 - 1;
                known[node.index()] = Some(last);
            }
            own.above[code] = last;
        }
        own
    }

    /// Returns the least cost of transporting the surplus of each code (negative for a shortage) until none is left.
    /// Surpluses add up to zero.
    ///
    /// Whatever the children of a node can't balance among themselves is passed up, so one pass over the nodes is enough:
    /// the amount that crosses a node is the smaller of all surpluses and all shortages below it.
    pub(crate) fn cost_of_moving(&self, surplus: &[f64]) -> f64 {
        let mut below = vec![(0.0_f64, 0.0_f64); self.parents.len()];
        let receive = |below: &mut (f64, f64), surplus: f64| {
            if surplus > 0.0 { below.0 += surplus } else { below.1 -= surplus }
        };
        self.above.iter().zip(surplus).for_each(|(above, surplus)| receive(&mut below[*above as usize], *surplus));
        let mut cost = 0.0;
        for node in (0..self.parents.len()).rev() {
            let (over, under) = below[node];
            cost += self.heights[node] * over.min(under);
            if node > 0 {
                receive(&mut below[self.parents[node] as usize], over - under);
            }
        }
        cost
    }
}

#[cfg(test)]
#[path = "code_tree_tests.rs"]
mod tests;
