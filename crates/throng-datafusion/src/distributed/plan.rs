//! Task: computes the release plan from the surveys of all readers.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, LargeBinaryArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::runtime_env::RuntimeEnv;
use futures::FutureExt;
use prost::Message;
use serde::{Deserialize, Serialize};
use throng_core::metrics::Utility;
use throng_core::out_of_core::{ClassedGroups, Classes, OutOfCoreError, TableParts};
use throng_core::progress::NoProgress;
use throng_core::risk::{BorrowedRows, ClassSizes};
use throng_core::row_hash::Checksum;
use throng_core::survey::SurveyedValues;

use super::gather_surveys::{ReaderSurvey, gather, merge_surveys};
use super::message::PartitionedPlanMessage;
use super::partitioned_plan::{PartDomains, group_file, group_schema};
use super::refusal::{NoPlan, Refusal};
use super::task::{InputDistribution, TaskInput, TaskKind, blocking};
use super::task_params::TaskParams;
use super::{from_cbor, random_id, to_cbor};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::release::Facts;
use crate::release_plan::{ReleasePlan, reserve_plan};
use crate::resources::Resources;
use crate::snapshot::survey_spec;

/// A release plan that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedRelease {
    /// Object name in the folder.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of groups of the table.
    pub groups: u64,
    /// Number of survey bytes received.
    pub received: u64,
    /// Number of input rows.
    pub rows_read: u64,
    /// Number of suppressed rows.
    pub suppressed: u64,
    leaves: u64,
    cycles: u32,
    utility: Utility,
    cells: ClassSizes,
    borrowed: BorrowedRows,
}

impl PlannedRelease {
    /// Returns the metrics of the release, of which writing has computed the checksum.
    pub fn facts(&self, anonymizer: &Anonymizer, checksum: Checksum) -> Facts {
        let (method, reason) = anonymizer.method();
        let Self { rows_read, suppressed, leaves, cycles, utility, cells, borrowed, .. } = self.clone();
        Facts { rows_read, suppressed, leaves, cycles, method, reason, checksum, utility, cells, borrowed }
    }
}

/// A table that is cut into parts, whose classes are not formed yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartitionedPlan {
    /// Object name in the folder.
    pub name: String,
    /// Number of parts, at least two.
    pub parts: usize,
}

impl PartitionedPlan {
    /// Returns the name of the file with the groups of a part.
    fn file(&self, part: usize) -> String {
        format!("{}-{part:05}.parquet", self.name)
    }

    /// Returns the names of the files with the groups of all parts.
    pub fn files(&self) -> Vec<String> {
        (0..self.parts).map(|part| self.file(part)).collect()
    }

    /// Returns the schema of these files.
    pub fn schema() -> SchemaRef {
        group_schema()
    }
}

/// Result of the query that surveys a table, or that merges its parts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum PlanAnswer {
    /// The release plan was written.
    Planned(Box<PlannedRelease>),
    /// A partitioned plan was written: the classes of its parts must be formed and merged.
    Partitioned(PartitionedPlan),
    /// No release is possible.
    Refused(Refusal),
}

impl PlanAnswer {
    /// Decodes the result rows of a query.
    pub fn of(batches: &[RecordBatch]) -> Result<Self, AnonymizeError> {
        let batch = batches.iter().find(|batch| batch.num_rows() > 0).ok_or(AnonymizeError::Task)?;
        from_cbor(batch.column(0).as_binary::<i64>().value(0))
    }

    pub(super) fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("answer", DataType::LargeBinary, false)]))
    }

    pub(super) fn batch(&self) -> Result<RecordBatch, AnonymizeError> {
        let answer = Arc::new(LargeBinaryArray::from_vec(vec![&to_cbor(self)?])) as ArrayRef;
        RecordBatch::try_new(Self::schema(), vec![answer]).map_err(|source| AnonymizeError::Kernel("batch", source))
    }
}

/// Computes the release plan and writes it to the object store. If the table is cut into parts, writes the partitioned plan
/// and the groups of each part instead.
pub static PLAN_TASK: TaskKind = TaskKind {
    name: "ThrongPlan",
    schema: |_| PlanAnswer::schema(),
    distribution: |_| InputDistribution::Single,
    run: |params, input| run(params, input).boxed(),
};

async fn run(params: Arc<TaskParams>, input: TaskInput) -> Result<(), AnonymizeError> {
    let TaskInput { rows, output, resources, context } = input;
    let runtime = context.runtime_env();
    let anonymizer = Arc::clone(&params.anonymizer);
    let planned = async {
        let readers = gather(rows, &anonymizer, &resources).await?;
        blocking(move || Ok(plan_release(&anonymizer, readers, &resources))).await?
    };
    let answer = match planned.await {
        Ok(PlanResult::Whole(plan)) => plan.write(&params, &runtime).await?,
        Ok(PlanResult::InParts(plan, parts)) => write_parts(&plan, parts, &params, &runtime).await?,
        Err(reason) => PlanAnswer::Refused(NoPlan::refusal(reason)?),
    };
    output.send(answer.batch()?).await
}

