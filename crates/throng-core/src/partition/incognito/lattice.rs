//! The lattice of level vectors over some columns: every vector is a node, and each step up raises one column by one.

/// A lattice. Nodes are numbers, in lexicographic order of their level vectors.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    /// The columns, ascending.
    columns: Vec<usize>,
    /// The levels of each column.
    levels: Vec<usize>,
    /// What one level of a column adds to the number of a node.
    strides: Vec<usize>,
}

impl Lattice {
    /// The lattice of these columns, each with its number of levels.
    pub(super) fn new(columns: Vec<usize>, levels: Vec<usize>) -> Self {
        let mut strides = vec![1; levels.len()];
        for at in (1..levels.len()).rev() {
            strides[at - 1] = strides[at] * levels[at];
        }
        Self { columns, levels, strides }
    }

    /// The columns.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.levels.iter().product()
    }

    /// The levels of a node, one per column.
    pub(super) fn levels(&self, node: usize) -> impl Iterator<Item = usize> {
        self.strides.iter().zip(&self.levels).map(move |(stride, levels)| node / stride % levels)
    }

    /// The nodes by height, which is the sum of the levels.
    pub(super) fn by_height(&self) -> Vec<Vec<usize>> {
        let heights = self.levels.iter().map(|levels| levels - 1).sum::<usize>() + 1;
        let mut by_height = vec![Vec::new(); heights];
        for node in 0..self.nodes() {
            by_height[self.levels(node).sum::<usize>()].push(node);
        }
        by_height
    }

    /// The nodes one step below.
    pub(super) fn below(&self, node: usize) -> impl Iterator<Item = usize> {
        let can_fall = self.levels(node).zip(&self.strides).filter(|(level, _)| *level > 0);
        can_fall.map(move |(_, stride)| node - stride)
    }

    /// For each column of this lattice, what one of its levels adds to the number of a node in a lattice over some of
    /// these columns.
    pub(super) fn projection(&self, onto: &Self) -> Vec<usize> {
        let stride = |column: &usize| onto.columns.binary_search(column).map_or(0, |at| onto.strides[at]);
        self.columns.iter().map(stride).collect()
    }

    /// The node of the smaller lattice that a projection leads to.
    pub(super) fn project(&self, node: usize, projection: &[usize]) -> usize {
        self.levels(node).zip(projection).map(|(level, stride)| level * stride).sum()
    }
}
