//! Small tables for the tests of this crate.

#[path = "../../throng-testkit/src/partitions.rs"]
mod partitions;
#[path = "../../throng-testkit/src/skip.rs"]
pub(crate) mod skip;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringArray};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

pub(crate) use partitions::set_partitions;

use crate::cluster::{Class, Portion};
use crate::columns::{ColumnRecoding, DEFAULT_WEIGHT, Nulls, QuasiSpec, SensitiveSpec};
use crate::hierarchy::{HierarchySpec, Tree};
use crate::model::{FrequencyRequirement, GroundDistance};
use crate::recode::Recoding;
use crate::survey::{SUPPRESSED, Survey, SurveySpec};
use crate::table::Table;

/// Properties run with a fixed seed, so failures are reproducible.
pub(crate) fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(0x7468_726f_6e67), ..Config::default() }
}

pub(crate) fn quasi(name: &str, release: ColumnRecoding, hierarchy: HierarchySpec) -> QuasiSpec {
    QuasiSpec {
        name: name.to_owned(),
        release,
        weight: DEFAULT_WEIGHT,
        nulls: Nulls::Value,
        hierarchy: Arc::new(hierarchy),
        limit: None,
        cover: None,
    }
}

/// A number or date released as `[lo-hi]`.
pub(crate) fn interval(name: &str) -> QuasiSpec {
    quasi(name, ColumnRecoding::Interval, HierarchySpec::Flat)
}

/// A category released as its lowest common ancestor in a tree.
pub(crate) fn ancestor(name: &str, tree: &Tree) -> QuasiSpec {
    quasi(name, ColumnRecoding::Ancestor, HierarchySpec::Tree(Arc::new(tree.clone())))
}

/// A tree from lines such as `France;Europe;*`.
pub(crate) fn tree(lines: &[&str]) -> Tree {
    Tree::from_paths(&lines.iter().map(|line| line.split(';').collect()).collect::<Vec<Vec<&str>>>()).unwrap()
}

/// France, Spain and Italy in Europe; Japan and China in Asia.
pub(crate) fn countries() -> Tree {
    tree(&["France;Europe;*", "Spain;Europe;*", "Italy;Europe;*", "Japan;Asia;*", "China;Asia;*"])
}

