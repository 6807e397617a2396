//! From groups to the classes of a release, part by part.

use std::time::{Duration, Instant};

use datafusion::execution::memory_pool::MemoryReservation;
use throng_core::anonymize::{Method, Watch};
use throng_core::feasibility::Examined;
use throng_core::metrics::{Marginals, Utility};
use throng_core::model::Privacy;
use throng_core::partition::Allowed;
use throng_core::recode::{DealKey, Dealing, Recoder, Recoding};
use throng_core::risk::ClassSizes;
use throng_core::table::Table;
use throng_policy::Budget;

use crate::Error;
use crate::anonymizer::Anonymizer;
use crate::groups::Groups;
use crate::progress::{Progress, Step};
use crate::snapshot::Snapshot;
use crate::workspace::{Workspace, reserve};

/// The classes of a release, and which rows go where.
pub(crate) struct Classes {
    pub(crate) recoding: Recoding,
    pub(crate) utility: Utility,
    /// The sizes of the cells: the classes of the input.
    pub(crate) cells: ClassSizes,
    /// For each group of each chunk, in the order of streams and chunks: the group of the recoding.
    pub(crate) group_of: Vec<u32>,
    pub(crate) key: DealKey,
    pub(crate) leaves: u64,
    /// Cycles of local search, in the part that had fewest.
    pub(crate) cycles: u32,
    pub(crate) suppressed: u64,
    /// For all of it.
    pub(crate) reservation: MemoryReservation,
}

impl Classes {
    /// Forms the classes of all parts. The table of a part is handed on when it is no longer needed.
    pub(crate) fn of(
        anonymizer: &Anonymizer,
        snapshot: &Snapshot,
        mut groups: Groups,
        progress: &dyn Progress,
        hand_on: &mut dyn FnMut(Table),
    ) -> Result<Self, Error> {
        let (method, privacy) = (anonymizer.method().0, anonymizer.binding().privacy());
        let time = match anonymizer.policy().algorithm.budget {
            Budget::Time(time) => Some(time / groups.len().max(1) as u32),
            _ => None,
        };
        let work = Work { method, privacy: &privacy, workspace: &snapshot.workspace, progress, time };
        let like = Table::empty(&groups.domains);
        let (mut examined, mut recoder) = (Examined::new(&like), Recoder::new(&like));
        let (mut marginals, mut cells) = (Marginals::new(&like), ClassSizes::default());
        let mut dealing: Option<Dealing> = None;
        let seed = anonymizer.policy().algorithm.seed;
        let reservation = snapshot.workspace.reservation("classes");
        let (mut of_part, mut first, mut leaves, mut cycles) = (Vec::new(), 0_u32, 0, u32::MAX);
        let parts = groups.len();
        if parts > 1 {
            progress.begin(Step::Cluster, Some(groups.count));
        }
        for part in 0..parts {
            snapshot.workspace.check()?;
            let (table, mut numbers, _room) = groups.part(part)?;
            let allowed = Allowed::of(&table, &privacy);
            examined.add(&table, &allowed);
            if parts == 1 {
                anonymizer.check_feasibility(&examined.conclude(&privacy), snapshot.rows, snapshot.suppressed)?;
            }
            let span = tracing::Span::current();
            let form = || span.in_scope(|| work.form_classes(&table, &allowed, &mut recoder, parts > 1));
            let count = || {
                let known = dealing.take().map_or_else(|| Dealing::new(&like, seed), Ok)?;
                dealing.insert(known).add(&table);
                marginals.add(&table);
                cells.add_cells(&table);
                Ok::<(), Error>(())
            };
            let (formed, counted) = rayon::join(form, count);
            let formed = formed?;
            counted?;
            leaves += formed.0;
            cycles = cycles.min(formed.1);
            numbers.iter_mut().for_each(|number| *number += first);
            let too_large = throng_core::Error::TooLarge { limit: u32::MAX };
            first =
                u32::try_from(table.group_count()).ok().and_then(|more| first.checked_add(more)).ok_or(too_large)?;
            of_part.push(numbers);
            hand_on(table);
            let size = recoder.size() + marginals.size() + first as usize * 4;
            reserve(&reservation, size, "the classes of the release")?;
        }
        if parts > 1 {
            tracing::info!(parts, leaves, clusters = recoder.clusters(), "parts cut into leaves and clustered");
        }
        let feasibility = examined.conclude(&privacy);
        anonymizer.check_feasibility(&feasibility, snapshot.rows, snapshot.suppressed)?;
        let _recode = Step::Recode.begin(progress, None).entered();
        let group_of = groups.in_order(of_part);
        drop(groups);
        let recoding = recoder.finish()?;
        let size = recoding.size() + recoding.group_count() * 16 + group_of.len() * 4;
        reserve(&reservation, size, "the classes of the release")?;
        let k = anonymizer.binding().k;
        let utility = Utility::of(&like, &recoding, k).with_changes(marginals.changes(&like, &recoding, k));
        let suppressed = snapshot.suppressed + feasibility.suppressed;
        let key = dealing.map_or_else(|| Dealing::new(&like, seed), Ok)?.key();
        Ok(Self { recoding, utility, cells, group_of, key, leaves, cycles, suppressed, reservation })
    }
}

/// What every part is worked on with.
struct Work<'a> {
    method: Method,
    privacy: &'a Privacy,
    workspace: &'a Workspace,
    progress: &'a dyn Progress,
    /// How long each part may be searched for better classes, where the policy says so.
    time: Option<Duration>,
}

/// The watch over the work on one part.
struct PartWatch<'a> {
    work: &'a Work<'a>,
    search_until: Option<Instant>,
}

impl Watch for PartWatch<'_> {
    fn leaf_done(&self, cells: usize) -> bool {
        self.work.progress.advance(cells as u64);
        self.work.workspace.goes_on()
    }

    fn may_search(&self) -> bool {
        self.work.workspace.goes_on() && self.search_until.is_none_or(|until| Instant::now() < until)
    }
}

impl Work<'_> {
    /// Forms the classes of a part, and tells the number of its leaves and of the cycles of its search. Where there are
    /// several parts, the whole is one step.
    fn form_classes(
        &self,
        table: &Table,
        allowed: &Allowed,
        recoder: &mut Recoder,
        is_one_of_several: bool,
    ) -> Result<(u64, u32), Error> {
        let begin = |step: Step, total| match is_one_of_several {
            true => tracing::Span::current(),
            false => step.begin(self.progress, total),
        };
        let leaves = begin(Step::Partition, None).in_scope(|| {
            let leaves = self.method.leaves(allowed, table, self.privacy)?;
            if !is_one_of_several {
                tracing::info!(leaves = leaves.len(), "table cut into leaves");
            }
            Ok::<_, Error>(leaves)
        })?;
        let formed = begin(Step::Cluster, Some(table.cell_count() as u64)).in_scope(|| {
            let watch = PartWatch { work: self, search_until: self.time.map(|time| Instant::now() + time) };
            let formed = self.method.classes(&leaves, table, self.privacy, &watch);
            if !is_one_of_several {
                tracing::info!(clusters = formed.classes.len(), cycles = formed.cycles, "clusters formed");
            }
            formed
        });
        self.workspace.check()?;
        recoder.add(table, &formed.classes, &allowed.out)?;
        Ok((leaves.len() as u64, formed.cycles))
    }
}
