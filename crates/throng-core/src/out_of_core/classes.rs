//! Forms the equivalence classes of a release from its groups, part by part.

use super::classed_groups::FormedGroups;
use super::error::check_feasibility;
use super::memory::reserve;
use super::{
    ClassSpec, ClassedGroups, GatheredClasses, MemoryBudget, OutOfCoreError, PartJob, PartTable, SharedQuota,
    TableParts, TableSurvey,
};
use crate::key::ReleaseKey;
use crate::metrics::Utility;
use crate::partition::FeasibleRegions;
use crate::progress::{Progress, Stage};
use crate::recode::Recoding;
use crate::risk::{BorrowedRows, ClassSizes};
use crate::table::Table;

/// Name of the resource in the out-of-memory error.
pub(super) const CLASSES: &str = "the classes of the release";

/// The classes of a release, and the class of each group.
#[derive(Debug)]
pub struct Classes {
    /// Labels and sizes of the classes.
    pub recoding: Recoding,
    /// Utility metrics of the release.
    pub utility: Utility,
    /// Sizes of the cells, which are the equivalence classes of the input.
    pub cells: ClassSizes,
    /// Groups of the survey in the recoding.
    pub groups: ClassedGroups,
    /// Rows of lenders in other classes.
    pub borrowed: BorrowedRows,
    /// Key of the row assignment of shared groups.
    pub key: ReleaseKey,
    /// Number of leaves over all parts.
    pub leaves: u64,
    /// Cycles of local search, minimum over all parts.
    pub cycles: u32,
    /// Number of suppressed rows.
    pub suppressed: u64,
    /// Memory for all of the above.
    pub memory: Box<dyn MemoryBudget>,
}

impl Classes {
    /// Forms the classes of all parts. The table of a part is passed to `hand_on` when it is no longer needed here.
    ///
    /// Reserves memory for the table of one part at a time and for the classes of all parts. Fails if it is refused, if no
    /// release is possible, if the run was cancelled, or if groups can't be stored.
    pub fn of(
        spec: &ClassSpec,
        survey: &TableSurvey,
        mut table_parts: TableParts,
        progress: &dyn Progress,
        hand_on: &mut dyn FnMut(Table),
    ) -> Result<Self, OutOfCoreError> {
        let (workspace, parts) = (survey.workspace(), table_parts.len());
        let (rows, suppressed) = (survey.rows(), survey.suppressed());
        let job = PartJob::new(spec, parts, workspace.as_ref(), progress);
        let gathered = GatheredClasses::new(table_parts.domains(), workspace.as_ref());
        let mut gathered = gathered.with_spilled(survey.spilled().clone());
        // If rows were spilled, the memory is reserved for the classes.
        let quota = if survey.are_rows_spilled() { 0 } else { workspace.memory_for_rows() / 4 };
        let mut formed = FormedGroups::new(workspace, &SharedQuota::new(quota));
        let (mut group_of, mut bound) = (Vec::new(), None);
        if parts > 1 {
            progress.begin(Stage::Cluster, Some(table_parts.groups()));
        }
        for part in 0..parts {
            workspace.check()?;
            let PartTable { table, numbers, memory } = table_parts.part(part)?;
            let allowed = FeasibleRegions::of(&table, &spec.privacy);
            gathered.examine(&table, &allowed);
            if parts == 1 {
                let found = gathered.feasibility(&spec.privacy);
                check_feasibility(&found, spec.suppression_limit, rows, suppressed)?;
            }
            let span = tracing::Span::current();
            let added = gathered.add(&table, &allowed, || span.in_scope(|| job.form(&table, &allowed)));
            let freed = memory.as_ref().map_or(0, |memory| memory.size());
            let added = added.and_then(|()| gathered.check_room(workspace.as_ref(), freed));
            // Other parts have about as many classes.
            let rest = || gathered.building_size().checked_mul(parts - part - 1)?.checked_div(part + 1);
            added.map_err(|error| error.plus_least(|| rest().map(|rest| rest as u64)))?;
            if parts == 1 {
                group_of = numbers;
                bound = spec.lower_bound(&table, workspace.as_ref());
            } else {
                formed.push(&numbers, gathered.take_shares())?;
            }
            hand_on(table);
        }
        if parts > 1 {
            let (leaves, clusters) = gathered.counts();
            tracing::info!(parts, leaves, clusters, "parts cut into leaves and clustered");
        }
        let _recode = Stage::Recode.begin(progress, None).entered();
        let part_of = table_parts.take_part_of();
        drop(table_parts);
        let (mut classes, class_of) = gathered.finish(spec, rows, suppressed)?;
        classes.utility.bound = bound;
        let size = classes.memory.size() + (group_of.len() + class_of.len()) * 4;
        reserve(classes.memory.as_ref(), size, CLASSES)?;
        let groups = match part_of {
            Some(part_of) => ClassedGroups::InParts(Box::new(formed.finish(part_of, class_of)?)),
            None => ClassedGroups::Whole(group_of),
        };
        Ok(Self { groups, ..classes })
    }
}
