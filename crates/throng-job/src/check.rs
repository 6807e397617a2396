//! `throng check` and `throng plan`: policy, schema, feasibility, and what a run would do. Read the input, write nothing.

use std::sync::Arc;

use datafusion::physical_plan::displayable;
use throng_core::feasibility::Feasibility;
use throng_datafusion::{AnonymizeExec, DryRun, Prediction, Progress};
use throng_policy::Policy;

use crate::error::JobError;
use crate::job::{BoundJob, JobOptions, bind, failure};
use crate::session::session;
use crate::stage_timer::StageTimer;

/// What a policy would do with its input.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Files of the input.
    pub files: u64,
    /// Rows of the input.
    pub rows: u64,
    /// Rows that would be left out.
    pub suppressed_rows: u64,
    /// Distinct tuples of quasi-identifiers.
    pub cells: u64,
    /// The names of the quasi-identifiers.
    pub quasi: Vec<String>,
    /// The columns that would be left out.
    pub dropped: Vec<String>,
    /// What each sensitive column allows, and how many classes there can be at most.
    pub feasibility: Feasibility,
    /// Why the policy can't be kept; empty when it can.
    pub shortfalls: Vec<String>,
}

/// Checks a policy against its input.
pub async fn check(policy: &Policy, options: &JobOptions) -> Result<Checked, JobError> {
    Ok(look(policy, options, false).await?.0)
}

/// What a run of a policy would do.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What can be promised.
    pub checked: Checked,
    /// The plan of the engine, as text.
    pub plan: String,
    /// The algorithms, and why they are taken.
    pub partition: &'static str,
    /// How classes would be formed.
    pub cluster: &'static str,
    /// Why in this way.
    pub reason: &'static str,
    /// Parts in which the table is looked at.
    pub parts: u64,
    /// What the release would be like; none when there can be none.
    pub prediction: Option<Prediction>,
}

/// Looks at the input of a policy and tells what a run would do. Writes nothing.
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
    let BoundJob { input, table } = bind(policy, &session).await?;
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
    let checked = Checked {
        files: input.describe().files,
        rows: found.rows,
        suppressed_rows: found.suppressed,
        cells: found.cells,
        quasi: binding.quasi.iter().map(|quasi| quasi.column.name.clone()).collect(),
        dropped: binding.dropped.clone(),
        feasibility: found.feasibility.clone(),
        shortfalls,
    };
    Ok((checked, found, plan))
}
