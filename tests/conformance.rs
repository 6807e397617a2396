//! One suite for every method and every privacy model: whatever the table, a combination of them keeps the promise, loses
//! no row, is deterministic, says nothing false, and is never worse than one class.
//!
//! A new method joins through `Method::ALL`, a new model with one line in [`MODELS`].

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Float64Type, Int32Type, Int64Type, Schema};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use proptest::prelude::*;
use throng_core::Error;
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::cluster::{Class, Portion};
use throng_core::columns::Release;
use throng_core::content::ContentHasher;
use throng_core::feasibility::Feasibility;
use throng_core::hierarchy::{HierarchySpec, Tree, build_tree};
use throng_core::metrics::Utility;
use throng_core::model::{Privacy, Tally};
use throng_core::recode::{DealKey, Recoding, ReleaseOrder};
use throng_core::survey::SUPPRESSED;
use throng_core::table::Table;
use throng_core::verify::{Promise, Verifier};
use throng_testkit::{RandomTable, cases, set_partitions, tables};

/// A privacy model over so many sensitive columns, for any k and p.
struct ModelCase {
    name: &'static str,
    columns: usize,
    privacy: fn(u64, u64) -> Privacy,
}

const MODELS: [ModelCase; 4] = [
    ModelCase { name: "k-anonymity", columns: 0, privacy: |k, _| Privacy::p_sensitive_k_anonymity(k, 1, 0) },
    ModelCase { name: "p-sensitive, 1 column", columns: 1, privacy: |k, p| Privacy::p_sensitive_k_anonymity(k, p, 1) },
    ModelCase { name: "p-sensitive, 2 columns", columns: 2, privacy: |k, p| Privacy::p_sensitive_k_anonymity(k, p, 2) },
    ModelCase { name: "p-sensitive, 3 columns", columns: 3, privacy: |k, p| Privacy::p_sensitive_k_anonymity(k, p, 3) },
];

/// Random k from 2 to 8, and p from 1 to k.
fn k_and_p() -> impl Strategy<Value = (u64, u64)> {
    (2_u64..=8).prop_flat_map(|k| (Just(k), 1..=k))
}

fn recode(method: Method, table: &Table, privacy: &Privacy) -> Recoding {
    let leaves = method.leaves(table, privacy);
    let classes = method.classes(&leaves, table, privacy, &|_| {});
    Recoding::new(table, &classes).unwrap()
}

fn cells(table: &Table) -> std::ops::Range<u32> {
    0..table.cell_count() as u32
}

fn one_class(table: &Table) -> Recoding {
    Recoding::new(table, &[Class::of_cells(table, &cells(table).collect::<Vec<_>>())]).unwrap()
}

/// A release as a reader gets it, and where each of its rows comes from.
struct Released {
    batch: RecordBatch,
    rows: Vec<u32>,
}

fn release(table: &RandomTable, cells: &Table, groups: &[u32], recoding: &Recoding) -> Released {
    let sensitive: Vec<ArrayRef> = table.sensitive.iter().map(|(_, column)| column.clone()).collect();
    let types: Vec<DataType> = sensitive.iter().map(|column| column.data_type().clone()).collect();
    let content = ContentHasher::new(&types, 42).unwrap().hash(&sensitive, table.rows).unwrap();
    let order = ReleaseOrder::new(recoding, groups, &content, &DealKey::new(cells, 42).unwrap());
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (index, labels) in recoding.columns().iter().enumerate() {
        let class = |row: &u32| order.class_of[*row as usize];
        let at: UInt32Array = order.rows.iter().map(|row| Some(recoding.label(class(row), index))).collect();
        for (field, values) in &labels.columns {
            fields.push(field.clone());
            columns.push(take(values, &at, None).unwrap());
        }
    }
    let at = UInt32Array::from(order.rows.clone());
    for (name, column) in &table.sensitive {
        fields.push(Field::new(name, column.data_type().clone(), true));
        columns.push(take(column, &at, None).unwrap());
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    Released { batch, rows: order.rows }
}

fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).unwrap();
    let nulls = column.logical_nulls();
    let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    (0..column.len()).map(|row| is_valid(row).then(|| formatter.value(row).to_string())).collect()
}

/// All that a release shows, in its order.
fn shown(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    batch.columns().iter().map(texts).collect()
}

