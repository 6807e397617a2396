//! `throng run`

use std::sync::Arc;

use serde_json::{Value, json};
use throng_job::{AppendOutcome, CurrentRelease, JobError, JobOptions, plural};
use throng_policy::{Mode, Policy};

use super::follow;
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
    if args.follow {
        return follow::follow(&policy, &job, args.poll).await;
    }
    let backend = Backend::from_args(&args.cluster);
    if policy.output.mode == Mode::Append {
        let appended = backend.append(&policy, &job).await?;
        if let Some(released) = &appended.release {
            recorder.released(released);
        }
        return Ok(append_outcome(&appended));
    }
    let released = match args.rebase {
        true => backend.rebase(&policy, &job).await?,
        false => backend.run(&policy, &job).await?,
    };
    recorder.released(&released);
    Ok(Outcome::success(released.to_text(), released.to_json()))
}

/// Returns the outcome of an append.
pub(super) fn append_outcome(appended: &AppendOutcome) -> Outcome {
    let (json, location) = (append_json(appended), &appended.location);
    match &appended.release {
        Some(released) => {
            let text = format!(
                "{}\n  of {}, besides {} released before; {} in all",
                released.to_text(),
                plural(appended.new_files, "new file"),
                plural(appended.known_files, "file"),
                plural(total_rows(appended), "row")
            );
            Outcome::success(text, json)
        }
        None => Outcome::success(format!("{location} has all files of the input; nothing was appended"), json),
    }
}

/// Formats the result of an append as JSON.
pub fn append_json(appended: &AppendOutcome) -> Value {
    let totals = json!({
        "new_files": appended.new_files,
        "known_files": appended.known_files,
        "appends": appended.manifest.as_ref().and_then(|manifest| manifest.appended.as_ref()).map(|inputs| inputs.appends),
        "total_rows": total_rows(appended),
        "total_files": appended.manifest.as_ref().map_or(0, |manifest| manifest.files.len()),
    });
    match &appended.release {
        Some(released) => {
            let mut json = released.to_json();
            json["append"] = totals;
            json
        }
        None => {
            let run_id = appended.manifest.as_ref().map(|manifest| &manifest.run_id);
            json!({ "outcome": "unchanged", "unchanged": true, "run_id": run_id, "output": appended.location, "append": totals })
        }
    }
}

/// Returns the number of rows of a release after an append.
fn total_rows(appended: &AppendOutcome) -> u64 {
    appended.manifest.iter().flat_map(|manifest| &manifest.files).map(|file| file.rows).sum()
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
    let text = format!("nothing has changed since the release at {location}; it is still current");
    Outcome::success(text, json)
}
