//! `throng run`

use serde_json::{Value, json};
use throng_core::verify::CONSTRAINED;
use throng_pipeline::{JobError, JobOptions, Released, Standing};
use throng_policy::Policy;

use crate::args::RunArgs;
use crate::outcome::Outcome;
use crate::telemetry::RunFiles;
use crate::words::counted;

pub(super) async fn run(args: &RunArgs, job: JobOptions, files: &RunFiles) -> Result<Outcome, JobError> {
    let policy = Policy::load(&args.policy.policy, &args.policy.overrides())?;
    let recorder = files.recorder();
    recorder.policy(&policy);
    if args.if_changed
        && let Some(standing) = throng_pipeline::unchanged(&policy).await?
    {
        return Ok(unchanged(&standing));
    }
    let job = JobOptions { observer: recorder.listen(job.observer), ..job };
    let released = throng_pipeline::run(&policy, &job).await?;
    recorder.released(&released);
    Ok(Outcome::success(text(&released), json(&released)))
}

/// There was nothing to do.
fn unchanged(standing: &Standing) -> Outcome {
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

/// A release in a few lines.
pub(super) fn text(released: &Released) -> String {
    let sidecar = &released.sidecar;
    let mut lines = vec![format!(
        "released {} in {} to {}",
        counted(sidecar.output.rows, "row"),
        counted(sidecar.utility.classes, "class"),
        released.location
    )];
    if sidecar.output.suppressed_rows > 0 {
        lines.push(format!("  {} suppressed", counted(sidecar.output.suppressed_rows, "row")));
    }
    for requirement in &sidecar.privacy.requirements {
        let column = requirement.column.as_ref().map(|column| format!(" of `{column}`")).unwrap_or_default();
        let (model, required, achieved) = (&*requirement.model, requirement.required, requirement.achieved);
        lines.push(match model {
            CONSTRAINED => format!("  {model}{column}: {} beyond the limit", counted(achieved, "row")),
            _ => format!("  {model}{column}: at least {achieved} in every class ({required} required)"),
        });
    }
    lines.push(format!("  information lost (NCP): {:.4}", sidecar.utility.ncp));
    for (name, column) in &sidecar.utility.columns {
        let variance = column.sse_sst.map(|share| format!(", SSE/SST {share:.4}")).unwrap_or_default();
        lines.push(format!("    {name}: {:.4}{variance}", column.ncp));
    }
    lines.join("\n")
}

/// A release for scripts.
pub(super) fn json(released: &Released) -> Value {
    let sidecar = &released.sidecar;
    json!({
        "outcome": "released",
        "run_id": sidecar.run_id,
        "output": released.location,
        "rows": sidecar.output.rows,
        "suppressed_rows": sidecar.output.suppressed_rows,
        "classes": sidecar.utility.classes,
        "ncp": sidecar.utility.ncp,
        "files": sidecar.output.files,
        "bytes": sidecar.output.bytes,
        "satisfied": sidecar.privacy.satisfied,
        "total_ms": sidecar.timing_ms.get("total"),
    })
}
