//! `throng bound`

use std::time::Duration;

use serde_json::{Value, json};
use throng_job::{BoundedLoss, JobError, JobOptions, plural};
use throng_policy::Policy;

use crate::args::BoundArgs;
use crate::outcome::Outcome;

pub(super) async fn bound(args: &BoundArgs, job: &JobOptions) -> Result<Outcome, JobError> {
    let policy = Policy::load(&args.policy.policy, &args.policy.overrides())?;
    let found = throng_job::bound(&policy, args.seconds.map(Duration::from_secs), job).await?;
    Ok(Outcome::success(text(&found), json(&found)))
}

/// Formats a bound as JSON.
pub fn json(found: &BoundedLoss) -> Value {
    let measure = found.bound.measure.as_str();
    json!({
        "outcome": "bounded",
        "rows": found.rows,
        "measure": measure,
        "lower_bound": found.bound.value,
        measure: found.loss,
        "gap": found.gap,
        "sweeps": found.bound.sweeps,
        "cluster": found.cluster,
    })
}

fn text(found: &BoundedLoss) -> String {
    let name = match found.bound.measure.as_str() {
        "ncp" => "NCP",
        _ => "SSE/SST",
    };
    let within = match found.gap {
        Some(gap) => format!("within {:.1} % of the best possible", 100.0 * gap),
        None => "any release may lose nothing".to_owned(),
    };
    format!(
        "{}: no release under this policy loses less than {:.5} ({name})\n\
         the release by {} loses {:.5}: {within}",
        plural(found.rows, "row"),
        found.bound.value,
        found.cluster,
        found.loss,
    )
}
