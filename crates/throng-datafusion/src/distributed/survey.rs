//! Task: surveys one input partition and emits its values and groups in pieces.

use std::sync::Arc;

use datafusion::arrow::array::{LargeBinaryArray, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::FutureExt;
use prost::Message;
use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use super::task::{InputDistribution, TaskInput, TaskKind, TaskOutput, blocking};
use super::task_params::TaskParams;
use super::values_wire::values_message;
use super::{random_id, to_cbor};
use crate::AnonymizeError;
use crate::snapshot::Snapshot;

/// Number of column values per piece.
const VALUES: usize = 1 << 16;

/// Kinds of pieces.
pub(super) const SEEN: u8 = 0;
pub(super) const GROUPS: u8 = 1;
pub(super) const END: u8 = 2;
pub(super) const REFUSED: u8 = 3;

/// End marker of the survey of one input partition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SurveyEnd {
    pub(super) rows: u64,
    pub(super) suppressed: u64,
    /// Number of pieces sent before, to detect missing ones.
    pub(super) pieces: u64,
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

/// Surveys one input partition.
pub static SURVEY_TASK: TaskKind = TaskKind {
    name: "ThrongSurvey",
    schema: |_| piece_schema(),
    distribution: |_| InputDistribution::Any,
    run: |params, input| run(params, input).boxed(),
};

async fn run(params: Arc<TaskParams>, input: TaskInput) -> Result<(), AnonymizeError> {
    let anonymizer = &params.anonymizer;
    let TaskInput { rows, output, resources, .. } = input;
    let seed = anonymizer.content_seed();
    match Snapshot::of_stream(rows, anonymizer.binding(), seed, false, &resources).await {
        Ok(snapshot) => blocking(move || send(&snapshot, &output)).await,
        Err(error) => {
            let refusal = Refusal::of(&error).ok_or(error)?;
            output.send(piece(random_id(), REFUSED, 0, &to_cbor(&refusal)?)?).await
        }
    }
}

fn send(snapshot: &Snapshot, output: &TaskOutput) -> Result<(), AnonymizeError> {
    let (reader, mut pieces) = (random_id(), 0);
    for seen in snapshot.survey.seen() {
        for (column, seen) in seen.columns().iter().enumerate() {
            // A column without values is sent too, since it may have nulls.
            for from in (0..seen.values.len().max(1)).step_by(VALUES) {
                let message = values_message(seen, from, VALUES.min(seen.values.len() - from))?;
                output.blocking_send(piece(reader, SEEN, column, &message.encode_to_vec())?)?;
                pieces += 1;
            }
        }
    }
    for stream in snapshot.survey.streams() {
        for chunk in stream.chunks().read()? {
            snapshot.workspace.check()?;
            let bytes: Vec<u8> = chunk?.iter().flat_map(|number| number.to_le_bytes()).collect();
            output.blocking_send(piece(reader, GROUPS, 0, &bytes)?)?;
            pieces += 1;
        }
    }
    let end = SurveyEnd { rows: snapshot.survey.rows(), suppressed: snapshot.survey.suppressed(), pieces };
    output.blocking_send(piece(reader, END, 0, &to_cbor(&end)?)?)
}
