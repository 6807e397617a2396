//! Peak memory and time of a run with a memory limit, and of one without, as measured by the operating system.
//!
//! Two tables: a generated census, and one with a unique quasi-identifier. Releases with and without a limit must have
//! equal bytes, and the spill folder must be empty afterwards.
//!
//! ```text
//! cargo build --release
//! cargo bench -p throng-benches --bench memory -- [CENSUS_ROWS [UNIQUE_ROWS [LIMIT_MIB]]]
//! ```

#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use throng_synthetic::{CensusOptions, write_census};

const DEFAULT_CENSUS_ROWS: u64 = 10_000_000;
const DEFAULT_UNIQUE_ROWS: u64 = 5_000_000;
const DEFAULT_LIMIT_MIB: u64 = 512;

const UNIQUE_POLICY: &str = r#"
version = 1
[input]
location = "input/"
[output]
location = "out/"
[privacy]
k = 10
p = 3
[columns]
income.role = "quasi"
age.role = "quasi"
region = { role = "quasi", hierarchy = { mask = "right" } }
occupation.role = "sensitive"
note.role = "insensitive"
"#;

fn main() -> Result<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let number = |index: usize, default: u64| numbers.get(index).copied().unwrap_or(default);
    let limit = number(2, DEFAULT_LIMIT_MIB);
    let folder = tempfile::tempdir()?;
    println!("| table | limit | peak resident, MiB | s | rows spilled |\n|---|---|---|---|---|");
    let rows = number(0, DEFAULT_CENSUS_ROWS);
    if rows > 0 {
        let input = folder.path().join("census");
        write_census(&input, &CensusOptions::new(rows), &|_| {})?;
        let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../configs/census.toml");
        compare(&format!("census, {rows} rows"), Path::new(policy), &input, folder.path(), limit)?;
        fs::remove_dir_all(&input)?;
    }
    let rows = number(1, DEFAULT_UNIQUE_ROWS);
    if rows > 0 {
        let input = folder.path().join("unique");
        write_unique(&input, rows)?;
        let policy = folder.path().join("unique.toml");
        fs::write(&policy, UNIQUE_POLICY)?;
        compare(&format!("all incomes different, {rows} rows"), &policy, &input, folder.path(), limit)?;
    }
    Ok(())
}

fn compare(name: &str, policy: &Path, input: &Path, folder: &Path, limit: u64) -> Result<()> {
    let unlimited = run(policy, input, folder, None)?;
    println!(
        "| {name} | none | {} | {:.1} | {} |",
        unlimited.peak_mib,
        unlimited.time.as_secs_f64(),
        unlimited.spilled
    );
    let limited = run(policy, input, folder, Some(limit))?;
    println!(
        "| {name} | {limit} MiB | {} | {:.1} | {} |",
        limited.peak_mib,
        limited.time.as_secs_f64(),
        limited.spilled
    );
    ensure!(unlimited.digests == limited.digests, "the bytes of the releases differ");
    Ok(())
}

/// Measurements of one run.
struct Run {
    peak_mib: u64,
    time: Duration,
    spilled: bool,
    /// From the manifest.
    digests: Vec<String>,
}

fn run(policy: &Path, input: &Path, folder: &Path, limit: Option<u64>) -> Result<Run> {
    let (output, spill) = (folder.join("out"), folder.join("spill"));
    fs::create_dir_all(&spill)?;
    let mut command = Command::new(throng()?);
    command.arg("run").arg(policy).arg("--overwrite").arg("--input").arg(input).arg("--output").arg(&output);
    command.env("TMPDIR", &spill).stdout(Stdio::null()).stderr(Stdio::piped());
    if let Some(limit) = limit {
        command.arg("--memory-limit").arg(format!("{limit}MiB"));
    }
    let start = Instant::now();
    let mut child = command.spawn().context("starting throng; build it with `cargo build --release`")?;
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        peak = peak.max(peak_of(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(20));
    }
    let time = start.elapsed();
    let ended = child.wait_with_output()?;
    let log = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(ended.status.success(), "throng failed: {log}");
    ensure!(fs::read_dir(&spill)?.next().is_none(), "spill files were left behind");
    let manifest = fs::read_to_string(output.join("_throng/manifest.json"))?;
    let digests = manifest.lines().filter(|line| line.contains("sha256")).map(str::to_owned).collect();
    fs::remove_dir_all(&output)?;
    Ok(Run { peak_mib: peak >> 20, time, spilled: log.contains("spilled=true"), digests })
}

/// Returns the peak resident memory of a process (VmHWM).
fn peak_of(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Returns the release binary, which is next to this program.
fn throng() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program.parent().and_then(Path::parent).context("a program in target/release/deps")?;
    Ok(folder.join("throng"))
}

/// Writes people with unique incomes.
fn write_unique(folder: &Path, rows: u64) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut writer: Option<ArrowWriter<fs::File>> = None;
    for first in (0..rows).step_by(1 << 16) {
        let people = first..rows.min(first + (1 << 16));
        let mixed = |person: u64, salt: u64| (person + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        // An odd factor permutes the 32-bit numbers, so incomes are unique.
        let income = people.clone().map(|person| i64::from((person as u32).wrapping_mul(2_654_435_761)));
        let age = people.clone().map(|person| (mixed(person, 1) % 90) as i64);
        let region = people.clone().map(|person| format!("{:04}", mixed(person, 2) % 3000));
        let occupation = people.clone().map(|person| format!("occupation {}", mixed(person, 3) % 40));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("income", Arc::new(Int64Array::from_iter_values(income))),
            ("age", Arc::new(Int64Array::from_iter_values(age))),
            ("region", Arc::new(StringArray::from_iter_values(region))),
            ("occupation", Arc::new(StringArray::from_iter_values(occupation))),
            ("note", Arc::new(Int64Array::from_iter_values(people.map(|person| person as i64)))),
        ];
        let batch = RecordBatch::try_from_iter(columns)?;
        if writer.is_none() {
            writer =
                Some(ArrowWriter::try_new(fs::File::create(folder.join("people.parquet"))?, batch.schema(), None)?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&batch)?;
        }
    }
    if let Some(writer) = writer {
        writer.close()?;
    }
    Ok(())
}
