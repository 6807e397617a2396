//! `throng check`: policy, schema and feasibility. Reads the input and writes nothing.

use std::sync::Arc;

use throng_core::feasibility::Feasibility;
use throng_datafusion::Progress;
use throng_policy::Policy;

use crate::clock::Clock;
use crate::engine::session;
use crate::error::JobError;
use crate::job::{Bound, JobOptions, bind, failure};

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
    let session = session(options)?;
    let Bound { source, table } = bind(policy, &session).await?;
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;
    let progress: Arc<dyn Progress> = Arc::new(Clock::start(Arc::clone(&options.observer)));
    let anonymizer = table.anonymizer();
    let found = match anonymizer.examine(plan.input(), &session.task_ctx(), &progress).await {
        Err(error) => return Err(failure(error.into(), &table, &source, &session).await),
        Ok(found) => found,
    };
    let shortfalls = match &found.refused {
        Some(throng_datafusion::Error::Core(throng_core::Error::Infeasible(shortfalls))) => {
            shortfalls.iter().map(ToString::to_string).collect()
        }
        refused => refused.iter().map(ToString::to_string).collect(),
    };
    let binding = anonymizer.binding();
    Ok(Checked {
        files: source.files.len() as u64,
        rows: found.rows,
        suppressed_rows: found.suppressed,
        cells: found.cells,
        quasi: binding.quasi.iter().map(|quasi| quasi.column.name.clone()).collect(),
        dropped: binding.dropped.clone(),
        feasibility: found.feasibility,
        shortfalls,
    })
}
