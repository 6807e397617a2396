//! Forms the equivalence classes of a release from its groups, part by part.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::memory_pool::MemoryReservation;
use throng_core::anonymize::{Method, SharedCells};
use throng_core::bound::{BoundEffort, LowerBound, lower_bound};
use throng_core::cluster::{Class, ProgressSink};
use throng_core::feasibility::FeasibilityCounts;
use throng_core::key::ReleaseKey;
use throng_core::metrics::{Marginals, SlicedMarginal, SlicedRows, Utility};
use throng_core::model::Privacy;
use throng_core::partition::FeasibleRegions;
use throng_core::recode::{Recoder, Recoding};
use throng_core::risk::{BorrowedRows, ClassSizes};
use throng_core::survey::Domains;
use throng_core::table::Table;
use throng_policy::{BoundSetting, Budget};

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::buffered_rows::numbers;
use crate::classed_groups::{ClassedGroups, FormedGroups};
use crate::groups::Groups;
use crate::progress::{Progress, Stage};
use crate::rank_keys::{halves, joined};
use crate::resources::{Resources, reserve};
use crate::snapshot::{Snapshot, number_batch, tuple_schema};
use crate::spill_buffer::{BufferedBatches, SharedQuota, SpillBuffer};
use crate::spilled_values::SpilledColumn;

/// The classes of a release, and the class of each group.
pub(crate) struct Classes {
    pub(crate) recoding: Recoding,
    pub(crate) utility: Utility,
    /// Sizes of the cells, which are the equivalence classes of the input.
    pub(crate) cells: ClassSizes,
    /// Groups of the snapshot in the recoding.
    pub(crate) groups: ClassedGroups,
    pub(crate) borrowed: BorrowedRows,
    /// Key of the row assignment of shared groups.
    pub(crate) key: ReleaseKey,
    pub(crate) leaves: u64,
    /// Cycles of local search, minimum over all parts.
    pub(crate) cycles: u32,
    pub(crate) suppressed: u64,
    /// Memory for all of the above.
    pub(crate) reservation: MemoryReservation,
}

impl Classes {
    /// Forms the classes of all parts. The table of a part is passed to `hand_on` when it is no longer needed here.
    pub(crate) fn of(
        anonymizer: &Anonymizer,
        snapshot: &Snapshot,
        mut groups: Groups,
        progress: &dyn Progress,
        hand_on: &mut dyn FnMut(Table),
    ) -> Result<Self, AnonymizeError> {
        let privacy = anonymizer.binding().privacy();
        let parts = groups.len();
        let work = PartJob::new(anonymizer, parts, &snapshot.workspace, progress);
        let mut gathered = GatheredClasses::new(&groups.domains, &snapshot.workspace);
        gathered.spilled = Arc::clone(snapshot.spilled());
        // If rows were spilled, the memory is reserved for the classes.
        let memory = if snapshot.is_spilled() { 0 } else { snapshot.workspace.memory_for_rows() / 4 };
        let allowance = SharedQuota::new(memory);
        let mut formed = FormedGroups::new(&snapshot.workspace, &allowance);
        let (mut group_of, mut bound) = (Vec::new(), None);
        if parts > 1 {
            progress.begin(Stage::Cluster, Some(groups.count));
        }
        for part in 0..parts {
            snapshot.workspace.check()?;
            let (table, numbers, room) = groups.part(part)?;
            let allowed = FeasibleRegions::of(&table, &privacy);
            gathered.examined.add(&table, &allowed);
            if parts == 1 {
                let found = gathered.examined.conclude(&privacy);
                anonymizer.check_feasibility(&found, snapshot.rows, snapshot.suppressed)?;
            }
            let span = tracing::Span::current();
            let added = gathered.add(&table, &allowed, || span.in_scope(|| work.form(&table, &allowed)));
            let freed = room.as_ref().map_or(0, MemoryReservation::size);
            let added = added.and_then(|()| gathered.check_room(&snapshot.workspace, freed));
            // Other parts have about as many classes.
            let rest = || gathered.building_size().checked_mul(parts - part - 1)?.checked_div(part + 1);
            added.map_err(|error| error.plus_least(|| rest().map(|rest| rest as u64)))?;
            if parts == 1 {
                group_of = numbers;
                bound = bound_of(anonymizer, &table, &privacy, &snapshot.workspace);
            } else {
                formed.push(&numbers, gathered.recoder.take_shares())?;
            }
            hand_on(table);
        }
        if parts > 1 {
            let clusters = gathered.recoder.clusters();
            tracing::info!(parts, leaves = gathered.leaves, clusters, "parts cut into leaves and clustered");
        }
        let _recode = Stage::Recode.begin(progress, None).entered();
        let part_of = groups.take_part_of();
        drop(groups);
        let (mut classes, class_of) = gathered.finish(anonymizer, &privacy, snapshot.rows, snapshot.suppressed)?;
        classes.utility.bound = bound;
        let size = classes.reservation.size() + (group_of.len() + class_of.len()) * 4;
        reserve(&classes.reservation, size, WHAT)?;
        let groups = match part_of {
            Some(part_of) => ClassedGroups::InParts(Box::new(formed.finish(part_of, class_of)?)),
            None => ClassedGroups::Whole(group_of),
        };
        Ok(Self { groups, ..classes })
    }
}

