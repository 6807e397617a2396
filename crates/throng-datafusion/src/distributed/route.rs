//! Task: assigns the rows of one input partition to classes, or to their group if it lends rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use prost::Message;
use tokio::sync::mpsc::Sender;

use super::exec::{Arrival, Task, blocking, emitted, hand_over};
use super::message::BodyMessage;
use super::outline::Outline;
use super::place::StorePlace;
use super::rows::{ACCOUNT, NO_GROUP, Spread, hashes, note, routed_schema};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::buffered_rows::{content, kept_column};
use crate::groups::for_each_group;
use crate::release::{Deal, for_each_batch};
use crate::resources::{Resources, reserve};
use crate::snapshot::Snapshot;
use crate::to_canonical_array;

/// Task that assigns rows to classes or to lending groups.
#[derive(Debug)]
pub struct Routes {
    anonymizer: Arc<Anonymizer>,
    place: StorePlace,
    outline: String,
    spread: Spread,
}

impl Routes {
    /// Name of the task in a plan.
    pub const NAME: &str = "ThrongRoute";

    /// Creates the task from the release plan `outline`. Rows are hash-partitioned by `spread`.
    pub fn new(anonymizer: Arc<Anonymizer>, place: StorePlace, outline: String, spread: Spread) -> Self {
        Self { anonymizer, place, outline, spread }
    }
}

impl Task for Routes {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schema(&self) -> SchemaRef {
        routed_schema(&self.anonymizer)
    }

    fn arrival(&self) -> Arrival {
        Arrival::Anyhow
    }

    fn run(
        &self,
        rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let (workspace, stop) = Resources::new(&context, metrics);
        let (anonymizer, schema) = (Arc::clone(&self.anonymizer), self.schema());
        let (place, name, spread) = (self.place.clone(), self.outline.clone(), self.spread.clone());
        Ok(emitted(self.schema(), |to| async move {
            let _stop = stop;
            let outline = Outline::load(&anonymizer, &place, &name, &context.runtime_env()).await?;
            let seed = anonymizer.content_seed();
            let snapshot = Snapshot::of_stream(rows, anonymizer.binding(), seed, true, &workspace).await?;
            blocking(move || send(snapshot, &outline, &spread, &schema, &to)).await
        }))
    }

    fn body(&self) -> Vec<u8> {
        let message = BodyMessage {
            anonymizer: Some(self.anonymizer.message()),
            place: self.place.url().to_owned(),
            outline: self.outline.clone(),
            slots: self.spread.slots().to_vec(),
            ..BodyMessage::default()
        };
        message.encode_to_vec()
    }
}

fn send(
    mut snapshot: Snapshot,
    outline: &Outline,
    spread: &Spread,
    schema: &SchemaRef,
    to: &Sender<Result<RecordBatch>>,
) -> Result<(), AnonymizeError> {
    let Some(seen) = snapshot.seen.pop() else { return Err(AnonymizeError::Task) };
    let domains = outline.domains(seen)?;
    let room = snapshot.workspace.reservation("groups");
    reserve(&room, snapshot.groups() as usize * 4, "the groups of a partition")?;
    let mut group_of = Vec::with_capacity(snapshot.groups() as usize);
    for_each_group(&snapshot, &domains, |placed, _| {
        group_of.push(outline.group(placed)?);
        Ok(())
    })?;
    drop(domains);
    let shares = &outline.shares;
    let mut deal = Deal::new(&snapshot, shares, &group_of, outline.key, |_| Ok(()))?;
    let (mut sum, mut next_group) = (0_u128, 0);
    for stream in &snapshot.streams {
        for_each_batch(stream, snapshot.width(), &group_of, &mut next_group, |batch, groups| {
            snapshot.workspace.check()?;
            let mut routed = Routed::default();
            for ((row, group), hash) in (0_u32..).zip(groups).zip(content(batch)) {
                let Some(home) = shares.of(group).last() else { continue };
                sum = sum.wrapping_add(hash);
                match deal.rank(group, hash) {
                    None => routed.push(row, spread.slot(hash as u64), NO_GROUP, home.class, hash),
                    Some(_) => routed.push(row, spread.slot(u64::from(group)), group, 0, hash),
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
            hand_over(to, routed.batch(schema, kept)?)
        })?;
    }
    hand_over(to, note(schema, ACCOUNT, sum)?)
}

/// Columns of the output batch; `rows` are indices into the input batch.
#[derive(Default)]
struct Routed {
    rows: Vec<u32>,
    slots: Vec<u32>,
    groups: Vec<u32>,
    classes: Vec<u32>,
    content: Vec<u128>,
}

impl Routed {
    fn push(&mut self, row: u32, slot: u32, group: u32, class: u32, hash: u128) {
        self.rows.push(row);
        self.slots.push(slot);
        self.groups.push(group);
        self.classes.push(class);
        self.content.push(hash);
    }

    fn batch(self, schema: &SchemaRef, kept: Vec<ArrayRef>) -> Result<RecordBatch, AnonymizeError> {
        let mut columns: Vec<ArrayRef> = [self.slots, self.groups, self.classes]
            .map(|numbers| Arc::new(UInt32Array::from(numbers)) as ArrayRef)
            .into();
        columns.push(hashes(&self.content)?);
        columns.extend(kept);
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
    }
}
