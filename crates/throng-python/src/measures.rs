//! Functions that look at a table and publish nothing: risk, draft, check, plan, bound, sweep, verify,
//! hierarchies. And tables to try them on.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow::array::{RecordBatchIterator, StructArray};
use arrow::datatypes::Field;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::{ArrayIterator, to_stream_pycapsule};
use serde_json::json;
use throng_cli::documents::{
    Promised, bound_json, check_json, plan_json, risk_json, sweep_json, verify_location_json, verify_table_json,
};
use throng_core::hierarchy::HierarchySpec;
use throng_core::risk::SamplingFraction;
use throng_core::verify::{Promise, SensitivePromise};
use throng_job::{JobError, JobOptions, Kind, RiskOptions, SweepSettings, Trial, fragment, risk_page, sweep_page};
use throng_policy::{Policy, Role, hierarchy_lines};
use throng_synthetic::{CensusBatches, CensusOptions, GenerateError, census_schema, write_census_until};

use crate::data::NativeTable;
use crate::errors::failure;
use crate::job_call::{CallSettings, JobCall};
use crate::lab::{OpenedTable, lab_table};
use crate::policy::NativePolicy;

/// A document as JSON, and its page in whole and as a part of another page.
type PagedDocument = (String, String, String);

fn paged(document: &serde_json::Value, page: String) -> PagedDocument {
    let part = fragment(&page);
    (document.to_string(), page, part)
}

/// Measures the risk of a table as it is.
#[pyfunction]
#[pyo3(signature = (table, locations, quasi, sensitive, threshold, fraction, weight, population, settings))]
#[expect(clippy::too_many_arguments, reason = "the function in Python has keywords")]
pub fn risk(
    py: Python<'_>,
    table: Option<&NativeTable>,
    locations: Vec<String>,
    quasi: Vec<String>,
    sensitive: Vec<String>,
    threshold: f64,
    fraction: Option<f64>,
    weight: Option<String>,
    population: Option<OpenedTable>,
    settings: CallSettings,
) -> PyResult<PagedDocument> {
    let refused = || failure(py, Kind::BadQuery, "fraction must be a number above 0 and at most 1");
    let sampling_fraction = fraction.map(|share| SamplingFraction::new(share).ok_or_else(refused)).transpose()?;
    let call = JobCall::new(settings, table);
    let options = call.options.clone();
    let asked = RiskOptions { quasi, sensitive, threshold, sampling_fraction, weight };
    let population = population.map(lab_table);
    let risk = call.wait(py, async move {
        match &population {
            Some(population) => throng_job::risk_among(&locations, &asked, population, &options).await,
            None => throng_job::risk(&locations, &asked, &options).await,
        }
    })?;
    Ok(paged(&risk_json(&risk), risk_page(&risk)))
}

/// Drafts a policy. Returns its text, and the numbers of rows, columns and questions.
#[pyfunction]
#[pyo3(signature = (table, locations, settings))]
pub fn draft(
    py: Python<'_>,
    table: Option<&NativeTable>,
    locations: Vec<String>,
    settings: CallSettings,
) -> PyResult<(String, u64, usize, usize)> {
    let call = JobCall::new(settings, table);
    let options = call.options.clone();
    let draft = call.wait(py, async move { throng_job::draft(&locations, &options).await })?;
    Ok((draft.text, draft.rows, draft.columns, draft.questions))
}

/// Waits for what is found out about a table under a policy.
fn under_policy<T: Send + 'static, F: Future<Output = Result<T, JobError>> + Send + 'static>(
    py: Python<'_>,
    policy: &NativePolicy,
    table: Option<&NativeTable>,
    settings: CallSettings,
    find: impl FnOnce(Policy, JobOptions) -> F,
) -> PyResult<T> {
    let call = JobCall::new(settings, table);
    let found = find(policy.policy().clone(), call.options.clone());
    call.wait(py, found)
}

/// Checks a policy and its feasibility.
#[pyfunction]
#[pyo3(signature = (policy, table, settings))]
pub fn check(
    py: Python<'_>,
    policy: &NativePolicy,
    table: Option<&NativeTable>,
    settings: CallSettings,
) -> PyResult<String> {
    let check = |policy: Policy, options| async move { throng_job::check(&policy, &options).await };
    let checked = under_policy(py, policy, table, settings, check)?;
    let mut document = check_json(&checked);
    document["quasi"] = json!(checked.quasi);
    document["shortfalls"] = json!(checked.shortfalls);
    Ok(document.to_string())
}

