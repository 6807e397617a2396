//! `throng generate census`

use std::path::PathBuf;

use serde_json::json;
use throng_job::{JobError, Kind};
use throng_synthetic::{CensusOptions, GenerateError, GenerateSummary, write_census};

use crate::args::CensusArgs;
use crate::outcome::Outcome;
use crate::progress::stage_bar;

pub(super) async fn census(args: CensusArgs) -> Result<Outcome, JobError> {
    let mut options = CensusOptions::new(args.rows).with_seed(args.seed).with_overwrite(args.overwrite);
    if let Some(files) = args.files {
        options = options.with_files(files);
    }
    let folder = args.output.clone();
    let summary = write(folder, options).await?;
    let text = format!("wrote {} people to {} (files: {})", summary.rows, args.output.display(), summary.files);
    let json = json!({
        "outcome": "generated",
        "output": args.output.display().to_string(),
        "rows": summary.rows,
        "files": summary.files,
        "bytes": summary.bytes,
    });
    Ok(Outcome::success(text, json))
}

/// Generates a census, with a progress bar on a terminal.
pub(super) async fn write(folder: PathBuf, options: CensusOptions) -> Result<GenerateSummary, JobError> {
    let bar = stage_bar("generate", Some(options.rows));
    let progress = bar.clone();
    let work = move || write_census(&folder, &options, &|rows| progress.inc(rows));
    let written = tokio::task::spawn_blocking(work).await;
    bar.finish_and_clear();
    written.map_err(|_| JobError::new(Kind::Internal, "generating stopped"))?.map_err(|error| match error {
        // A retry would not help.
        GenerateError::Exists { .. } => JobError::new(Kind::BadPolicy, error.to_string()),
        GenerateError::Io { ref source, .. } => JobError::creating(&error, source),
        GenerateError::Parquet { .. } => JobError::new(Kind::TemporaryIo, error.to_string()),
        GenerateError::Stopped => JobError::new(Kind::Stopped, error.to_string()),
    })
}
