//! Loss of every algorithm over its running time.
//!
//! ```text
//! cargo bench -p throng-loss --bench loss -- [NAME[=ROWS] ...] [--out DIR]
//! cargo bench -p throng-loss --bench loss -- --threads [NAME=ROWS]
//! ```
//!
//! Data sets: `adult`, `adult-three` (three sensitive columns), `census` and `rich`; all of them by default. With
//! `--out`, tables go to `loss.md` and a plot of each data set to `NAME.svg`. With `--threads`, the clustering of a
//! census is timed with one thread and with two.

#![allow(missing_docs)]

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use throng_core::bound::{BoundEffort, lower_bound};
use throng_core::cluster::IgnoreProgress;
use throng_core::model::Privacy;
use throng_core::partition::FeasibleRegions;
use throng_loss::{
    BASELINE_LEAVES, BASELINE_LITERAL, BASELINE_WHOLE, DataSet, Outcome, STRICT, THRONG, Trial, svg, trials,
};
use throng_papers::{Choice, markdown};

const DATA_SETS: [&str; 4] = ["adult", "adult-three", "census", "rich"];
const PROMISES: [(u64, u64); 4] = [(5, 2), (10, 3), (20, 5), (50, 8)];
/// The (k, p) of the plots.
const PICTURED: (u64, u64) = (10, 3);
const THREAD_ROUNDS: usize = 5;

fn main() -> Result<()> {
    let mut choices = Vec::new();
    let mut out: Option<PathBuf> = None;
    let mut is_threads = false;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // Passed by Cargo.
            "--bench" => {}
            "--threads" => is_threads = true,
            "--out" => out = Some(words.next().context("--out needs a folder")?.into()),
            name => choices.push(Choice::parse(name)?),
        }
    }
    if is_threads {
        return compare_threads(&choices.pop().map_or_else(|| Choice::parse("census"), Ok)?);
    }
    if choices.is_empty() {
        choices = DATA_SETS.iter().map(|name| Choice::parse(name)).collect::<Result<_>>()?;
    }
    let mut report = String::new();
    for choice in choices {
        let Some(data_set) = DataSet::make(&choice)? else { continue };
        for (k, p) in PROMISES {
            let tried = trials(&data_set, k, p);
            let case = format!("{}, k = {k}, p = {p}", data_set.title);
            let text = format!("## {case}\n\n{}\n{}\n", table(&tried), ratios(&tried));
            println!("{text}");
            report.push_str(&text);
            if let (Some(out), true) = (&out, (k, p) == PICTURED) {
                fs::create_dir_all(out)?;
                let plot = svg(&case, &tried, &Trial::name_of(THRONG), bound(&data_set, k, p));
                fs::write(out.join(format!("{}.svg", data_set.file)), plot)?;
            }
        }
    }
    if let Some(out) = out {
        fs::create_dir_all(&out)?;
        fs::write(out.join("loss.md"), report)?;
    }
    Ok(())
}

/// Returns a lower bound of the NCP of any release; `None` if columns have weights, which the bound has too and NCP does not.
fn bound(data_set: &DataSet, k: u64, p: u64) -> Option<f64> {
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, data_set.sensitive);
    let is_even = data_set.table().quasi().iter().all(|quasi| quasi.spec.weight == 1.0);
    is_even.then(|| lower_bound(data_set.table(), &privacy, BoundEffort::once(&|| true)).value)
}

/// Returns the trials as a table, the least loss first.
fn table(tried: &[Trial]) -> String {
    let mut tried: Vec<&Trial> = tried.iter().collect();
    let ncp = |trial: &Trial| match &trial.outcome {
        Outcome::Measured(utility, _) => utility.ncp,
        Outcome::Skipped(_) => f64::INFINITY,
    };
    tried.sort_by(|a, b| ncp(a).total_cmp(&ncp(b)));
    let row = |trial: &&Trial| match &trial.outcome {
        Outcome::Measured(utility, time) => vec![
            trial.name.clone(),
            format!("{:.4}", utility.ncp),
            format!("{:.0}", utility.information_loss),
            format!("{:.3}", utility.avg),
            utility.dm.to_string(),
            format!("{:.3}", time.as_secs_f64()),
        ],
        Outcome::Skipped(reason) => {
            let empty = || "-".to_owned();
            vec![format!("{} ({reason})", trial.name), empty(), empty(), empty(), empty(), empty()]
        }
    };
    markdown(&["algorithm", "NCP", "IL", "AVG", "DM", "s"], &tried.iter().map(row).collect::<Vec<_>>())
}

/// Returns the ratios of Throng's default method to the baselines.
fn ratios(tried: &[Trial]) -> String {
    let measured = |name: &str| {
        tried.iter().find(|trial| trial.name == name).and_then(|trial| match &trial.outcome {
            Outcome::Measured(utility, time) => Some((utility.ncp, time.as_secs_f64())),
            Outcome::Skipped(_) => None,
        })
    };
    let own = measured(&Trial::name_of(THRONG));
    let row = |name: &str| {
        let pair = own.zip(measured(name));
        let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
        let ncp = pair.map(|((own, _), (other, _))| own / other);
        let time = pair.map(|((_, own), (_, other))| own / other);
        vec![name.to_owned(), cell(ncp), cell(time)]
    };
    let heading = format!("{} over", Trial::name_of(THRONG));
    let rows = [row(BASELINE_LITERAL), row(BASELINE_WHOLE), row(BASELINE_LEAVES), row(&Trial::name_of(STRICT))];
    markdown(&[heading.as_str(), "NCP", "time"], &rows)
}

/// Times the clustering stage with one thread and with two, alternating.
fn compare_threads(choice: &Choice) -> Result<()> {
    let Some(data_set) = DataSet::make(choice)? else { return Ok(()) };
    let table = data_set.table();
    let (k, p) = PICTURED;
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, data_set.sensitive);
    let leaves = THRONG.leaves(&FeasibleRegions::of(table, &privacy), table)?;
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pools = [pool(1)?, pool(2)?];
    let cluster = |at: usize| {
        let start = Instant::now();
        let formed = pools[at].install(|| THRONG.classes(&leaves, table, &privacy, &IgnoreProgress));
        (start.elapsed().as_secs_f64(), formed.classes)
    };
    println!("Clustering of {}, k = {k}, p = {p}, {} leaves\n", data_set.title, leaves.len());
    let (mut rows, mut gains) = (Vec::new(), Vec::new());
    for round in 1..=THREAD_ROUNDS {
        let ((one, of_one), (two, of_two)) = (cluster(0), cluster(1));
        ensure!(of_one == of_two, "the classes depend on the number of threads");
        gains.push(one / two);
        rows.push(vec![round.to_string(), format!("{one:.3}"), format!("{two:.3}"), format!("{:.2}", one / two)]);
    }
    print!("{}", markdown(&["round", "1 thread, s", "2 threads, s", "gain"], &rows));
    gains.sort_by(f64::total_cmp);
    println!("\ngain: median {:.2}", gains[gains.len() / 2]);
    Ok(())
}