pub(crate) fn ints(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

pub(crate) fn maybe_ints(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

pub(crate) fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

pub(crate) fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

pub(crate) fn maybe_texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// A table with the group of each input row.
#[derive(Debug)]
pub(crate) struct Surveyed {
    pub(crate) table: Table,
    pub(crate) groups: Vec<u32>,
    pub(crate) suppressed: u64,
}

impl Surveyed {
    /// Clusters of input rows.
    pub(crate) fn clusters(&self, blocks: &[&[usize]]) -> Vec<Class> {
        blocks.iter().map(|block| self.cluster(block.iter().copied())).collect()
    }

    pub(crate) fn cluster(&self, rows: impl IntoIterator<Item = usize>) -> Class {
        let mut groups: Vec<u32> = rows.into_iter().map(|row| self.groups[row]).collect();
        groups.sort_unstable();
        let runs = groups.chunk_by(|a, b| a == b);
        Class::of_portions(runs.map(|run| Portion { group: run[0], rows: run.len() as u32 }).collect())
    }

    pub(crate) fn recode(&self, blocks: &[&[usize]]) -> Recoding {
        Recoding::new(&self.table, &self.clusters(blocks)).unwrap()
    }
}

pub(crate) fn spec_of(quasi: &[(QuasiSpec, ArrayRef)], sensitive: &[ArrayRef]) -> Arc<SurveySpec> {
    let name =
        |(index, column): (usize, &ArrayRef)| (SensitiveSpec::plain(format!("s{index}")), column.data_type().clone());
    Arc::new(SurveySpec {
        quasi: quasi.iter().map(|(spec, column)| (spec.clone(), column.data_type().clone())).collect::<Vec<_>>(),
        sensitive: sensitive.iter().enumerate().map(name).collect::<Vec<_>>(),
    })
}

pub(crate) fn try_survey(quasi: &[(QuasiSpec, ArrayRef)], sensitive: &[ArrayRef]) -> crate::Result<Surveyed> {
    let mut survey = Survey::new(spec_of(quasi, sensitive))?;
    let columns: Vec<ArrayRef> = quasi.iter().map(|(_, column)| column).chain(sensitive).cloned().collect();
    let numbers = survey.push(&columns)?;
    let merged = Survey::merge(vec![survey])?;
    let group = |number: u32| if number == SUPPRESSED { SUPPRESSED } else { merged.groups[0][number as usize] };
    let groups = numbers.into_iter().map(group).collect();
    Ok(Surveyed { table: merged.table, groups, suppressed: merged.suppressed })
}

pub(crate) fn survey(quasi: &[(QuasiSpec, ArrayRef)], sensitive: &[ArrayRef]) -> Surveyed {
    try_survey(quasi, sensitive).unwrap()
}

/// [Truta 2007, Table 1]: Age, ZipCode; Diagnosis, Income.
pub(crate) fn paper_table_1() -> (Vec<(QuasiSpec, ArrayRef)>, Vec<ArrayRef>) {
    let age = ints(&[20, 20, 20, 30, 30, 30, 30]);
    let zip = texts(&["41099"; 7]);
    let illness = ["AIDS", "AIDS", "AIDS", "Diabetes", "Diabetes", "Tuberculosis", "Tuberculosis"];
    let income = ints(&[60_000, 60_000, 40_000, 50_000, 40_000, 50_000, 40_000]);
    let quasi = vec![(interval("Age"), age), (quasi("ZipCode", ColumnRecoding::Ancestor, HierarchySpec::Flat), zip)];
    (quasi, vec![texts(&illness), income])
}

/// Table 1 with one AIDS replaced by another illness.
pub(crate) fn paper_table_1_corrected() -> (Vec<(QuasiSpec, ArrayRef)>, Vec<ArrayRef>) {
    let (quasi, mut sensitive) = paper_table_1();
    let mut illness: Vec<&str> = sensitive[0].as_string::<i32>().iter().flatten().collect();
    illness[1] = "Flu";
    sensitive[0] = texts(&illness);
    (quasi, sensitive)
}

/// The sensitive columns A, B and C of [Truta 2007, Fig. 1].
pub(crate) fn paper_figure_1() -> Vec<ArrayRef> {
    vec![ints(&[1, 1, 2, 2]), texts(&["a", "b", "a", "b"]), texts(&["alpha", "beta", "beta", "alpha"])]
}

/// [Sun 2008, Table 1]: ages.
pub(crate) const SUN_AGES: [i64; 12] = [27, 28, 26, 25, 41, 48, 45, 42, 33, 37, 36, 35];
/// [Sun 2008, Table 1]: countries.
pub(crate) const SUN_COUNTRIES: [&str; 12] =
    ["USA", "Canada", "USA", "Canada", "China", "Japan", "India", "India", "USA", "Canada", "Canada", "USA"];
/// [Sun 2008, Table 1]: ZIP codes.
pub(crate) const SUN_ZIPS: [&str; 12] =
    ["14248", "14207", "14246", "14249", "13053", "13074", "13064", "13062", "14242", "14204", "14205", "14248"];
/// [Sun 2008, Table 1]: health conditions.
pub(crate) const SUN_CONDITIONS: [&str; 12] = [
    "HIV",
    "HIV",
    "Cancer",
    "Cancer",
    "Hepatitis",
    "Phthisis",
    "Asthma",
    "Heart Disease",
    "Flu",
    "Flu",
    "Flu",
    "Indigestion",
];
/// [Sun 2008, Table 4]: categories of health conditions, the most sensitive first.
pub(crate) const SUN_CATEGORIES: [(&str, [&str; 2]); 4] = [
    ("One", ["HIV", "Cancer"]),
    ("Two", ["Phthisis", "Hepatitis"]),
    ("Three", ["Heart Disease", "Asthma"]),
    ("Four", ["Flu", "Indigestion"]),
];

/// Requirements of every kind on the frequencies of a column; `range` has the ranges of values that are required.
pub(crate) fn frequency_requirement(range: std::ops::Range<f64>) -> impl Strategy<Value = FrequencyRequirement> {
    let closeness = |distance| move |t| FrequencyRequirement::Closeness { t, distance };
    prop_oneof![
        (0.25_f64..0.9).prop_map(FrequencyRequirement::MaxShare),
        (1.2_f64..4.0).prop_map(|l| FrequencyRequirement::EntropyDiversity { l }),
        (0.5_f64..4.0, 1_u32..4).prop_map(|(c, l)| FrequencyRequirement::RecursiveDiversity { c, l }),
        (0.05_f64..0.6).prop_map(closeness(GroundDistance::Equal)),
        (0.02_f64..0.4).prop_map(closeness(GroundDistance::Ordered)),
        (0.02_f64..0.5).prop_map(closeness(GroundDistance::Hierarchical)),
        (0.1_f64..3.0).prop_map(|beta| FrequencyRequirement::Likeness { beta }),
        (0.1_f64..3.0).prop_map(|delta| FrequencyRequirement::Disclosure { delta }),
        range.prop_map(FrequencyRequirement::ValueRange),
    ]
}

/// Returns the released value of a class in the first released column of a quasi-identifier.
pub(crate) fn shown(recoding: &Recoding, class: u32, column: usize) -> Option<String> {
    let array = recoding.columns()[column].columns[0].1.as_string::<i32>();
    let label = recoding.label(class, column) as usize;
    array.is_valid(label).then(|| array.value(label).to_owned())
}

/// Returns the released values of all classes in one column, in their order.
pub(crate) fn all_shown(recoding: &Recoding, column: usize) -> Vec<Option<String>> {
    (0..recoding.class_rows().len() as u32).map(|class| shown(recoding, class, column)).collect()
}

/// The thirteen columns of the Census data of 1,080 rows, which is not part of the project; reports that the test is
/// skipped if it is missing.
pub(crate) fn census_or_skip() -> Option<Vec<Vec<f64>>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/census-1080.csv");
    let Ok(text) = std::fs::read_to_string(path) else {
        skip::skip("the Census data is not there");
        return None;
    };
    let lines: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.trim().parse().unwrap()).collect()).collect();
    assert_eq!(lines.len(), 1080);
    Some((0..13).map(|column| lines.iter().map(|line| line[column]).collect()).collect())
}
