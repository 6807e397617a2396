//! Verifies a release before any of its rows is emitted.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use futures::TryStreamExt;
use throng_core::row_hash::{Checksum, RowHasher};
use throng_core::verify::Verifier;

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::passthrough::passthrough_names;
use crate::release::Release;

/// Recomputes every promise of the policy from the released rows, and compares counts and checksum.
pub(crate) async fn verify_release(
    release: &Arc<Release>,
    anonymizer: &Anonymizer,
    batch_rows: usize,
    ahead: usize,
) -> Result<(), AnonymizeError> {
    let schema = release.schema();
    let (promise, _) = anonymizer.policy().promise();
    let verifier = Verifier::new(promise, &schema)
        .map_err(|_| AnonymizeError::Refused("its columns are not those of the policy"))?;
    let mut verifier = verifier.expecting_classes_together();
    let kept: Vec<usize> =
        passthrough_names(anonymizer.binding()).iter().filter_map(|name| schema.index_of(name).ok()).collect();
    let types: Vec<DataType> = kept.iter().map(|index| schema.field(*index).data_type().clone()).collect();
    let mut hasher = RowHasher::new(&types, anonymizer.content_seed())?;
    let mut checksum = Checksum::default();
    let mut batches = release.stream(batch_rows, ahead);
    while let Some(batch) = batches.try_next().await? {
        verifier.push(&batch).map_err(|_| AnonymizeError::Refused("its columns can't be compared"))?;
        let columns: Vec<_> = kept.iter().map(|index| RecordBatch::column(&batch, *index).clone()).collect();
        checksum.add(hasher.hash(&columns, batch.num_rows())?);
        tokio::task::consume_budget().await;
    }
    if verifier.is_scattered() {
        return Err(AnonymizeError::Refused("its classes do not lie together"));
    }
    let (findings, facts) = (verifier.finish(), release.facts());
    if !findings.holds() {
        return Err(AnonymizeError::Refused("a class does not satisfy the privacy model"));
    }
    if checksum != facts.checksum || checksum.rows() + facts.suppressed != facts.rows_read {
        return Err(AnonymizeError::Refused("rows were lost, changed or doubled"));
    }
    if findings.classes != facts.utility.classes {
        return Err(AnonymizeError::Refused("its classes are not those that were formed"));
    }
    tracing::info!(classes = findings.classes, rows = findings.rows, "release verified");
    Ok(())
}
