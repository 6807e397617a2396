//! `throng-cluster run`

use std::sync::Arc;

use serde_json::Value;
use throng_ballista::{SessionOptions, session};
use throng_pipeline::{Cluster, JobError, JobOptions, Observer, Stage, Stop, run_on};
use throng_policy::Policy;

use super::args::RunArgs;
use super::tell;

/// Logs the stages.
struct Log;

impl Observer for Log {
    fn begin(&self, stage: Stage, rows: Option<u64>) {
        tracing::info!(stage = stage.as_str(), rows, "a stage begins");
    }

    fn advance(&self, _: u64) {}
}

pub(super) async fn run(args: &RunArgs, threads: usize, stop: Stop) -> Result<Value, JobError> {
    let policy = Policy::load(&args.policy, &args.overrides())?;
    let partitions = args.partitions();
    let options = SessionOptions::default().with_shuffle_partitions(partitions);
    let cluster = Cluster { session: session(&args.cluster, &options).await?, partitions };
    let job = JobOptions { threads, memory_limit: None, observer: Arc::new(Log), stop };
    let released = run_on(&cluster, &policy, &job).await?;
    tell(&released.to_text());
    Ok(released.to_json())
}
