//! A verified release, and everything known about it.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use throng_core::risk::RiskSummary;
use throng_core::verify::{Findings, RequirementFindings};
use throng_datafusion::{AnonymizeError, AnonymizedTable, Facts, Release};
use throng_policy::Policy;

use crate::{IntoTable, ThrongError};

/// A release whose rows have all been verified. Made by [`anonymize`](crate::anonymize).
///
/// It holds the rows in memory or in temporary files, until it is dropped together with its streams.
pub struct VerifiedRelease {
    table: Arc<AnonymizedTable>,
    release: Arc<Release>,
    findings: Findings,
    batch_rows: usize,
    concurrency: usize,
}

impl VerifiedRelease {
    /// Makes the release of a table in a session.
    pub(crate) async fn new(
        session: &SessionContext,
        table: impl IntoTable,
        policy: &Policy,
    ) -> Result<Self, ThrongError> {
        policy.check_outside_series().map_err(AnonymizeError::from)?;
        let table = Arc::new(AnonymizedTable::new(table.into_table()?, Arc::new(policy.clone()))?);
        let context = session.task_ctx();
        let (batch_rows, concurrency) =
            (context.session_config().batch_size(), context.session_config().target_partitions());
        let operator = table.plan(&session.state()).await.map_err(ThrongError::from_engine)?;
        let release = operator.release(context).await?;
        // The operator has verified the rows: the table does not use external verification.
        let findings = release.findings().cloned().ok_or(AnonymizeError::Task)?;
        Ok(Self { table, release, findings, batch_rows, concurrency })
    }

    /// Returns the schema of the release.
    pub fn schema(&self) -> SchemaRef {
        self.release.schema()
    }

    /// Returns all rows in the canonical order of the release. Every call starts at the first row.
    ///
    /// Some batches are computed ahead on the runtime of the polling task.
    pub fn stream(&self) -> SendableRecordBatchStream {
        let rows = self.release.stream(self.batch_rows, self.concurrency);
        Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows))
    }

    /// Returns all rows in the canonical order of the release.
    pub async fn collect(&self) -> Result<Vec<RecordBatch>, ThrongError> {
        self.stream().try_collect().await.map_err(ThrongError::from_engine)
    }

    /// Returns the release as a table for further queries, which do not recompute it.
    pub fn table(&self) -> Arc<dyn TableProvider> {
        Arc::clone(&self.table) as Arc<dyn TableProvider>
    }

    /// Returns the number of rows of the release.
    pub fn rows(&self) -> u64 {
        self.release.rows()
    }

    /// Returns the number of rows of the input that are left out of the release.
    pub fn suppressed_rows(&self) -> u64 {
        self.facts().suppressed
    }

    /// Returns the number of equivalence classes.
    pub fn classes(&self) -> u64 {
        self.findings.classes
    }

    /// Returns the mean normalized certainty penalty over rows and quasi-identifiers: 0 loses nothing, 1 everything.
    pub fn ncp(&self) -> f64 {
        self.facts().utility.ncp
    }

    /// Returns what the policy requires and what every class has, counted in the released values.
    pub fn requirements(&self) -> &[RequirementFindings] {
        &self.findings.requirements
    }

    /// Returns everything that the verifier has counted in the released values.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Returns how the release was made, and how much detail it loses. May hold facts about groups of the input that are
    /// smaller than k, and so must not be published as a whole.
    pub fn facts(&self) -> &Facts {
        self.release.facts()
    }

    /// Returns the risk of the released rows, with the share of rows above each threshold.
    pub fn risk(&self, thresholds: &[f64]) -> RiskSummary {
        let mut sizes = throng_core::risk::ClassSizes::default();
        self.findings.class_sizes.iter().for_each(|(size, classes)| sizes.add(*size, *classes));
        RiskSummary::of_release(&sizes, thresholds)
    }

    /// Returns upper bounds of the risk of the input, which may be published with the release: nothing in them concerns fewer
    /// than k rows.
    pub fn risk_before(&self, thresholds: &[f64]) -> RiskSummary {
        RiskSummary::of_original(&self.facts().cells, thresholds, self.table.anonymizer().policy().privacy.k)
    }
}

/// Shows counts and no rows.
impl fmt::Debug for VerifiedRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedRelease")
            .field("rows", &self.rows())
            .field("suppressed_rows", &self.suppressed_rows())
            .field("classes", &self.classes())
            .field("ncp", &self.ncp())
            .finish_non_exhaustive()
    }
}
