//! Task: surveys one input partition and emits its values and groups in pieces.

use std::sync::Arc;

use datafusion::arrow::array::{LargeBinaryArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use prost::Message;
use tokio::sync::mpsc::Sender;

use super::draw;
use super::error::Refusal;
use super::exec::{Arrival, Task, blocking, emitted, hand_over};
use super::message::{BodyMessage, EndMessage};
use super::seen::values_message;
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::buffered_rows::numbers;
use crate::resources::Resources;
use crate::snapshot::Snapshot;

/// Number of column values per piece.
const VALUES: usize = 1 << 16;

/// Kinds of pieces.
pub(super) const SEEN: u8 = 0;
pub(super) const GROUPS: u8 = 1;
pub(super) const END: u8 = 2;
pub(super) const REFUSED: u8 = 3;

/// Task that surveys one input partition.
#[derive(Debug)]
pub struct Surveys {
    anonymizer: Arc<Anonymizer>,
}

impl Surveys {
    /// Name of the task in a plan.
    pub const NAME: &str = "ThrongSurvey";

    /// Creates the task for the columns of a policy.
    pub fn new(anonymizer: Arc<Anonymizer>) -> Self {
        Self { anonymizer }
    }
}

/// Schema of the pieces of a survey: reader, kind, column, bytes.
pub(super) fn piece_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("reader", DataType::UInt64, false),
        Field::new("kind", DataType::UInt8, false),
        Field::new("column", DataType::UInt32, false),
        Field::new("piece", DataType::LargeBinary, false),
    ]))
}

fn piece(reader: u64, kind: u8, column: usize, bytes: &[u8]) -> Result<RecordBatch, AnonymizeError> {
    let columns: Vec<datafusion::arrow::array::ArrayRef> = vec![
        Arc::new(UInt64Array::from(vec![reader])),
        Arc::new(UInt8Array::from(vec![kind])),
        Arc::new(UInt32Array::from(vec![column as u32])),
        Arc::new(LargeBinaryArray::from_vec(vec![bytes])),
    ];
    RecordBatch::try_new(piece_schema(), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
}

impl Task for Surveys {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schema(&self) -> SchemaRef {
        piece_schema()
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
        let anonymizer = Arc::clone(&self.anonymizer);
        Ok(emitted(self.schema(), |to| async move {
            let _stop = stop;
            let seed = anonymizer.content_seed();
            match Snapshot::of_stream(rows, anonymizer.binding(), seed, false, &workspace).await {
                Ok(snapshot) => blocking(move || send(&snapshot, &to)).await,
                Err(error) => {
                    let refusal = Refusal::of(&error).ok_or(error)?.to_message().encode_to_vec();
                    to.send(Ok(piece(draw(), REFUSED, 0, &refusal)?)).await.map_err(|_| AnonymizeError::Cancelled)
                }
            }
        }))
    }

    fn body(&self) -> Vec<u8> {
        BodyMessage { anonymizer: Some(self.anonymizer.message()), ..BodyMessage::default() }.encode_to_vec()
    }
}

fn send(snapshot: &Snapshot, to: &Sender<Result<RecordBatch>>) -> Result<(), AnonymizeError> {
    let (reader, mut pieces) = (draw(), 0);
    for seen in &snapshot.seen {
        for (column, seen) in seen.columns().iter().enumerate() {
            // A column without values is sent too, since it may have nulls.
            for from in (0..seen.values.len().max(1)).step_by(VALUES) {
                let message = values_message(seen, from, VALUES.min(seen.values.len() - from))?;
                hand_over(to, piece(reader, SEEN, column, &message.encode_to_vec())?)?;
                pieces += 1;
            }
        }
    }
    for stream in &snapshot.streams {
        let mut chunks = stream.groups.read()?;
        while let Some(chunk) = chunks.next()? {
            snapshot.workspace.check()?;
            let bytes: Vec<u8> = numbers(&chunk).iter().flat_map(|number| number.to_le_bytes()).collect();
            hand_over(to, piece(reader, GROUPS, 0, &bytes)?)?;
            pieces += 1;
        }
    }
    let end = EndMessage { rows: snapshot.rows, suppressed: snapshot.suppressed, pieces };
    hand_over(to, piece(reader, END, 0, &end.encode_to_vec())?)
}