/// Computes the lower bound that the policy requests. Classes of other releases may cross part boundaries, so a table
/// of several parts has none.
fn bound_of(anonymizer: &Anonymizer, table: &Table, privacy: &Privacy, workspace: &Resources) -> Option<LowerBound> {
    let may_continue = || workspace.may_continue();
    let bound = match anonymizer.policy().algorithm.bound {
        BoundSetting::Off => return None,
        BoundSetting::On => lower_bound(table, privacy, BoundEffort::once(&may_continue)),
        BoundSetting::Time(time) => {
            let until = Instant::now() + time;
            lower_bound(table, privacy, BoundEffort::until(&|| may_continue() && Instant::now() < until))
        }
    };
    tracing::info!(lower_bound = bound.value, sweeps = bound.sweeps, "loss bounded from below");
    Some(bound)
}

/// Name of the resource in the out-of-memory error.
const WHAT: &str = "the classes of the release";

/// Accumulates the classes of parts.
pub(crate) struct GatheredClasses {
    like: Table,
    examined: FeasibilityCounts,
    recoder: Recoder,
    counted: PartTotals,
    borrowed: BorrowedRows,
    leaves: u64,
    cycles: u32,
    reservation: MemoryReservation,
    /// Columns whose values are not in memory, and the rows at each of their positions, part by part.
    spilled: Arc<Vec<SpilledColumn>>,
    marginals: SpillBuffer,
}

/// Accumulated counts of parts.
struct PartTotals {
    marginals: Marginals,
    cells: ClassSizes,
}

impl PartTotals {
    fn add(&mut self, table: &Table) {
        self.marginals.add(table);
        self.cells.add_cells(table);
    }
}

/// The classes of one part.
pub(crate) struct FormedPart {
    pub(crate) classes: Vec<Class>,
    /// Number of leaves of the part.
    pub(crate) leaves: u64,
    /// Number of cycles of local search.
    pub(crate) cycles: u32,
}

impl GatheredClasses {
    /// Creates an accumulator without parts.
    pub(crate) fn new(domains: &Domains, workspace: &Resources) -> Self {
        let like = Table::empty(domains);
        let counted = PartTotals { marginals: Marginals::new(&like), cells: ClassSizes::default() };
        Self {
            examined: FeasibilityCounts::new(&like),
            recoder: Recoder::new(&like),
            counted,
            borrowed: BorrowedRows::default(),
            like,
            leaves: 0,
            cycles: u32::MAX,
            reservation: workspace.reservation("classes"),
            spilled: Arc::default(),
            marginals: SpillBuffer::new(workspace, tuple_schema(), &SharedQuota::new(0), "marginals"),
        }
    }

    /// Adds a part whose classes were formed by another task.
    pub(crate) fn add_formed(
        &mut self,
        table: &Table,
        privacy: &Privacy,
        formed: FormedPart,
    ) -> Result<(), AnonymizeError> {
        let allowed = FeasibleRegions::of(table, privacy);
        self.examined.add(table, &allowed);
        self.add(table, &allowed, || Ok(formed))
    }

