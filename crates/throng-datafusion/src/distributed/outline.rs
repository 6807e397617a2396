//! The release plan, which is broadcast to all tasks that process rows.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{SchemaRef, UInt32Type};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;
use prost::Message;
use throng_core::key::ReleaseKey;
use throng_core::recode::{Share, Shares};
use throng_core::survey::{Domains, SurveyedValues};

use super::message::{LabelsMessage, OutlineMessage};
use super::place::StorePlace;
use super::rows::Files;
use super::seen::{array, array_bytes, seen_values, values_message};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::release::{Form, ReleasedLabels, Run, Shown};
use crate::resources::reserve;
use crate::snapshot::survey_spec;

/// Domains, groups, the shares of classes in each group, and the labels of classes.
///
/// It is as secret as the input: it contains the distinct values of the quasi-identifiers and the key of the row
/// assignment.
pub struct Outline {
    pub(super) seen: SurveyedValues,
    groups: GroupIndex,
    pub(super) shares: Shares,
    pub(super) class_rows: Vec<u64>,
    pub(super) shown: Shown,
    pub(super) key: ReleaseKey,
    _reservation: Option<MemoryReservation>,
}

impl std::fmt::Debug for Outline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outline").field("classes", &self.class_rows.len()).finish_non_exhaustive()
    }
}

/// Process-wide cache of loaded release plans.
static LOADED: LazyLock<Mutex<HashMap<String, Slot>>> = LazyLock::new(Mutex::default);

type Slot = Arc<tokio::sync::Mutex<Weak<Outline>>>;

/// Index of groups by their tuples of domain positions.
struct GroupIndex {
    width: usize,
    /// Concatenated tuples of domain positions, ascending.
    tuples: Vec<u32>,
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

/// Parts of a release plan, with groups in any order.
pub(super) struct Drawn<'a> {
    pub(super) seen: SurveyedValues,
    pub(super) width: usize,
    /// Concatenated tuples of domain positions, one per group.
    pub(super) tuples: Vec<u32>,
    pub(super) shares: &'a Shares,
    pub(super) class_rows: Vec<u64>,
    pub(super) shown: Shown,
    pub(super) key: ReleaseKey,
}

impl Outline {
    pub(super) fn new(drawn: Drawn<'_>) -> Self {
        let Drawn { seen, width, tuples, shares, class_rows, shown, key } = drawn;
        let tuple = |group: u32| &tuples[group as usize * width..(group as usize + 1) * width];
        let mut order: Vec<u32> = (0..shares.groups() as u32).collect();
        order.sort_unstable_by(|a, b| tuple(*a).cmp(tuple(*b)));
        let groups =
            GroupIndex { width, tuples: order.iter().flat_map(|group| tuple(*group).iter().copied()).collect() };
        let shares = Shares::new(order.iter().map(|group| shares.of(*group)));
        Self { seen, groups, shares, class_rows, shown, key, _reservation: None }
    }

