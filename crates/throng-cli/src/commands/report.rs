//! `throng report`

use std::path::Path;

use serde_json::json;
use throng_job::JobError;

use crate::args::ReportArgs;
use crate::outcome::Outcome;

pub(super) async fn report(args: &ReportArgs) -> Result<Outcome, JobError> {
    let sidecar = throng_job::read_sidecar(&args.metrics).await?;
    write(&args.output, &throng_job::report(&sidecar))?;
    let text = format!("wrote {}", args.output.display());
    let json = json!({ "outcome": "reported", "run_id": sidecar.run_id, "output": args.output.display().to_string() });
    Ok(Outcome::success(text, json))
}

/// Writes a page to a file.
pub(super) fn write(path: &Path, page: &str) -> Result<(), JobError> {
    std::fs::write(path, page).map_err(|error| JobError::creating(format!("writing {}", path.display()), &error))
}
