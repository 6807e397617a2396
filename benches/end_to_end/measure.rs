//! Times one copy and one run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use datafusion::config::{ConfigNonZeroUsize, ParquetOptions, TableParquetOptions};
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use throng_job::JobOptions;
use throng_policy::{Overrides, Role};

use crate::tables::{DataSet, utf8};

/// The budgets to compare.
pub(crate) const BUDGETS: [&str; 2] = ["fast", "balanced"];

/// Stages of a run, in order.
pub(crate) const STAGES: [&str; 7] = ["survey", "partition", "cluster", "recode", "write", "verify", "publish"];

/// Measurements of one round.
pub(crate) struct Round {
    /// Seconds to copy all columns.
    pub(crate) copied: f64,
    /// Seconds to copy the released columns.
    pub(crate) copied_released: f64,
    /// One run for each of [`BUDGETS`].
    pub(crate) runs: Vec<Run>,
}

/// Columns to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    All,
    /// Without identifiers.
    Released,
}

/// Measurements of one run.
pub(crate) struct Run {
    pub(crate) seconds: f64,
    /// Milliseconds of each stage.
    pub(crate) stages: BTreeMap<Cow<'static, str>, u64>,
    pub(crate) files: usize,
    pub(crate) cluster: Cow<'static, str>,
    pub(crate) ncp: f64,
    /// Only if columns release means.
    pub(crate) sse_sst: Option<f64>,
    pub(crate) peak_memory: u64,
}

/// Reads and writes the same Parquet with DataFusion alone. Returns seconds.
pub(crate) async fn copy(
    data_set: &DataSet,
    columns: Columns,
    output: &Path,
    files: usize,
    threads: usize,
) -> Result<f64> {
    let mut config = SessionConfig::new().with_target_partitions(threads);
    config.options_mut().execution.minimum_parallel_output_files = ConfigNonZeroUsize::try_new(files)?;
    let session = SessionContext::new_with_config(config);
    let policy = data_set.policy(&Overrides::for_a_table())?;
    let start = Instant::now();
    let frame = session.read_parquet(utf8(&data_set.input)?, ParquetReadOptions::default()).await?;
    let names: Vec<String> = frame.schema().fields().iter().map(|field| field.name().clone()).collect();
    let is_dropped = |(_, role): &&(String, Role)| columns == Columns::Released && matches!(role, Role::Identifier);
    let dropped: Vec<&String> = policy.columns.by_name.iter().filter(is_dropped).map(|(name, _)| name).collect();
    let kept: Vec<&str> = names.iter().filter(|name| !dropped.contains(name)).map(String::as_str).collect();
    let frame = frame.select_columns(&kept)?;
    let parquet = ParquetOptions { compression: Some("zstd(1)".to_owned()), ..ParquetOptions::default() };
    let options = TableParquetOptions { global: parquet, ..TableParquetOptions::default() };
    frame.write_parquet(utf8(output)?, DataFrameWriteOptions::new(), Some(options)).await?;
    let seconds = start.elapsed().as_secs_f64();
    let written = fs::read_dir(output)?.count();
    ensure!(written == files, "the copy has {written} files and the release {files}");
    Ok(seconds)
}

/// Runs the whole job, verification and publication included.
pub(crate) async fn run(data_set: &DataSet, output: &Path, budget: &str, threads: usize) -> Result<Run> {
    let overrides = Overrides {
        input: Some(vec![utf8(&data_set.input)?.to_owned()]),
        output: Some(utf8(output)?.to_owned()),
        budget: Some(budget.to_owned()),
        ..Overrides::default()
    };
    let policy = data_set.policy(&overrides)?;
    forget_peak_memory();
    let options = JobOptions { threads, ..JobOptions::default() };
    let start = Instant::now();
    let released = throng_job::run(&policy, &options).await?;
    let seconds = start.elapsed().as_secs_f64();
    let sidecar = released.sidecar;
    Ok(Run {
        seconds,
        stages: sidecar.timing_ms,
        files: released.files.len(),
        cluster: sidecar.algorithm.cluster,
        ncp: sidecar.utility.ncp,
        sse_sst: sidecar.utility.sse_sst,
        peak_memory: sidecar.resources.peak_memory_bytes.unwrap_or(0),
    })
}

/// Resets the peak memory counter of the process. If that fails, peaks include earlier runs.
fn forget_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
