//! Evaluates several policies on one snapshot.
//!
//! Nothing is released. Classes are formed and recoded as for a release and checked against the privacy models of their
//! policy, so the metrics are those of classes that could be published.

use std::time::{Duration, Instant};

use throng_core::metrics::Utility;
use throng_core::model::{Privacy, Tally};
use throng_core::out_of_core::{ClassedGroups, Classes, TableParts};
use throng_core::progress::{NoProgress, Progress, Stage};
use throng_core::recode::Shares;
use throng_core::risk::ClassSizes;
use throng_core::table::Table;

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::snapshot::Snapshot;

/// Results of several policies.
#[derive(Debug)]
pub struct SweepResult {
    /// Number of rows that each policy was evaluated on.
    pub rows: u64,
    /// One result per policy, in order. An infeasible policy has an error.
    pub tried: Vec<Result<Candidate, AnonymizeError>>,
}

/// Metrics of the release of one policy.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Utility metrics.
    pub utility: Utility,
    /// Number of classes by size.
    pub sizes: ClassSizes,
    /// Number of rows that would be suppressed.
    pub suppressed: u64,
    /// Name of the clustering method.
    pub cluster: &'static str,
    /// Run time without reading.
    pub time: Duration,
}

/// Evaluates policies in order. Any error other than an infeasible policy aborts.
pub(crate) fn all(
    trials: &[Anonymizer],
    mut snapshot: Snapshot,
    progress: &dyn Progress,
) -> Result<SweepResult, AnonymizeError> {
    let (rows, survey) = (snapshot.kept_rows(), &mut snapshot.survey);
    if rows == 0 {
        return Err(throng_core::CoreError::NoRows { suppressed: survey.suppressed() }.into());
    }
    let domains = survey.domains()?;
    progress.begin(Stage::Cluster, Some(trials.len() as u64));
    let mut tried = Vec::with_capacity(trials.len());
    for trial in trials {
        let (start, spec) = (Instant::now(), trial.class_spec());
        let parts = TableParts::in_domains(survey, domains.clone(), spec.method, &spec.privacy, trial.part_sizes())?;
        let mut tables = Vec::new();
        let classes = Classes::of(&spec, survey, parts, &NoProgress, &mut |table| tables.push(table));
        match classes.map_err(AnonymizeError::from) {
            Ok(classes) => {
                check(&classes, &tables, &spec.privacy)?;
                tried.push(Ok(Candidate {
                    sizes: classes.recoding.class_rows().iter().copied().collect(),
                    utility: classes.utility,
                    suppressed: classes.suppressed,
                    cluster: spec.method.cluster.as_str(),
                    time: start.elapsed(),
                }));
            }
            Err(
                error @ (AnonymizeError::Core(throng_core::CoreError::Infeasible(_))
                | AnonymizeError::Suppression { .. }),
            ) => {
                tried.push(Err(error));
            }
            Err(error) => return Err(error),
        }
        progress.advance(1);
    }
    Ok(SweepResult { rows, tried })
}

/// Checks every class of the recoding against the privacy models, by the rows assigned to it.
fn check(found: &Classes, tables: &[Table], privacy: &Privacy) -> Result<(), AnonymizeError> {
    let (Some(like), recoding) = (tables.first(), &found.recoding) else { return Ok(()) };
    let mut classes = vec![Tally::empty(like.tally_shape()); recoding.class_rows().len()];
    let mut add = |table: &Table, shares: &Shares| {
        for group in 0..table.group_count() as u32 {
            for share in shares.of(group) {
                classes[share.class as usize].add(table.codes(group), u64::from(share.rows));
            }
        }
    };
    match &found.groups {
        ClassedGroups::Whole(_) => add(like, recoding.all_shares()),
        ClassedGroups::InParts(parts) => parts.for_each_part(|part, groups| {
            add(&tables[part], &groups.shares);
            Ok::<_, AnonymizeError>(())
        })?,
    }
    let mut released = Tally::empty(like.tally_shape());
    classes.iter().for_each(|class| released.merge(class));
    let privacy = privacy.for_release(like.sensitive(), &released);
    let is_kept = classes
        .iter()
        .zip(recoding.class_rows())
        .all(|(class, rows)| class.rows() == *rows && privacy.is_satisfied(class));
    if is_kept { Ok(()) } else { Err(AnonymizeError::Refused("a class does not satisfy the privacy model")) }
}
