//! How long a verified release takes, as a multiple of a plain copy of the same Parquet.
//!
//! Copy and run take turns, so that a noisy machine disturbs both alike, and the ratio is taken within each round.
//!
//! ```text
//! cargo bench -p throng-benches --bench end_to_end -- [ROWS [ROUNDS]]
//! ```

#![allow(missing_docs)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use datafusion::config::{ParquetOptions, TableParquetOptions};
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use throng_pipeline::generate::{CensusOptions, write_census};
use throng_pipeline::{JobOptions, Silent, Stopper};
use throng_policy::{Overrides, Policy};

const DEFAULT_ROWS: u64 = 1_000_000;
const DEFAULT_ROUNDS: usize = 5;

#[tokio::main]
async fn main() -> Result<()> {
    // Cargo passes `--bench`; what is left are our own arguments.
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let rows = numbers.first().copied().unwrap_or(DEFAULT_ROWS);
    let rounds = numbers.get(1).map_or(DEFAULT_ROUNDS, |rounds| *rounds as usize);
    let threads = std::thread::available_parallelism()?.get();

    let folder = tempfile::tempdir()?;
    let input = folder.path().join("input");
    let start = Instant::now();
    write_census(&input, &CensusOptions::new(rows), &|_| {})?;
    println!("{rows} generated rows ({:.2} s), {threads} threads, {rounds} rounds\n", start.elapsed().as_secs_f64());
    println!("| round | copy, s | run, s | run / copy | survey | partition | cluster | recode | write | verify |");
    println!("|---|---|---|---|---|---|---|---|---|---|");

    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let copied = copy(&input, &folder.path().join(format!("copy-{round}")), threads).await?;
        let (run, stages) = run(&input, &folder.path().join(format!("release-{round}")), threads).await?;
        let ratio = run.as_secs_f64() / copied.as_secs_f64();
        ratios.push(ratio);
        println!("| {round} | {:.2} | {:.2} | {ratio:.2} | {stages} |", copied.as_secs_f64(), run.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    let (least, median, most) = (ratios[0], ratios[ratios.len() / 2], ratios[ratios.len() - 1]);
    println!("\nrun / copy: median {median:.2}, from {least:.2} to {most:.2}");
    Ok(())
}

/// All columns, read and written by DataFusion alone.
async fn copy(input: &Path, output: &Path, threads: usize) -> Result<Duration> {
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(threads));
    let start = Instant::now();
    let frame = session.read_parquet(path(input)?, ParquetReadOptions::default()).await?;
    let parquet = ParquetOptions { compression: Some("zstd(1)".to_owned()), ..ParquetOptions::default() };
    let options = TableParquetOptions { global: parquet, ..TableParquetOptions::default() };
    frame.write_parquet(path(output)?, DataFrameWriteOptions::new(), Some(options)).await?;
    Ok(start.elapsed())
}

/// The whole job, verified and published, with its stages in milliseconds.
async fn run(input: &Path, output: &Path, threads: usize) -> Result<(Duration, String)> {
    let overrides = Overrides {
        input: Some(vec![path(input)?.to_owned()]),
        output: Some(path(output)?.to_owned()),
        ..Overrides::default()
    };
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs/census.toml");
    let policy = Policy::load(&policy, &overrides)?;
    let start = Instant::now();
    let released = throng_pipeline::run(
        &policy,
        &JobOptions { threads, memory_limit: None, observer: Arc::new(Silent), stop: Stopper::new().1 },
    )
    .await?;
    let time = start.elapsed();
    let stages = ["survey", "partition", "cluster", "recode", "write", "verify"];
    let stage = |name: &&str| released.sidecar.timing_ms.get(*name).map_or("-".to_owned(), |time| time.to_string());
    Ok((time, stages.iter().map(stage).collect::<Vec<_>>().join(" | ")))
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a temporary folder has a name that is not UTF-8")
}