    /// Adds a part. Its statistics are counted in parallel with `form`.
    fn add(
        &mut self,
        table: &Table,
        allowed: &FeasibleRegions,
        form: impl FnOnce() -> Result<FormedPart, AnonymizeError> + Send,
    ) -> Result<(), AnonymizeError> {
        let Self { recoder, counted, borrowed, .. } = self;
        let formed = || {
            let formed = form()?;
            recoder.add(table, &formed.classes, &allowed.suppressed_cells)?;
            borrowed.add(table, &allowed.privacy, &formed.classes);
            Ok::<_, AnonymizeError>((formed.leaves, formed.cycles))
        };
        let (formed, ()) = rayon::join(formed, || counted.add(table));
        let (leaves, cycles) = formed?;
        for spilled in self.spilled.iter() {
            self.marginals.push(marginal_batch(table, spilled.ranked.column)?)?;
        }
        self.leaves += leaves;
        self.cycles = self.cycles.min(cycles);
        reserve(&self.reservation, self.recoder.size() + self.counted.marginals.size(), WHAT)
    }

    /// Returns the memory that is needed when the recoding of the classes so far is built, in bytes.
    fn building_size(&self) -> usize {
        self.recoder.building_size() + self.counted.marginals.size()
    }

    /// Fails early if the recoding of the classes so far could not be built after the `freed` bytes of a part are
    /// released.
    fn check_room(&self, workspace: &Resources, freed: usize) -> Result<(), AnonymizeError> {
        let probe = workspace.reservation("classes to come");
        reserve(&probe, self.building_size().saturating_sub(self.reservation.size() + freed), WHAT)
    }

    /// Finishes the recoding. `rows` and `suppressed` are those of the whole input. The result has no groups; also
    /// returns the class of each cluster.
    pub(crate) fn finish(
        self,
        anonymizer: &Anonymizer,
        privacy: &Privacy,
        rows: u64,
        suppressed: u64,
    ) -> Result<(Classes, Vec<u32>), AnonymizeError> {
        let Self { like, examined, mut recoder, counted, borrowed, leaves, cycles, reservation, spilled, marginals } =
            self;
        let feasibility = examined.conclude(privacy);
        anonymizer.check_feasibility(&feasibility, rows, suppressed)?;
        reserve(&reservation, recoder.building_size() + counted.marginals.size(), WHAT)?;
        for ((column, positions), spilled) in recoder.shown_positions().into_iter().zip(spilled.iter()) {
            let Some(whole) = like.quasi()[column].domain.slice().map(|slice| slice.whole()) else { continue };
            let keys = spilled.keys_at(positions.iter().filter_map(|position| whole.rank(*position)))?;
            recoder.set_shown_values(column, &positions, &keys)?;
        }
        let like = like.with_columns(Arc::clone(recoder.quasi()));
        let (recoding, class_of) = recoder.finish_with_classes()?;
        reserve(&reservation, recoding.size() + recoding.group_count() * 16, WHAT)?;
        let k = anonymizer.binding().k;
        let mut sliced = counted.marginals.sliced(&like, &recoding);
        add_marginals(&mut sliced, &marginals.finish()?)?;
        let changes = counted.marginals.changes(&like, &recoding, k, &sliced);
        let utility = Utility::of(&like, &recoding, k).with_changes(changes);
        let suppressed = suppressed + feasibility.suppressed;
        let (cells, key) = (counted.cells, anonymizer.key().derive("row assignment", &[]));
        let groups = ClassedGroups::Whole(Vec::new());
        let classes =
            Classes { recoding, utility, cells, groups, borrowed, key, leaves, cycles, suppressed, reservation };
        Ok((classes, class_of))
    }
}

