//! Distributed verification: rows are shuffled by class, so that one task gets all rows of a class.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, LargeBinaryArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use throng_core::row_hash::Checksum;
use throng_core::verify::{Findings, Promise, Verifier};
use throng_datafusion::distributed::{Arrival, Task, emitted};
use throng_datafusion::{AnonymizeError, catch_decode_panics};
use throng_policy::Policy;

use super::Cluster;
use super::make::run;
use crate::error::JobError;
use crate::input::JobInput;
use crate::progress::NoProgress;
use crate::verify::{PassthroughCheck, examine_stream};

/// Task that verifies whole classes.
#[derive(Debug)]
pub(super) struct Verifies {
    policy: Policy,
    unchanged: PassthroughCheck,
}

impl Verifies {
    pub(super) const NAME: &str = "ThrongVerify";

    pub(super) fn read(body: &[u8]) -> Result<Self> {
        let malformed = || DataFusionError::Internal("a task could not be read".to_owned());
        let (names, policy) = body.split_first_chunk::<8>().ok_or_else(malformed)?;
        let (names, policy) = policy.split_at_checked(u64::from_le_bytes(*names) as usize).ok_or_else(malformed)?;
        let policy = std::str::from_utf8(policy).map_err(|_| malformed())?;
        let policy = Policy::from_portable(policy).map_err(AnonymizeError::from)?;
        let (columns, seed): (Vec<String>, u64) = serde_json::from_slice(names).map_err(|_| malformed())?;
        let unchanged = PassthroughCheck { columns, seed };
        Ok(Self { policy, unchanged })
    }

    fn promise(&self) -> Promise {
        self.policy.promise().0
    }
}

fn answer_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("summary", DataType::LargeBinary, false)]))
}

impl Task for Verifies {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schema(&self) -> SchemaRef {
        answer_schema()
    }

    fn arrival(&self) -> Arrival {
        match self.promise().quasi {
            none if none.is_empty() => Arrival::InOnePartition,
            columns => Arrival::Together { columns, order: Vec::new() },
        }
    }

    fn run(
        &self,
        rows: SendableRecordBatchStream,
        _: Arc<TaskContext>,
        _: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let failed = |error: JobError| AnonymizeError::Read(DataFusionError::External(Box::new(error)));
        let (promise, unchanged) = (self.promise(), self.unchanged.clone());
        Ok(emitted(self.schema(), |to| async move {
            let verifier = Verifier::new(promise, &rows.schema()).map_err(|error| failed(error.into()))?;
            let rows = catch_decode_panics(rows);
            let examined = examine_stream(rows, verifier, Some(unchanged), Arc::new(NoProgress)).await;
            let (verifier, checksum) = examined.map_err(|failure| failed(failure.into()))?;
            let sum = [checksum.sum() as u64, (checksum.sum() >> 64) as u64, checksum.rows()];
            let numbers = sum.into_iter().chain(verifier.summary());
            let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
            let column = Arc::new(LargeBinaryArray::from_vec(vec![&bytes])) as ArrayRef;
            let batch = RecordBatch::try_new(answer_schema(), vec![column]);
            let batch = batch.map_err(|source| AnonymizeError::Kernel("batch", source))?;
            to.send(Ok(batch)).await.map_err(|_| AnonymizeError::Cancelled)
        }))
    }

    fn body(&self) -> Vec<u8> {
        // Serializing column names and a number can't fail.
        let names = serde_json::to_vec(&(&self.unchanged.columns, self.unchanged.seed)).unwrap_or_default();
        let mut body = (names.len() as u64).to_le_bytes().to_vec();
        body.extend(names);
        body.extend(self.policy.to_portable().bytes());
        body
    }
}

/// Counts the classes of a table on a compute cluster, and computes the checksum of the columns that must be unchanged.
pub(crate) async fn examine_on(
    cluster: &Cluster,
    input: &dyn JobInput,
    policy: &Policy,
    unchanged: PassthroughCheck,
) -> Result<(Findings, Checksum), JobError> {
    let promise = policy.promise().0;
    let mut names: Vec<&str> = promise.columns();
    names.extend(unchanged.columns.iter().map(String::as_str));
    let verifier = Verifier::new(promise.clone(), input.schema())?;
    let mut columns = names
        .iter()
        .map(|name| input.schema().index_of(name))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| JobError::internal("a column of the release is missing"))?;
    columns.sort_unstable();
    columns.dedup();
    let table = input.rows(&cluster.session)?.into_view();
    let task: Arc<dyn Task> = Arc::new(Verifies { policy: policy.clone(), unchanged });
    let answers = run(cluster, table, columns, vec![task], "the release was read back").await?;
    let mut summaries: Vec<Vec<u64>> = Vec::new();
    let mut checksum = Checksum::default();
    for bytes in answers.iter().flat_map(|batch| batch.column(0).as_binary::<i64>().iter().flatten()) {
        let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let Some(([low, high, rows], summary)) = numbers.split_first_chunk() else { continue };
        checksum.merge(Checksum::of(u128::from(*high) << 64 | u128::from(*low), *rows));
        summaries.push(summary.to_vec());
    }
    let findings = verifier.conclude(summaries.iter().map(Vec::as_slice));
    Ok((findings.map_err(JobError::internal)?, checksum))
}
