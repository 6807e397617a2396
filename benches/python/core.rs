//! Time of the crate `throng` on a census in memory: from batches to verified, released batches, in one process and without files.
//!
//! `benches/python/frames.py` runs it for comparison with the Python package, on the same rows in the types of a polars
//! frame.
//!
//! ```text
//! cargo bench --workspace --bench core -- [ROWS [ROUNDS]]
//! ```
//!
//! Prints a JSON list: wall time and CPU time of each round in seconds. A first warm-up round is not counted.

#![allow(missing_docs)]

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use throng_policy::{Overrides, Policy};
use throng_synthetic::{CensusBatches, census_schema};

/// The allocator of the `throng` binary.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Rows per batch, as the Python package divides a frame.
const BATCH_ROWS: usize = 1 << 16;

const SEED: u64 = 42;

#[tokio::main]
async fn main() -> Result<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let number = |index: usize, default: u64| numbers.get(index).copied().unwrap_or(default);
    let (rows, rounds) = (number(0, 1_000_000), number(1, 3));
    let threads = std::thread::available_parallelism()?.get();
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/census.toml");
    let policy = Policy::load(policy.as_ref(), &Overrides::default())?;
    let table = census(rows, threads)?;
    let config = SessionConfig::new().with_batch_size(BATCH_ROWS).with_target_partitions(threads);
    let session = SessionContext::new_with_config(config);
    let mut seconds = Vec::new();
    for _ in 0..=rounds {
        let (start, before) = (Instant::now(), cpu_seconds()?);
        let release = throng::anonymize_in(&session, Arc::clone(&table), &policy).await?;
        let released = release.collect().await?;
        seconds.push((start.elapsed().as_secs_f64(), cpu_seconds()? - before));
        ensure!(released.iter().map(RecordBatch::num_rows).sum::<usize>() as u64 == rows, "rows are missing");
    }
    println!("{}", serde_json::to_string(&seconds[1..])?);
    Ok(())
}

/// Returns the CPU time of this process over all threads.
fn cpu_seconds() -> Result<f64> {
    /// The clock of `/proc`, in ticks per second.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Fields are counted after the name, which is in parentheses: user time is the twelfth, system time the next.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / TICKS)
}

/// The census as a table in memory, with strings as views and a part for each thread.
fn census(rows: u64, threads: usize) -> Result<Arc<dyn TableProvider>> {
    let batches: Vec<RecordBatch> = CensusBatches::new(rows, SEED).collect();
    let whole = concat_batches(&census_schema(), &batches)?;
    drop(batches);
    let made = whole.schema();
    let fields = made.fields().iter().map(|field| {
        let data_type = if field.data_type() == &DataType::Utf8 { &DataType::Utf8View } else { field.data_type() };
        Field::new(field.name(), data_type.clone(), field.is_nullable())
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = whole.columns().iter().zip(schema.fields()).map(|(column, field)| cast(column, field.data_type()));
    let whole = RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<Vec<_>, _>>()?)?;
    let mut parts = vec![Vec::new(); threads];
    for (number, begin) in (0..whole.num_rows()).step_by(BATCH_ROWS).enumerate() {
        parts[number % threads].push(whole.slice(begin, BATCH_ROWS.min(whole.num_rows() - begin)));
    }
    Ok(Arc::new(MemTable::try_new(schema, parts)?))
}
