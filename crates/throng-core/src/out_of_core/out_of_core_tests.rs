//! A table in parts, and one whose values are stored, without an engine.

use std::sync::Arc;

use super::test_workspace::SmallWorkspace;
use super::*;
use crate::anonymize::{ClusterChoice, Method, PartitionChoice};
use crate::error::CoreError;
use crate::key::ReleaseKey;
use crate::model::{KAnonymity, Privacy};
use crate::progress::NoProgress;
use crate::test_tables::{interval, ints, spec_of};

const ROWS: i64 = 3000;

/// Surveys two streams of rows with different numbers, whose values may use this memory per stream.
fn survey(workspace: &Arc<dyn Workspace>, most_values: usize) -> TableSurvey {
    let spec = spec_of(&[(interval("x"), ints(&[])), (interval("y"), ints(&[]))], &[]);
    let limits = SurveyLimits { most_values, stream_rows: None, streams: 2 };
    let quota = SharedQuota::new(workspace.memory_for_rows());
    let mut table = TableSurvey::new(2, Arc::clone(workspace));
    for stream in 0..2 {
        let mut survey = ChunkedSurvey::new(Arc::clone(&spec), limits, &quota, Arc::clone(workspace)).unwrap();
        for rows in (0..ROWS / 2).map(|row| 2 * row + stream).collect::<Vec<i64>>().chunks(500) {
            let column = |factor: i64| ints(&rows.iter().map(|row| row * factor % 100_003).collect::<Vec<_>>());
            let groups = survey.push(&[column(7919), column(104_729)], rows.len(), Some(0)).unwrap();
            assert_eq!(groups, (0..rows.len() as u32).collect::<Vec<_>>());
            assert_eq!(survey.end_chunk().unwrap(), rows.len());
        }
        table.add(survey).unwrap();
    }
    table
}

fn spec() -> ClassSpec {
    ClassSpec {
        privacy: Privacy::new(vec![Arc::new(KAnonymity::new(5))]),
        k: 5,
        suppression_limit: None,
        method: Method::new(PartitionChoice::Mondrian, ClusterChoice::Greedy),
        key: ReleaseKey::from_bytes([7; 32]),
        search_time: None,
        bound: BoundTime::Off,
    }
}

fn classes(workspace: &Arc<dyn Workspace>, most_values: usize, sizes: PartSizes) -> Classes {
    let (spec, mut survey) = (spec(), survey(workspace, most_values));
    let parts = TableParts::of(&mut survey, spec.method, &spec.privacy, sizes).unwrap();
    assert_eq!(parts.len() > 1, sizes.most_groups < ROWS as usize);
    Classes::of(&spec, &survey, parts, &NoProgress, &mut drop).unwrap()
}

/// The group of each group of each chunk in the recoding, and the class of its rows.
fn class_of_each(classes: &Classes) -> Vec<u32> {
    let class = |shares: &crate::recode::Shares, group: &u32| shares.of(*group)[0].class;
    match &classes.groups {
        ClassedGroups::Whole(group_of) => {
            group_of.iter().map(|group| class(classes.recoding.all_shares(), group)).collect()
        }
        ClassedGroups::InParts(parts) => {
            let (group_of, shares) = parts.gather().unwrap();
            group_of.iter().map(|group| class(&shares, group)).collect()
        }
    }
}

const WHOLE: PartSizes = PartSizes { most_groups: 1 << 20, part_cells: 1 << 17, between_blocks: false };
const CUT: PartSizes = PartSizes { most_groups: 500, part_cells: 400, between_blocks: false };

#[test]
fn values_that_are_stored_give_the_same_classes() {
    for sizes in [WHOLE, CUT] {
        let workspace: Arc<dyn Workspace> = Arc::new(UnlimitedWorkspace);
        let (expected, found) = (classes(&workspace, usize::MAX, sizes), classes(&workspace, 0, sizes));
        assert_eq!(found.recoding.class_rows(), expected.recoding.class_rows());
        assert_eq!(found.utility, expected.utility);
        assert_eq!((found.leaves, found.suppressed), (expected.leaves, 0));
        assert_eq!(class_of_each(&found), class_of_each(&expected));
    }
}

#[test]
fn every_row_is_in_one_class_of_at_least_k() {
    for sizes in [WHOLE, CUT] {
        let workspace: Arc<dyn Workspace> = Arc::new(UnlimitedWorkspace);
        let found = classes(&workspace, usize::MAX, sizes);
        let mut rows = vec![0; found.recoding.class_rows().len()];
        class_of_each(&found).into_iter().for_each(|class| rows[class as usize] += 1);
        assert_eq!(rows, found.recoding.class_rows());
        assert!(rows.iter().all(|rows| *rows >= 5));
    }
}

#[test]
fn all_memory_is_returned_and_a_refusal_names_what_did_not_fit() {
    let pool = SmallWorkspace::new(16 << 20);
    let workspace: Arc<dyn Workspace> = Arc::new(pool.clone());
    let found = classes(&workspace, 0, CUT);
    assert!(pool.used() >= found.memory.size() && found.memory.size() > 0);
    drop(found);
    assert_eq!(pool.used(), 0);
    // Without further memory, each step is refused.
    let refused = |error: OutOfCoreError| match error {
        OutOfCoreError::Memory { part, least: Some(_) } => part,
        other => panic!("{other:?}"),
    };
    let (spec, mut survey) = (spec(), survey(&workspace, usize::MAX));
    pool.set_size(pool.used());
    assert_eq!(refused(survey.domains().unwrap_err()), "the distinct values of the quasi-identifiers");
    pool.set_size(16 << 20);
    let mut survey = self::survey(&workspace, usize::MAX);
    let domains = survey.domains().unwrap();
    pool.set_size(pool.used());
    let parts = |sizes| TableParts::in_domains(&survey, domains.clone(), spec.method, &spec.privacy, sizes);
    assert_eq!(refused(parts(WHOLE).unwrap_err()), "the distinct combinations of quasi-identifiers");
    pool.set_size(16 << 20);
    let parts = parts(WHOLE).unwrap();
    pool.set_size(pool.used());
    let found = Classes::of(&spec, &survey, parts, &NoProgress, &mut drop);
    assert_eq!(refused(found.unwrap_err()), "the classes of the release");
}

#[test]
fn a_table_without_rows_is_refused() {
    let workspace: Arc<dyn Workspace> = Arc::new(UnlimitedWorkspace);
    let mut survey = TableSurvey::new(2, workspace);
    let refused = TableParts::of(&mut survey, spec().method, &spec().privacy, WHOLE).unwrap_err();
    assert!(matches!(refused, OutOfCoreError::Core(CoreError::NoRows { suppressed: 0 })));
}
