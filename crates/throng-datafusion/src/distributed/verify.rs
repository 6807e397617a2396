//! Task: verifies whole classes. Rows are shuffled by class, so that one task gets all rows of a class.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, LargeBinaryArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::FutureExt;
use throng_core::row_hash::Checksum;

use super::task::{InputDistribution, TaskInput, TaskKind};
use super::task_params::TaskParams;
use crate::AnonymizeError;
use crate::catch_decode_panic::catch_decode_panics;
use crate::verification::{Verification, VerifiedTable};

fn counts_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("counts", DataType::LargeBinary, false)]))
}

/// Counts the classes of its input partition.
pub static VERIFY_TASK: TaskKind = TaskKind {
    name: "ThrongVerify",
    schema: |_| counts_schema(),
    distribution: |params| match params.anonymizer.policy().promise().0.quasi {
        none if none.is_empty() => InputDistribution::Single,
        columns => InputDistribution::HashBy { columns, order: Vec::new() },
    },
    run: |params, input| run(params, input).boxed(),
};

async fn run(params: Arc<TaskParams>, input: TaskInput) -> Result<(), AnonymizeError> {
    let verification = Verification::of(&params.anonymizer);
    let schema = input.rows.schema();
    let counted = verification.count(&schema, catch_decode_panics(input.rows)).await?;
    let sum = counted.checksum.sum();
    let checksum = [sum as u64, (sum >> 64) as u64, counted.checksum.rows()];
    let summary = counted.verifier.summary();
    let exposure = counted.exposure.map(|sketch| sketch.to_numbers()).unwrap_or_default();
    let numbers = checksum.into_iter().chain([summary.len() as u64]).chain(summary).chain(exposure);
    let bytes: Vec<u8> = numbers.flat_map(u64::to_le_bytes).collect();
    let column = Arc::new(LargeBinaryArray::from_vec(vec![&bytes])) as ArrayRef;
    let batch = RecordBatch::try_new(counts_schema(), vec![column]);
    input.output.send(batch.map_err(|source| AnonymizeError::Kernel("batch", source))?).await
}

impl Verification {
    /// Merges the counts of all verifying tasks. `schema` is that of the release.
    pub fn conclude(&self, schema: &Schema, counts: &[RecordBatch]) -> Result<VerifiedTable, AnonymizeError> {
        let (mut summaries, mut checksum): (Vec<Vec<u64>>, _) = (Vec::new(), Checksum::default());
        let mut exposure = self.sketch(schema)?;
        for bytes in counts.iter().flat_map(|batch| batch.column(0).as_binary::<i64>().iter().flatten()) {
            let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
            let Some(([low, high, rows, length], counts)) = numbers.split_first_chunk() else {
                return Err(AnonymizeError::Task);
            };
            let length = usize::try_from(*length).map_err(|_| AnonymizeError::Task)?;
            let (summary, sketch) = counts.split_at_checked(length).ok_or(AnonymizeError::Task)?;
            checksum.merge(Checksum::of(u128::from(*high) << 64 | u128::from(*low), *rows));
            summaries.push(summary.to_vec());
            if let Some(exposure) = &mut exposure {
                exposure.merge_numbers(sketch).ok_or(AnonymizeError::Task)?;
            }
        }
        let findings = self.verifier(schema)?.conclude(summaries.iter().map(Vec::as_slice));
        let exposure = exposure.and_then(|sketch| self.exposure_of(&sketch));
        Ok(VerifiedTable { findings: findings.map_err(|_| AnonymizeError::Task)?, checksum, exposure })
    }
}
