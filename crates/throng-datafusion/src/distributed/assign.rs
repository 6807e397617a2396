//! Task: assigns the rows that groups lend to classes, and routes every row to its output file.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{filter_record_batch, take_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use futures::{FutureExt, TryStreamExt};
use throng_core::out_of_core::{LowestRanks, SharedQuota, Workspace};

use super::shuffle_rows::{
    BYTES_ROW, CHECKSUM_ROW, FileRanges, NO_GROUP, PartitionKeys, ShuffledRows, assigned_schema, batch_bytes,
    control_row, routed_schema,
};
use super::task::{InputDistribution, TaskInput, TaskKind, TaskOutput, blocking};
use super::task_params::TaskParams;
use crate::AnonymizeError;
use crate::release_plan::ReleasePlan;
use crate::resources::Resources;
use crate::spill_buffer::{BufferedBatches, SpillBuffer};

/// Assigns lent rows to classes and all rows to files.
pub static ASSIGN_TASK: TaskKind = TaskKind {
    name: "ThrongAssign",
    schema: |params| assigned_schema(&params.anonymizer),
    distribution: |_| InputDistribution::HashBy { columns: vec!["key".to_owned()], order: Vec::new() },
    run: |params, input| run(params, input).boxed(),
};

async fn run(params: Arc<TaskParams>, input: TaskInput) -> Result<(), AnonymizeError> {
    let schema = assigned_schema(&params.anonymizer);
    let TaskInput { mut rows, output, resources, context } = input;
    let plan = ReleasePlan::load(&params, &context.runtime_env()).await?;
    let routing = FileRouting { files: plan.files(params.rows_per_file), keys: params.keys.clone(), schema };
    let quota = SharedQuota::new(resources.memory_for_rows());
    let routed = routed_schema(&params.anonymizer);
    let mut lent = SpillBuffer::new(&resources, Arc::clone(&routed), &quota, "lent rows");
    let mut received = 0;
    while let Some(batch) = rows.try_next().await? {
        received += u128::from(batch_bytes(&batch));
        let rows = ShuffledRows(&batch);
        let is_known: Vec<bool> = rows.groups().iter().map(|group| *group == NO_GROUP).collect();
        let known = filtered(&batch, is_known.iter().copied())?;
        if known.num_rows() < batch.num_rows() {
            lent.push(filtered(&batch, is_known.iter().map(|is_known| !is_known))?)?;
        }
        let classes = ShuffledRows(&known).classes().to_vec();
        output.send(routing.to_files(&known, classes)?).await?;
    }
    let bytes = control_row(&routed, BYTES_ROW, received)?;
    output.send(routing.to_files(&bytes, vec![BYTES_ROW])?).await?;
    let lent = lent.finish()?;
    blocking(move || assign(&lent, &plan, &routing, &resources, &output)).await
}

fn filtered(batch: &RecordBatch, is_wanted: impl Iterator<Item = bool>) -> Result<RecordBatch, AnonymizeError> {
    let is_wanted: BooleanArray = is_wanted.map(Some).collect();
    filter_record_batch(batch, &is_wanted).map_err(|source| AnonymizeError::Kernel("filter", source))
}

/// Assigns the candidate rows of lending groups to classes. Of each group, every reader has sent the rows with the
/// lowest ranks, up to as many as the group lends in total.
fn assign(
    lent: &BufferedBatches,
    plan: &ReleasePlan,
    routing: &FileRouting,
    resources: &Resources,
    output: &TaskOutput,
) -> Result<(), AnonymizeError> {
    let mut ranks = LowestRanks::new(plan.key, resources.budget("row assignment"));
    let mut batches = lent.read()?;
    while let Some(batch) = batches.next()? {
        resources.check()?;
        let rows = ShuffledRows(&batch);
        ranks.add(&plan.shares, rows.groups().iter().copied().zip(rows.content()))?;
    }
    let mut assignment = ranks.finish();
    let mut batches = lent.read()?;
    while let Some(batch) = batches.next()? {
        resources.check()?;
        let rows = ShuffledRows(&batch);
        let rows = rows.groups().iter().zip(rows.content());
        let classes = rows.map(|(group, hash)| assignment.class(&plan.shares, *group, hash)).collect();
        output.blocking_send(routing.to_files(&batch, classes)?)?;
    }
    Ok(())
}

/// Maps rows to files.
struct FileRouting {
    files: FileRanges,
    keys: PartitionKeys,
    schema: SchemaRef,
}

impl FileRouting {
    /// Returns the rows with the file and class of each. A row is repeated for every file that holds rows of its class.
    fn to_files(&self, rows: &RecordBatch, classes: Vec<u32>) -> Result<RecordBatch, AnonymizeError> {
        let (mut taken, mut keys, mut files, mut of_class) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (row, class) in (0_u32..).zip(classes) {
            let with_class = match class {
                CHECKSUM_ROW | BYTES_ROW => 0..=0,
                class => self.files.of_class(class).ok_or(AnonymizeError::Task)?,
            };
            for file in with_class {
                taken.push(row);
                keys.push(self.keys.key(u64::from(file)));
                files.push(file);
                of_class.push(class);
            }
        }
        let rows = take_record_batch(rows, &UInt32Array::from(taken))
            .map_err(|source| AnonymizeError::Kernel("take", source))?;
        let mut columns: Vec<ArrayRef> =
            [keys, files, of_class].map(|numbers| Arc::new(UInt32Array::from(numbers)) as ArrayRef).into();
        columns.extend(rows.columns()[3..].iter().cloned());
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|source| AnonymizeError::Kernel("batch", source))
    }
}
