//! Figures of a release on a sample of its regions.
//!
//! A sample of rows would be sparser than the table, and a class of k rows in it much wider. So whole leaves of the partition are
//! sampled: each has all of its rows, and its classes are like those of a release, except at its boundaries. Local search proposes more
//! per cell where there are fewer cells, so a sample of a large table loses less than the release.

use std::sync::atomic::{AtomicBool, Ordering};

use throng::arrow::util::display::{ArrayFormatter, FormatOptions};
use throng::throng_core::cluster::ClusterControl;
use throng::throng_core::domain::NULL;
use throng::throng_core::feasibility::Feasibility;
use throng::throng_core::metrics::Utility;
use throng::throng_core::partition::{FeasibleRegions, Leaf};
use throng::throng_core::recode::Recoding;
use throng::throng_core::risk::{ClassSizes, RiskSummary};
use throng::throng_core::table::Table;
use throng::throng_datafusion::Anonymizer;
use throng_job::{JobError, Kind};

use crate::answer::{ClassShape, LiveAnswer, ReleaseShapes, SensitiveAnswer};
use crate::held_survey::HeldSurvey;
use association::pairs;

mod association;

/// Maximum number of cells that are clustered.
const SAMPLED_CELLS: usize = 20_000;

/// Number of classes that are shown by their shape.
const WORST_CLASSES: usize = 6;

/// Computes the figures of a release on a sample of the leaves. Returns `None` if it became stale, or if the table is not held.
pub(crate) fn sample(
    survey: &HeldSurvey,
    anonymizer: &Anonymizer,
    stale: &AtomicBool,
    shows_values: bool,
) -> Result<Option<LiveAnswer>, JobError> {
    // The held survey has no units of privacy; if the policy has units, only the exact answer is given.
    let table = survey.table.as_ref().filter(|_| anonymizer.binding().unit.is_none());
    let Some(table) = table else { return Ok(None) };
    let (privacy, k) = (anonymizer.binding().privacy(), anonymizer.binding().k);
    let allowed = FeasibleRegions::of(table, &privacy);
    let feasibility = Feasibility::of(table, &privacy, &allowed);
    if !feasibility.shortfalls.is_empty() {
        let reasons: Vec<String> = feasibility.shortfalls.iter().map(ToString::to_string).collect();
        return Err(JobError::new(Kind::Infeasible, reasons.join("\n")));
    }
    let method = anonymizer.method().0;
    let leaves = method.leaves(&allowed, table)?;
    if stale.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let (tried, rest) = some_of(leaves);
    let classes = method.classes(&tried, table, &allowed.privacy, &WhileFresh(stale)).classes;
    if stale.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let is_whole = rest.is_empty();
    let mut out = allowed.suppressed_cells;
    out.extend(rest);
    let recoding = Recoding::without(table, &classes, &out)?;
    let utility = Utility::of(table, &recoding, k);
    let sizes: ClassSizes = recoding.class_rows().iter().copied().collect();
    let risk = RiskSummary::of_release(&sizes, &[]);
    let sampled = sizes.rows();
    let released = survey.rows - survey.suppressed - feasibility.suppressed;
    let classes = match is_whole {
        true => utility.classes,
        false => (utility.classes as f64 * released as f64 / sampled.max(1) as f64).round() as u64,
    };
    Ok(Some(LiveAnswer {
        sampled: Some(sampled),
        rows: survey.rows,
        suppressed: survey.suppressed + feasibility.suppressed,
        classes,
        ncp: utility.ncp,
        columns: utility.columns.iter().map(|column| (column.name.clone(), column.ncp)).collect(),
        risk: (risk.highest, risk.average),
        sizes: size_shares(&sizes, k),
        sensitive: sensitive(table, &recoding),
        shapes: Some(
            ReleaseShapes {
                quasi: table.quasi().iter().map(|quasi| quasi.spec.name.clone()).collect(),
                worst: worst(&recoding, table.quasi().len(), shows_values),
                pairs: pairs(table, &recoding),
            }
            .into(),
        ),
        sidecar: None,
    }))
}