/// Returns what a run would do, as JSON.
#[pyfunction]
#[pyo3(signature = (policy, table, settings))]
pub fn plan(
    py: Python<'_>,
    policy: &NativePolicy,
    table: Option<&NativeTable>,
    settings: CallSettings,
) -> PyResult<String> {
    let plan = |policy: Policy, options| async move { throng_job::plan(&policy, &options).await };
    let planned = under_policy(py, policy, table, settings, plan)?;
    let mut document = plan_json(&planned);
    document["shortfalls"] = json!(planned.checked.shortfalls);
    Ok(document.to_string())
}

/// Computes a lower bound of the loss of any release, and the loss of that of the policy.
#[pyfunction]
#[pyo3(signature = (policy, table, seconds, settings))]
pub fn bound(
    py: Python<'_>,
    policy: &NativePolicy,
    table: Option<&NativeTable>,
    seconds: Option<u64>,
    settings: CallSettings,
) -> PyResult<String> {
    let time = seconds.map(Duration::from_secs);
    let bound = |policy: Policy, options| async move { throng_job::bound(&policy, time, &options).await };
    Ok(bound_json(&under_policy(py, policy, table, settings, bound)?).to_string())
}

/// A policy of a sweep, or the reason why it is invalid: k, p, algorithm, policy, reason.
type PolicyTrial = (u64, u64, String, Option<Py<NativePolicy>>, String);

/// Tries policies on one table.
#[pyfunction]
#[pyo3(signature = (trials, loss, utility, table, settings))]
pub fn sweep(
    py: Python<'_>,
    trials: Vec<PolicyTrial>,
    loss: Option<f64>,
    utility: bool,
    table: Option<&NativeTable>,
    settings: CallSettings,
) -> PyResult<PagedDocument> {
    let trial = |(k, p, algorithm, policy, reason): PolicyTrial| {
        let policy = policy.map(|policy| policy.get().policy().clone()).ok_or(reason);
        Trial { k, p, algorithm, policy }
    };
    let trials = trials.into_iter().map(trial).collect();
    let call = JobCall::new(settings, table);
    let options = call.options.clone();
    let asked = SweepSettings { loss, utility };
    let swept = call.wait(py, async move { throng_job::sweep(trials, asked, &options).await })?;
    Ok(paged(&sweep_json(&swept), sweep_page(&swept)))
}

/// A promise without a policy: quasi-identifiers, sensitive columns, k, p and the column of units.
type PromisedColumns = (Vec<String>, Vec<String>, u64, u64, Option<String>);

/// Verifies the promise of a policy, or one that is given by its columns. Returns the findings as JSON.
///
/// A release at one location is verified as the command does it, with the rows that pseudonyms link, earlier releases and the ledger.
#[pyfunction]
#[pyo3(signature = (table, locations, policy, columns, against, ledger, settings))]
#[expect(clippy::too_many_arguments, reason = "the function in Python has keywords")]
pub fn verify(
    py: Python<'_>,
    table: Option<&NativeTable>,
    locations: Vec<String>,
    policy: Option<&NativePolicy>,
    columns: Option<PromisedColumns>,
    against: Vec<String>,
    ledger: bool,
    settings: CallSettings,
) -> PyResult<String> {
    let policy = policy.map(|policy| policy.policy().clone());
    let call = JobCall::new(settings, table);
    let options = call.options.clone();
    let is_one = table.is_none() && locations.len() == 1;
    if !is_one && (ledger || !against.is_empty() || policy.as_ref().is_some_and(is_linked)) {
        let text = "earlier releases, a ledger and rows that are linked by pseudonyms are verified in files: give the location of \
                    the release";
        return Err(failure(py, Kind::BadQuery, text));
    }
    let document = async move {
        let promised = match (&policy, columns) {
            (Some(policy), _) => Promised::of_policy(policy),
            (None, Some(columns)) => Promised::of_columns(promise(columns)),
            (None, None) => return Err(JobError::new(Kind::BadQuery, "give a policy, or quasi-identifiers with k")),
        };
        match &locations[..] {
            [location] if is_one => verify_location_json(location, &promised, &against, ledger, &options).await,
            _ => verify_table_json(&locations, &promised, &options).await,
        }
    };
    Ok(call.wait(py, document)?.to_string())
}

/// Whether people have several rows in a release, which only all of its files together show.
fn is_linked(policy: &Policy) -> bool {
    policy.has_tables() || policy.pseudonym_column().is_some()
}

fn promise((quasi, sensitive, k, p, unit): PromisedColumns) -> Promise {
    let sensitive = sensitive.iter().map(|name| SensitivePromise::plain(name, p)).collect();
    Promise { quasi, k, sensitive, limits: Vec::new(), unit }
}