    /// Loads the release plan of this name. Tasks of one process share one copy.
    pub async fn load(
        anonymizer: &Anonymizer,
        place: &StorePlace,
        name: &str,
        runtime: &RuntimeEnv,
    ) -> Result<Arc<Self>, AnonymizeError> {
        let slot = {
            let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
            // Evict slots without waiters whose release plan has been dropped.
            loaded.retain(|_, slot| {
                Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|outline| outline.strong_count() > 0)
            });
            Arc::clone(loaded.entry(format!("{}{name}", place.url())).or_default())
        };
        let mut loaded = slot.lock().await;
        if let Some(outline) = loaded.upgrade() {
            return Ok(outline);
        }
        let bytes = place.get(runtime, name).await?;
        let reservation = MemoryConsumer::new("throng outline").register(&runtime.memory_pool);
        // For the encoded bytes and the decoded plan.
        reserve(&reservation, 2 * bytes.len(), "the outline of the release")?;
        let outline = Self::from_bytes(anonymizer, &bytes)?;
        reservation.resize(bytes.len());
        drop(bytes);
        let outline = Arc::new(Self { _reservation: Some(reservation), ..outline });
        *loaded = Arc::downgrade(&outline);
        Ok(outline)
    }

    /// Returns the number of groups.
    pub(super) fn group_count(&self) -> usize {
        self.shares.groups()
    }

    /// Merges the values of one reader into the domains, which maps its codes to global positions.
    pub(super) fn domains(&self, own: SurveyedValues) -> Result<Domains, AnonymizeError> {
        Ok(Domains::merge(&[own.uncounted(), self.seen.clone()])?)
    }

    /// Returns the group with this tuple of domain positions. Fails if the input has changed since the survey.
    pub(super) fn group(&self, placed: &[u32]) -> Result<u32, AnonymizeError> {
        self.groups.find(placed).ok_or(AnonymizeError::Changed)
    }

    /// Returns the assignment of rows to files.
    pub fn files(&self, rows_per_file: u64) -> Files {
        Files::new(&self.class_rows, rows_per_file)
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, AnonymizeError> {
        let columns = self.seen.columns().iter().map(|seen| values_message(seen, 0, seen.values.len()));
        let labels = self.shown.columns.iter().map(|columns| {
            Ok(LabelsMessage { columns: columns.iter().map(array_bytes).collect::<Result<_, AnonymizeError>>()? })
        });
        let groups = || 0..self.group_count() as u32;
        let message = OutlineMessage {
            columns: columns.collect::<Result<_, AnonymizeError>>()?,
            width: self.groups.width as u32,
            tuples: le_bytes(self.groups.tuples.iter().copied()),
            share_counts: le_bytes(groups().map(|group| self.shares.of(group).len() as u32)),
            shares: le_bytes(groups().flat_map(|group| self.shares.of(group)).flat_map(|s| [s.class, s.rows])),
            class_rows: self.class_rows.iter().flat_map(|rows| rows.to_le_bytes()).collect(),
            labels: labels.collect::<Result<_, AnonymizeError>>()?,
            label_of: le_bytes(self.shown.label_of.iter().copied()),
            key: self.key.to_bytes().to_vec(),
        };
        Ok(message.encode_to_vec())
    }

    pub(super) fn from_bytes(anonymizer: &Anonymizer, bytes: &[u8]) -> Result<Self, AnonymizeError> {
        let damaged = || AnonymizeError::Task;
        let message = OutlineMessage::decode(bytes).map_err(|_| damaged())?;
        let columns = message.columns.iter().map(|column| seen_values(std::slice::from_ref(column)));
        let spec = Arc::new(survey_spec(anonymizer.binding()));
        let seen = SurveyedValues::new(spec, columns.collect::<Result<_, _>>()?, 0);
        let all: Vec<Share> = numbers(&message.shares)
            .as_chunks()
            .0
            .iter()
            .map(|[class, rows]| Share { class: *class, rows: *rows })
            .collect();
        let mut rest = all.as_slice();
        let mut shares = Vec::new();
        for count in numbers(&message.share_counts) {
            let (here, later) = rest.split_at_checked(count as usize).ok_or_else(damaged)?;
            shares.push(here);
            rest = later;
        }
        let labels = message.labels.iter().map(|labels| labels.columns.iter().map(|bytes| array(bytes)).collect());
        let shown =
            Shown { columns: labels.collect::<Result<_, AnonymizeError>>()?, label_of: numbers(&message.label_of) };
        let key = message.key.try_into().map_err(|_| damaged())?;
        Ok(Self {
            seen,
            groups: GroupIndex { width: (message.width as usize).max(1), tuples: numbers(&message.tuples) },
            shares: Shares::new(shares),
            class_rows: message.class_rows.as_chunks().0.iter().map(|rows| u64::from_le_bytes(*rows)).collect(),
            shown,
            key: ReleaseKey::from_bytes(key),
            _reservation: None,
        })
    }
}

pub(super) fn le_bytes(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    numbers.flat_map(u32::to_le_bytes).collect()
}

pub(super) fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number)).collect()
}

/// Builds released rows from rows with known classes.
pub struct OutlineRows {
    labels: ReleasedLabels,
    kept: usize,
}

impl OutlineRows {
    /// Prepares the labels of all classes of `outline`.
    pub fn new(anonymizer: &Anonymizer, outline: &Outline, runtime: &RuntimeEnv) -> Self {
        let room = MemoryConsumer::new("throng labels").register(&runtime.memory_pool);
        let (labels, kept) = ReleasedLabels::plain(anonymizer, outline.shown.clone(), room);
        Self { labels, kept }
    }

    /// Returns the schema of the release.
    pub fn schema(&self) -> &SchemaRef {
        self.labels.schema()
    }

    /// Returns released rows, given their classes and pass-through columns. Rows of a class must be contiguous.
    pub fn released(&self, classes: &ArrayRef, kept: &[ArrayRef]) -> Result<RecordBatch, AnonymizeError> {
        if kept.len() != self.kept {
            return Err(AnonymizeError::Task);
        }
        let classes = classes.as_primitive::<UInt32Type>().values();
        let runs = classes.chunk_by(|a, b| a == b).map(|run| Run { class: run[0], rows: run.len() });
        self.labels.batch(Form::Compact, &runs.collect::<Vec<_>>(), |column| Ok(Arc::clone(&kept[column])))
    }
}