/// Returns every n-th leaf, so that their cells are few enough, and the cells of all others.
fn some_of(leaves: Vec<Leaf>) -> (Vec<Leaf>, Vec<u32>) {
    let cells: usize = leaves.iter().map(|leaf| leaf.cells.len()).sum();
    let step = cells.div_ceil(SAMPLED_CELLS).max(1);
    // A leaf that is too large for a sample would be most of the work and is skipped, unless it is the first.
    let (mut tried, mut rest) = (Vec::new(), Vec::new());
    for (at, leaf) in leaves.into_iter().enumerate() {
        if at % step == 0 && (tried.is_empty() || leaf.cells.len() <= SAMPLED_CELLS) {
            tried.push(leaf);
        } else {
            rest.extend(leaf.cells);
        }
    }
    (tried, rest)
}

/// Stops clustering when the answer is no longer needed.
struct WhileFresh<'a>(&'a AtomicBool);

impl ClusterControl for WhileFresh<'_> {
    fn leaf_done(&self, _: usize) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    fn may_search(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Returns the share of the rows by class size, in doubling steps from k on.
fn size_shares(sizes: &ClassSizes, k: u64) -> Vec<(u64, u64, f64)> {
    let rows = sizes.rows().max(1) as f64;
    let mut bins: Vec<(u64, u64, f64)> = Vec::new();
    for (size, classes) in sizes.iter() {
        let mut from = k.max(1);
        while from * 2 <= size {
            from *= 2;
        }
        let share = (size * classes) as f64 / rows;
        match bins.last_mut().filter(|bin| bin.0 == from) {
            Some(bin) => bin.2 += share,
            None => bins.push((from, from * 2 - 1, share)),
        }
    }
    bins
}

/// Counts each sensitive column in the classes.
fn sensitive(table: &Table, recoding: &Recoding) -> Vec<SensitiveAnswer> {
    let classes = recoding.class_rows().len();
    let columns = table.sensitive().iter().enumerate();
    columns
        .map(|(at, column)| {
            let mut counts: Vec<Vec<(u32, u64)>> = vec![Vec::new(); classes];
            for group in 0..table.group_count() as u32 {
                let code = table.codes(group)[at];
                // Lists are counted by their elements.
                let codes = match &column.elements {
                    Some(elements) if code != NULL => &elements[code as usize][..],
                    _ => std::slice::from_ref(&code),
                };
                for share in recoding.shares(group) {
                    let counted = &mut counts[share.class as usize];
                    for code in codes {
                        match counted.iter_mut().find(|(known, _)| known == code) {
                            Some((_, rows)) => *rows += u64::from(share.rows),
                            None => counted.push((*code, u64::from(share.rows))),
                        }
                    }
                }
            }
            let valued = |counted: &Vec<(u32, u64)>| counted.iter().filter(|(code, _)| *code != NULL).count() as u64;
            let largest = counts.iter().zip(recoding.class_rows()).map(|(counted, rows)| {
                let most = counted.iter().filter(|(code, _)| *code != NULL).map(|(_, rows)| *rows).max().unwrap_or(0);
                most as f64 / (*rows).max(1) as f64
            });
            SensitiveAnswer {
                column: column.name.clone(),
                fewest: counts.iter().map(valued).min().unwrap_or(0),
                largest_share: largest.fold(0.0, f64::max),
            }
        })
        .collect()
}

/// Returns the classes that lose most per row.
fn worst(recoding: &Recoding, columns: usize, shows_values: bool) -> Vec<ClassShape> {
    let losses = |class: u32| (0..columns).map(|column| recoding.ncp(class, column)).collect::<Vec<f64>>();
    let mut classes: Vec<(u32, f64)> =
        (0..recoding.class_rows().len() as u32).map(|class| (class, losses(class).iter().sum())).collect();
    classes.sort_by(|a, b| b.1.total_cmp(&a.1));
    let label = |class: u32, column: usize| -> String {
        let (label, labels) = (recoding.label(class, column) as usize, &recoding.columns()[column]);
        let texts = labels.columns.iter().filter_map(|(_, values)| {
            let format = ArrayFormatter::try_new(values.as_ref(), &FormatOptions::default()).ok()?;
            Some(format.value(label).to_string())
        });
        texts.collect::<Vec<_>>().join("–")
    };
    let shape = |(class, _): (u32, f64)| ClassShape {
        rows: recoding.class_rows()[class as usize],
        losses: losses(class),
        labels: shows_values.then(|| (0..columns).map(|column| label(class, column)).collect()),
    };
    classes.into_iter().take(WORST_CLASSES).map(shape).collect()
}
