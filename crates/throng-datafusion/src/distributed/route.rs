//! Task: assigns the rows of one input partition to classes, or to their group if it lends rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::SchemaRef;
use futures::FutureExt;

use super::shuffle_rows::{CHECKSUM_ROW, NO_GROUP, PartitionKeys, control_row, hashes, routed_schema};
use super::task::{InputDistribution, TaskInput, TaskKind, TaskOutput, blocking};
use super::task_params::TaskParams;
use crate::AnonymizeError;
use crate::buffered_rows::{content, kept_column};
use crate::release::{for_each_batch, row_assignment};
use crate::release_plan::ReleasePlan;
use crate::resources::reserve;
use crate::snapshot::Snapshot;
use crate::to_canonical_array;

/// Assigns rows to classes or to lending groups.
pub static ROUTE_TASK: TaskKind = TaskKind {
    name: "ThrongRoute",
    schema: |params| routed_schema(&params.anonymizer),
    distribution: |_| InputDistribution::Any,
    run: |params, input| run(params, input).boxed(),
};

async fn run(params: Arc<TaskParams>, input: TaskInput) -> Result<(), AnonymizeError> {
    let schema = routed_schema(&params.anonymizer);
    let TaskInput { rows, output, resources, context } = input;
    let plan = ReleasePlan::load(&params, &context.runtime_env()).await?;
    let (anonymizer, seed) = (&params.anonymizer, params.anonymizer.content_seed());
    let snapshot = Snapshot::of_stream(rows, anonymizer.binding(), seed, true, &resources).await?;
    blocking(move || send(snapshot, &plan, &params.keys, &schema, &output)).await
}

fn send(
    mut snapshot: Snapshot,
    plan: &ReleasePlan,
    keys: &PartitionKeys,
    schema: &SchemaRef,
    output: &TaskOutput,
) -> Result<(), AnonymizeError> {
    let room = snapshot.workspace.reservation("groups");
    reserve(&room, snapshot.survey.groups() as usize * 4, "the groups of a partition")?;
    let group_of = plan.groups_of(&mut snapshot.survey)?;
    let shares = &plan.shares;
    let mut assignment = row_assignment(&snapshot, plan, &group_of, |_| Ok(()))?;
    let (mut sum, mut next_group) = (0_u128, 0);
    for stream in &snapshot.streams {
        for_each_batch(stream, &group_of, &mut next_group, |batch, groups| {
            snapshot.workspace.check()?;
            let mut routed = Routed::default();
            for ((row, group), hash) in (0_u32..).zip(groups).zip(content(batch)) {
                let Some(home) = shares.of(group).last() else { continue };
                sum = sum.wrapping_add(hash);
                match assignment.rank(group, hash) {
                    None => routed.push(row, keys.key(hash as u64), NO_GROUP, home.class, hash),
                    Some(_) => routed.push(row, keys.key(u64::from(group)), group, 0, hash),
                }
            }
            let rows = UInt32Array::from(std::mem::take(&mut routed.rows));
            let kept = batch.columns()[kept_column(0)..].iter().zip(&schema.fields()[4..]).map(|(column, field)| {
                let column = take(column, &rows, None).map_err(|source| AnonymizeError::Kernel("take", source))?;
                let column = to_canonical_array(&column)?;
                datafusion::arrow::compute::cast(&column, field.data_type())
                    .map_err(|source| AnonymizeError::Kernel("cast", source))
            });
            let kept = kept.collect::<Result<Vec<_>, AnonymizeError>>()?;
            output.blocking_send(routed.batch(schema, kept)?)
        })?;
    }
    output.blocking_send(control_row(schema, CHECKSUM_ROW, sum)?)
}

/// Columns of the output batch; `rows` are indices into the input batch.
#[derive(Default)]
struct Routed {
    rows: Vec<u32>,
    keys: Vec<u32>,
    groups: Vec<u32>,
    classes: Vec<u32>,
    content: Vec<u128>,
}

impl Routed {
    fn push(&mut self, row: u32, key: u32, group: u32, class: u32, hash: u128) {
        self.rows.push(row);
        self.keys.push(key);
        self.groups.push(group);
        self.classes.push(class);
        self.content.push(hash);
    }

    fn batch(self, schema: &SchemaRef, kept: Vec<ArrayRef>) -> Result<RecordBatch, AnonymizeError> {
        let mut columns: Vec<ArrayRef> = [self.keys, self.groups, self.classes]
            .map(|numbers| Arc::new(UInt32Array::from(numbers)) as ArrayRef)
            .into();
        columns.push(hashes(&self.content)?);
        columns.extend(kept);
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
    }
}
