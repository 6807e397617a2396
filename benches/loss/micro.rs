//! Squared errors of microaggregation over its budget.
//!
//! ```text
//! cargo bench -p throng-loss --bench micro -- [--cycles 0,1,8]
//! ```
//!
//! Census 1080 with thirteen columns, and random tables. Times are CPU seconds.

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
    let mut cycles: Vec<u32> = vec![0, 1, 8];
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        if word == "--cycles" {
            cycles =
                words.next().context("--cycles needs numbers")?.split(',').map(str::parse).collect::<Result<_, _>>()?;
        }
    }
    let mut tables = Vec::new();
    if let Some(folder) = data_or_skip() {
        let census = Census::read(&folder)?;
        tables.push(("census 1080 x 13", table((0..13).map(|column| census.array(column)).collect())?));
    }
    tables.push(("uniform 1000 x 2", table(random(1000, 2, 0.0))?));
    tables.push(("clustered 2000 x 4", table(random(2000, 4, 0.8))?));
    tables.push(("clustered 8000 x 3", table(random(8000, 3, 0.9))?));
    for (name, table) in &tables {
        for k in [3, 4, 5, 10] {
            let privacy = Privacy::p_sensitive_k_anonymity(k, 1, 0);
            for cycles in &cycles {
                let before = cpu_seconds();
                let method = Method::new(PartitionChoice::None, ClusterChoice::Centroid).with_cycles(*cycles);
                let loss = form(table, method, &privacy, k)?.utility.sse_sst.unwrap_or_default();
                println!("{name}, k = {k}, {cycles} cycles: {:.4} %, {:.2} s", 100.0 * loss, cpu_seconds() - before);
            }
        }
    }
    Ok(())
}

fn table(columns: Vec<ArrayRef>) -> Result<Table> {
    let quasi = columns.into_iter().enumerate().map(|(number, column)| (mean(&format!("c{number}")), column));
    Ok(survey(quasi.collect(), Vec::new())?.table)
}

/// Random points; `common` is the weight of twenty common centers.
fn random(rows: usize, columns: usize, common: f64) -> Vec<ArrayRef> {
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
