//! `throng run`

use std::sync::Arc;

use serde_json::json;
use throng_job::{CurrentRelease, JobError, JobOptions};
use throng_policy::Policy;

use crate::args::RunArgs;
use crate::backend::Backend;
use crate::outcome::Outcome;
use crate::telemetry::RunFiles;

pub(super) async fn run(args: &RunArgs, job: JobOptions, files: &RunFiles) -> Result<Outcome, JobError> {
    let policy = Policy::load(&args.policy.policy, &args.policy.overrides())?;
    let recorder = files.recorder();
    recorder.policy(&policy);
    if args.if_changed
        && let Some(standing) = throng_job::up_to_date(&policy).await?
    {
        return Ok(unchanged(&standing));
    }
    let job = JobOptions { recorder: Some(Arc::clone(recorder)), ..job };
    let released = match args.rebase {
        true => throng_job::rebase(&policy, &job).await?,
        false => Backend::from_args(&args.cluster).run(&policy, &job).await?,
    };
    recorder.released(&released);
    Ok(Outcome::success(released.to_text(), released.to_json()))
}

/// Returns the outcome of a run that would only reproduce the current release.
fn unchanged(standing: &CurrentRelease) -> Outcome {
    let (location, files) = (&standing.location, &standing.manifest.files);
    let json = json!({
        "outcome": "unchanged",
        "unchanged": true,
        "run_id": standing.manifest.run_id,
        "output": location,
        "rows": files.iter().map(|file| file.rows).sum::<u64>(),
        "files": files.len(),
        "bytes": files.iter().map(|file| file.bytes).sum::<u64>(),
    });
    let text = format!("nothing has changed since the release at {location}; it stands");
    Outcome::success(text, json)
}
