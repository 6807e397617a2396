//! A hierarchy as a tree of labels, with leaves in depth-first order and constant-time lowest common ancestors.
//!
//! The leaves below any node are a contiguous range of positions, so a class of a category is a range of positions like
//! a class of numbers. The lowest common ancestor of a range is the *highest* of the common ancestors of its adjacent
//! pairs, which a sparse table answers with two lookups.
//!
//! ```
//! use throng_core::hierarchy::Tree;
//!
//! let tree = Tree::from_paths(&[
//!     vec!["France", "Europe", "*"],
//!     vec!["Japan", "Asia", "*"],
//!     vec!["Spain", "Europe", "*"],
//! ])?;
//! let (france, spain) = (tree.leaf("France").unwrap(), tree.leaf("Spain").unwrap());
//! let node = tree.common_ancestor(france.min(spain), france.max(spain));
//! assert_eq!(tree.label(node), "Europe");
//! assert_eq!((tree.height(node), tree.leaves_below(node)), (1, 2));
//! # Ok::<(), throng_core::hierarchy::TreeError>(())
//! ```

use rustc_hash::FxHashMap;
use thiserror::Error;

/// A node of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(u32);

impl Node {
    /// Returns the node as an index into tables with one entry per node.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Reason why a set of paths is not a hierarchy. Lines count from one. Labels belong to the hierarchy file, not to the
/// data, but are not in the message either.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TreeError {
    /// There is no path.
    #[error("the hierarchy is empty; give it at least one line, from a value to the root")]
    Empty,
    /// A path differs in length from the first.
    #[error(
        "line {line} of the hierarchy has {found} levels, and line 1 has {expected}; give every line the same number"
    )]
    Ragged {
        /// Line that differs.
        line: usize,
        /// Its number of levels.
        found: usize,
        /// Number of levels of the first line.
        expected: usize,
    },
    /// The paths do not end in the same root.
    #[error(
        "line {line} of the hierarchy ends in another root than line 1; let every line end in the same value, usually *"
    )]
    Roots {
        /// Line that differs.
        line: usize,
    },
    /// Two lines start with the same value.
    #[error("line {line} of the hierarchy repeats the value of line {first}; keep one of them")]
    DuplicateLeaf {
        /// Second line.
        line: usize,
        /// First line.
        first: usize,
    },
    /// A label has two different parents.
    #[error(
        "line {line} of the hierarchy puts its level-{level} value below another value than line {first} does; \
         a value has one place in a hierarchy"
    )]
    TwoParents {
        /// Line that disagrees.
        line: usize,
        /// Line with which it disagrees.
        first: usize,
        /// Level, counted from 0 at the leaves.
        level: usize,
    },
    /// A label is its own ancestor.
    #[error("line {line} of the hierarchy has a value above itself (levels {lower} and {upper}); remove the cycle")]
    Cycle {
        /// Line with the cycle.
        line: usize,
        /// Lower of the two levels.
        lower: usize,
        /// Upper of the two levels.
        upper: usize,
    },
}

/// A generalization hierarchy.
#[derive(Clone, Debug)]
pub struct Tree {
    labels: Vec<Box<str>>,
    parents: Vec<u32>,
    heights: Vec<u32>,
    first_leaf: Vec<u32>,
    last_leaf: Vec<u32>,
    /// Node of each leaf position.
    leaves: Vec<u32>,
    positions: FxHashMap<Box<str>, u32>,
    /// `ancestors[j][i]` is the lowest common ancestor of the leaves `i ..= i + 2^j`.
    ancestors: Vec<Vec<u32>>,
    null: Option<u32>,
    /// Share of the domain that each node covers, if leaves are not equally wide.
    extents: Option<Vec<f64>>,
}

impl Tree {
    /// Builds a tree from paths `leaf, ..., root` of equal length.
    ///
    /// Labels are compared level by level. A label that repeats directly above itself (`Other; Other; *`) skips a
    /// level; a label that recurs after a different one is a cycle.
    pub fn from_paths<S: AsRef<str>>(paths: &[Vec<S>]) -> Result<Self, TreeError> {
        let levels = paths.first().map(Vec::len).filter(|l| *l > 0).ok_or(TreeError::Empty)?;
        let mut leaf_line: FxHashMap<&str, usize> = FxHashMap::default();
        let mut parent_of: FxHashMap<(usize, &str), (&str, usize)> = FxHashMap::default();
        let root = paths[0][levels - 1].as_ref();
        for (index, path) in paths.iter().enumerate() {
            let line = index + 1;
            if path.len() != levels {
                return Err(TreeError::Ragged { line, found: path.len(), expected: levels });
            }
            if path[levels - 1].as_ref() != root {
                return Err(TreeError::Roots { line });
            }
            if let Some(first) = leaf_line.insert(path[0].as_ref(), line) {
                return Err(TreeError::DuplicateLeaf { line, first });
            }
            if let Some((lower, upper)) = cycle(path) {
                return Err(TreeError::Cycle { line, lower, upper });
            }
            for level in 1..levels.saturating_sub(1) {
                let (label, parent) = (path[level].as_ref(), path[level + 1].as_ref());
                let known = parent_of.entry((level, label)).or_insert((parent, line));
                if known.0 != parent {
                    return Err(TreeError::TwoParents { line, first: known.1, level });
                }
            }
        }
        Ok(Self::from_sound_paths(paths, levels))
    }

