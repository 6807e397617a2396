//! Several policies tried out on one look at the rows: what each of their releases would be like.
//!
//! Nothing is released. Classes are formed and recoded as for a release, and every one of them is held against the models
//! of its policy, so that a figure is that of classes which could be published.

use std::time::{Duration, Instant};

use throng_core::metrics::Utility;
use throng_core::model::{Privacy, Tally};
use throng_core::recode::Recoding;
use throng_core::risk::ClassSizes;
use throng_core::table::Table;

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::classes::Classes;
use crate::groups::Groups;
use crate::progress::{NoProgress, Progress, Stage};
use crate::snapshot::Snapshot;

/// What came of policies that were tried out.
#[derive(Debug)]
pub struct SweepResult {
    /// The rows that each of them is about.
    pub rows: u64,
    /// The policies in their order. One that can't be kept has an error in its place.
    pub tried: Vec<Result<Candidate, AnonymizeError>>,
}

/// What the release of a policy would be like.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What the release would still tell.
    pub utility: Utility,
    /// The sizes of its classes.
    pub sizes: ClassSizes,
    /// The rows that would be left out.
    pub suppressed: u64,
    /// How classes were formed.
    pub cluster: &'static str,
    /// How long that took, without reading.
    pub time: Duration,
}

/// Tries out policies one after the other. Any error but that of a policy that can't be kept ends all.
pub(crate) fn all(
    trials: &[Anonymizer],
    mut snapshot: Snapshot,
    progress: &dyn Progress,
) -> Result<SweepResult, AnonymizeError> {
    let rows = snapshot.rows - snapshot.suppressed;
    if snapshot.rows == snapshot.suppressed {
        return Err(throng_core::CoreError::NoRows { suppressed: snapshot.suppressed }.into());
    }
    let domains = snapshot.domains()?;
    progress.begin(Stage::Cluster, Some(trials.len() as u64));
    let mut tried = Vec::with_capacity(trials.len());
    for trial in trials {
        let (start, privacy) = (Instant::now(), trial.binding().privacy());
        let groups = Groups::in_domains(&snapshot, domains.clone(), trial.method().0, &privacy, trial.part_sizes())?;
        let mut tables = Vec::new();
        match Classes::of(trial, &snapshot, groups, &NoProgress, &mut |table| tables.push(table)) {
            Ok(classes) => {
                check(&classes.recoding, &tables, &privacy)?;
                tried.push(Ok(Candidate {
                    sizes: classes.recoding.class_rows().iter().copied().collect(),
                    utility: classes.utility,
                    suppressed: classes.suppressed,
                    cluster: trial.method().0.cluster.as_str(),
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

/// Holds every class of the recoding against the models, by the rows that it gets.
fn check(recoding: &Recoding, tables: &[Table], privacy: &Privacy) -> Result<(), AnonymizeError> {
    let facets = tables.first().map_or(0, |table| table.sensitive().len());
    let mut classes = vec![Tally::empty(facets); recoding.class_rows().len()];
    let mut first = 0;
    for table in tables {
        let groups = table.group_count() as u32;
        for group in 0..groups {
            for share in recoding.shares(first + group) {
                classes[share.class as usize].add(table.codes(group), u64::from(share.rows));
            }
        }
        first += groups;
    }
    let is_kept = classes
        .iter()
        .zip(recoding.class_rows())
        .all(|(class, rows)| class.rows() == *rows && privacy.is_satisfied(class));
    if is_kept { Ok(()) } else { Err(AnonymizeError::Refused("a class does not satisfy the privacy model")) }
}
