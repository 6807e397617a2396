//! `throng check` and `throng plan`: checks a policy and its feasibility, and describes a run. Reads the input and
//! writes nothing.

use std::sync::Arc;

use datafusion::physical_plan::displayable;
use throng_core::feasibility::Feasibility;
use throng_core::model::FrequencyRequirement;
use throng_datafusion::{AnonymizeExec, DryRun, Prediction, Progress};
use throng_policy::{Binding, BoundSensitive, Policy};

use crate::column_warnings::{released_columns, repeating_identifiers, warnings_of};
use crate::error::JobError;
use crate::guards::DeliveryGuards;
use crate::job::{BoundJob, JobOptions, bind, failure, pseudonym_warning};
use crate::lab::OpenPopulation;
use crate::plural::plural;
use crate::session::session;
use crate::stage_timer::StageTimer;

/// Result of checking a policy against its input.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Number of input files.
    pub files: u64,
    /// Number of input rows.
    pub rows: u64,
    /// Number of rows that would be suppressed.
    pub suppressed_rows: u64,
    /// Minimum number of rows in a class.
    pub k: u64,
    /// Number of distinct quasi-identifier tuples.
    pub cells: u64,
    /// Names of the quasi-identifiers.
    pub quasi: Vec<String>,
    /// Names of the columns that would not be released.
    pub dropped: Vec<String>,
    /// Limits set by each sensitive column, and the maximum number of classes.
    pub feasibility: Feasibility,
    /// Reasons why the policy can't be satisfied; empty when it can.
    pub shortfalls: Vec<String>,
    /// Reasons why the release may protect less than it seems to.
    pub warnings: Vec<String>,
    /// Number of people in the population, if the policy has a population table that declares it.
    pub people: Option<u64>,
}

/// Checks a policy against its input.
pub async fn check(policy: &Policy, options: &JobOptions) -> Result<Checked, JobError> {
    Ok(look(policy, options, false).await?.0)
}

/// Description of a run that has not started.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What `throng check` finds about the policy and its input.
    pub checked: Checked,
    /// DataFusion's plan as text.
    pub plan: String,
    /// Name of the partition method.
    pub partition: &'static str,
    /// Name of the cluster method.
    pub cluster: &'static str,
    /// Reason for the choice of the cluster method.
    pub reason: &'static str,
    /// Number of parts that the table is divided into.
    pub parts: u64,
    /// Predicted figures of the release; `None` if the policy can't be satisfied.
    pub prediction: Option<Prediction>,
}

/// Surveys the input of a policy and returns what a run would do. Writes nothing.
pub async fn plan(policy: &Policy, options: &JobOptions) -> Result<Planned, JobError> {
    let (checked, found, plan) = look(policy, options, true).await?;
    let (method, reason) = plan.anonymizer().method();
    Ok(Planned {
        checked,
        plan: displayable(&plan).indent(false).to_string(),
        partition: policy.algorithm.partition.as_str(),
        cluster: method.cluster.as_str(),
        reason,
        parts: found.parts as u64,
        prediction: found.prediction,
    })
}

async fn look(
    policy: &Policy,
    options: &JobOptions,
    is_predicted: bool,
) -> Result<(Checked, DryRun, AnonymizeExec), JobError> {
    let session = session(options)?;
    for (_, table) in policy.linked_tables().into_iter().skip(1) {
        bind(&table.without_pseudonym(), &session, options).await?;
    }
    let BoundJob { input, table } = bind(&policy.without_pseudonym(), &session, options).await?;
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;
    let progress: Arc<dyn Progress> = Arc::new(StageTimer::start(options));
    let (anonymizer, context) = (table.anonymizer(), session.task_ctx());
    let found = match is_predicted {
        true => anonymizer.preview(plan.input(), &context, &progress).await,
        false => anonymizer.examine(plan.input(), &context, &progress).await,
    };
    let found = match found {
        Err(error) => return Err(failure(error, &table, input.as_ref(), &session).await),
        Ok(found) => found,
    };
    input.check_rows(found.rows)?;
    let shortfalls = found.refused.as_ref().map(|refused| refused.shortfalls().unwrap_or(vec![refused.to_string()]));
    let shortfalls = shortfalls.unwrap_or_default();
    let binding = anonymizer.binding();
    let guards = DeliveryGuards::of(policy).await?;
    guards.check_rows(found.rows, found.rows - found.suppressed)?;
    let population = OpenPopulation::open(policy, &session, &input).await?;
    let mut shortfalls = shortfalls;
    shortfalls.extend(population.as_ref().and_then(OpenPopulation::shortfall));
    let people = population.as_ref().and_then(OpenPopulation::declared_people);
    let mut warnings = warnings_of(&repeating_identifiers(policy, binding, input.as_ref(), &session, None).await);
    warnings.extend(released_columns(binding, input.as_ref(), &session).await?);
    warnings.extend(exact_numbers(binding));
    warnings.extend(pseudonym_warning(policy));
    warnings.extend(people.filter(|people| *people < found.rows).map(|people| {
        format!(
            "the table of the population has {}, and the input {}: it lacks people of the input, or a person has several rows",
            plural(people, "row"),
            plural(found.rows, "row")
        )
    }));
    let checked = Checked {
        files: input.describe().files,
        rows: found.rows,
        suppressed_rows: found.suppressed,
        k: binding.k,
        cells: found.cells,
        quasi: binding.quasi.iter().map(|quasi| quasi.column.name.clone()).collect(),
        dropped: binding.dropped.clone(),
        feasibility: found.feasibility.clone(),
        shortfalls,
        warnings,
        people,
    };
    Ok((checked, found, plan))
}

/// Warns of sensitive numbers whose values count as different even if they are nearly equal.
fn exact_numbers(binding: &Binding) -> impl Iterator<Item = String> {
    let has_range = |requirement: &FrequencyRequirement| matches!(requirement, FrequencyRequirement::ValueRange(_));
    let is_exact = move |column: &&BoundSensitive| {
        let is_number = column.column.data_type.is_numeric() || column.column.data_type.is_temporal();
        is_number
            && column.p > 1
            && column.bands.is_none()
            && column.categories.is_none()
            && !column.frequencies.iter().any(has_range)
    };
    binding.sensitive.iter().filter(is_exact).map(|column| {
        let (name, p) = (&column.column.name, column.p);
        format!("sensitive `{name}` has numbers: {p} of them that are nearly equal satisfy p; set `bands` or `range`")
    })
}
