//! One suite for every method and every privacy model: on any table, a combination of them satisfies the promise, loses
//! no row, is deterministic, releases no false label, and is never worse than one class.
//!
//! A new method is added through `Method::ALL`, a new model with one line in [`models::MODELS`].

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod label_covers;
mod models;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use proptest::prelude::*;
use throng::testing::{check_recoding, most_general};
use throng_core::CoreError;
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::cluster::{Class, IgnoreProgress, Portion};
use throng_core::feasibility::Feasibility;
use throng_core::key::ReleaseKey;
use throng_core::metrics::Utility;
use throng_core::model::{Privacy, Tally};
use throng_core::partition::FeasibleRegions;
use throng_core::recode::{Recoding, ReleaseOrder};
use throng_core::row_hash::RowHasher;
use throng_core::survey::SUPPRESSED;
use throng_core::table::Table;
use throng_core::verify::Verifier;
use throng_testkit::{RandomTable, cases, set_partitions, tables};

use label_covers::not_covered;
use models::MODELS;

/// Random k from 2 to 8, and p from 1 to k.
fn k_and_p() -> impl Strategy<Value = (u64, u64)> {
    (2_u64..=8).prop_flat_map(|k| (Just(k), 1..=k))
}

fn recode(method: Method, table: &Table, allowed: &FeasibleRegions) -> Recoding {
    let leaves = method.leaves(allowed, table).unwrap();
    let classes = method.classes(&leaves, table, &allowed.privacy, &IgnoreProgress).classes;
    Recoding::without(table, &classes, &allowed.suppressed_cells).unwrap()
}

fn cells(table: &Table) -> std::ops::Range<u32> {
    0..table.cell_count() as u32
}

/// A release and the input row of each of its rows.
struct Released {
    batch: RecordBatch,
    /// Number of columns that come from quasi-identifiers.
    quasi: usize,
    rows: Vec<u32>,
}

fn release(table: &RandomTable, groups: &[u32], recoding: &Recoding) -> Released {
    let sensitive: Vec<ArrayRef> = table.sensitive.iter().map(|(_, column)| column.clone()).collect();
    let types: Vec<DataType> = sensitive.iter().map(|column| column.data_type().clone()).collect();
    let content = RowHasher::new(&types, 42).unwrap().hash(&sensitive, table.rows).unwrap();
    let (shares, sizes) = (recoding.all_shares(), recoding.class_rows());
    let order = ReleaseOrder::new(shares, sizes, groups, &content, ReleaseKey::new(&[4; 32], 42));
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (index, labels) in recoding.columns().iter().enumerate() {
        let class = |row: &u32| order.class_of[*row as usize];
        let at: UInt32Array = order.rows.iter().map(|row| Some(recoding.label(class(row), index))).collect();
        for (field, values) in &labels.columns {
            fields.push(field.clone());
            columns.push(take(values, &at, None).unwrap());
        }
    }
    let quasi = columns.len();
    let at = UInt32Array::from(order.rows.clone());
    for (spec, column) in &table.sensitive {
        fields.push(Field::new(&spec.name, column.data_type().clone(), true));
        columns.push(take(column, &at, None).unwrap());
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    Released { batch, quasi, rows: order.rows }
}

fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).unwrap();
    let nulls = column.logical_nulls();
    let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    (0..column.len()).map(|row| is_valid(row).then(|| formatter.value(row).to_string())).collect()
}

/// Returns all released values, in order.
fn shown(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    batch.columns().iter().map(texts).collect()
}

