//! How well a release answers the questions that the original would answer.
//!
//! | file | question |
//! |---|---|
//! | `queries` | How many people satisfy one to three conditions? [Xiao 2006], [LeFevre 2006] |
//! | `marginals` | How are the values of one column distributed? |
//! | `association` | How strongly do two columns go together? |
//! | `models` | How well does a model that was trained on the release predict the original, and do its coefficients agree? [Karr 2006] |
//!
//! Values inside a generalized label are spread evenly, as an analyst without the original would do.

mod association;
mod binning;
mod features;
mod logistic;
mod marginals;
mod models;
mod queries;
mod tree;

use serde::Serialize;

pub use association::{AssociationReport, PairAssociation};
pub use marginals::ColumnDistance;
pub use models::{ModelReport, ModelScore};
pub use queries::{CountQueries, QueryErrors, QueryReport};

pub(crate) use binning::{Binning, LabelShares};
pub(crate) use features::{Example, FeatureSpace};
pub(crate) use tree::DecisionTree;

use crate::lexicon::Lexicon;
use crate::table::{OriginalTable, ReleasedTable};

/// Number of random questions of each kind, unless stated otherwise.
pub const DEFAULT_QUERIES: usize = 500;

/// What is measured.
#[derive(Clone, Debug)]
pub struct UtilityOptions {
    /// Number of random questions with one, two and three conditions each.
    pub queries: usize,
    /// Columns of each question of a workload: as many random questions are put about each of them.
    pub workload: Vec<Vec<String>>,
    /// Index of the sensitive column that models predict, if any.
    pub target: Option<usize>,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Default for UtilityOptions {
    fn default() -> Self {
        Self { queries: DEFAULT_QUERIES, workload: Vec::new(), target: Some(0), seed: 0 }
    }
}

/// Utility of a release.
#[derive(Clone, Debug, Serialize)]
pub struct UtilityReport {
    /// Rows of the original.
    pub original_rows: u64,
    /// Rows of the release.
    pub released_rows: u64,
    /// Distinct labels that could not be understood, and were taken to stand for any value.
    pub unread_labels: u64,
    /// Errors of random counts.
    pub count_queries: QueryReport,
    /// Total variation distance of each column.
    pub marginals: Vec<ColumnDistance>,
    /// Association of pairs of columns.
    pub association: AssociationReport,
    /// Models trained on the release, if there is a column to predict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelReport>,
}

/// Measures the utility of a release.
pub fn utility(
    lexicon: &Lexicon,
    original: &OriginalTable,
    release: &ReleasedTable,
    options: &UtilityOptions,
) -> UtilityReport {
    let exact = ReleasedTable::of_original(original, lexicon);
    UtilityReport {
        original_rows: original.rows,
        released_rows: release.rows,
        unread_labels: release.unread_labels,
        count_queries: CountQueries::of(lexicon, &exact, options).errors(release),
        marginals: marginals::measure(lexicon, &exact, release),
        association: association::measure(lexicon, &exact, release),
        models: options
            .target
            .filter(|target| *target < lexicon.sensitive.len())
            .and_then(|target| models::measure(lexicon, &exact, release, target, options.seed)),
    }
}

#[cfg(test)]
#[path = "../utility_tests.rs"]
mod tests;
