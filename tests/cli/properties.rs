//! The whole job on random tables: either every promise holds in the released files, or the error has the reason and no
//! files are left behind.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, Int64Array, RecordBatch};
use proptest::prelude::*;
use proptest::sample::select;
use throng_core::columns::{ColumnRecoding, Nulls, QuasiSpec};
use throng_core::hierarchy::{DatePart, HierarchySpec, MaskSide, Tree};
use throng_job::{JobError, JobOptions, Kind, PublishedRelease, Quantity};
use throng_policy::{Overrides, Policy};
use throng_testkit::{RandomTable, cases, tables};
use tokio::runtime::Runtime;

use crate::label_covers::{Domain, ancestor_covers, set_covers};
use crate::release_files::{Rows, multiset, read};
use crate::sandbox::names;
use crate::tables::{pieces, table, texts, write_parquet};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());

/// A job: a table, its split into files, and the requirements on its release.
#[derive(Clone, Debug)]
struct Job {
    table: RandomTable,
    files: usize,
    k: u64,
    p: u64,
    partition: &'static str,
    cluster: &'static str,
}

fn jobs() -> impl Strategy<Value = Job> {
    let rows = prop_oneof![1 => 0..=0_usize, 1 => 1..=1_usize, 2 => 2..=12_usize, 6 => 13..=150_usize];
    let table = rows.prop_flat_map(|rows| tables(rows..=rows, 1..=4, 0..=3));
    let methods = select(vec![
        ("mondrian", "auto"),
        ("mondrian", "greedy"),
        ("mondrian", "none"),
        ("mondrian", "enhanced-pk"),
        ("mondrian", "mdav"),
        ("basic-mondrian", "auto"),
        ("basic-mondrian", "switching"),
        ("incognito", "auto"),
        ("none", "auto"),
        ("none", "greedy"),
        ("none", "greedy-pk"),
        ("none", "random-seed"),
    ]);
    let k = prop_oneof![4 => 2..=6_u64, 1 => 7..=40_u64];
    (table, 1..=3_usize, k, 1..=4_u64, methods).prop_map(|(table, files, k, p, (partition, cluster))| {
        let p = if table.sensitive.is_empty() { 1 } else { p.min(k) };
        Job { table, files, k, p, partition, cluster }
    })
}