    /// Builds a tree from valid paths. Children keep the order in which the paths first list them.
    pub(super) fn from_sound_paths<S: AsRef<str>>(paths: &[Vec<S>], levels: usize) -> Self {
        let mut builder = TreeBuilder::new(paths[0][levels - 1].as_ref());
        let mut nodes: FxHashMap<(usize, &str), u32> = FxHashMap::default();
        for path in paths {
            let mut parent = 0;
            for level in (0..levels.saturating_sub(1)).rev() {
                let label = path[level].as_ref();
                parent = *nodes.entry((level, label)).or_insert_with(|| builder.add(label, parent));
            }
        }
        builder.build()
    }

    /// Returns a tree of one level: every label directly below `*`.
    pub fn flat<S: AsRef<str>>(labels: &[S]) -> Self {
        let mut builder = TreeBuilder::new(ROOT);
        for label in labels {
            builder.add(label.as_ref(), 0);
        }
        builder.build()
    }

    /// Returns the tree with a leaf for null, directly below the root and after all other leaves.
    pub fn with_null(&self) -> Self {
        let mut builder = TreeBuilder { labels: self.labels.clone(), parents: self.parents.clone() };
        if self.node_count() == 1 {
            // A root without children is its own leaf, and must remain one next to null.
            builder = TreeBuilder::new(ROOT);
            builder.add(&self.labels[0], 0);
        }
        let null = builder.add("", 0);
        let mut tree = builder.build_with(|node| node != null);
        tree.null = Some(tree.first_leaf[null as usize]);
        if let (Some(extents), true) = (&self.extents, self.node_count() > 1) {
            tree.extents = Some(extents.iter().copied().chain([0.0]).collect());
        }
        tree
    }

    /// Returns the tree with these extents, one per node: the shares of the domain that nodes cover.
    pub fn with_extents(self, extents: Vec<f64>) -> Self {
        Self { extents: Some(extents), ..self }
    }

    /// Returns the number of leaves, including the leaf for null.
    pub fn leaf_count(&self) -> usize {
        self.leaves.len()
    }

    /// Returns the number of nodes.
    pub fn node_count(&self) -> usize {
        self.labels.len()
    }

    /// Returns the position of the leaf with this label.
    pub fn leaf(&self, label: &str) -> Option<u32> {
        self.positions.get(label).copied()
    }

    /// Returns the position of the leaf for null.
    pub fn null_leaf(&self) -> Option<u32> {
        self.null
    }

    /// Returns the node at a leaf position.
    pub fn leaf_node(&self, position: u32) -> Node {
        Node(self.leaves[position as usize])
    }

    /// Returns the lowest common ancestor of the leaves `lo ..= hi`, in constant time.
    pub fn common_ancestor(&self, lo: u32, hi: u32) -> Node {
        if lo == hi {
            return self.leaf_node(lo);
        }
        let level = (hi - lo).ilog2() as usize;
        let left = self.ancestors[level][lo as usize];
        let right = self.ancestors[level][hi as usize - (1 << level)];
        Node(self.higher(left, right))
    }

    /// Returns the label of a node.
    pub fn label(&self, node: Node) -> &str {
        &self.labels[node.index()]
    }

    /// Returns the length of the longest path from a node down to a leaf (the height in [Truta 2007, Def. 9]).
    pub fn height(&self, node: Node) -> u32 {
        self.heights[node.index()]
    }

    /// Returns the node that covers all values.
    pub fn root(&self) -> Node {
        Node(0)
    }

    /// Returns the parent of a node; `None` for the root.
    pub fn parent(&self, node: Node) -> Option<Node> {
        (node.0 != 0).then(|| Node(self.parents[node.index()]))
    }

    /// Returns the number of leaves below a node.
    pub fn leaves_below(&self, node: Node) -> u32 {
        self.last_leaf[node.index()] - self.first_leaf[node.index()] + 1
    }

    /// Returns the share of the domain that a node covers, which is the NCP of releasing it. By default all leaves have
    /// the same weight, and a single leaf has extent 0.
    pub fn extent(&self, node: Node) -> f64 {
        match &self.extents {
            Some(extents) => extents[node.index()],
            None if self.leaves_below(node) == 1 => 0.0,
            None => f64::from(self.leaves_below(node)) / self.leaf_count() as f64,
        }
    }

