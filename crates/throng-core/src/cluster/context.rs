//! Context of a clustering: its budget, and the caller's control over it.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Class;

/// Default number of search cycles.
pub const DEFAULT_CYCLES: u32 = 1;

/// Decides whether a clustering continues, as each leaf is done.
pub trait ClusterControl: Sync {
    /// Called when a leaf with `cells` cells is done. Once it returns false, no further leaf is started and the result
    /// is unusable.
    fn leaf_done(&self, cells: usize) -> bool;

    /// Whether local search may continue. Once it returns false, the search ends with its best result.
    fn may_search(&self) -> bool;
}

/// Lets a clustering run to its end.
#[derive(Clone, Copy, Debug)]
pub struct IgnoreProgress;

impl ClusterControl for IgnoreProgress {
    fn leaf_done(&self, _cells: usize) -> bool {
        true
    }

    fn may_search(&self) -> bool {
        true
    }
}

/// The classes of a table, and the search effort spent.
#[derive(Clone, Debug, Default)]
pub struct FormedClasses {
    /// Classes that have each row of the table exactly once.
    pub classes: Vec<Class>,
    /// Least number of completed cycles over the regions that local search could change; zero if there were none.
    pub cycles: u32,
}

/// Budget, control and cancellation of one clustering, shared by its threads.
pub struct ClusterContext<'a> {
    cycles: u32,
    most_proposals: u32,
    control: &'a dyn ClusterControl,
    is_cancelled: AtomicBool,
}

impl<'a> ClusterContext<'a> {
    /// Creates the context of a clustering that may search for `cycles` cycles.
    pub fn new(cycles: u32, control: &'a dyn ClusterControl) -> Self {
        Self { cycles, most_proposals: u32::MAX, control, is_cancelled: AtomicBool::new(false) }
    }

    /// Sets the maximum number of proposals per cell in a search cycle.
    #[must_use]
    pub fn with_most_proposals(self, most_proposals: u32) -> Self {
        Self { most_proposals, ..self }
    }

    /// Returns the maximum number of search cycles. The cost of a cycle is the method's own choice.
    pub fn cycles(&self) -> u32 {
        self.cycles
    }

    /// Returns the maximum number of proposals per cell in a search cycle, whose actual number follows from the size of the table.
    pub fn most_proposals(&self) -> u32 {
        self.most_proposals
    }

    /// Reports that `cells` more cells are done. Each cell of a table is reported once.
    pub fn advance(&self, cells: usize) {
        if !self.control.leaf_done(cells) {
            self.is_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the run was cancelled. Its result is not used, so a method returns as soon as it can.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Returns whether a search may begin another round. If not, it ends with its best result.
    pub fn may_search(&self) -> bool {
        self.control.may_search() && !self.is_cancelled()
    }
}
