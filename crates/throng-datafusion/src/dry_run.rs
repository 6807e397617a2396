//! Dry run: which privacy models an input can satisfy, and the estimated cost and loss of its release.

use throng_core::cluster::ClusterControl;
use throng_core::feasibility::{Feasibility, FeasibilityCounts};
use throng_core::metrics::estimated_ncp;
use throng_core::out_of_core::{PartTable, TableParts, TableSurvey, Workspace, check_feasibility};
use throng_core::partition::{FeasibleRegions, Leaf};
use throng_core::table::Table;

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::release::order_bytes;

/// Maximum number of leaves, over all parts, that are clustered to estimate the loss.
const TRIED_LEAVES: usize = 256;

/// Leaves with more cells are not sampled: clustering them would be most of the work.
const TRIED_CELLS: usize = 4096;

/// Result of a dry run.
#[derive(Debug)]
pub struct DryRun {
    /// Number of input rows.
    pub rows: u64,
    /// Number of rows that would be suppressed.
    pub suppressed: u64,
    /// Number of distinct quasi-identifier tuples.
    pub cells: u64,
    /// Number of parts of the table.
    pub parts: usize,
    /// Feasibility of the privacy models.
    pub feasibility: Feasibility,
    /// Error that a release would return, if any.
    pub refused: Option<AnonymizeError>,
    /// Estimates, if they were requested and a release is possible.
    pub prediction: Option<Prediction>,
}

/// Estimated metrics of a release.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Number of leaves of the partition.
    pub leaves: u64,
    /// Mean NCP of the sampled leaves; `None` if all leaves are too large to be sampled.
    pub ncp: Option<f64>,
    /// Number of rows in the sampled leaves.
    pub tried_rows: u64,
    /// Memory in bytes that avoids spilling.
    pub memory_bytes: u64,
    /// Whether the survey has already spilled rows.
    pub is_spilled: bool,
}

impl DryRun {
    pub(crate) fn of(
        anonymizer: &Anonymizer,
        survey: &TableSurvey,
        mut table_parts: TableParts,
        is_predicted: bool,
    ) -> Result<Self, AnonymizeError> {
        let (privacy, workspace) = (anonymizer.binding().privacy(), survey.workspace().as_ref());
        let (method, parts, groups) = (anonymizer.method().0, table_parts.len(), table_parts.groups());
        let (mut examined, mut cells) = (FeasibilityCounts::new(&Table::empty(table_parts.domains())), 0);
        let (mut leaf_count, mut loss, mut tried) = (0, 0.0, 0);
        for part in 0..parts {
            workspace.check()?;
            let PartTable { table, memory: _memory, .. } = table_parts.part(part)?;
            let allowed = FeasibleRegions::of(&table, &privacy);
            cells += table.cell_count() as u64;
            examined.add(&table, &allowed);
            if is_predicted {
                let leaves = method.leaves(&allowed, &table)?;
                leaf_count += leaves.len() as u64;
                let step = leaves.len().div_ceil((TRIED_LEAVES / parts).max(1)).max(1);
                let some: Vec<Leaf> =
                    leaves.into_iter().step_by(step).filter(|leaf| leaf.cells.len() <= TRIED_CELLS).collect();
                let classes = method.classes(&some, &table, &allowed.privacy, &StopOnCancel(workspace)).classes;
                let (of_part, rows) = estimated_ncp(&table, &classes);
                loss += of_part;
                tried += rows;
            }
        }
        let feasibility = examined.conclude(&privacy);
        let (rows, suppressed) = (survey.rows(), survey.suppressed());
        let limit = anonymizer.binding().suppression_limit;
        let refused = check_feasibility(&feasibility, limit, rows, suppressed).err().map(AnonymizeError::from);
        let prediction = (is_predicted && refused.is_none()).then(|| Prediction {
            leaves: leaf_count,
            ncp: (tried > 0).then(|| loss / tried as f64),
            tried_rows: tried,
            memory_bytes: survey.row_bytes() + order_bytes(rows) + groups * (survey.width() as u64 * 8 + 64),
            is_spilled: survey.are_rows_spilled(),
        });
        let suppressed = suppressed + feasibility.suppressed;
        Ok(Self { rows, suppressed, cells, parts, feasibility, refused, prediction })
    }
}

/// Stops clustering when the query is cancelled.
struct StopOnCancel<'a>(&'a dyn Workspace);

impl ClusterControl for StopOnCancel<'_> {
    fn leaf_done(&self, _cells: usize) -> bool {
        self.0.may_continue()
    }

    fn may_search(&self) -> bool {
        self.0.may_continue()
    }
}
