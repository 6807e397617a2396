//! Loss of the local search over its budget, beside the proven lower bound.
//!
//! ```text
//! cargo bench -p throng-loss --bench search -- [NAME[=ROWS] ...] [--cycles 0,1,8] [--models 10/3,5/2] [--no-bound]
//! ```
//!
//! Data sets: those of `loss`, and `adult-few`, `numbers-2`, `numbers-4`, `deep`. Times are CPU seconds of the process, so
//! that they can be compared on a busy machine.

#![allow(missing_docs)]

use anyhow::{Context, Result};
use throng_core::anonymize::Method;
use throng_core::bound::{BoundEffort, lower_bound};
use throng_core::model::Privacy;
use throng_loss::{DataSet, THRONG, cpu_seconds};
use throng_papers::{Choice, form, markdown};

fn main() -> Result<()> {
    let (mut choices, mut cycles, mut models) = (Vec::new(), vec![0, 1, 8], vec![(10, 3)]);
    let mut is_bounded = true;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            // Passed by Cargo.
            "--bench" => {}
            "--no-bound" => is_bounded = false,
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
        let Some(data_set) = DataSet::make(choice)? else { continue };
        for (k, p) in &models {
            let privacy = Privacy::p_sensitive_k_anonymity(*k, *p, data_set.sensitive);
            let before = cpu_seconds();
            let bound = is_bounded.then(|| lower_bound(data_set.table(), &privacy, BoundEffort::once(&|| true)));
            let title = format!("{}, {k}, {p}", data_set.title);
            let (value, sweeps) = bound.map_or((0.0, 0), |bound| (bound.value, bound.sweeps));
            rows.push(
                [&title, "bound", &format!("{value:.5}"), "", &format!("{:.2}", cpu_seconds() - before)]
                    .map(str::to_owned)
                    .to_vec(),
            );
            println!("{title}: bound {value:.5} ({sweeps} sweeps), {:.2} s", cpu_seconds() - before);
            for cycles in &cycles {
                let before = cpu_seconds();
                let method: Method = THRONG.with_cycles(*cycles);
                let ncp = form(data_set.table(), method, &privacy, *k)?.utility.ncp;
                let time = cpu_seconds() - before;
                let gap =
                    bound.and_then(|bound| bound.gap(ncp)).map_or(String::new(), |gap| format!("{:.1} %", 100.0 * gap));
                println!("{title}: {cycles} cycles {ncp:.5} {gap} {time:.2} s");
                rows.push(vec![
                    title.clone(),
                    format!("{cycles} cycles"),
                    format!("{ncp:.5}"),
                    gap,
                    format!("{time:.2}"),
                ]);
            }
        }
    }
    println!("\n{}", markdown(&["table, k, p", "effort", "NCP", "gap", "CPU, s"], &rows));
    Ok(())
}