/// The values of a column on a line.
fn numbers(column: &ArrayRef) -> Vec<Option<f64>> {
    let plain = match column.data_type() {
        DataType::Date32 => cast(column, &DataType::Int32).unwrap(),
        DataType::Timestamp(_, _) => cast(column, &DataType::Int64).unwrap(),
        _ => column.clone(),
    };
    match plain.data_type() {
        DataType::Int32 => plain.as_primitive::<Int32Type>().iter().map(|n| n.map(f64::from)).collect(),
        DataType::Int64 => plain.as_primitive::<Int64Type>().iter().map(|n| n.map(|n| n as f64)).collect(),
        _ => cast(&plain, &DataType::Float64).unwrap().as_primitive::<Float64Type>().iter().collect(),
    }
}

/// The first quasi-identifier whose released values do not cover the original ones. Looks at texts and numbers only,
/// never at positions.
fn not_covered(table: &RandomTable, released: &Released) -> Option<String> {
    for (spec, original) in &table.quasi {
        let columns: Vec<&ArrayRef> =
            spec.released_names().iter().map(|name| released.batch.column_by_name(name).unwrap()).collect();
        let holds: Vec<bool> = match spec.release {
            Release::Interval => {
                let (text, number) = (texts(original), numbers(original));
                let known: HashMap<&str, f64> =
                    text.iter().flatten().map(String::as_str).zip(number.iter().flatten().copied()).collect();
                let shown = texts(columns[0]);
                let in_interval =
                    |(at, row): (usize, &u32)| in_interval(number[*row as usize], shown[at].as_deref(), &known);
                released.rows.iter().enumerate().map(in_interval).collect()
            }
            Release::Bounds => {
                let (number, lower, upper) = (numbers(original), numbers(columns[0]), numbers(columns[1]));
                let between = |(at, row): (usize, &u32)| match (lower[at], number[*row as usize], upper[at]) {
                    (Some(lower), Some(number), Some(upper)) => lower <= number && number <= upper,
                    (lower, _, upper) => lower.is_none() && upper.is_none(),
                };
                released.rows.iter().enumerate().map(between).collect()
            }
            Release::Ancestor => {
                let (text, shown) = (texts(original), texts(columns[0]));
                let paths = Paths::of(&spec.hierarchy, original);
                let above =
                    |(at, row): (usize, &u32)| paths.above(text[*row as usize].as_deref(), shown[at].as_deref());
                released.rows.iter().enumerate().map(above).collect()
            }
            Release::Set => {
                let (text, shown) = (texts(original), texts(columns[0]));
                let listed = |(at, row): (usize, &u32)| in_set(text[*row as usize].as_deref(), shown[at].as_deref());
                released.rows.iter().enumerate().map(listed).collect()
            }
        };
        if holds.contains(&false) {
            return Some(spec.name.clone());
        }
    }
    None
}

/// `25`, `[25-39]`, `[2024-01-01/2024-03-31]`, `*`, or null.
fn in_interval(number: Option<f64>, shown: Option<&str>, known: &HashMap<&str, f64>) -> bool {
    match (number, shown) {
        (_, Some("*")) => true,
        (number, None) => number.is_none(),
        (None, Some(_)) => false,
        (Some(number), Some(text)) => {
            let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
                return known.get(text) == Some(&number);
            };
            let ends = inside
                .match_indices(['-', '/'])
                .filter_map(|(at, _)| Some((known.get(&inside[..at])?, known.get(&inside[at + 1..])?)));
            ends.into_iter().any(|(lower, upper)| *lower <= number && number <= *upper)
        }
    }
}

/// `A`, `{A, B}`, or null. No value of a random table has a comma.
fn in_set(text: Option<&str>, shown: Option<&str>) -> bool {
    let Some(shown) = shown else { return text.is_none() };
    let text = text.unwrap_or("null");
    match shown.strip_prefix('{').and_then(|shown| shown.strip_suffix('}')) {
        Some(list) => list.split(", ").any(|member| member == text),
        None => shown == text,
    }
}

/// The ways from the values of a column to the root.
struct Paths(HashMap<String, Vec<String>>);

