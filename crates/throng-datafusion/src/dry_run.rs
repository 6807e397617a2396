//! What can be promised of an input, and what its release would cost and lose.

use throng_core::anonymize::ProgressSink;
use throng_core::feasibility::{Feasibility, FeasibilityCounts};
use throng_core::metrics::estimated_ncp;
use throng_core::partition::{FeasibleRegions, Leaf};
use throng_core::table::Table;

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::groups::Groups;
use crate::release::order_bytes;
use crate::resources::Resources;
use crate::snapshot::Snapshot;

/// So many leaves, over all parts, are clustered to predict a loss.
const TRIED_LEAVES: usize = 256;

/// A leaf with more cells than this is not tried: clustering it would be most of the work.
const TRIED_CELLS: usize = 4096;

/// What can be promised of an input.
#[derive(Debug)]
pub struct DryRun {
    /// Rows of the input.
    pub rows: u64,
    /// Rows that would be left out.
    pub suppressed: u64,
    /// Distinct tuples of quasi-identifiers.
    pub cells: u64,
    /// Parts in which the table is looked at.
    pub parts: usize,
    /// What each sensitive column allows.
    pub feasibility: Feasibility,
    /// Why there can be no release, if so.
    pub refused: Option<AnonymizeError>,
    /// What a release would be like, where that was asked for and there can be one.
    pub prediction: Option<Prediction>,
}

/// What a release would be like.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Leaves into which the table is cut.
    pub leaves: u64,
    /// The mean NCP of the leaves that were tried; none where all leaves are too large to be tried.
    pub ncp: Option<f64>,
    /// The rows of the leaves that were tried.
    pub tried_rows: u64,
    /// The memory in which everything would fit. With less, rows are spilled.
    pub memory_bytes: u64,
    /// Whether rows were spilled already.
    pub is_spilled: bool,
}

impl DryRun {
    pub(crate) fn of(
        anonymizer: &Anonymizer,
        snapshot: &Snapshot,
        mut groups: Groups,
        is_predicted: bool,
    ) -> Result<Self, AnonymizeError> {
        let privacy = anonymizer.binding().privacy();
        let (method, parts, count) = (anonymizer.method().0, groups.len(), groups.count);
        let (mut examined, mut cells) = (FeasibilityCounts::new(&Table::empty(&groups.domains)), 0);
        let (mut leaf_count, mut loss, mut tried) = (0, 0.0, 0);
        for part in 0..parts {
            snapshot.workspace.check()?;
            let (table, _, _room) = groups.part(part)?;
            let allowed = FeasibleRegions::of(&table, &privacy);
            cells += table.cell_count() as u64;
            examined.add(&table, &allowed);
            if is_predicted {
                let leaves = method.leaves(&allowed, &table, &privacy)?;
                leaf_count += leaves.len() as u64;
                let step = leaves.len().div_ceil((TRIED_LEAVES / parts).max(1)).max(1);
                let some: Vec<Leaf> =
                    leaves.into_iter().step_by(step).filter(|leaf| leaf.cells.len() <= TRIED_CELLS).collect();
                let classes = method.classes(&some, &table, &privacy, &StopOnCancel(&snapshot.workspace)).classes;
                let (of_part, rows) = estimated_ncp(&table, &classes);
                loss += of_part;
                tried += rows;
            }
        }
        let feasibility = examined.conclude(&privacy);
        let refused = anonymizer.check_feasibility(&feasibility, snapshot.rows, snapshot.suppressed).err();
        let prediction = (is_predicted && refused.is_none()).then(|| Prediction {
            leaves: leaf_count,
            ncp: (tried > 0).then(|| loss / tried as f64),
            tried_rows: tried,
            memory_bytes: snapshot.bytes() + order_bytes(snapshot.rows) + count * (snapshot.width() as u64 * 8 + 64),
            is_spilled: snapshot.is_spilled(),
        });
        let (rows, suppressed) = (snapshot.rows, snapshot.suppressed + feasibility.suppressed);
        Ok(Self { rows, suppressed, cells, parts, feasibility, refused, prediction })
    }
}

/// Stops when the query does not want an answer any more.
struct StopOnCancel<'a>(&'a Resources);

impl ProgressSink for StopOnCancel<'_> {
    fn leaf_done(&self, _cells: usize) -> bool {
        self.0.may_continue()
    }

    fn may_search(&self) -> bool {
        self.0.may_continue()
    }
}
