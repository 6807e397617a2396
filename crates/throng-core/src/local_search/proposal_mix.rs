//! How many proposals the cells get, and of which kinds.

/// Number and kinds of proposals.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProposalMix {
    /// Number of passes over all cells; the temperature falls from one to the next.
    pub(super) passes: u32,
    /// Proposals per cell in one pass, as (numerator, denominator).
    per_cell: (usize, usize),
    /// One in this many proposals splits two or three classes along other cuts.
    pub(super) splits: usize,
    /// One in this many splits divides three classes.
    pub(super) three_way: usize,
    /// One in this many splits orders the cells along a column, if the classes differ there.
    pub(super) by_column: usize,
    /// How often a near cell is drawn once more because it has the class of the proposal's cell.
    pub(super) redraws: usize,
}

impl ProposalMix {
    /// Returns `proposals` proposals per cell, half of which are splits, and half of these of three classes.
    pub(super) fn usual(proposals: u32) -> Self {
        Self { passes: proposals, per_cell: (1, 1), splits: 2, three_way: 2, by_column: 2, redraws: 0 }
    }

    /// Returns the mix for a table whose cells would get a single proposal each. All are splits, which gain
    /// most at first, and few of these divide three classes, which takes longer. Most are along columns: the distances that order cells
    /// otherwise take as long as the cuts. Three such proposals for five cells lose no more than one of the usual mix for each.
    pub(super) fn of_many_cells() -> Self {
        Self { passes: 1, per_cell: (3, 5), splits: 1, three_way: 4, by_column: 1, redraws: 2 }
    }

    /// Returns the number of proposals for `cells` cells in one pass.
    pub(super) fn proposals(self, cells: usize) -> usize {
        (cells * self.per_cell.0).div_ceil(self.per_cell.1)
    }
}
