//! Figures of a release that does not exist yet, on a sample or on all rows.

use std::sync::Arc;

use throng_report::Sidecar;

/// Figures of a release.
#[derive(Clone, Debug)]
pub(crate) struct LiveAnswer {
    /// Number of rows that the figures are computed on; `None` for all of them.
    pub(crate) sampled: Option<u64>,
    /// Number of rows of the table.
    pub(crate) rows: u64,
    /// Number of suppressed rows. Exact on a sample too.
    pub(crate) suppressed: u64,
    /// Number of classes; an estimate on a sample.
    pub(crate) classes: u64,
    /// Mean NCP over rows and quasi-identifiers.
    pub(crate) ncp: f64,
    /// Mean NCP of each quasi-identifier.
    pub(crate) columns: Vec<(String, f64)>,
    /// Maximum and mean risk of a row.
    pub(crate) risk: (f64, f64),
    /// Class sizes: from, to, share of the rows.
    pub(crate) sizes: Vec<(u64, u64, f64)>,
    /// Each sensitive column.
    pub(crate) sensitive: Vec<SensitiveAnswer>,
    /// Details that only a sample has.
    pub(crate) shapes: Option<Arc<ReleaseShapes>>,
    /// The document of the release, if the answer is exact.
    pub(crate) sidecar: Option<Arc<Sidecar>>,
}

/// A sensitive column in the classes of a release.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SensitiveAnswer {
    pub(crate) column: String,
    /// Minimum number of distinct values in a class.
    pub(crate) fewest: u64,
    /// The largest share of one value among the rows of a class.
    pub(crate) largest_share: f64,
}

/// Classes and pairs of columns in detail.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReleaseShapes {
    /// Names of the quasi-identifiers.
    pub(crate) quasi: Vec<String>,
    /// The classes that lose most.
    pub(crate) worst: Vec<ClassShape>,
    /// Association of pairs of columns.
    pub(crate) pairs: Vec<AssociatedPair>,
}

/// A class by its shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClassShape {
    /// Number of rows of the class.
    pub(crate) rows: u64,
    /// NCP of each quasi-identifier.
    pub(crate) losses: Vec<f64>,
    /// Released values, if values may be shown.
    pub(crate) labels: Option<Vec<String>>,
}

/// Association of two columns, as Cramér's V between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AssociatedPair {
    pub(crate) columns: (String, String),
    pub(crate) before: f64,
    pub(crate) after: f64,
}

impl LiveAnswer {
    /// Returns the figures of a sidecar, as they are published.
    pub(crate) fn of_sidecar(sidecar: Sidecar) -> Self {
        let released = sidecar.output.rows.max(1) as f64;
        let sensitive = sidecar.privacy.sensitive.iter().map(|column| SensitiveAnswer {
            column: column.column.clone(),
            fewest: column.fewest,
            largest_share: column.largest_share.unwrap_or(1.0),
        });
        Self {
            sampled: None,
            rows: sidecar.input.rows,
            suppressed: sidecar.output.suppressed_rows,
            classes: sidecar.utility.classes,
            ncp: sidecar.utility.ncp,
            columns: sidecar.utility.columns.iter().map(|(name, column)| (name.clone(), column.ncp)).collect(),
            risk: sidecar
                .risk
                .as_ref()
                .map_or((0.0, 0.0), |risk| (risk.after.prosecutor.highest, risk.after.prosecutor.average)),
            sizes: sidecar
                .utility
                .class_sizes
                .iter()
                .map(|bin| (bin.from, bin.to, bin.rows as f64 / released))
                .collect(),
            sensitive: sensitive.collect(),
            shapes: None,
            sidecar: Some(Arc::new(sidecar)),
        }
    }
}
