//! Micro-benchmarks of the kernels of the core.
//!
//! ```text
//! cargo bench -p throng-loss --bench kernels
//! ```

#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use criterion::{BatchSize, Criterion, Throughput};
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::cluster::{ClusterMethod, Greedy, IgnoreProgress};
use throng_core::columns::SensitiveSpec;
use throng_core::domain::DomainKind;
use throng_core::local_search::{Effort, improve};
use throng_core::model::Privacy;
use throng_core::partition::{FeasibleRegions, Mondrian, PartitionMethod};
use throng_core::recode::Recoding;
use throng_core::survey::{Survey, SurveySpec};
use throng_core::table::Table;
use throng_core::verify::{Promise, SensitivePromise, Verifier};
use throng_loss::DataSet;
use throng_papers::{Choice, category, interval};

const ROWS: usize = 20_000;
const K: u64 = 10;
const P: u64 = 3;

fn main() -> Result<()> {
    let choice = Choice { name: "census".to_owned(), rows: Some(ROWS) };
    let data_set = DataSet::make(&choice)?.context("a generated data set")?;
    let (table, privacy) = (data_set.table(), Privacy::p_sensitive_k_anonymity(K, P, data_set.sensitive));
    let method = Method::new(PartitionChoice::Mondrian, ClusterChoice::Greedy);
    let leaves = method.leaves(&FeasibleRegions::of(table, &privacy), table)?;
    let classes = method.classes(&leaves, table, &privacy, &IgnoreProgress).classes;
    let recoding = Recoding::new(table, &classes)?;
    let cells: Vec<u32> = (0..table.cell_count() as u32).collect();
    let leaf = leaves.iter().max_by_key(|leaf| leaf.cells.len()).context("a leaf")?;

    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let mut group = criterion.benchmark_group(format!("census={ROWS}"));
    group.throughput(Throughput::Elements(table.rows()));

    let columns = columns(table)?;
    let spec = Arc::new(spec(table, &columns));
    group.bench_function("survey", |bencher| {
        bencher.iter(|| {
            let mut survey = Survey::new(Arc::clone(&spec))?;
            survey.push(black_box(&columns))
        });
    });
    group.bench_function("partition: mondrian", |bencher| {
        let partition = Mondrian::for_clustering(&privacy);
        bencher.iter_batched(
            || cells.clone(),
            |cells| partition.partition(cells, table, &privacy),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("search: one cycle", |bencher| {
        let effort = Effort { cycles: 1, most_proposals: u32::MAX, seed: 0, may_continue: &|| true };
        bencher.iter_batched(
            || classes.clone(),
            |classes| improve(table, &privacy, classes, effort),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("recode", |bencher| bencher.iter(|| Recoding::new(table, black_box(&classes))));
    let release = release(table, &recoding, &columns)?;
    let promise = Promise {
        quasi: table.quasi().iter().map(|quasi| quasi.spec.name.clone()).collect(),
        k: K,
        sensitive: table.sensitive().iter().map(|column| SensitivePromise::plain(&column.name, P)).collect(),
        limits: Vec::new(),
        unit: None,
    };
    group.bench_function("verify", |bencher| {
        bencher.iter(|| {
            let mut verifier = Verifier::new(promise.clone(), &release.schema())?;
            verifier.push(black_box(&release)).map(|()| verifier.finish())
        });
    });
    group.throughput(Throughput::Elements(leaf.cells.len() as u64));
    group.bench_function("cluster: greedy, one leaf", |bencher| {
        bencher.iter(|| Greedy::default().cluster(black_box(&leaf.cells), table, &privacy));
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}

/// Returns the cell and the group of each row.
fn rows(table: &Table) -> impl Iterator<Item = (u32, u32)> {
    let groups = (0..table.cell_count() as u32).flat_map(|cell| table.groups(cell).map(move |group| (cell, group)));
    groups.flat_map(|pair| std::iter::repeat_n(pair, table.group_rows(pair.1) as usize))
}

/// Returns the source columns of a table: the quasi-identifiers, and sensitive codes as texts.
fn columns(table: &Table) -> Result<Vec<ArrayRef>> {
    let quasi = table.quasi().iter().enumerate().map(|(at, quasi)| {
        let positions = rows(table).map(|(cell, _)| table.positions(cell)[at]);
        Ok(match quasi.domain.kind() {
            DomainKind::Ordered { values, .. } => take(values, &positions.collect::<UInt32Array>(), None)?,
            DomainKind::Category(tree) => {
                Arc::new(positions.map(|leaf| Some(tree.label(tree.leaf_node(leaf)))).collect::<StringArray>())
            }
        })
    });
    let sensitive = (0..table.sensitive().len()).map(|at| {
        let codes = rows(table).map(|(_, group)| Some(format!("value {}", table.codes(group)[at])));
        Ok(Arc::new(codes.collect::<StringArray>()) as ArrayRef)
    });
    quasi.chain(sensitive).collect()
}

fn spec(table: &Table, columns: &[ArrayRef]) -> SurveySpec {
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let quasi = table.quasi().iter().zip(&types).map(|(quasi, data_type)| {
        let spec = match quasi.domain.kind() {
            DomainKind::Ordered { .. } => interval(&quasi.spec.name),
            DomainKind::Category(_) => category(&quasi.spec.name, (*quasi.spec.hierarchy).clone()),
        };
        (spec, data_type.clone())
    });
    let sensitive = table.sensitive().iter().zip(&types[table.quasi().len()..]);
    let sensitive = sensitive.map(|(column, data_type)| (SensitiveSpec::plain(&column.name), data_type.clone()));
    SurveySpec { quasi: quasi.collect(), sensitive: sensitive.collect() }
}

/// Returns released rows, each in the first class of its group.
fn release(table: &Table, recoding: &Recoding, columns: &[ArrayRef]) -> Result<RecordBatch> {
    let classes: Vec<u32> = rows(table).filter_map(|(_, group)| Some(recoding.shares(group).first()?.class)).collect();
    let mut released: Vec<(String, ArrayRef)> = Vec::new();
    for (at, labels) in recoding.columns().iter().enumerate() {
        let numbers: UInt32Array = classes.iter().map(|class| Some(recoding.label(*class, at))).collect();
        for (field, values) in &labels.columns {
            released.push((field.name().clone(), take(values, &numbers, None)?));
        }
    }
    let sensitive = table.sensitive().iter().zip(&columns[table.quasi().len()..]);
    released.extend(sensitive.map(|(column, values)| (column.name.clone(), Arc::clone(values))));
    Ok(RecordBatch::try_from_iter(released)?)
}
