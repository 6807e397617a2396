//! What the classes of a release must satisfy, and how they are formed.

use std::time::Duration;

use crate::anonymize::Method;
use crate::bound::{BoundEffort, LowerBound, lower_bound};
use crate::key::ReleaseKey;
use crate::model::Privacy;
use crate::table::Table;

use super::Workspace;

/// What the classes of a release must satisfy, and how they are formed.
#[derive(Debug)]
pub struct ClassSpec {
    /// The privacy models.
    pub privacy: Privacy,
    /// The k of the privacy models.
    pub k: u64,
    /// Maximum share of suppressed rows, if there is one.
    pub suppression_limit: Option<f64>,
    /// The method that forms the classes.
    pub method: Method,
    /// Key of every random choice of the release.
    pub key: ReleaseKey,
    /// Time budget of the local search over all parts, if it has one.
    pub search_time: Option<Duration>,
    /// The effort for a lower bound of the loss.
    pub bound: BoundTime,
}

/// How long a lower bound of the loss is improved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoundTime {
    /// No bound is computed.
    #[default]
    Off,
    /// For a fixed amount of work.
    Once,
    /// For this time.
    For(Duration),
}

impl ClassSpec {
    /// Computes the requested lower bound for a table that is not cut. Classes of other releases may cross the borders of
    /// parts, so a table of several parts has none.
    pub(super) fn lower_bound(&self, table: &Table, workspace: &dyn Workspace) -> Option<LowerBound> {
        let may_continue = || workspace.may_continue();
        let bound = match self.bound {
            BoundTime::Off => return None,
            BoundTime::Once => lower_bound(table, &self.privacy, BoundEffort::once(&may_continue)),
            BoundTime::For(time) => {
                let has_time = workspace.timer(time);
                lower_bound(table, &self.privacy, BoundEffort::until(&|| may_continue() && has_time()))
            }
        };
        tracing::info!(lower_bound = bound.value, sweeps = bound.sweeps, "loss bounded from below");
        Some(bound)
    }
}
