//! A verified release in Python: an Arrow stream, a table of DataFusion, documents and files.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, StructArray};
use arrow::datatypes::{Field, SchemaRef};
use arrow::error::ArrowError;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::streaming::PartitionStream;
use futures::StreamExt;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};
use throng_cli::documents::append_json;
use throng_job::{Kind, PublishedRelease, Sidecar, UnpublishedRelease, fragment, make_release, report};
use throng_policy::{Mode, Output};
use tokio::runtime::Handle;

use crate::capsules::table_capsule;
use crate::data::NativeTable;
use crate::errors::failure;
use crate::job_call::{CallSettings, JobCall};
use crate::policy::NativePolicy;
use crate::runtime::runtime;

/// Anonymizes a table, or else the input of the policy.
#[pyfunction]
#[pyo3(signature = (policy, table, settings))]
pub fn anonymize(
    py: Python<'_>,
    policy: &NativePolicy,
    table: Option<&NativeTable>,
    settings: CallSettings,
) -> PyResult<NativeRelease> {
    let has_views = table.is_some_and(NativeTable::has_views);
    let call = JobCall::new(settings, table);
    let (policy, options) = (policy.policy().clone(), call.options.clone());
    let release = call.wait(py, async move { make_release(&policy, &options).await })?;
    Ok(NativeRelease { release: Arc::new(release), has_views, process: std::process::id() })
}

/// Makes a release, verifies it and publishes it to the output of the policy, as the command does. Returns the outcome, and the sidecar
/// unless there was nothing to publish.
#[pyfunction]
#[pyo3(signature = (policy, table, rebase, settings))]
pub fn run(
    py: Python<'_>,
    policy: &NativePolicy,
    table: Option<&NativeTable>,
    rebase: bool,
    settings: CallSettings,
) -> PyResult<(String, Option<String>)> {
    let call = JobCall::new(settings, table);
    let (policy, options) = (policy.policy().clone(), call.options.clone());
    let run = async move {
        if rebase {
            return Ok(outcome_of(throng_job::rebase(&policy, &options).await?));
        }
        if policy.output.mode == Mode::Append {
            let appended = throng_job::append(&policy, &options, Duration::ZERO).await?;
            let document = append_json(&appended).to_string();
            return Ok((document, appended.release.map(|release| release.sidecar)));
        }
        Ok(outcome_of(throng_job::run(&policy, &options).await?))
    };
    let (document, sidecar) = call.wait_for_cleanup(py, run)?;
    let sidecar = sidecar.map(|sidecar| serde_json::to_string(&sidecar)).transpose();
    let sidecar = sidecar.map_err(|_| failure(py, Kind::Internal, "the metrics could not be written"))?;
    Ok((document, sidecar))
}

fn outcome_of(published: PublishedRelease) -> (String, Option<Sidecar>) {
    (published.to_json().to_string(), Some(published.sidecar))
}

/// A release of which every row has been verified.
#[pyclass(frozen, module = "throng_privacy._native")]
pub(crate) struct NativeRelease {
    release: Arc<UnpublishedRelease>,
    /// Whether text leaves as views, as it came: libraries with views take them as they are, and would make them of strings.
    has_views: bool,
    /// The process that has made the release.
    process: u32,
}

/// A forked process has a copy of the release, whose temporary files belong to the process that has made it.
impl Drop for NativeRelease {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(Arc::clone(&self.release));
        }
    }
}

impl NativeRelease {
    fn schema(&self) -> SchemaRef {
        if self.has_views { self.release.schema_of_views() } else { self.release.schema() }
    }

    fn rows(&self) -> SendableRecordBatchStream {
        if self.has_views { self.release.stream_of_views() } else { self.release.stream() }
    }
}

#[pymethods]
impl NativeRelease {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyArrowResult<Bound<'py, PyCapsule>> {
        to_schema_pycapsule(py, self.schema().as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyCapsule>> {
        let rows = BlockingRows { runtime: runtime(py)?, rows: self.rows() };
        let field = Field::new_struct("", self.schema().fields().clone(), false);
        to_stream_pycapsule(py, Box::new(ArrayIterator::new(rows, Arc::new(field))), requested_schema)
    }

    /// The release as a table for a session of `datafusion`.
    fn __datafusion_table_provider__<'py>(
        &self,
        py: Python<'py>,
        session: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let rows = Arc::new(ReleaseRows { schema: self.release.schema(), release: Arc::clone(&self.release) });
        let table = StreamingTable::try_new(self.release.schema(), vec![rows]);
        let table = table.map_err(|_| failure(py, Kind::Internal, "the release is not a table"))?;
        table_capsule(py, Arc::new(table) as Arc<dyn TableProvider>, session)
    }

    /// Names and types of the columns.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        let schema = self.release.schema();
        schema.fields().iter().map(|field| (field.name().clone(), field.data_type().to_string())).collect()
    }

    /// The sidecar as JSON.
    fn metrics(&self, py: Python<'_>) -> PyResult<String> {
        let text = serde_json::to_string(self.release.sidecar());
        text.map_err(|_| failure(py, Kind::Internal, "the metrics could not be written"))
    }

    /// Reasons why the release may protect less than it seems to.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.release.warnings()
    }

    /// The findings of the verifier as JSON.
    fn findings(&self) -> String {
        let (promise, _) = self.release.policy().promise();
        throng_cli::documents::verify_json(self.release.findings(), &promise).to_string()
    }

    /// The report as a page.
    fn report(&self) -> String {
        report(self.release.sidecar())
    }

    /// The report as a part of a page.
    fn fragment(&self) -> String {
        fragment(&report(self.release.sidecar()))
    }

    /// Publishes the release to a location. Returns the outcome and the sidecar as JSON.
    fn write(
        &self,
        py: Python<'_>,
        location: String,
        is_overwritten: bool,
        has_report: Option<bool>,
        settings: CallSettings,
    ) -> PyResult<(String, String)> {
        let call = JobCall::new(settings, None);
        let (release, options) = (Arc::clone(&self.release), call.options.clone());
        let defaults = &release.policy().output;
        let output = Output {
            location,
            mode: if is_overwritten { Mode::Overwrite } else { defaults.mode },
            report: has_report.unwrap_or(defaults.report),
            ..defaults.clone()
        };
        let published = call.wait_for_cleanup(py, async move { release.publish(output, &options).await })?;
        let sidecar = serde_json::to_string(&published.sidecar);
        let sidecar = sidecar.map_err(|_| failure(py, Kind::Internal, "the metrics could not be written"))?;
        Ok((published.to_json().to_string(), sidecar))
    }
}

/// The rows of a release for a consumer that waits for each batch.
struct BlockingRows {
    runtime: Handle,
    rows: SendableRecordBatchStream,
}

impl Iterator for BlockingRows {
    type Item = Result<ArrayRef, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.runtime.block_on(self.rows.next())?;
        // The message of an engine may quote values.
        let failed = |_| ArrowError::ExternalError("rows of the release can't be read back from disk".into());
        Some(batch.map(|batch| Arc::new(StructArray::from(batch)) as ArrayRef).map_err(failed))
    }
}

/// The only partition of a release.
struct ReleaseRows {
    schema: SchemaRef,
    release: Arc<UnpublishedRelease>,
}

/// Without the release, which holds rows.
impl fmt::Debug for ReleaseRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseRows").finish_non_exhaustive()
    }
}

impl PartitionStream for ReleaseRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        self.release.stream()
    }
}
