//! Task: assigns the rows that groups lend to classes, and routes every row to its output file.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{filter_record_batch, take_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::TryStreamExt;
use prost::Message;
use tokio::sync::mpsc::Sender;

use super::exec::{Arrival, Task, blocking, emitted, hand_over};
use super::message::BodyMessage;
use super::outline::Outline;
use super::place::StorePlace;
use super::rows::{ACCOUNT, DealtRows, Files, NO_GROUP, RECEIVED, Spread, bytes_of, dealt_schema, note, routed_schema};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::release::FirstLook;
use crate::resources::Resources;
use crate::spill_buffer::{BufferedBatches, SharedQuota, SpillBuffer};

/// Task that assigns lent rows to classes and all rows to files.
#[derive(Debug)]
pub struct Deals {
    anonymizer: Arc<Anonymizer>,
    place: StorePlace,
    outline: String,
    spread: Spread,
    rows_per_file: u64,
}

impl Deals {
    /// Name of the task in a plan.
    pub const NAME: &str = "ThrongDeal";

    /// Creates the task from the release plan `outline`. Files hold `rows_per_file` rows each.
    pub fn new(
        anonymizer: Arc<Anonymizer>,
        place: StorePlace,
        outline: String,
        spread: Spread,
        rows_per_file: u64,
    ) -> Self {
        Self { anonymizer, place, outline, spread, rows_per_file }
    }
}

impl Task for Deals {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schema(&self) -> SchemaRef {
        dealt_schema(&self.anonymizer)
    }

    fn arrival(&self) -> Arrival {
        Arrival::Together { columns: vec!["slot".to_owned()], order: Vec::new() }
    }

    fn run(
        &self,
        mut rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let (workspace, stop) = Resources::new(&context, metrics);
        let (anonymizer, place, name) = (Arc::clone(&self.anonymizer), self.place.clone(), self.outline.clone());
        let (spread, rows_per_file, schema) = (self.spread.clone(), self.rows_per_file, self.schema());
        Ok(emitted(self.schema(), |to| async move {
            let _stop = stop;
            let outline = Outline::load(&anonymizer, &place, &name, &context.runtime_env()).await?;
            let sending = Sending { files: outline.files(rows_per_file), spread, schema };
            let allowance = SharedQuota::new(workspace.memory_for_rows());
            let routed = routed_schema(&anonymizer);
            let mut lent = SpillBuffer::new(&workspace, Arc::clone(&routed), &allowance, "lent rows");
            let mut received = 0;
            while let Some(batch) = rows.try_next().await? {
                received += u128::from(bytes_of(&batch));
                let is_known: Vec<bool> = DealtRows(&batch).groups().iter().map(|group| *group == NO_GROUP).collect();
                let known = filtered(&batch, is_known.iter().copied())?;
                if known.num_rows() < batch.num_rows() {
                    lent.push(filtered(&batch, is_known.iter().map(|is_known| !is_known))?)?;
                }
                let classes = DealtRows(&known).classes().to_vec();
                to.send(Ok(sending.to_files(&known, classes)?)).await.map_err(|_| AnonymizeError::Cancelled)?;
            }
            let note = note(&routed, RECEIVED, received)?;
            to.send(Ok(sending.to_files(&note, vec![RECEIVED])?)).await.map_err(|_| AnonymizeError::Cancelled)?;
            let lent = lent.finish()?;
            blocking(move || deal(&lent, &outline, &sending, &workspace, &to)).await
        }))
    }

    fn body(&self) -> Vec<u8> {
        let message = BodyMessage {
            anonymizer: Some(self.anonymizer.message()),
            place: self.place.url().to_owned(),
            outline: self.outline.clone(),
            slots: self.spread.slots().to_vec(),
            rows_per_file: self.rows_per_file,
        };
        message.encode_to_vec()
    }
}

fn filtered(batch: &RecordBatch, is_wanted: impl Iterator<Item = bool>) -> Result<RecordBatch, AnonymizeError> {
    let is_wanted: BooleanArray = is_wanted.map(Some).collect();
    filter_record_batch(batch, &is_wanted).map_err(|source| AnonymizeError::Kernel("filter", source))
}

/// Assigns the candidate rows of lending groups to classes. Of each group, every reader has sent the rows with the
/// lowest ranks, up to as many as the group lends in total.
fn deal(
    lent: &BufferedBatches,
    outline: &Outline,
    sending: &Sending,
    workspace: &Resources,
    to: &Sender<Result<RecordBatch>>,
) -> Result<(), AnonymizeError> {
    let mut look = FirstLook::new(outline.key, workspace.reservation("deal"));
    let mut batches = lent.read()?;
    while let Some(batch) = batches.next()? {
        workspace.check()?;
        let rows = DealtRows(&batch);
        look.add(&outline.shares, rows.groups().iter().copied().zip(rows.content()))?;
    }
    let mut deal = look.finish();
    let mut batches = lent.read()?;
    while let Some(batch) = batches.next()? {
        workspace.check()?;
        let rows = DealtRows(&batch);
        let rows = rows.groups().iter().zip(rows.content());
        let classes = rows.map(|(group, hash)| deal.class(&outline.shares, *group, hash)).collect();
        hand_over(to, sending.to_files(&batch, classes)?)?;
    }
    Ok(())
}

/// Maps rows to files.
struct Sending {
    files: Files,
    spread: Spread,
    schema: SchemaRef,
}

impl Sending {
    /// Returns the rows with the file and class of each. A row is repeated for every file that holds rows of its class.
    fn to_files(&self, rows: &RecordBatch, classes: Vec<u32>) -> Result<RecordBatch, AnonymizeError> {
        let (mut taken, mut slots, mut files, mut of_class) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (row, class) in (0_u32..).zip(classes) {
            let with_class = match class {
                ACCOUNT | RECEIVED => 0..=0,
                class => self.files.of_class(class).ok_or(AnonymizeError::Task)?,
            };
            for file in with_class {
                taken.push(row);
                slots.push(self.spread.slot(u64::from(file)));
                files.push(file);
                of_class.push(class);
            }
        }
        let rows = take_record_batch(rows, &UInt32Array::from(taken))
            .map_err(|source| AnonymizeError::Kernel("take", source))?;
        let mut columns: Vec<ArrayRef> =
            [slots, files, of_class].map(|numbers| Arc::new(UInt32Array::from(numbers)) as ArrayRef).into();
        columns.extend(rows.columns()[3..].iter().cloned());
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|source| AnonymizeError::Kernel("batch", source))
    }
}
