//! `throng check`: policy, schema and feasibility. Reads the input and writes nothing.

use throng_core::feasibility::Feasibility;
use throng_policy::Policy;

use crate::error::JobError;
use crate::job::{JobOptions, Surveyed, survey};
use crate::progress::Stage;

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
    /// Whether the promise can be kept, and how many classes there can be at most.
    pub feasibility: Feasibility,
}

/// Checks a policy against its input.
pub async fn check(policy: &Policy, options: &JobOptions) -> Result<Checked, JobError> {
    options.observer.begin(Stage::Survey, None);
    let Surveyed { binding, source, snapshot } = survey(policy, options).await?;
    Ok(Checked {
        files: source.files.len() as u64,
        rows: snapshot.rows,
        suppressed_rows: snapshot.suppressed,
        cells: snapshot.table.cell_count() as u64,
        quasi: binding.quasi.iter().map(|quasi| quasi.column.name.clone()).collect(),
        dropped: binding.dropped.clone(),
        feasibility: Feasibility::of(&snapshot.table, binding.k, binding.p),
    })
}
