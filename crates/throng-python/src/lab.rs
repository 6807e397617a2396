//! Functions that compare a release with its original or with another release: attack, utility and diff.

use pyo3::prelude::*;
use throng_cli::documents::measured;
use throng_job::{AttackRequest, DiffRequest, Kind, LabColumns, LabTable, UtilityRequest};

use crate::data::NativeTable;
use crate::errors::failure;
use crate::job_call::{CallSettings, JobCall};
use crate::policy::NativePolicy;

/// A table of the host, or else its locations.
pub(crate) type OpenedTable = (Option<Py<NativeTable>>, Vec<String>);

/// Columns without a policy: quasi-identifiers, sensitive columns, k and p.
type NamedColumns = (Vec<String>, Vec<String>, u64, u64);

/// Returns a table for the functions that compare tables.
pub(crate) fn lab_table((table, locations): OpenedTable) -> LabTable {
    match table {
        Some(table) => LabTable::Host(table.get().provider()),
        None => LabTable::Locations(locations),
    }
}

fn lab_columns(py: Python<'_>, policy: Option<&NativePolicy>, columns: Option<NamedColumns>) -> PyResult<LabColumns> {
    match (policy, columns) {
        (Some(policy), _) => Ok(LabColumns::Policy(Box::new(policy.policy().clone()))),
        (None, Some((quasi, sensitive, k, p))) => Ok(LabColumns::Named { quasi, sensitive, k, p }),
        (None, None) => Err(failure(py, Kind::BadQuery, "give a policy, or quasi-identifiers")),
    }
}

/// Attacks a release. Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (release, original, policy, previous, population, targets, seed, settings))]
#[expect(clippy::too_many_arguments, reason = "the function in Python has keywords")]
pub fn attack(
    py: Python<'_>,
    release: OpenedTable,
    original: OpenedTable,
    policy: &NativePolicy,
    previous: Vec<OpenedTable>,
    population: Option<OpenedTable>,
    targets: usize,
    seed: u64,
    settings: CallSettings,
) -> PyResult<String> {
    let request = AttackRequest {
        previous: previous.into_iter().map(lab_table).collect(),
        population: population.map(lab_table),
        targets,
        seed,
        ..AttackRequest::of_policy(lab_table(release), lab_table(original), policy.policy().clone())
    };
    let call = JobCall::new(settings, None);
    let options = call.options.clone();
    call.wait(py, async move { Ok(measured(&throng_job::attack(&request, &options).await?)?.to_string()) })
}

/// Measures how well a release answers the questions that its original would answer. Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (release, original, policy, columns, target, queries, seed, settings))]
#[expect(clippy::too_many_arguments, reason = "the function in Python has keywords")]
pub fn utility(
    py: Python<'_>,
    release: OpenedTable,
    original: OpenedTable,
    policy: Option<&NativePolicy>,
    columns: Option<NamedColumns>,
    target: Option<String>,
    queries: usize,
    seed: u64,
    settings: CallSettings,
) -> PyResult<String> {
    let columns = lab_columns(py, policy, columns)?;
    let (release, original) = (lab_table(release), lab_table(original));
    let request = UtilityRequest { release, original, columns, target, queries, seed };
    let call = JobCall::new(settings, None);
    let options = call.options.clone();
    call.wait(py, async move { Ok(measured(&throng_job::utility(&request, &options).await?)?.to_string()) })
}

/// Compares two releases. Returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (releases, policies, columns, original, link, targets, seed, settings))]
#[expect(clippy::too_many_arguments, reason = "the function in Python has keywords")]
pub fn diff(
    py: Python<'_>,
    releases: (OpenedTable, OpenedTable),
    policies: (Option<PyRef<'_, NativePolicy>>, Option<PyRef<'_, NativePolicy>>),
    columns: Option<NamedColumns>,
    original: Option<OpenedTable>,
    link: Option<String>,
    targets: usize,
    seed: u64,
    settings: CallSettings,
) -> PyResult<String> {
    let first = lab_columns(py, policies.0.as_deref(), columns.clone())?;
    let second = match policies.1.as_deref() {
        Some(policy) => lab_columns(py, Some(policy), None)?,
        None => first.clone(),
    };
    let request = DiffRequest {
        releases: [lab_table(releases.0), lab_table(releases.1)],
        columns: [first, second],
        original: original.map(lab_table),
        link,
        targets,
        seed,
    };
    let call = JobCall::new(settings, None);
    let options = call.options.clone();
    call.wait(py, async move { Ok(measured(&throng_job::diff(&request, &options).await?)?.to_string()) })
}
