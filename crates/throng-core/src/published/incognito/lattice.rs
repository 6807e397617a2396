//! Lattice of level vectors over some columns: every vector is a node, and a step up raises one column by one level.

/// A lattice. Nodes are indices in lexicographic order of their level vectors.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    /// Columns, ascending.
    columns: Vec<usize>,
    /// Number of levels of each column.
    levels: Vec<usize>,
    /// Index stride of one level of each column.
    strides: Vec<usize>,
}

impl Lattice {
    /// Creates the lattice of these columns, each with its number of levels.
    pub(super) fn new(columns: Vec<usize>, levels: Vec<usize>) -> Self {
        let mut strides = vec![1; levels.len()];
        for at in (1..levels.len()).rev() {
            strides[at - 1] = strides[at] * levels[at];
        }
        Self { columns, levels, strides }
    }

    /// Returns the columns.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.levels.iter().product()
    }

    /// Returns the levels of a node, one per column.
    pub(super) fn levels(&self, node: usize) -> impl Iterator<Item = usize> {
        self.strides.iter().zip(&self.levels).map(move |(stride, levels)| node / stride % levels)
    }

    /// Returns the nodes by height, the sum of their levels.
    pub(super) fn by_height(&self) -> Vec<Vec<usize>> {
        let heights = self.levels.iter().map(|levels| levels - 1).sum::<usize>() + 1;
        let mut by_height = vec![Vec::new(); heights];
        for node in 0..self.nodes() {
            by_height[self.levels(node).sum::<usize>()].push(node);
        }
        by_height
    }

    /// Returns the nodes one step below.
    pub(super) fn below(&self, node: usize) -> impl Iterator<Item = usize> {
        let can_fall = self.levels(node).zip(&self.strides).filter(|(level, _)| *level > 0);
        can_fall.map(move |(_, stride)| node - stride)
    }

    /// Returns the index strides of the columns of this lattice in `onto`, a lattice over a subset of them; 0 for other
    /// columns.
    pub(super) fn projection(&self, onto: &Self) -> Vec<usize> {
        let stride = |column: &usize| onto.columns.binary_search(column).map_or(0, |at| onto.strides[at]);
        self.columns.iter().map(stride).collect()
    }

    /// Returns the node of the smaller lattice onto which a node is projected.
    pub(super) fn project(&self, node: usize, projection: &[usize]) -> usize {
        self.levels(node).zip(projection).map(|(level, stride)| level * stride).sum()
    }
}