/// Returns a permutation of the rows that depends on the seed only.
fn shuffled(rows: usize, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by_key(|row| {
        (u64::from(*row) + 1).wrapping_mul(seed | 1).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    order
}

fn check(whole: &RandomTable, k: u64, p: u64, seed: u64) -> Result<(), TestCaseError> {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for model in &MODELS {
        let input = model.table(whole);
        let (merged, groups) = match input.survey() {
            Ok(found) => found,
            Err(CoreError::NoRows { suppressed }) => {
                prop_assert_eq!(suppressed, input.rows as u64);
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        let table = &merged.table;
        let privacy = model.privacy(k, p);
        let allowed = FeasibleRegions::of(table, &privacy);
        let feasibility = Feasibility::of(table, &privacy, &allowed);
        prop_assert_eq!(feasibility.shortfalls.is_empty(), !allowed.classes.is_empty(), "{}", model.name);
        if !model.limited {
            let whole = Tally::of_cells(table, cells(table));
            let is_feasible = privacy.for_release(table.sensitive(), &whole).is_satisfied(&whole);
            prop_assert_eq!(feasibility.shortfalls.is_empty(), is_feasible, "{}", model.name);
        }
        if allowed.classes.is_empty() {
            continue;
        }
        let out: HashSet<u32> = allowed.suppressed_cells.iter().flat_map(|cell| table.groups(*cell)).collect();
        let worst = Utility::of(table, &most_general(table, &allowed).unwrap(), k);
        for method in Method::ALL {
            let context = format!("{method:?}, {}, k = {k}, p = {p}", model.name);
            let recoding = recode(method, table, &allowed);
            // No row is lost or doubled, and every class satisfies the model.
            let checked = check_recoding(table, &privacy, &allowed.suppressed_cells, &recoding);
            prop_assert_eq!(checked, Ok(()), "{}", context);
            // There are no more classes than Condition 2 allows.
            let sizes = recoding.class_rows();
            prop_assert!(sizes.len() as u64 <= feasibility.max_classes, "{}", context);
            // The independent verifier agrees.
            let released = release(&input, &groups, &recoding);
            let mut verifier = Verifier::new(model.promise(&input, k, p), released.batch.schema().as_ref()).unwrap();
            verifier.push(&released.batch).unwrap();
            let findings = verifier.finish();
            prop_assert!(findings.holds(), "{}: {:?}", context, findings);
            let expected = table.rows() - feasibility.suppressed;
            prop_assert_eq!((findings.rows, findings.classes), (expected, sizes.len() as u64), "{}", context);
            // Every row that is not suppressed is released once.
            let mut rows = released.rows.clone();
            rows.sort_unstable();
            let is_kept = |row: &u32| groups[*row as usize] != SUPPRESSED && !out.contains(&groups[*row as usize]);
            let kept: Vec<u32> = (0..input.rows as u32).filter(is_kept).collect();
            prop_assert_eq!(rows, kept, "{}", context);
            // Released values cover the original ones.
            prop_assert_eq!(not_covered(&input, &released), None, "{}", context);
            // Never worse than one class.
            let utility = Utility::of(table, &recoding, k);
            prop_assert!(utility.ncp <= worst.ncp + 1e-9, "{}: {} > {}", context, utility.ncp, worst.ncp);
            prop_assert!((0.0..=1.0 + 1e-6).contains(&utility.ncp), "{}: {}", context, utility.ncp);
            prop_assert_eq!(utility.dm, findings.sum_of_squares, "{}", context);
            // The result depends neither on threads nor on the order of rows.
            let again = one_thread.install(|| recode(method, table, &allowed));
            prop_assert_eq!(shown(&release(&input, &groups, &again).batch), shown(&released.batch), "{}", context);
            let other = input.reordered(&shuffled(input.rows, seed));
            let (other_merged, other_groups) = other.survey().unwrap();
            let other_allowed = FeasibleRegions::of(&other_merged.table, &privacy);
            let other_recoding = recode(method, &other_merged.table, &other_allowed);
            let other_released = release(&other, &other_groups, &other_recoding);
            prop_assert_eq!(shown(&other_released.batch), shown(&released.batch), "{}", context);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn every_method_keeps_every_model(table in tables(1..=200, 1..=4, 3..=3), (k, p) in k_and_p(), seed: u64) {
        check(&table, k, p, seed)?;
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn small_tables_keep_every_model(table in tables(1..=24, 1..=2, 3..=3), (k, p) in k_and_p(), seed: u64) {
        check(&table, k.min(4), p.min(k.min(4)).min(2), seed)?;
    }
}

proptest! {
    #![proptest_config(cases(10))]

    /// Large enough for Mondrian to cut before the clustering begins.
    #[test]
    fn large_tables_keep_every_model(table in tables(500..=900, 3..=4, 3..=3), (k, p) in k_and_p(), seed: u64) {
        check(&table, k, p.min(3), seed)?;
    }
}

/// Returns the minimum NCP of any partition of the rows into classes that satisfy the models.
fn optimum(table: &Table, groups: &[u32], privacy: &Privacy, k: u64) -> f64 {
    let rows: Vec<u32> = groups.iter().copied().filter(|group| *group != SUPPRESSED).collect();
    let class = |block: &Vec<usize>| {
        let mut groups: Vec<u32> = block.iter().map(|row| rows[*row]).collect();
        groups.sort_unstable();
        let runs = groups.chunk_by(|a, b| a == b);
        Class::of_portions(runs.map(|run| Portion { group: run[0], rows: run.len() as u32 }).collect())
    };
    let partitions = set_partitions(rows.len()).into_iter();
    let classes = partitions.map(|partition| partition.iter().map(class).collect::<Vec<_>>());
    let valid = classes.filter(|classes| classes.iter().all(|class| privacy.is_satisfied(&class.tally(table))));
    let losses = valid.map(|classes| Utility::of(table, &Recoding::new(table, &classes).unwrap(), k).ncp);
    losses.fold(f64::INFINITY, f64::min)
}

/// Returns the maximum loss of a method on tables of up to seven rows, as a multiple of the optimum: on any of them,
/// and on average.
///
/// Measured over 255 tables, maximum and mean: greedy 2.33 and 1.08, centroid 2.18 and 1.03, mdav 2.50 and 1.09,
/// random-seed 2.75 and 1.10, enhanced-pk 5.39 and 1.17, greedy-pk and switching 7.74 and 1.08, strict Mondrian 4.05
/// and 1.25, basic Mondrian 7.00 and 1.47, mdr 7.00 and 1.45, incognito 7.41 and 1.78, one class 97 and 2.44. The
/// bounds leave room for other tie-breaks, and none for a regression. One class may lose any multiple of a small
/// optimum.
fn factor(method: Method) -> (f64, f64) {
    match (method.partition, method.cluster) {
        (PartitionChoice::None, ClusterChoice::None) => (f64::INFINITY, 3.0),
        (PartitionChoice::Mondrian, ClusterChoice::None) => (5.0, 1.35),
        (PartitionChoice::Incognito, ClusterChoice::None) => (9.0, 2.0),
        (_, ClusterChoice::None) => (8.0, 1.6),
        (_, ClusterChoice::Search | ClusterChoice::Greedy | ClusterChoice::Centroid) => (3.5, 1.15),
        (_, ClusterChoice::Mdav) => (3.5, 1.15),
        (_, ClusterChoice::RandomSeed) => (9.0, 1.15),
        (_, ClusterChoice::EnhancedPk) => (6.5, 1.25),
        (_, ClusterChoice::MostClasses) => (9.0, 1.25),
        (_, ClusterChoice::GreedyPk | ClusterChoice::Switching) => (9.0, 1.15),
    }
}

/// Whether a method loses nothing where no loss is needed: clusterings of single rows may split a cell that is a class.
fn keeps_cells_whole(method: Method) -> bool {
    let is_ours = method.partition == PartitionChoice::Mondrian && method.cluster == ClusterChoice::None;
    is_ours
        || matches!(method.cluster, ClusterChoice::Search | ClusterChoice::Greedy)
        || method.partition == PartitionChoice::Incognito
}

#[test]
fn tiny_tables_come_close_to_the_optimum() {
    let mut runner = proptest::test_runner::TestRunner::new(cases(300));
    // Per method: the highest ratio, the sum of the ratios, the number of tables. Shown with `--nocapture`.
    let measured = std::cell::RefCell::new(vec![(0.0_f64, 0.0_f64, 0_u32); Method::ALL.len()]);
    let strategy = (tables(4..=7, 1..=2, 1..=1), 2_u64..=3, 1_u64..=2);
    runner
        .run(&strategy, |(input, k, p)| {
            let Ok((merged, groups)) = input.survey() else { return Ok(()) };
            let table = &merged.table;
            let privacy = Privacy::p_sensitive_k_anonymity(k, p, 1);
            if !privacy.is_satisfied(&Tally::of_cells(table, cells(table))) {
                return Ok(());
            }
            let allowed = FeasibleRegions::of(table, &privacy);
            let least = optimum(table, &groups, &privacy, k);
            for (index, method) in Method::ALL.into_iter().enumerate() {
                let found = Utility::of(table, &recode(method, table, &allowed), k).ncp;
                prop_assert!(found >= least - 1e-6, "{:?} beats the optimum: {} < {}", method, found, least);
                if least < 1e-9 {
                    prop_assert!(found < 1e-9 || !keeps_cells_whole(method), "{:?} loses {}", method, found);
                    continue;
                }
                let ratio = found / least;
                let (highest, sum, count) = measured.borrow()[index];
                measured.borrow_mut()[index] = (highest.max(ratio), sum + ratio, count + 1);
                prop_assert!(ratio <= factor(method).0, "{:?}: {} against {}", method, found, least);
            }
            Ok(())
        })
        .unwrap();
    for (method, (highest, sum, count)) in Method::ALL.into_iter().zip(measured.into_inner()) {
        let mean = sum / f64::from(count);
        println!("{method:?}: at most {highest:.3} and {mean:.3} in the mean over {count} tables");
        assert!(mean <= factor(method).1, "{method:?} loses {mean} times the optimum in the mean");
    }
}