    /// Returns the ancestor `levels` levels above a leaf, or the root if that is lower.
    pub fn ancestor(&self, position: u32, levels: u32) -> Node {
        let mut node = self.leaf_node(position);
        for _ in 0..levels {
            match self.parent(node) {
                Some(parent) => node = parent,
                None => break,
            }
        }
        node
    }

    /// Returns the first and last leaf position below a node.
    pub fn leaf_range(&self, node: Node) -> (u32, u32) {
        (self.first_leaf[node.index()], self.last_leaf[node.index()])
    }

    /// Returns the higher of two nodes; one must be an ancestor of the other or equal to it.
    fn higher(&self, a: u32, b: u32) -> u32 {
        if self.first_leaf[a as usize] <= self.first_leaf[b as usize]
            && self.last_leaf[a as usize] >= self.last_leaf[b as usize]
        {
            a
        } else {
            b
        }
    }
}

/// Label of the root of generated trees.
pub const ROOT: &str = "*";

/// Returns the two levels of a path between which a label recurs after a different one.
fn cycle<S: AsRef<str>>(path: &[S]) -> Option<(usize, usize)> {
    let mut levels: FxHashMap<&str, usize> = FxHashMap::default();
    let mut below = None;
    for (upper, label) in path.iter().map(AsRef::as_ref).enumerate() {
        if below.replace(label) == Some(label) {
            continue;
        }
        if let Some(lower) = levels.insert(label, upper) {
            return Some((lower, upper));
        }
    }
    None
}

/// Builds a tree from the root down; node 0 is the root and parents precede their children.
pub(super) struct TreeBuilder {
    labels: Vec<Box<str>>,
    parents: Vec<u32>,
}

impl TreeBuilder {
    pub(super) fn new(root: &str) -> Self {
        Self { labels: vec![root.into()], parents: vec![0] }
    }

    /// Adds a node after the other children of its parent. Leaves need not be equally deep.
    pub(super) fn add(&mut self, label: &str, parent: u32) -> u32 {
        self.labels.push(label.into());
        self.parents.push(parent);
        (self.labels.len() - 1) as u32
    }

    pub(super) fn build(self) -> Tree {
        self.build_with(|_| true)
    }

    /// `named` returns whether a leaf can be found by its label.
    fn build_with(self, named: impl Fn(u32) -> bool) -> Tree {
        let count = self.labels.len();
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); count];
        for node in 1..count as u32 {
            children[self.parents[node as usize] as usize].push(node);
        }
        let mut heights = vec![0; count];
        for node in (1..count).rev() {
            let parent = self.parents[node] as usize;
            heights[parent] = heights[parent].max(heights[node] + 1);
        }
        let mut leaves = Vec::new();
        let (mut first_leaf, mut last_leaf) = (vec![0; count], vec![0; count]);
        let mut stack = vec![0_u32];
        while let Some(node) = stack.pop() {
            if children[node as usize].is_empty() {
                first_leaf[node as usize] = leaves.len() as u32;
                last_leaf[node as usize] = leaves.len() as u32;
                leaves.push(node);
            }
            stack.extend(children[node as usize].iter().rev());
        }
        for node in (0..count).rev() {
            if let (Some(first), Some(last)) = (children[node].first(), children[node].last()) {
                first_leaf[node] = first_leaf[*first as usize];
                last_leaf[node] = last_leaf[*last as usize];
            }
        }
        let positions = leaves
            .iter()
            .enumerate()
            .filter(|(_, node)| named(**node))
            .map(|(position, node)| (self.labels[*node as usize].clone(), position as u32))
            .collect();
        let mut tree = Tree {
            labels: self.labels,
            parents: self.parents,
            heights,
            first_leaf,
            last_leaf,
            leaves,
            positions,
            ancestors: Vec::new(),
            null: None,
            extents: None,
        };
        tree.fill_ancestors();
        tree
    }
}

impl Tree {
    fn fill_ancestors(&mut self) {
        let neighbours: Vec<u32> = self
            .leaves
            .windows(2)
            .map(|pair| {
                let mut node = pair[0];
                while self.last_leaf[node as usize] < self.first_leaf[pair[1] as usize] {
                    node = self.parents[node as usize];
                }
                node
            })
            .collect();
        self.ancestors.push(neighbours);
        loop {
            let level = self.ancestors.len();
            let below = &self.ancestors[level - 1];
            let half = 1 << (level - 1);
            if below.len() <= half {
                break;
            }
            let row = (0..below.len() - half).map(|i| self.higher(below[i], below[i + half])).collect();
            self.ancestors.push(row);
        }
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
