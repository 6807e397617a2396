//! From columns to classes, timed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use arrow::array::{Array, ArrayRef};
use throng_core::anonymize::Method;
use throng_core::cluster::{Class, IgnoreProgress};
use throng_core::columns::{ColumnRecoding, DEFAULT_WEIGHT, Nulls, QuasiSpec, SensitiveSpec};
use throng_core::hierarchy::HierarchySpec;
use throng_core::metrics::{Utility, avg, dm};
use throng_core::model::Privacy;
use throng_core::partition::FeasibleRegions;
use throng_core::recode::Recoding;
use throng_core::survey::{Survey, SurveySpec};
use throng_core::table::Table;

fn spec(name: &str, release: ColumnRecoding, hierarchy: HierarchySpec) -> QuasiSpec {
    let hierarchy = Arc::new(hierarchy);
    let name = name.to_owned();
    QuasiSpec { name, release, weight: DEFAULT_WEIGHT, nulls: Nulls::Value, hierarchy, limit: None, cover: None }
}

/// A number released as an interval.
pub fn interval(name: &str) -> QuasiSpec {
    spec(name, ColumnRecoding::Interval, HierarchySpec::Flat)
}

/// A number released as a mean.
pub fn mean(name: &str) -> QuasiSpec {
    spec(name, ColumnRecoding::Mean, HierarchySpec::Flat)
}

/// A category released as an ancestor.
pub fn category(name: &str, hierarchy: HierarchySpec) -> QuasiSpec {
    spec(name, ColumnRecoding::Ancestor, hierarchy)
}

/// A surveyed table.
#[derive(Debug)]
pub struct Surveyed {
    /// The table.
    pub table: Table,
    /// The group of each row.
    pub groups: Vec<u32>,
}

/// Surveys columns.
pub fn survey(quasi: Vec<(QuasiSpec, ArrayRef)>, sensitive: Vec<(SensitiveSpec, ArrayRef)>) -> Result<Surveyed> {
    let columns: Vec<ArrayRef> = quasi.iter().map(|c| &c.1).chain(sensitive.iter().map(|c| &c.1)).cloned().collect();
    let spec = SurveySpec {
        quasi: quasi.into_iter().map(|(spec, column)| (spec, column.data_type().clone())).collect(),
        sensitive: sensitive.into_iter().map(|(spec, column)| (spec, column.data_type().clone())).collect(),
    };
    let mut survey = Survey::new(Arc::new(spec))?;
    let numbers = survey.push(&columns)?;
    let merged = Survey::merge(vec![survey])?;
    let groups = numbers.iter().map(|number| merged.groups[0][*number as usize]).collect();
    Ok(Surveyed { table: merged.table, groups })
}

/// Result of a method on a table.
#[derive(Debug)]
pub struct Formed {
    /// The clusters as formed; two of them may release the same values.
    pub clusters: Vec<Class>,
    /// Feasible regions and suppressed cells.
    pub allowed: FeasibleRegions,
    /// The release.
    pub recoding: Recoding,
    /// Utility metrics of the release.
    pub utility: Utility,
    /// Time of partition and clustering.
    pub time: Duration,
}

impl Formed {
    /// Returns AVG over the clusters as formed.
    pub fn cluster_avg(&self, k: u64) -> f64 {
        avg(self.sizes().iter().sum(), self.clusters.len() as u64, k)
    }

    /// Returns DM over the clusters as formed.
    pub fn cluster_dm(&self) -> u64 {
        dm(&self.sizes())
    }

    fn sizes(&self) -> Vec<u64> {
        let size = |class: &Class| class.portions.iter().map(|portion| u64::from(portion.rows)).sum();
        self.clusters.iter().map(size).collect()
    }
}

/// Anonymizes a table.
pub fn form(table: &Table, method: Method, privacy: &Privacy, k: u64) -> Result<Formed> {
    let start = Instant::now();
    let allowed = FeasibleRegions::of(table, privacy);
    let leaves = method.leaves(&allowed, table)?;
    let clusters = method.classes(&leaves, table, privacy, &IgnoreProgress).classes;
    let time = start.elapsed();
    let recoding = Recoding::without(table, &clusters, &allowed.suppressed_cells)?;
    let utility = Utility::of(table, &recoding, k);
    Ok(Formed { clusters, allowed, recoding, utility, time })
}
