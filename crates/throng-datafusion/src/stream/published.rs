//! What a stream remembers of its emissions, if nobody is assumed to know when a row arrived.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::{Stream, StreamExt};
use throng_core::row_hash::Checksum;
use throng_core::stream::PublishedBoxes;
use throng_core::verify::ReleasedClasses;

use super::emitter::EmissionMaker;
use super::joined_rows::{JoinedRows, labels_of_boxes};
use crate::AnonymizeError;
use crate::release::Release;
use crate::resources::{Resources, reserve};
use crate::verification::{CountedRows, Verification, VerifiedTable};

/// Name of the resource in the out-of-memory error.
const WHAT: &str = "the classes of earlier emissions";

/// Boxes that rows may join, and the verifier's own counts of their classes.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) boxes: PublishedBoxes,
    classes: ReleasedClasses,
    reservation: MemoryReservation,
}

/// The rows of one emission: new classes, and rows of earlier ones.
#[derive(Clone)]
pub(super) struct JointEmission {
    pub(super) release: Option<Arc<Release>>,
    pub(super) joined: Option<JoinedRows>,
}

impl JointEmission {
    /// Streams all rows, with the unit of privacy as the last column if the policy has one.
    pub(super) fn stream_with_units(
        &self,
        batch_rows: usize,
        ahead: usize,
    ) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send + Unpin + use<> {
        let released = self.release.as_ref().map(|release| release.stream_with_units(batch_rows, ahead));
        let joined = self.joined.as_ref().map(|joined| joined.batch.clone());
        let slices = joined.into_iter().flat_map(move |rows| {
            let starts = (0..rows.num_rows()).step_by(batch_rows.max(1));
            starts.map(move |start| rows.slice(start, batch_rows.max(1).min(rows.num_rows() - start)))
        });
        let slices = futures::stream::iter(slices.map(Ok).collect::<Vec<_>>());
        futures::stream::iter(released).flatten().chain(slices)
    }

    /// Returns whether no row is released.
    pub(super) fn is_empty(&self) -> bool {
        self.release.is_none() && self.joined.is_none()
    }

    fn schema_with_units(&self) -> Option<SchemaRef> {
        let joined = || self.joined.as_ref().map(|joined| joined.batch.schema());
        self.release.as_ref().map(|release| release.schema_with_units()).or_else(joined)
    }

    /// Returns the checksum of all rows.
    fn checksum(&self) -> Checksum {
        let mut checksum = self.release.as_ref().map(|release| release.facts().checksum).unwrap_or_default();
        checksum.merge(self.joined.as_ref().map(|joined| joined.checksum).unwrap_or_default());
        checksum
    }
}

impl Published {
    /// Creates the memory of a stream that has emitted nothing, for at most this many boxes.
    pub(super) fn new(workspace: &Resources, most: usize) -> Self {
        let reservation = workspace.reservation("stream boxes");
        Self { boxes: PublishedBoxes::new(most), classes: ReleasedClasses::default(), reservation }
    }

    /// Verifies the rows of an emission, together with all rows that were released with the same labels before. `rows` is the
    /// number of input rows of the emission.
    pub(super) async fn verify(
        &mut self,
        emission: &JointEmission,
        rows: u64,
        maker: &EmissionMaker,
    ) -> Result<(), AnonymizeError> {
        let EmissionMaker { anonymizer, workspace, batch_rows, ahead } = maker;
        let Some(schema) = emission.schema_with_units() else { return Ok(()) };
        let verification = Verification::of(anonymizer);
        let CountedRows { verifier, checksum, exposure } =
            verification.count(&schema, emission.stream_with_units(*batch_rows, *ahead)).await?;
        let exposure = exposure.and_then(|sketch| verification.exposure_of(&sketch));
        let verified = VerifiedTable { findings: self.classes.add(verifier), checksum, exposure };
        if !verified.findings.holds() {
            return Err(AnonymizeError::Refused("a class does not satisfy the privacy model"));
        }
        let suppressed = emission.release.as_ref().map_or(0, |release| release.facts().suppressed);
        if checksum != emission.checksum() || checksum.rows() + suppressed != rows {
            return Err(AnonymizeError::Refused("rows were lost, changed or doubled"));
        }
        verified.check_exposure(anonymizer.policy().privacy.guards.insensitive_uniqueness)?;
        self.boxes.forget()?;
        if self.classes.len() > 2 * self.boxes.len() {
            let all: Vec<u32> = (0..self.boxes.len() as u32).collect();
            let labels = labels_of_boxes(self.boxes.labels(&all), anonymizer, workspace)?;
            self.classes.keep(&labels, &anonymizer.policy().staged_promise())?;
        }
        reserve(&self.reservation, self.boxes.size() + self.classes.size(), WHAT)
    }
}
