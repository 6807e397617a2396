//! Loss of the local search over its budget, beside the proven lower bound.
//!
//! ```text
//! cargo bench -p throng-loss --bench search -- [NAME[=ROWS] ...] [--cycles 0,1,8] [--models 10/3,5/2]
//!     [--seeds 3] [--no-bound] [--max-share 0.5] [--entropy-l 3] [--t 0.2]
//! ```
//!
//! Data sets: those of `loss`, and `adult-few`, `numbers-2`, `numbers-4`, `deep`, `flat`, `lumps`, `secrets`, `weights`. Times
//! are CPU seconds of the process without the partition, so that they can be compared on a busy machine; losses and times
//! are means over the seeds. The NCP that the search minimizes is weighted by the weights of the columns. Models of frequencies
//! hold for every sensitive column.

#![allow(missing_docs)]

use anyhow::{Context, Result};
use throng_core::bound::{BoundEffort, lower_bound};
use throng_core::cluster::IgnoreProgress;
use throng_core::key::ReleaseKey;
use throng_core::metrics::Utility;
use throng_core::model::{FrequencyRequirement, GroundDistance, Privacy, frequency_model};
use throng_core::partition::FeasibleRegions;
use throng_core::recode::Recoding;
use throng_loss::{IntervalTable, THRONG, cpu_seconds};
use throng_papers::{Choice, markdown};

fn main() -> Result<()> {
    let (mut choices, mut cycles, mut models) = (Vec::new(), vec![0, 1, 8], vec![(10, 3)]);
    let (mut is_bounded, mut seeds, mut requirements) = (true, 1_u64, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // Passed by Cargo.
            "--bench" => {}
            "--no-bound" => is_bounded = false,
            "--max-share" | "--entropy-l" | "--t" => {
                let limit = words.next().with_context(|| format!("{word} needs a number"))?.parse()?;
                requirements.push(match word.as_str() {
                    "--max-share" => FrequencyRequirement::MaxShare(limit),
                    "--entropy-l" => FrequencyRequirement::EntropyDiversity { l: limit },
                    _ => FrequencyRequirement::Closeness { t: limit, distance: GroundDistance::Equal },
                });
            }
            "--seeds" => seeds = words.next().context("--seeds needs a number")?.parse()?,
            "--cycles" => {
                let list = words.next().context("--cycles needs numbers")?;
                cycles = list.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            "--models" => {
                let list = words.next().context("--models needs pairs such as 10/3")?;
                let model = |pair: &str| {
                    let (k, p) = pair.split_once('/').context("a model is k/p")?;
                    Ok((k.parse()?, p.parse()?))
                };
                models = list.split(',').map(model).collect::<Result<_>>()?;
            }
            name => choices.push(Choice::parse(name)?),
        }
    }
    let mut rows = Vec::new();
    for choice in &choices {
        let Some(IntervalTable { title, sensitive, table }) = IntervalTable::make(choice)? else { continue };
        for (k, p) in &models {
            let privacy =
                with_requirements(Privacy::p_sensitive_k_anonymity(*k, *p, sensitive), &requirements, sensitive);
            let title = format!("{title}, {k}, {p}");
            let before = cpu_seconds();
            let bound = is_bounded.then(|| lower_bound(&table, &privacy, BoundEffort::once(&|| true)));
            let mut add = |effort: String, loss: f64, gap: String, time: f64| {
                println!("{title}: {effort} {loss:.5} {gap} {time:.3} s");
                rows.push(vec![title.clone(), effort, format!("{loss:.5}"), gap, format!("{time:.3}")]);
            };
            if let Some(bound) = bound {
                add(format!("bound, {} sweeps", bound.sweeps), bound.value, String::new(), cpu_seconds() - before);
            }
            let allowed = FeasibleRegions::of(&table, &privacy);
            let before = cpu_seconds();
            let leaves = THRONG.leaves(&allowed, &table)?;
            println!(
                "{title}: {} cells, {} leaves in {:.3} s",
                table.cell_count(),
                leaves.len(),
                cpu_seconds() - before
            );
            for cycles in &cycles {
                let (mut loss, mut time) = (0.0, 0.0);
                for seed in 0..seeds {
                    let method = THRONG.with_cycles(*cycles).with_key(ReleaseKey::new(&[0; 32], seed));
                    let before = cpu_seconds();
                    let clusters = method.classes(&leaves, &table, &allowed.privacy, &IgnoreProgress).classes;
                    time += (cpu_seconds() - before) / seeds as f64;
                    let recoding = Recoding::without(&table, &clusters, &allowed.suppressed_cells)?;
                    loss += Utility::of(&table, &recoding, *k).weighted_ncp / seeds as f64;
                }
                let gap = bound
                    .and_then(|bound| bound.gap(loss))
                    .map_or(String::new(), |gap| format!("{:.1} %", 100.0 * gap));
                add(format!("{cycles} cycles"), loss, gap, time);
            }
        }
    }
    println!("\n{}", markdown(&["table, k, p", "effort", "NCP", "gap", "CPU, s"], &rows));
    Ok(())
}

/// Returns the models with these requirements on every sensitive column.
fn with_requirements(privacy: Privacy, requirements: &[FrequencyRequirement], columns: usize) -> Privacy {
    let of_column = |column| requirements.iter().map(move |requirement| frequency_model(*requirement, column));
    privacy.with((0..columns).flat_map(of_column))
}
