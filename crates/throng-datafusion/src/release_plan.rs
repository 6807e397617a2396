//! The release plan: everything that turns rows into a release.
//!
//! ```text
//!  row ─► group ─► class ─► labels
//!         lookup   shares,  labels
//!                  key
//! ```
//!
//! One process uses a plan directly, with the groups of the survey that it was made from. Tasks of a compute cluster
//! load it from an object ([`crate::distributed`]) and look groups up by their content.

use std::borrow::Cow;
use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryReservation;
use throng_core::key::ReleaseKey;
use throng_core::out_of_core::TableSurvey;
use throng_core::recode::{ClassAssignment, Recoding, Shares};
use throng_core::survey::{Domains, SurveyedValues};

use crate::AnonymizeError;
use crate::release::ClassLabels;
use crate::resources::reserve;

/// Groups, the shares of classes in each group, class sizes and labels, and the key of the row assignment.
///
/// It is as secret as the input: it contains the distinct values of the quasi-identifiers and the key.
pub struct ReleasePlan {
    pub(crate) groups: GroupLookup,
    pub(crate) shares: Shares,
    pub(crate) class_rows: Vec<u64>,
    pub(crate) labels: Arc<ClassLabels>,
    pub(crate) key: ReleaseKey,
    /// Memory of a plan that was loaded.
    pub(crate) _reservation: Option<MemoryReservation>,
}

impl std::fmt::Debug for ReleasePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReleasePlan").field("classes", &self.class_rows.len()).finish_non_exhaustive()
    }
}

/// How the group of a row is looked up.
pub(crate) enum GroupLookup {
    /// By the survey that the plan was made from: the group of each group of each chunk, in the order of streams and
    /// chunks.
    BySurvey(Vec<u32>),
    /// By content, for any survey of the same rows.
    ByContent(GroupIndex),
}

/// Index of groups by their tuples of domain positions.
pub(crate) struct GroupIndex {
    /// Distinct values of all surveyed columns.
    pub(crate) seen: SurveyedValues,
    /// Length of a tuple.
    pub(crate) width: usize,
    /// Concatenated tuples of domain positions, ascending.
    pub(crate) tuples: Vec<u32>,
}

impl GroupIndex {
    fn find(&self, placed: &[u32]) -> Option<u32> {
        let tuples = self.tuples.chunks_exact(self.width);
        let (mut low, mut high) = (0, tuples.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.tuples[middle * self.width..(middle + 1) * self.width].cmp(placed) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle as u32),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

impl ReleasePlan {
    /// Creates the plan of the survey that the classes were formed from. `group_of` holds the group of each group of each
    /// chunk.
    pub(crate) fn new(recoding: Recoding, group_of: Vec<u32>, key: ReleaseKey) -> Self {
        let ClassAssignment { labels, label_of, class_rows, shares } = recoding.into_assignment();
        Self {
            groups: GroupLookup::BySurvey(group_of),
            shares,
            class_rows,
            labels: Arc::new(ClassLabels { columns: labels, label_of }),
            key,
            _reservation: None,
        }
    }

    /// Sets the groups of the survey and their shares.
    pub(crate) fn with_groups(self, group_of: Vec<u32>, shares: Shares) -> Self {
        Self { groups: GroupLookup::BySurvey(group_of), shares, ..self }
    }

    /// Makes groups findable by content. `tuples` holds the tuple of domain positions of each group, and groups are
    /// renumbered in the order of their tuples.
    pub(crate) fn indexed(self, seen: SurveyedValues, width: usize, tuples: &[u32]) -> Self {
        let tuple = |group: u32| &tuples[group as usize * width..(group as usize + 1) * width];
        let mut order: Vec<u32> = (0..self.shares.groups() as u32).collect();
        order.sort_unstable_by(|a, b| tuple(*a).cmp(tuple(*b)));
        let tuples = order.iter().flat_map(|group| tuple(*group).iter().copied()).collect();
        let shares = Shares::new(order.iter().map(|group| self.shares.of(*group)));
        Self { groups: GroupLookup::ByContent(GroupIndex { seen, width, tuples }), shares, ..self }
    }

    /// Returns the group of each group of each chunk of a survey, in the order of streams and chunks. Fails if a row
    /// was not present when the plan was made.
    pub(crate) fn groups_of(&self, survey: &mut TableSurvey) -> Result<Cow<'_, [u32]>, AnonymizeError> {
        let index = match &self.groups {
            GroupLookup::BySurvey(group_of) => return Ok(Cow::Borrowed(group_of)),
            GroupLookup::ByContent(index) => index,
        };
        let own = survey.take_last_seen().ok_or(AnonymizeError::Task)?;
        let domains = Domains::merge(&[own.uncounted(), index.seen.clone()])?;
        let mut group_of = Vec::with_capacity(survey.groups() as usize);
        survey.for_each_group(&domains, |placed, _| {
            group_of.push(index.find(placed).ok_or(AnonymizeError::Changed)?);
            Ok::<_, AnonymizeError>(())
        })?;
        Ok(Cow::Owned(group_of))
    }
}

/// Reserves memory for `groups` groups of `width` positions, while a plan is made.
pub(crate) fn reserve_plan(room: &MemoryReservation, groups: usize, width: usize) -> Result<(), AnonymizeError> {
    reserve(room, groups * (2 * 4 * width + 32), PLAN)
}

/// Name of the resource in the out-of-memory error.
pub(crate) const PLAN: &str = "the release plan";
