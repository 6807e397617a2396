//! Rehearses a run: the release is made and verified in memory, and nothing is written.

use throng_policy::Policy;
use throng_report::document::Sidecar;

use crate::error::JobError;
use crate::job::{JobOptions, make_unseen};

/// Anonymizes the input of a policy and verifies the release in memory. Writes nothing.
///
/// Returns the sidecar that [`run`](crate::run) would publish, except for the size of its files, its times and its id, which is
/// empty. Dropping the future stops the work, as the stop signal of the options does.
pub async fn rehearse(policy: &Policy, options: &JobOptions) -> Result<Sidecar, JobError> {
    let release = make_unseen(policy, options).await?;
    Ok(Sidecar { run_id: String::new(), ..release.sidecar().clone() })
}
