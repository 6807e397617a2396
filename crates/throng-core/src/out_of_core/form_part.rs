//! Forms the classes of one part of a table: cuts it into leaves, clusters them, and redistributes shared cells.

use std::time::Duration;

use super::classes::CLASSES;
use super::memory::reserve;
use super::{ClassSpec, OutOfCoreError, Workspace};
use crate::anonymize::{Method, SharedCells};
use crate::cluster::{Class, ClusterControl};
use crate::partition::FeasibleRegions;
use crate::progress::{Progress, Stage};
use crate::table::Table;

/// The classes of one part.
#[derive(Debug)]
pub struct FormedPart {
    /// Classes that have each row of the part exactly once.
    pub classes: Vec<Class>,
    /// Number of leaves of the part.
    pub leaves: u64,
    /// Number of cycles of local search.
    pub cycles: u32,
}

/// Shared context of the work on all parts.
pub struct PartJob<'a> {
    method: Method,
    workspace: &'a dyn Workspace,
    progress: &'a dyn Progress,
    /// Time budget of the local search in each part, if there is one.
    time: Option<Duration>,
    /// With several parts, stages are not reported for each of them.
    is_one_of_several: bool,
}

/// Reports progress of one part, and stops it on cancellation or timeout.
struct PartProgress<'a> {
    job: &'a PartJob<'a>,
    has_time: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl ClusterControl for PartProgress<'_> {
    fn leaf_done(&self, cells: usize) -> bool {
        self.job.progress.advance(cells as u64);
        self.job.workspace.may_continue()
    }

    fn may_search(&self) -> bool {
        self.job.workspace.may_continue() && self.has_time.as_ref().is_none_or(|has_time| has_time())
    }
}

impl<'a> PartJob<'a> {
    /// Creates the context for `parts` parts. A time budget is divided evenly among them.
    pub fn new(spec: &ClassSpec, parts: usize, workspace: &'a dyn Workspace, progress: &'a dyn Progress) -> Self {
        let time = spec.search_time.map(|time| time / parts.max(1) as u32);
        Self { method: spec.method, workspace, progress, time, is_one_of_several: parts > 1 }
    }

    /// Partitions and clusters one part. Reserves memory for its shared cells while their rows are redistributed. Fails if
    /// that is refused, if the run was cancelled, or if the partition method can't cut the table.
    pub fn form(&self, table: &Table, allowed: &FeasibleRegions) -> Result<FormedPart, OutOfCoreError> {
        let begin = |stage: Stage, total| match self.is_one_of_several {
            true => tracing::Span::current(),
            false => stage.begin(self.progress, total),
        };
        let leaves = begin(Stage::Partition, None).in_scope(|| {
            let leaves = self.method.leaves(allowed, table)?;
            if !self.is_one_of_several {
                tracing::info!(leaves = leaves.len(), "table cut into leaves");
            }
            Ok::<_, OutOfCoreError>(leaves)
        })?;
        let formed = begin(Stage::Cluster, Some(table.cell_count() as u64)).in_scope(|| {
            let progress = PartProgress { job: self, has_time: self.time.map(|time| self.workspace.timer(time)) };
            let mut formed = self.method.formed(&leaves, table, &allowed.privacy, &progress);
            let shared = SharedCells::of(table, &formed.classes);
            let memory = self.workspace.budget("shared cells");
            reserve(memory.as_ref(), shared.size(), CLASSES)?;
            shared.redistribute(table, &allowed.privacy, &mut formed.classes, self.method.key);
            if !self.is_one_of_several {
                tracing::info!(clusters = formed.classes.len(), cycles = formed.cycles, "clusters formed");
            }
            Ok::<_, OutOfCoreError>(formed)
        })?;
        self.workspace.check()?;
        Ok(FormedPart { classes: formed.classes, leaves: leaves.len() as u64, cycles: formed.cycles })
    }
}