impl Job {
    fn input(&self) -> RecordBatch {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..self.table.rows as i64));
        let quasi = self.table.quasi.iter().map(|(spec, column)| (spec.name.as_str(), column.clone()));
        let sensitive = self.table.sensitive.iter().map(|(spec, column)| (spec.name.as_str(), column.clone()));
        table(std::iter::once(("row", ids)).chain(quasi).chain(sensitive).collect())
    }

    /// Returns the policy, after writing its hierarchy files.
    fn policy(&self, folder: &Path) -> Policy {
        let mut text = format!(
            "version = 1\ninput.location = '{0}/input'\noutput.location = '{0}/out/release'\n[privacy]\nk = {1}\n\
             p = {2}\n[algorithm]\npartition = '{3}'\ncluster = '{4}'\n[columns.row]\nrole = 'insensitive'\n",
            folder.display(),
            self.k,
            self.p,
            self.partition,
            self.cluster
        );
        for (spec, _) in &self.table.quasi {
            text += &format!("[columns.{}]\nrole = 'quasi'\nweight = {:?}\n", spec.name, spec.weight);
            text += &format!("release = '{}'\n", release_name(spec.release));
            text += &format!("nulls = '{}'\n", if spec.nulls == Nulls::Suppress { "suppress" } else { "value" });
            text += &hierarchy_text(spec, folder);
        }
        for (spec, _) in &self.table.sensitive {
            text += &format!("[columns.{}]\nrole = 'sensitive'\n", spec.name);
        }
        Policy::parse(&text, folder, &Overrides::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Returns the rows that must be released.
    fn released_rows(&self) -> Vec<usize> {
        let suppressing = self.table.quasi.iter().filter(|(spec, _)| spec.nulls == Nulls::Suppress);
        let nulls: Vec<Vec<bool>> =
            suppressing.map(|(_, column)| texts(column).iter().map(Option::is_none).collect()).collect();
        (0..self.table.rows).filter(|row| !nulls.iter().any(|column| column[*row])).collect()
    }

    /// Returns why the promise can't be satisfied, by counting.
    fn obstacle(&self, rows: &[usize]) -> Option<Kind> {
        let distinct = |column: &ArrayRef| {
            let texts = texts(column);
            rows.iter().filter_map(|row| texts[*row].clone()).collect::<HashSet<_>>().len() as u64
        };
        let lacks_values = self.table.sensitive.iter().any(|(_, column)| self.p > 1 && distinct(column) < self.p);
        match rows.len() as u64 {
            0 => Some(Kind::BadData),
            count if count < self.k || lacks_values => Some(Kind::Infeasible),
            _ => None,
        }
    }

    /// Runs the job in a folder.
    fn run(&self, folder: &Path) -> Result<PublishedRelease, JobError> {
        for name in ["input", "out"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        for (number, piece) in pieces(&self.input(), self.files).iter().enumerate() {
            write_parquet(&folder.join(format!("input/{number}.parquet")), piece);
        }
        let policy = self.policy(folder);
        RUNTIME.block_on(throng_job::run(&policy, &JobOptions { threads: 2, ..JobOptions::default() }))
    }
}

fn release_name(release: ColumnRecoding) -> &'static str {
    match release {
        ColumnRecoding::Interval => "interval",
        ColumnRecoding::Bounds => "bounds",
        ColumnRecoding::Ancestor => "ancestor",
        ColumnRecoding::Set => "set",
        ColumnRecoding::Mean => "mean",
        ColumnRecoding::Median => "median",
        ColumnRecoding::Mode => "mode",
    }
}

fn hierarchy_text(spec: &QuasiSpec, folder: &Path) -> String {
    match spec.hierarchy.as_ref() {
        // Only `partition = "mdr"` builds such a tree for numbers; without it they are flat.
        HierarchySpec::Flat | HierarchySpec::MeanDifference => String::new(),
        HierarchySpec::Tree(tree) => {
            let file = format!("{}.csv", spec.name);
            fs::write(folder.join(&file), paths(tree).map(|path| path.join(";") + "\n").collect::<String>()).unwrap();
            format!("hierarchy = '{file}'\n")
        }
        HierarchySpec::Intervals { origin, widths } => {
            format!("hierarchy = {{ intervals = {widths:?}, origin = {origin:?} }}\n")
        }
        HierarchySpec::DateParts(parts) => {
            let name = |part: &DatePart| format!("{part:?}").to_lowercase();
            format!("hierarchy = {{ date = {:?} }}\n", parts.iter().map(name).collect::<Vec<_>>())
        }
        HierarchySpec::Mask(side) | HierarchySpec::MaskOfLength { side, .. } => {
            let side = if *side == MaskSide::Left { "left" } else { "right" };
            format!("hierarchy = {{ mask = '{side}' }}\n")
        }
    }
}

/// Returns the path of each leaf to the root.
fn paths(tree: &Tree) -> impl Iterator<Item = Vec<String>> {
    let height = tree.height(tree.root()) as usize;
    (0..tree.leaf_count() as u32).map(move |leaf| {
        let start = tree.leaf_node(leaf);
        let mut path: Vec<String> = std::iter::successors(Some(start), |node| tree.parent(*node))
            .map(|node| tree.label(node).to_owned())
            .collect();
        // A skipped level repeats the label below it.
        while path.len() <= height {
            path.insert(0, path[0].clone());
        }
        path
    })
}

/// Returns the values of a column in ascending order, as text.
fn domain(column: &ArrayRef) -> Domain {
    let sorted = arrow::compute::sort(column, None).unwrap();
    Domain::ascending(texts(&sorted))
}

/// Checks that every label of a column covers the value that it replaced.
fn check_labels(spec: &QuasiSpec, column: &ArrayRef, rows: &[usize], release: &Rows) -> Result<(), TestCaseError> {
    let places = release.by("row");
    let (values, domain) = (texts(column), domain(column));
    for row in rows {
        let place = places[row.to_string().as_str()];
        let value = &values[*row];
        let label = |name: &str| &release.column(name)[place];
        let name = spec.name.as_str();
        let (covers, shown) = match spec.release {
            ColumnRecoding::Bounds => {
                let (low, high) = (label(&format!("{name}_min")), label(&format!("{name}_max")));
                (domain.bounds_cover((low, high), value), format!("{low:?} {high:?}"))
            }
            ColumnRecoding::Interval => (domain.interval_covers(label(name), value), format!("{:?}", label(name))),
            ColumnRecoding::Set => (set_covers(label(name), value), format!("{:?}", label(name))),
            ColumnRecoding::Ancestor => {
                (ancestor_covers(&spec.hierarchy, label(name), value), format!("{:?}", label(name)))
            }
            // An aggregate of the class; the conformance suite compares it with the class.
            ColumnRecoding::Median | ColumnRecoding::Mode => {
                (values.contains(label(name)) || label(name).is_none(), "others".to_owned())
            }
            ColumnRecoding::Mean => continue,
        };
        prop_assert!(covers, "{} {value:?} is released as {shown}", column.data_type());
    }
    Ok(())
}

fn check_release(job: &Job, rows: &[usize], folder: &Path, released: &PublishedRelease) -> Result<(), TestCaseError> {
    let release = Rows::of(&read(&folder.join("out/release")));
    let quasi: Vec<String> = job.table.quasi.iter().flat_map(|(spec, _)| spec.released_names()).collect();
    let quasi: Vec<&str> = quasi.iter().map(String::as_str).collect();
    let sensitive: Vec<&str> = job.table.sensitive.iter().map(|(spec, _)| spec.name.as_str()).collect();
    let count = release.count(&quasi, &sensitive);
    prop_assert!(count.smallest >= job.k, "{count:?}");
    prop_assert!(job.p == 1 || count.fewest.iter().all(|fewest| *fewest >= job.p), "{count:?}");

    let kept: Vec<&str> = std::iter::once("row").chain(sensitive).collect();
    let input = Rows::of(&job.input());
    let tuples = input.tuples(&kept);
    prop_assert_eq!(multiset(release.tuples(&kept)), multiset(rows.iter().map(|row| tuples[*row].clone())));
    for (spec, column) in &job.table.quasi {
        check_labels(spec, column, rows, &release)?;
    }

    let sidecar = &released.sidecar;
    prop_assert_eq!(sidecar.input.rows, job.table.rows as u64);
    prop_assert_eq!(sidecar.output.rows, rows.len() as u64);
    prop_assert_eq!(sidecar.output.suppressed_rows, (job.table.rows - rows.len()) as u64);
    prop_assert_eq!(sidecar.utility.classes, count.classes);
    prop_assert_eq!(sidecar.utility.dm, count.sum_of_squares);
    prop_assert!((0.0..=1.0).contains(&sidecar.utility.ncp), "{}", sidecar.utility.ncp);
    prop_assert_eq!(sidecar.privacy.requirements[0].achieved, Quantity::Count(count.smallest));
    Ok(())
}

fn check_error(job: &Job, expected: Kind, error: &JobError) -> Result<(), TestCaseError> {
    let message = error.to_string();
    prop_assert_eq!(error.kind(), expected, "{}", message);
    let why = match expected {
        Kind::BadData => "no rows".to_owned(),
        _ if message.contains("distinct value") || message.contains("no value that counts") => format!("p = {}", job.p),
        _ => format!("k = {}", job.k),
    };
    prop_assert!(message.contains(&why), "{message}");
    Ok(())
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_job_keeps_its_promise_or_names_why_it_can_not(job in jobs()) {
        let folder = tempfile::tempdir().unwrap();
        let outcome = job.run(folder.path());
        let rows = job.released_rows();
        match (job.obstacle(&rows), outcome) {
            (None, Ok(released)) => {
                check_release(&job, &rows, folder.path(), &released)?;
                prop_assert_eq!(names(&folder.path().join("out")), ["release"]);
            }
            (Some(expected), Err(error)) => {
                check_error(&job, expected, &error)?;
                prop_assert!(names(&folder.path().join("out")).is_empty());
            }
            (None, Err(error)) => prop_assert!(false, "a promise that can be kept was refused: {error}"),
            (Some(kind), Ok(_)) => prop_assert!(false, "a promise was kept that can't be: {kind:?}"),
        }
    }
}
