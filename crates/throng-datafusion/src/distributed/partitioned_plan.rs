//! The plan of a table whose parts are clustered by separate tasks: the domains and totals that the parts share.
//!
//! ```text
//!  plan ─► partitioned plan: domains   an object on the store
//!       ─► groups of each part         a file each
//!
//!  files ─► by part ─► cluster ─► one partition ─► merge ─► release plan
//! ```

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, BinaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::parquet::arrow::ArrowWriter;
use prost::Message;
use throng_core::survey::{CountedTuples, Domains, SurveyedValues};

use super::message::PartitionedPlanMessage;
use super::plan_object::{le_bytes, numbers};
use super::task_params::TaskParams;
use super::values_wire::{seen_values, values_message};
use crate::AnonymizeError;
use crate::snapshot::survey_spec;

/// Number of groups per batch.
const BATCH_GROUPS: usize = 8192;

/// Domains and totals of a table that is cut into parts.
pub(super) struct PartDomains {
    pub(super) seen: SurveyedValues,
    pub(super) domains: Domains,
    pub(super) rows: u64,
    pub(super) suppressed: u64,
    pub(super) parts: usize,
    pub(super) received: u64,
}

impl PartDomains {
    pub(super) fn message(
        seen: &SurveyedValues,
        rows: u64,
        parts: usize,
        received: u64,
    ) -> Result<PartitionedPlanMessage, AnonymizeError> {
        let columns = seen.columns().iter().map(|seen| values_message(seen, 0, seen.values.len()));
        Ok(PartitionedPlanMessage {
            columns: columns.collect::<Result<_, AnonymizeError>>()?,
            rows,
            suppressed: seen.suppressed(),
            parts: parts as u32,
            received,
        })
    }

    /// Loads the partitioned plan that `params` names.
    pub(super) async fn load(params: &TaskParams, runtime: &RuntimeEnv) -> Result<Self, AnonymizeError> {
        let bytes = params.folder.get(runtime, &params.plan).await?;
        let message = PartitionedPlanMessage::decode(bytes.as_slice()).map_err(|_| AnonymizeError::Task)?;
        let columns = message.columns.iter().map(|column| seen_values(std::slice::from_ref(column)));
        let spec = Arc::new(survey_spec(params.anonymizer.binding()));
        let seen = SurveyedValues::new(spec, columns.collect::<Result<_, _>>()?, message.suppressed);
        let domains = Domains::merge(std::slice::from_ref(&seen))?;
        let PartitionedPlanMessage { rows, suppressed, parts, received, .. } = message;
        Ok(Self { seen, domains, rows, suppressed, parts: parts as usize, received })
    }
}

/// Schema of groups that are shuffled to the task that forms the classes of their part.
pub(super) fn group_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("key", DataType::UInt32, false),
        Field::new("part", DataType::UInt32, false),
        Field::new("tuple", DataType::Binary, false),
        Field::new("rows", DataType::UInt32, false),
    ]))
}

/// Encodes the groups of a part as a Parquet file.
pub(super) fn group_file(part: usize, key: u32, tuples: &CountedTuples) -> Result<Vec<u8>, AnonymizeError> {
    let failed = |error: datafusion::parquet::errors::ParquetError| AnonymizeError::Kernel("parquet", error.into());
    let mut writer = ArrowWriter::try_new(Vec::new(), group_schema(), None).map_err(failed)?;
    let groups: Vec<(&[u32], u32)> = tuples.iter().collect();
    for groups in groups.chunks(BATCH_GROUPS) {
        let bytes = groups.iter().map(|(tuple, _)| le_bytes(tuple.iter().copied()));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(vec![key; groups.len()])),
            Arc::new(UInt32Array::from(vec![part as u32; groups.len()])),
            Arc::new(BinaryArray::from_iter_values(bytes)),
            Arc::new(UInt32Array::from_iter_values(groups.iter().map(|(_, rows)| *rows))),
        ];
        let batch =
            RecordBatch::try_new(group_schema(), columns).map_err(|source| AnonymizeError::Kernel("batch", source))?;
        writer.write(&batch).map_err(failed)?;
    }
    writer.into_inner().map_err(failed)
}

/// Returns part, tuple and number of rows of each group in a batch.
pub(super) fn groups(batch: &RecordBatch) -> Result<impl Iterator<Item = (u32, Vec<u32>, u32)>, AnonymizeError> {
    let tuples = datafusion::arrow::compute::cast(batch.column(2), &DataType::Binary)
        .map_err(|source| AnonymizeError::Kernel("cast", source))?;
    let tuples: Vec<Vec<u32>> =
        tuples.as_binary::<i32>().iter().map(|tuple| numbers(tuple.unwrap_or_default())).collect();
    let parts = batch.column(1).as_primitive::<UInt32Type>().values().to_vec();
    let rows = batch.column(3).as_primitive::<UInt32Type>().values().to_vec();
    Ok(parts.into_iter().zip(tuples).zip(rows).map(|((part, tuple), rows)| (part, tuple, rows)))
}
