//! The release plan as an object in a store, which is broadcast to all tasks that process rows.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt32Type;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::runtime_env::RuntimeEnv;
use prost::Message;
use throng_core::key::ReleaseKey;
use throng_core::recode::{Share, Shares};
use throng_core::survey::SurveyedValues;

use super::message::{LabelsMessage, ReleasePlanMessage};
use super::shuffle_rows::FileRanges;
use super::task_params::TaskParams;
use super::values_wire::{array, array_bytes, seen_values, values_message};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::release::{ClassLabels, Form, ReleasedLabels, Run};
use crate::release_plan::{GroupIndex, GroupLookup, PLAN, ReleasePlan};
use crate::resources::reserve;
use crate::snapshot::survey_spec;
use crate::workspace::PoolBudget;

/// Process-wide cache of loaded release plans.
static LOADED: LazyLock<Mutex<HashMap<String, Slot>>> = LazyLock::new(Mutex::default);

type Slot = Arc<tokio::sync::Mutex<Weak<ReleasePlan>>>;

impl ReleasePlan {
    /// Loads the release plan that `params` names. Tasks of one process share one copy.
    pub async fn load(params: &TaskParams, runtime: &RuntimeEnv) -> Result<Arc<Self>, AnonymizeError> {
        let slot = {
            let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
            // Evict slots without waiters whose release plan has been dropped.
            loaded.retain(|_, slot| {
                Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|plan| plan.strong_count() > 0)
            });
            Arc::clone(loaded.entry(format!("{}{}", params.folder.url(), params.plan)).or_default())
        };
        let mut loaded = slot.lock().await;
        if let Some(plan) = loaded.upgrade() {
            return Ok(plan);
        }
        let bytes = params.folder.get(runtime, &params.plan).await?;
        let reservation = MemoryConsumer::new("throng release plan").register(&runtime.memory_pool);
        // For the encoded bytes and the decoded plan.
        reserve(&reservation, 2 * bytes.len(), PLAN)?;
        let plan = Self::from_bytes(&params.anonymizer, &bytes)?;
        reservation.resize(bytes.len());
        drop(bytes);
        let plan = Arc::new(Self { _reservation: Some(reservation), ..plan });
        *loaded = Arc::downgrade(&plan);
        Ok(plan)
    }

    /// Returns the assignment of rows to files.
    pub fn files(&self, rows_per_file: u64) -> FileRanges {
        FileRanges::new(&self.class_rows, rows_per_file)
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, AnonymizeError> {
        let GroupLookup::ByContent(index) = &self.groups else { return Err(AnonymizeError::Task) };
        let columns = index.seen.columns().iter().map(|seen| values_message(seen, 0, seen.values.len()));
        let labels = self.labels.columns.iter().map(|columns| {
            Ok(LabelsMessage { columns: columns.iter().map(array_bytes).collect::<Result<_, AnonymizeError>>()? })
        });
        let groups = || 0..self.shares.groups() as u32;
        let message = ReleasePlanMessage {
            columns: columns.collect::<Result<_, AnonymizeError>>()?,
            width: index.width as u32,
            tuples: le_bytes(index.tuples.iter().copied()),
            share_counts: le_bytes(groups().map(|group| self.shares.of(group).len() as u32)),
            shares: le_bytes(groups().flat_map(|group| self.shares.of(group)).flat_map(|s| [s.class, s.rows])),
            class_rows: self.class_rows.iter().flat_map(|rows| rows.to_le_bytes()).collect(),
            labels: labels.collect::<Result<_, AnonymizeError>>()?,
            label_of: le_bytes(self.labels.label_of.iter().copied()),
            key: self.key.to_bytes().to_vec(),
        };
        Ok(message.encode_to_vec())
    }

    pub(super) fn from_bytes(anonymizer: &Anonymizer, bytes: &[u8]) -> Result<Self, AnonymizeError> {
        let damaged = || AnonymizeError::Task;
        let message = ReleasePlanMessage::decode(bytes).map_err(|_| damaged())?;
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
        let labels = ClassLabels {
            columns: labels.collect::<Result<_, AnonymizeError>>()?,
            label_of: numbers(&message.label_of),
        };
        let key = message.key.try_into().map_err(|_| damaged())?;
        let width = (message.width as usize).max(1);
        Ok(Self {
            groups: GroupLookup::ByContent(GroupIndex { seen, width, tuples: numbers(&message.tuples) }),
            shares: Shares::new(shares),
            class_rows: message.class_rows.as_chunks().0.iter().map(|rows| u64::from_le_bytes(*rows)).collect(),
            labels: Arc::new(labels),
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
pub struct PlanRows {
    labels: ReleasedLabels,
    kept: usize,
}

impl PlanRows {
    /// Prepares the labels of all classes of `plan`.
    pub fn new(anonymizer: &Anonymizer, plan: &ReleasePlan, runtime: &RuntimeEnv) -> Self {
        let room = MemoryConsumer::new("throng labels").register(&runtime.memory_pool);
        let (labels, kept) = ReleasedLabels::plain(anonymizer, Arc::clone(&plan.labels), Box::new(PoolBudget(room)));
        Self { labels, kept }
    }

    /// Returns released rows, given their classes and pass-through columns. Rows of a class must be contiguous. The last
    /// column is the unit of privacy, if the policy has one.
    pub fn released(&self, classes: &ArrayRef, kept: &[ArrayRef]) -> Result<RecordBatch, AnonymizeError> {
        if kept.len() != self.kept {
            return Err(AnonymizeError::Task);
        }
        let classes = classes.as_primitive::<UInt32Type>().values();
        let runs = classes.chunk_by(|a, b| a == b).map(|run| Run { class: run[0], rows: run.len() });
        self.labels.batch(Form::Compact, &runs.collect::<Vec<_>>(), |column| Ok(Arc::clone(&kept[column])))
    }
}