/// Returns the hierarchy of a column in a policy.
fn hierarchy_of(py: Python<'_>, policy: &NativePolicy, column: &str) -> PyResult<Arc<HierarchySpec>> {
    let columns = policy.policy().columns.by_name.iter();
    let hierarchy = columns.filter(|(name, _)| name == column).find_map(|(_, role)| match role {
        Role::Quasi(quasi) => quasi.hierarchy.clone(),
        _ => None,
    });
    hierarchy.ok_or_else(|| failure(py, Kind::BadQuery, &format!("the policy has no hierarchy for `{column}`")))
}

/// Builds the hierarchy that a policy has for a column. Returns it as the lines of a file, with the numbers of values and levels.
#[pyfunction]
#[pyo3(signature = (policy, column, table, locations, settings))]
pub fn make_hierarchy(
    py: Python<'_>,
    policy: &NativePolicy,
    column: String,
    table: Option<&NativeTable>,
    locations: Vec<String>,
    settings: CallSettings,
) -> PyResult<(String, usize, u32)> {
    let spec = hierarchy_of(py, policy, &column)?;
    let call = JobCall::new(settings, table);
    let options = call.options.clone();
    let tree = call.wait(py, async move { throng_job::make_hierarchy(&locations, &column, &spec, &options).await })?;
    Ok((hierarchy_lines(&tree), tree.leaf_count(), tree.height(tree.root())))
}

/// Looks up the values of a column in the hierarchy that a policy has for it. Returns the numbers of distinct and of missing values.
#[pyfunction]
#[pyo3(signature = (policy, column, table, locations, settings))]
pub fn check_hierarchy(
    py: Python<'_>,
    policy: &NativePolicy,
    column: String,
    table: Option<&NativeTable>,
    locations: Vec<String>,
    settings: CallSettings,
) -> PyResult<(usize, usize)> {
    let spec = hierarchy_of(py, policy, &column)?;
    let call = JobCall::new(settings, table);
    let options = call.options.clone();
    let fit = call.wait(py, async move { throng_job::check_hierarchy(&spec, &locations, &column, &options).await })?;
    Ok((fit.distinct, fit.missing))
}

/// Writes synthetic census extracts to a folder. Returns the numbers of rows, files and bytes.
#[pyfunction]
#[pyo3(signature = (folder, rows, seed, files, is_overwritten, settings))]
pub fn generate_census(
    py: Python<'_>,
    folder: PathBuf,
    rows: u64,
    seed: u64,
    files: Option<usize>,
    is_overwritten: bool,
    settings: CallSettings,
) -> PyResult<(u64, usize, u64)> {
    let mut options = CensusOptions::new(rows).with_seed(seed).with_overwrite(is_overwritten);
    if let Some(files) = files {
        options = options.with_files(files);
    }
    let call = JobCall::new(settings, None);
    let stop = call.options.stop.clone();
    let write = async move {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_stopped);
        let mut writing = tokio::task::spawn_blocking(move || {
            write_census_until(&folder, &options, &|_| match seen.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        });
        let written = tokio::select! {
            written = &mut writing => written,
            () = stop.asked() => {
                is_stopped.store(true, Ordering::Relaxed);
                writing.await
            }
        };
        let written = written.map_err(|_| JobError::new(Kind::Internal, "generating stopped"))?;
        written.map_err(|error| match error {
            GenerateError::Exists { .. } => JobError::new(Kind::BadPolicy, error.to_string()),
            GenerateError::Io { ref source, .. } => JobError::creating(&error, source),
            GenerateError::Parquet { .. } => JobError::new(Kind::TemporaryIo, error.to_string()),
            GenerateError::Stopped => JobError::new(Kind::Stopped, error.to_string()),
        })
    };
    let summary = call.wait_for_cleanup(py, write)?;
    Ok((summary.rows, summary.files, summary.bytes))
}

/// Returns a synthetic census extract as the capsule of an Arrow stream.
#[pyfunction]
pub fn census(py: Python<'_>, rows: u64, seed: u64) -> PyArrowResult<Bound<'_, PyCapsule>> {
    let schema = census_schema();
    let field = Field::new_struct("", schema.fields().clone(), false);
    let batches = RecordBatchIterator::new(CensusBatches::new(rows, seed).map(Ok), schema);
    let arrays = batches.map(|batch| batch.map(|batch| Arc::new(StructArray::from(batch)) as _));
    to_stream_pycapsule(py, Box::new(ArrayIterator::new(arrays, Arc::new(field))), None)
}