/// What is written for the tasks that follow.
enum PlanResult {
    /// All groups were clustered as a whole.
    Whole(EncodedPlan),
    /// The table is cut into parts.
    InParts(PartitionedPlanMessage, TableParts),
}

fn plan_release(
    anonymizer: &Anonymizer,
    readers: Vec<ReaderSurvey>,
    resources: &Resources,
) -> Result<PlanResult, NoPlan> {
    let received = readers.iter().map(|reader| reader.bytes).sum();
    let mut survey = merge_surveys(anonymizer, readers, resources)?;
    let spec = Arc::new(survey_spec(anonymizer.binding()));
    let seen = match survey.seen().is_empty() {
        true => return Err(AnonymizeError::from(throng_core::CoreError::NoRows { suppressed: 0 }).into()),
        false => SurveyedValues::union(spec, survey.seen()).map_err(AnonymizeError::from)?,
    };
    let parts = anonymizer.parts(&mut survey).map_err(AnonymizeError::from)?;
    if parts.len() > 1 {
        let plan = PartDomains::message(&seen, survey.rows(), parts.len(), received)?;
        return Ok(PlanResult::InParts(plan, parts));
    }
    let domains = parts.domains().clone();
    let classes = Classes::of(&anonymizer.class_spec(), &survey, parts, &NoProgress, &mut drop);
    let classes = classes.map_err(AnonymizeError::from)?;
    let (width, count) = (domains.width(), classes.recoding.group_count());
    let room = resources.reservation("release plan");
    reserve_plan(&room, count, width)?;
    let mut tuples = vec![0; count * width];
    let ClassedGroups::Whole(group_of) = &classes.groups else { return Err(AnonymizeError::Task.into()) };
    let mut group_of = group_of.iter();
    let placed = survey.for_each_group(&domains, |placed, _| {
        let group = *group_of.next().ok_or(OutOfCoreError::Damaged)? as usize;
        tuples[group * width..(group + 1) * width].copy_from_slice(placed);
        Ok::<_, OutOfCoreError>(())
    });
    placed.map_err(AnonymizeError::from)?;
    Ok(PlanResult::Whole(EncodedPlan::new(seen, width, tuples, classes, survey.rows(), received)?))
}

/// An encoded release plan, and the metrics of the release.
pub(super) struct EncodedPlan {
    bytes: Vec<u8>,
    planned: PlannedRelease,
}

impl EncodedPlan {
    /// Encodes a release plan. `tuples` holds the tuple of domain positions of each group.
    pub(super) fn new(
        seen: SurveyedValues,
        width: usize,
        tuples: Vec<u32>,
        classes: Classes,
        rows_read: u64,
        received: u64,
    ) -> Result<Self, AnonymizeError> {
        let Classes { recoding, utility, cells, borrowed, key, leaves, cycles, suppressed, .. } = classes;
        let plan = ReleasePlan::new(recoding, Vec::new(), key).indexed(seen, width, &tuples);
        let bytes = plan.to_bytes()?;
        let planned = PlannedRelease {
            name: format!("release-plan-{:016x}{:016x}", random_id(), random_id()),
            bytes: bytes.len() as u64,
            groups: plan.shares.groups() as u64,
            received,
            rows_read,
            suppressed,
            leaves,
            cycles,
            utility,
            cells,
            borrowed,
        };
        tracing::info!(groups = planned.groups, classes = planned.utility.classes, "release planned");
        Ok(Self { bytes, planned })
    }

    /// Writes the plan to the store.
    pub(super) async fn write(self, params: &TaskParams, runtime: &RuntimeEnv) -> Result<PlanAnswer, AnonymizeError> {
        params.folder.put(runtime, &self.planned.name, self.bytes).await?;
        Ok(PlanAnswer::Planned(Box::new(self.planned)))
    }
}

/// Writes a partitioned plan and the groups of each part to the store.
async fn write_parts(
    message: &PartitionedPlanMessage,
    parts: TableParts,
    params: &TaskParams,
    runtime: &RuntimeEnv,
) -> Result<PlanAnswer, AnonymizeError> {
    let name = format!("partitioned-plan-{:016x}{:016x}", random_id(), random_id());
    let plan = PartitionedPlan { name, parts: parts.len() };
    let parts = Arc::new(parts);
    for part in 0..plan.parts {
        let (parts, key) = (Arc::clone(&parts), params.keys.key(part as u64));
        let file = blocking(move || group_file(part, key, &parts.tuples(part)?)).await?;
        params.folder.put(runtime, &plan.file(part), file).await?;
    }
    params.folder.put(runtime, &plan.name, message.encode_to_vec()).await?;
    Ok(PlanAnswer::Partitioned(plan))
}
