//! Time of a verified release, as a multiple of a plain copy of the same Parquet.
//!
//! A round copies every data set and releases it with the budgets `fast` and `balanced`. Copies and runs are
//! interleaved, so that noise of the machine affects both equally, and ratios are taken within a round. A warm-up round
//! that is not counted fills caches and determines the number of files of a release; the copy has the same compression
//! and number of files. It is taken twice: with all columns of the input, and with the released columns.
//!
//! ```text
//! cargo bench -p throng-benches --bench end_to_end -- [NAME=ROWS ...] [--rounds N] [--json FILE] [--markdown FILE]
//! ```
//!
//! | name | data set |
//! |---|---|
//! | `census` | generated census with the policy `configs/census.toml` |
//! | `adult` | UCI Adult, drawn with repetition, with the policy `configs/adult.toml` |
//! | `numbers` | six nearly unique numbers, released as means |
//! | `rich` | ten such numbers, released as intervals |

#![allow(missing_docs)]

mod measure;
mod report;
mod tables;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use throng_papers::Choice;

use measure::{BUDGETS, Columns, Round, copy, run};
use tables::DataSet;

/// The allocator of the `throng` binary.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const DEFAULT_DATA_SETS: [&str; 2] = ["census=100k", "census=1M"];
const DEFAULT_ROUNDS: usize = 5;

/// Command-line arguments.
struct Arguments {
    data_sets: Vec<Choice>,
    rounds: usize,
    json: Option<PathBuf>,
    markdown: Option<PathBuf>,
}

impl Arguments {
    fn read() -> Result<Self> {
        let mut read = Self { data_sets: Vec::new(), rounds: DEFAULT_ROUNDS, json: None, markdown: None };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                // Passed by Cargo.
                "--bench" => {}
                "--rounds" => read.rounds = value()?.parse().context("--rounds needs a number")?,
                "--json" => read.json = Some(value()?.into()),
                "--markdown" => read.markdown = Some(value()?.into()),
                name => read.data_sets.push(Choice::parse(name)?),
            }
        }
        if read.data_sets.is_empty() {
            read.data_sets = DEFAULT_DATA_SETS.iter().map(|word| Choice::parse(word)).collect::<Result<_>>()?;
        }
        ensure!(read.rounds > 0, "--rounds needs at least one");
        Ok(read)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    let threads = std::thread::available_parallelism()?.get();
    let folder = tempfile::tempdir()?;
    let mut data_sets = Vec::new();
    for choice in &arguments.data_sets {
        data_sets.extend(DataSet::make(choice, folder.path())?);
    }
    let mut measured: Vec<Vec<Round>> = data_sets.iter().map(|_| Vec::new()).collect();
    let mut files = vec![1; data_sets.len()];
    let output = folder.path().join("output");
    for round in 0..=arguments.rounds {
        for (at, data_set) in data_sets.iter().enumerate() {
            let mut copied = [0.0; 2];
            for (seconds, columns) in copied.iter_mut().zip([Columns::All, Columns::Released]) {
                *seconds = copy(data_set, columns, &output, files[at], threads).await?;
                fs::remove_dir_all(&output)?;
            }
            let [copied, copied_released] = copied;
            let mut runs = Vec::new();
            for budget in BUDGETS {
                runs.push(run(data_set, &output, budget, threads).await?);
                fs::remove_dir_all(&output)?;
            }
            files[at] = runs[0].files;
            let times: Vec<String> = runs.iter().map(|run| format!("{:.2} s", run.seconds)).collect();
            eprintln!("round {round}, {}: copy {copied:.2} s, runs {}", data_set.title, times.join(", "));
            if round > 0 {
                measured[at].push(Round { copied, copied_released, runs });
            }
        }
    }
    let report = report::Report { threads, data_sets: &data_sets, files: &files, rounds: &measured };
    let markdown = report.markdown();
    println!("{markdown}");
    if let Some(path) = &arguments.markdown {
        fs::write(path, markdown).with_context(|| format!("writing {}", path.display()))?;
    }
    if let Some(path) = &arguments.json {
        fs::write(path, report.json()?).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}