impl Paths {
    fn of(hierarchy: &HierarchySpec, column: &ArrayRef) -> Self {
        let plain = match column.data_type() {
            DataType::Dictionary(_, value) => cast(column, value).unwrap(),
            _ => column.clone(),
        };
        let mut seen = HashMap::new();
        let text = texts(&plain);
        for (row, text) in text.iter().enumerate() {
            if let Some(text) = text {
                seen.entry(text.clone()).or_insert(row as u32);
            }
        }
        let mut first: Vec<u32> = seen.values().copied().collect();
        first.sort_unstable();
        let distinct = take(&plain, &UInt32Array::from(first.clone()), None).unwrap();
        let (tree, positions) = build_tree(hierarchy, &distinct).unwrap();
        let path = |position: u32| {
            let up = std::iter::successors(Some(tree.leaf_node(position)), |node| tree.parent(*node));
            up.map(|node| Tree::label(&tree, node).to_owned()).collect::<Vec<_>>()
        };
        let named = first.iter().zip(positions).map(|(row, at)| (text[*row as usize].clone().unwrap(), path(at)));
        Self(named.collect())
    }

    fn above(&self, text: Option<&str>, shown: Option<&str>) -> bool {
        match (text, shown) {
            (None, shown) => matches!(shown, None | Some("*")),
            (Some(_), None) => false,
            (Some(text), Some(shown)) => self.0[text].iter().any(|label| label == shown),
        }
    }
}

/// The tally of each class, from what the recoding says of the groups.
fn tallies(table: &Table, recoding: &Recoding) -> Vec<Tally> {
    let mut tallies = vec![Tally::empty(table.sensitive().len()); recoding.class_rows().len()];
    for group in 0..table.group_count() as u32 {
        for share in recoding.shares(group) {
            tallies[share.class as usize].add(table.codes(group), u64::from(share.rows));
        }
    }
    tallies
}

fn promise(table: &RandomTable, k: u64, p: u64) -> Promise {
    Promise {
        quasi: table.quasi.iter().flat_map(|(spec, _)| spec.released_names()).collect(),
        sensitive: table.sensitive.iter().map(|(name, _)| name.clone()).collect(),
        k,
        p,
    }
}

