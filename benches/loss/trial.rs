//! Runs every algorithm on one table with one privacy model, measuring loss and time.

use std::time::{Duration, Instant};

use anyhow::Result;
use throng_core::anonymize::{ClusterChoice, Method, PartitionChoice};
use throng_core::metrics::Utility;
use throng_core::model::Privacy;
use throng_core::recode::Recoding;
use throng_papers::form;

use crate::rows::RowTable;
use crate::tables::DataSet;

/// The default method.
pub const THRONG: Method = Method::new(PartitionChoice::Mondrian, ClusterChoice::Search);

/// Strict Mondrian.
pub const STRICT: Method = Method::new(PartitionChoice::Mondrian, ClusterChoice::None);

/// Name of the baseline that clusters all rows at once.
pub const BASELINE_WHOLE: &str = "baseline: rows, whole table";

/// Name of the same baseline without the list of costs.
pub const BASELINE_LITERAL: &str = "baseline: rows, whole table, literally";

/// Name of the baseline that clusters the rows of each leaf.
pub const BASELINE_LEAVES: &str = "baseline: rows in leaves of 128";

/// Quadratic algorithms are skipped above this number of rows.
pub const WHOLE_TABLE_ROWS: u64 = 50_000;

const LEAF_ROWS: usize = 128;

/// Trials faster than this are repeated, and the best time counts.
const FAST: Duration = Duration::from_secs(2);
const TIMES: usize = 3;

/// An algorithm and its outcome.
#[derive(Debug)]
pub struct Trial {
    /// Name of the algorithm.
    pub name: String,
    /// Outcome of the trial.
    pub outcome: Outcome,
}

/// Outcome of a trial.
#[derive(Debug)]
pub enum Outcome {
    /// Not run, or failed, for this reason.
    Skipped(String),
    /// Metrics and running time.
    Measured(Utility, Duration),
}

impl Trial {
    /// Returns the display name of a method.
    pub fn name_of(method: Method) -> String {
        let partition = match method.partition {
            PartitionChoice::Mondrian => "mondrian",
            PartitionChoice::BasicMondrian => "basic-mondrian",
            PartitionChoice::Mdr => "mdr",
            PartitionChoice::Incognito => "incognito",
            PartitionChoice::None => "whole table",
        };
        match method.cluster {
            ClusterChoice::None => partition.to_owned(),
            cluster => format!("{partition} + {}", cluster.as_str()),
        }
    }
}

/// Runs every applicable algorithm.
pub fn trials(data_set: &DataSet, k: u64, p: u64) -> Vec<Trial> {
    let privacy = Privacy::p_sensitive_k_anonymity(k, p, data_set.sensitive);
    let is_large = data_set.table().rows() > WHOLE_TABLE_ROWS;
    let has_categories = data_set.table().quasi().iter().any(|quasi| !quasi.spec.release.is_ordered());
    let of_method = |method: &Method| {
        let once = || {
            let formed = form(data_set.table_for(*method), *method, &privacy, k)?;
            Ok((formed.utility, formed.time))
        };
        let outcome = match reason_to_skip(*method, is_large, has_categories) {
            Some(reason) => Outcome::Skipped(reason.to_owned()),
            None => measure(once),
        };
        Trial { name: Trial::name_of(*method), outcome }
    };
    let baseline = |cluster: &dyn Fn(&RowTable<'_>) -> Vec<throng_core::cluster::Class>| {
        measure(|| {
            let table = data_set.table();
            let rows = RowTable::new(table, &privacy);
            let start = Instant::now();
            let classes = cluster(&rows);
            let time = start.elapsed();
            Ok((Utility::of(table, &Recoding::new(table, &classes)?, k), time))
        })
    };
    let mut trials: Vec<Trial> = Method::ALL.iter().map(of_method).collect();
    let whole = |cluster: &dyn Fn(&RowTable<'_>) -> Vec<throng_core::cluster::Class>| match is_large {
        true => Outcome::Skipped(TOO_LARGE.to_owned()),
        false => baseline(cluster),
    };
    trials.push(Trial { name: BASELINE_LITERAL.to_owned(), outcome: whole(&|rows| rows.whole_table_literally()) });
    trials.push(Trial { name: BASELINE_WHOLE.to_owned(), outcome: whole(&|rows| rows.whole_table()) });
    let in_leaves = baseline(&|rows| rows.in_leaves(LEAF_ROWS));
    trials.push(Trial { name: BASELINE_LEAVES.to_owned(), outcome: in_leaves });
    trials
}

const TOO_LARGE: &str = "looks at every pair of the whole table; not tried above 50,000 rows";

fn reason_to_skip(method: Method, is_large: bool, has_categories: bool) -> Option<&'static str> {
    match (method.partition, method.cluster) {
        (PartitionChoice::None, ClusterChoice::None) => Some("one class"),
        (PartitionChoice::None, ClusterChoice::Search) => Some("is mondrian + search: it starts where it likes"),
        (_, ClusterChoice::Switching) => Some("is greedy-pk for a promise without alpha"),
        (_, ClusterChoice::Centroid) if has_categories => Some("is for numbers; slow on categories"),
        (PartitionChoice::None, _) if is_large => Some(TOO_LARGE),
        _ => None,
    }
}

fn measure(once: impl Fn() -> Result<(Utility, Duration)>) -> Outcome {
    let mut best: Option<(Utility, Duration)> = None;
    for _ in 0..TIMES {
        match once() {
            Ok((utility, time)) if best.as_ref().is_none_or(|(_, least)| time < *least) => best = Some((utility, time)),
            Ok(_) => {}
            Err(error) => return Outcome::Skipped(format!("{error:#}")),
        }
        if best.as_ref().is_some_and(|(_, time)| *time > FAST) {
            break;
        }
    }
    best.map_or_else(
        || Outcome::Skipped("was not tried".to_owned()),
        |(utility, time)| Outcome::Measured(utility, time),
    )
}
