//! Simulates nights of a series. Prints a table, and writes a plot.
//!
//! `cargo bench -p throng-nights -- --rate 0.01 --svg nights.svg`; `--trade-offs` prints a table of settings instead, and
//! `--stream --people 100000 --delay 10000 [--proposals 2] [--arrival unknown]` compares a stream with one release of the same rows.

use anyhow::Result;
use throng_core::series::Leavers;
use throng_core::stream::EMISSION_PROPOSALS;
use throng_nights::{Churn, NightFigures, Simulation, StreamTrial, svg};

fn argument(name: &str) -> Option<String> {
    std::env::args().skip_while(|arg| arg != name).nth(1)
}

fn option(name: &str, default: f64) -> f64 {
    argument(name).and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn main() -> Result<()> {
    let rate = option("--rate", 0.01);
    // A third of the rate each leave, come and change; with `--parts 1` the whole rate applies to each.
    let part = rate / option("--parts", 3.0);
    let nights = option("--nights", 30.0) as usize;
    let simulation = Simulation {
        people: option("--people", 100_000.0) as usize,
        nights,
        churn: Churn { leave: part, come: part, change: part },
        k: option("--k", 10.0) as u64,
        p: option("--p", 3.0) as u64,
        remember: Some(option("--remember", nights as f64) as usize).filter(|remember| *remember > 0),
        max_delay: option("--max-delay", 14.0) as u64,
        max_waiting: option("--max-waiting", 0.007),
        reserve: option("--reserve", 0.0) as u64,
        leavers: if option("--drop", 0.0) > 0.0 { Leavers::DropBlock } else { Leavers::ShowOn },
        measure_every: option("--every", 5.0) as usize,
    };
    if std::env::args().any(|arg| arg == "--stream") {
        return stream(&StreamTrial {
            rows: simulation.people,
            max_delay: option("--delay", 10_000.0) as usize,
            k: simulation.k,
            p: simulation.p,
            cycles: option("--cycles", 1.0) as u32,
            most_proposals: option("--proposals", f64::from(EMISSION_PROPOSALS)) as u32,
            joins: argument("--arrival").is_some_and(|arrival| arrival == "unknown"),
        });
    }
    if std::env::args().any(|arg| arg == "--trade-offs") {
        return trade_offs(simulation);
    }
    println!(
        "| night | input | shown | come | gone | shown on | held | outdated | suppressed | loss | of rows in the input | fresh | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut all = Vec::new();
    let intruder = simulation.run(|night| {
        println!("{}", line(night));
        all.push(*night);
    })?;
    let (k, p) = (simulation.k as usize, simulation.p as usize);
    println!("all releases at once: {:?}", intruder.all(k, p));
    if option("--pairs", 0.0) > 0.0 {
        println!("worst pair: {:?}", intruder.pairs(k, p, usize::MAX));
        println!("worst prefix: {:?}", intruder.prefixes(k, p, usize::MAX));
    }
    if let Some(path) = argument("--svg") {
        std::fs::write(path, svg(&all))?;
    }
    Ok(())
}

fn line(night: &NightFigures) -> String {
    let counts = night.counts;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    let ratio = night.loss.zip(night.fresh).map_or(String::new(), |((_, loss), fresh)| format!("{:.2}", loss / fresh));
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {ratio} |",
        night.night,
        night.rows,
        counts.shown,
        counts.come,
        counts.gone,
        counts.shown_on,
        counts.held,
        counts.outdated,
        counts.suppressed,
        number(night.loss.map(|loss| loss.0)),
        number(night.loss.map(|loss| loss.1)),
        number(night.fresh),
    )
}

/// Prints a stream in three orders, compared with one release of the same rows.
fn stream(trial: &StreamTrial) -> Result<()> {
    let world = trial.world()?;
    println!(
        "| rows arrive | emissions | held at most | joined | suppressed | NCP | over batch | rows/s over batch | by CPU time | memory, MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let orders = [("as they come", None), ("sorted by age", Some("age")), ("sorted by region", Some("region"))];
    let mut streams = Vec::new();
    for (name, order) in orders {
        streams.push((name, trial.stream(&world, order)?));
    }
    let batch = trial.batch(&world)?;
    let bound = trial.lower_bound(&world)?;
    for (name, figures) in streams.into_iter().chain([("all at once", batch)]) {
        println!(
            "| {name} | {} | {} | {} | {} | {:.4} | {:.2} | {:.2} | {:.2} | {:.0} |",
            figures.emissions,
            figures.held,
            figures.joined,
            figures.suppressed,
            figures.ncp,
            figures.ncp / batch.ncp,
            batch.seconds / figures.seconds,
            batch.cpu_seconds / figures.cpu_seconds,
            figures.memory_mib
        );
    }
    if let Some(bound) = bound {
        let ratio = bound / batch.ncp;
        println!(
            "in random order, any operator with this delay whose classes leave as a whole: NCP at least {bound:.4}, {ratio:.2} over batch"
        );
    }
    Ok(())
}

/// Prints what settings cost after the last night.
fn trade_offs(base: Simulation) -> Result<()> {
    println!("| settings | shown on | held | outdated | suppressed | ratio of loss | exposed |");
    println!("|---|---|---|---|---|---|---|");
    let base = Simulation { measure_every: usize::MAX, ..base };
    let with = |name: &str, simulation: Simulation| -> Result<()> {
        let mut last = None;
        let intruder = simulation.run(|night| last = Some(*night))?;
        let Some(night) = last else { return Ok(()) };
        let percent = |count: u64| format!("{:.2} %", 100.0 * count as f64 / night.rows as f64);
        let ratio = night.loss.zip(night.fresh).map_or(0.0, |((_, loss), fresh)| loss / fresh);
        let (counts, exposed) = (night.counts, intruder.all(base.k as usize, base.p as usize));
        println!(
            "| {name} | {} | {} | {} | {} | {ratio:.2} | {} / {} |",
            percent(counts.shown_on),
            percent(counts.held),
            percent(counts.outdated),
            percent(counts.suppressed),
            exposed.below_k,
            exposed.below_p
        );
        Ok(())
    };
    with("no ledger", Simulation { remember: None, ..base })?;
    with("default", base)?;
    with("max_waiting = 0.003", Simulation { max_waiting: 0.003, ..base })?;
    with("max_waiting = 0.005", Simulation { max_waiting: 0.005, ..base })?;
    with("max_waiting = 0.009", Simulation { max_waiting: 0.009, ..base })?;
    with("max_delay = 7", Simulation { max_delay: 7, ..base })?;
    with("reserve = 10", Simulation { reserve: 10, ..base })?;
    with("reserve = 20", Simulation { reserve: 20, ..base })?;
    with("reserve = 90", Simulation { reserve: 90, ..base })?;
    with("remember = 12", Simulation { remember: Some(12), ..base })?;
    with("leavers = drop-class", Simulation { leavers: Leavers::DropBlock, ..base })?;
    with("leavers = drop-class, remember = 3", Simulation { leavers: Leavers::DropBlock, remember: Some(3), ..base })
}