/// An order of the rows that depends on a seed only.
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
        let input = whole.with_sensitive(model.columns);
        let (merged, groups) = match input.survey() {
            Ok(found) => found,
            Err(Error::NoRows { suppressed }) => {
                prop_assert_eq!(suppressed, input.rows as u64);
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        let table = &merged.table;
        let privacy = (model.privacy)(k, p);
        let is_feasible = privacy.is_satisfied(&Tally::of_cells(table, cells(table)));
        let feasibility = Feasibility::of(table, k, p);
        prop_assert_eq!(feasibility.shortfalls.is_empty(), is_feasible, "{}", model.name);
        if !is_feasible {
            continue;
        }
        let worst = Utility::of(table, &one_class(table), k);
        for method in Method::ALL {
            let context = format!("{method:?}, {}, k = {k}, p = {p}", model.name);
            let recoding = recode(method, table, &privacy);
            // No row is lost or doubled.
            for group in 0..table.group_count() as u32 {
                let placed: u64 = recoding.shares(group).iter().map(|share| u64::from(share.rows)).sum();
                prop_assert_eq!(placed, u64::from(table.group_rows(group)), "{}", context);
            }
            let tallies = tallies(table, &recoding);
            let sizes: Vec<u64> = tallies.iter().map(Tally::rows).collect();
            prop_assert_eq!(sizes.as_slice(), recoding.class_rows(), "{}", context);
            // Every class satisfies the model, and there are no more of them than Condition 2 allows.
            prop_assert!(tallies.iter().all(|class| privacy.is_satisfied(class)), "{}", context);
            prop_assert!(sizes.len() as u64 <= feasibility.max_classes, "{}", context);
            // So the verifier finds too, who has not heard of any of this.
            let released = release(&input, table, &groups, &recoding);
            let mut verifier = Verifier::new(promise(&input, k, p), released.batch.schema().as_ref()).unwrap();
            verifier.push(&released.batch).unwrap();
            let findings = verifier.finish();
            prop_assert!(findings.holds(), "{}: {:?}", context, findings);
            prop_assert_eq!((findings.rows, findings.classes), (table.rows(), sizes.len() as u64), "{}", context);
            // Every row that is not suppressed is released once.
            let mut rows = released.rows.clone();
            rows.sort_unstable();
            let kept: Vec<u32> = (0..input.rows as u32).filter(|row| groups[*row as usize] != SUPPRESSED).collect();
            prop_assert_eq!(rows, kept, "{}", context);
            // What is released is true.
            prop_assert_eq!(not_covered(&input, &released), None, "{}", context);
            // Never worse than one class.
            let utility = Utility::of(table, &recoding, k);
            prop_assert!(utility.ncp <= worst.ncp + 1e-9, "{}: {} > {}", context, utility.ncp, worst.ncp);
            prop_assert!((0.0..=1.0 + 1e-6).contains(&utility.ncp), "{}: {}", context, utility.ncp);
            prop_assert_eq!(utility.dm, findings.sum_of_squares, "{}", context);
            // Neither threads nor the order of rows matter.
            let again = one_thread.install(|| recode(method, table, &privacy));
            prop_assert_eq!(
                shown(&release(&input, table, &groups, &again).batch),
                shown(&released.batch),
                "{}",
                context
            );
            let other = input.reordered(&shuffled(input.rows, seed));
            let (other_merged, other_groups) = other.survey().unwrap();
            let other_recoding = recode(method, &other_merged.table, &privacy);
            let other_released = release(&other, &other_merged.table, &other_groups, &other_recoding);
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
    #![proptest_config(cases(24))]

    /// Large enough for Mondrian to cut before the clustering begins.
    #[test]
    fn large_tables_keep_every_model(table in tables(500..=900, 3..=4, 3..=3), (k, p) in k_and_p(), seed: u64) {
        check(&table, k, p.min(3), seed)?;
    }
}

/// The least NCP of any partition of the rows into satisfied classes.
fn optimum(table: &Table, groups: &[u32], privacy: &Privacy, k: u64) -> f64 {
    let rows: Vec<u32> = groups.iter().copied().filter(|group| *group != SUPPRESSED).collect();
    let class = |block: &Vec<usize>| {
        let mut groups: Vec<u32> = block.iter().map(|row| rows[*row]).collect();
        groups.sort_unstable();
        let runs = groups.chunk_by(|a, b| a == b);
        Class { portions: runs.map(|run| Portion { group: run[0], rows: run.len() as u32 }).collect() }
    };
    let partitions = set_partitions(rows.len()).into_iter();
    let classes = partitions.map(|partition| partition.iter().map(class).collect::<Vec<_>>());
    let valid = classes.filter(|classes| classes.iter().all(|class| privacy.is_satisfied(&class.tally(table))));
    let losses = valid.map(|classes| Utility::of(table, &Recoding::new(table, &classes).unwrap(), k).ncp);
    losses.fold(f64::INFINITY, f64::min)
}

/// What a method may lose on tables of up to seven rows, as a multiple of the optimum. Measured over 278 tables: greedy
/// clustering loses up to 2.25 times as much and 1.07 times in the mean, strict Mondrian up to 4.08 and 1.24, one class
/// up to 258. The bounds leave room for other tie-breaks, and none for an algorithm that has gone astray.
fn factor(method: Method) -> f64 {
    match (method.partition, method.cluster) {
        (PartitionChoice::None, ClusterChoice::None) => f64::INFINITY,
        (_, ClusterChoice::None) => 8.0,
        _ => 4.0,
    }
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
            let least = optimum(table, &groups, &privacy, k);
            for (index, method) in Method::ALL.into_iter().enumerate() {
                let found = Utility::of(table, &recode(method, table, &privacy), k).ncp;
                prop_assert!(found >= least - 1e-6, "{:?} beats the optimum: {} < {}", method, found, least);
                // Where nothing need be lost, nothing is lost, except by one class.
                let ratio = if least > 1e-9 { found / least } else { 1.0 + found * 100.0 };
                let (highest, sum, count) = measured.borrow()[index];
                measured.borrow_mut()[index] = (highest.max(ratio), sum + ratio, count + 1);
                prop_assert!(ratio <= factor(method), "{:?}: {} against {}", method, found, least);
            }
            Ok(())
        })
        .unwrap();
    for (method, (highest, sum, count)) in Method::ALL.iter().zip(measured.into_inner()) {
        println!("{method:?}: at most {highest:.3} and {:.3} in the mean over {count} tables", sum / f64::from(count));
    }
}
