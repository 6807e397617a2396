//! Telemetry files of a run: metrics and lineage.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use throng_job::telemetry::{Ending, Recorder, check_target};

use crate::args::Command;
use crate::outcome::{Outcome, eprint_line};

/// Files that are written at the end of a run; none for other commands.
pub(crate) struct RunFiles {
    recorder: Arc<Recorder>,
    metrics: Option<PathBuf>,
    lineage: Option<PathBuf>,
}

/// Exit codes of a process that was stopped by a signal.
const STOPPED: [u8; 2] = [130, 143];

impl RunFiles {
    /// Returns the files that the command line names. An unwritable path is an error before the run, which may take
    /// long.
    pub(crate) fn from_args(command: &Command) -> Result<Self, Outcome> {
        let Command::Run(args) = command else {
            return Ok(Self { recorder: Arc::new(Recorder::new("")), metrics: None, lineage: None });
        };
        let files = [("--metrics-file", &args.metrics_file), ("--lineage-file", &args.lineage_file)];
        for (flag, path) in files {
            if let Some(path) = path {
                let place = path.display();
                check_target(path).map_err(|error| Outcome::failure(2, &format!("{flag}: {place} {error}")))?;
            }
        }
        Ok(Self {
            recorder: Arc::new(Recorder::new(job_name(&args.policy.policy))),
            metrics: args.metrics_file.clone(),
            lineage: args.lineage_file.clone(),
        })
    }

    /// Returns the recorder of the run.
    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// Writes the files. The outcome of the run is final, so a failure is only a warning.
    pub(crate) fn write(&self, outcome: &Outcome) {
        if self.metrics.is_none() && self.lineage.is_none() {
            return;
        }
        let exit_code = outcome.exit_code();
        let stopped = STOPPED.contains(&exit_code);
        let record = self.recorder.record(Ending { exit_code, error: outcome.error(), stopped });
        let metrics = self.metrics.as_deref().map(|path| (path, record.write_metrics(path)));
        let lineage = self.lineage.as_deref().map(|path| (path, record.write_lineage(path)));
        for (path, written) in [metrics, lineage].into_iter().flatten() {
            if let Err(error) = written {
                eprint_line(&format!("warning: {} could not be written: {error}", path.display()));
            }
        }
    }
}

/// Names a job after its policy file.
fn job_name(policy: &Path) -> String {
    policy.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
