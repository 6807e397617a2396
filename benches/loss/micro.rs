//! Squared errors of microaggregation over its budget.
//!
//! ```text
//! cargo bench -p throng-loss --bench micro -- [--cycles 0,1,16] [--k 3,4,5,10] [--orders 1] [--table census]
//! ```
//!
//! Census 1080 with thirteen columns, and random tables. `--table` selects those whose name contains a text. Random choices
//! depend on the content of the table, so other choices are tried by other orders of its columns; with several orders,
//! errors are given as their mean and range. Times are CPU seconds per order. The last cycles of the default are those of
//! the budget `thorough`.

#![allow(missing_docs)]

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{ArrayRef, Float64Array};
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::model::Privacy;
use throng_core::table::Table;
use throng_loss::cpu_seconds;
use throng_papers::{Census, SampleRng, data_or_skip, form, mean, survey};

fn main() -> Result<()> {
    let (mut cycles, mut sizes, mut orders, mut wanted) = (vec![0, 1, 16], vec![3, 4, 5, 10], 1_u64, String::new());
    // `--bench` is passed by Cargo.
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--cycles" => cycles = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--k" => sizes = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--orders" => orders = value.parse()?,
            "--table" => wanted = value,
            _ => anyhow::bail!("unknown argument `{word}`"),
        }
    }
    let mut tables = Vec::new();
    if let Some(folder) = data_or_skip() {
        let census = Census::read(&folder)?;
        tables.push(("census 1080 x 13", (0..13).map(|column| census.array(column)).collect()));
    }
    tables.push(("uniform 1000 x 2", clustered(1000, 2, 0.0)));
    tables.push(("clustered 2000 x 4", clustered(2000, 4, 0.8)));
    tables.push(("clustered 8000 x 3", clustered(8000, 3, 0.9)));
    tables.push(("skewed 4000 x 11", skewed(4000, 11)));
    for (name, columns) in tables.iter().filter(|(name, _)| name.contains(&wanted)) {
        for k in &sizes {
            let privacy = Privacy::p_sensitive_k_anonymity(*k, 1, 0);
            for cycles in &cycles {
                let before = cpu_seconds();
                let method = Method::new(PartitionChoice::None, ClusterChoice::Centroid).with_cycles(*cycles);
                let loss = |order: u64| -> Result<f64> {
                    let formed = form(&table(in_order(columns, order))?, method, &privacy, *k)?;
                    Ok(100.0 * formed.utility.sse_sst.unwrap_or_default())
                };
                let losses = (0..orders).map(loss).collect::<Result<Vec<f64>>>()?;
                let (least, most) = losses.iter().fold((f64::MAX, 0.0), |(a, b), loss| (loss.min(a), loss.max(b)));
                let mean = losses.iter().sum::<f64>() / orders as f64;
                let time = (cpu_seconds() - before) / orders as f64;
                println!("{name}, k = {k}, {cycles} cycles: {mean:.4} % ({least:.4} to {most:.4}), {time:.2} s");
            }
        }
    }
    Ok(())
}

fn table(columns: Vec<ArrayRef>) -> Result<Table> {
    let quasi = columns.into_iter().enumerate().map(|(number, column)| (mean(&format!("c{number}")), column));
    Ok(survey(quasi.collect(), Vec::new())?.table)
}

/// Returns the columns as they are for order 0, and in random order otherwise.
fn in_order(columns: &[ArrayRef], order: u64) -> Vec<ArrayRef> {
    match order {
        0 => columns.to_vec(),
        seed => {
            let places = SampleRng::new(seed).sample(columns.len(), columns.len());
            places.into_iter().map(|place| Arc::clone(&columns[place])).collect()
        }
    }
}

/// Random points; `common` is the weight of twenty common centers.
fn clustered(rows: usize, columns: usize, common: f64) -> Vec<ArrayRef> {
    let mut draws = SampleRng::new(1);
    let centers: Vec<f64> = (0..20 * columns).map(|_| draws.share()).collect();
    let centers_of: Vec<usize> = (0..rows).map(|_| draws.below(20)).collect();
    let column = |column: usize| {
        let values = centers_of
            .iter()
            .map(|center| common * centers[center * columns + column] + (1.0 - common) * draws.share());
        Arc::new(values.collect::<Float64Array>()) as ArrayRef
    };
    (0..columns).map(column).collect()
}

/// Correlated columns with a few very large values, such as amounts of money.
fn skewed(rows: usize, columns: usize) -> Vec<ArrayRef> {
    let mut draws = SampleRng::new(1);
    let common: Vec<f64> = (0..rows).map(|_| draws.share()).collect();
    let column = |_| {
        let values = common.iter().map(|common| (4.0 * (common + draws.share())).exp());
        Arc::new(values.collect::<Float64Array>()) as ArrayRef
    };
    (0..columns).map(column).collect()
}