/// Returns the rows of a part at each position of a column whose values are not in memory. The first number is the column.
fn marginal_batch(table: &Table, column: usize) -> Result<RecordBatch, AnonymizeError> {
    let numbers = |SlicedRows { position, coordinate, rows }| {
        let ([low, high], [few, many]) = (halves(f64::to_bits(coordinate)), halves(rows));
        [position, low, high, few, many]
    };
    let rows = SlicedMarginal::rows_of(table, column).into_iter().flat_map(numbers);
    number_batch([column as u32].into_iter().chain(rows).collect())
}

/// Adds the rows of all parts to the histograms of their columns.
fn add_marginals(sliced: &mut [SlicedMarginal], stored: &BufferedBatches) -> Result<(), AnonymizeError> {
    let mut batches = stored.read()?;
    while let Some(batch) = batches.next()? {
        let Some((column, rest)) = numbers(&batch).split_first() else { continue };
        let Some(sliced) = sliced.iter_mut().find(|sliced| sliced.column() == *column as usize) else { continue };
        for [position, low, high, few, many] in rest.as_chunks::<5>().0 {
            let coordinate = f64::from_bits(joined(*low, *high));
            sliced.add(SlicedRows { position: *position, coordinate, rows: joined(*few, *many) });
        }
    }
    Ok(())
}

/// Shared context of the work on all parts.
pub(crate) struct PartJob<'a> {
    method: Method,
    workspace: &'a Resources,
    progress: &'a dyn Progress,
    /// Time budget of the local search in each part, if the policy sets one.
    time: Option<Duration>,
    /// With several parts, stages are not reported for each of them.
    is_one_of_several: bool,
}

/// Reports progress of one part, and stops it on cancellation or timeout.
struct PartProgress<'a> {
    work: &'a PartJob<'a>,
    search_until: Option<Instant>,
}

impl ProgressSink for PartProgress<'_> {
    fn leaf_done(&self, cells: usize) -> bool {
        self.work.progress.advance(cells as u64);
        self.work.workspace.may_continue()
    }

    fn may_search(&self) -> bool {
        self.work.workspace.may_continue() && self.search_until.is_none_or(|until| Instant::now() < until)
    }
}

impl<'a> PartJob<'a> {
    /// Creates the context for `parts` parts. A time budget is divided evenly among them.
    pub(crate) fn new(
        anonymizer: &Anonymizer,
        parts: usize,
        workspace: &'a Resources,
        progress: &'a dyn Progress,
    ) -> Self {
        let time = match anonymizer.policy().algorithm.budget {
            Budget::Time(time) => Some(time / parts.max(1) as u32),
            _ => None,
        };
        Self { method: anonymizer.method().0, workspace, progress, time, is_one_of_several: parts > 1 }
    }

    /// Partitions and clusters one part.
    pub(crate) fn form(&self, table: &Table, allowed: &FeasibleRegions) -> Result<FormedPart, AnonymizeError> {
        let begin = |stage: Stage, total| match self.is_one_of_several {
            true => tracing::Span::current(),
            false => stage.begin(self.progress, total),
        };
        let leaves = begin(Stage::Partition, None).in_scope(|| {
            let leaves = self.method.leaves(allowed, table)?;
            if !self.is_one_of_several {
                tracing::info!(leaves = leaves.len(), "table cut into leaves");
            }
            Ok::<_, AnonymizeError>(leaves)
        })?;
        let formed = begin(Stage::Cluster, Some(table.cell_count() as u64)).in_scope(|| {
            let watch = PartProgress { work: self, search_until: self.time.map(|time| Instant::now() + time) };
            let mut formed = self.method.formed(&leaves, table, &allowed.privacy, &watch);
            let (shared, room) = (SharedCells::of(table, &formed.classes), self.workspace.reservation("shared cells"));
            reserve(&room, shared.size(), WHAT)?;
            shared.redistribute(table, &allowed.privacy, &mut formed.classes, self.method.key);
            if !self.is_one_of_several {
                tracing::info!(clusters = formed.classes.len(), cycles = formed.cycles, "clusters formed");
            }
            Ok::<_, AnonymizeError>(formed)
        })?;
        self.workspace.check()?;
        Ok(FormedPart { classes: formed.classes, leaves: leaves.len() as u64, cycles: formed.cycles })
    }
}
