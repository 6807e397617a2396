//! Facts about the series of a release.

use serde::{Deserialize, Serialize};

/// Facts about the series that a release belongs to. Counts of rows and units are rounded up to the next multiple
/// of k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesFacts {
    /// Number of releases of the series, including this one.
    pub releases: u64,
    /// Number of earlier releases that this one was checked against.
    pub remembered: u64,
    /// Number of units above k of new classes.
    pub reserve: u64,
    /// Rows that are shown for the first time.
    pub come: u64,
    /// Rows of the last release that are no longer shown.
    pub gone: u64,
    /// Rows of the input that wait for a class, and whose units are not shown.
    pub held: u64,
    /// Rows of the input that wait for a class while an earlier row of their unit is shown.
    pub outdated: u64,
    /// Rows of the input that are not shown because releases that showed them are remembered, or because they found no
    /// class in time.
    pub suppressed: u64,
    /// Rows of the release that the input no longer has.
    pub shown_on: u64,
    /// Units that the release shows in more than one class: people with several rows, and those of whom a row has
    /// changed while the former one is shown on.
    #[serde(default)]
    pub in_several_classes: u64,
}
