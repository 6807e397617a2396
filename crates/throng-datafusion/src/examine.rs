//! Extension point: a host examines a verified release before the first of its rows is emitted.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use futures::future::BoxFuture;
use throng_policy::Policy;

use crate::release::Release;

/// Examines releases of policies that limit what attacks gain, or how people hide in the population
/// ([`Policy::limits_finished_release`]).
pub trait ExamineRelease: Send + Sync {
    /// Examines a release of `input` that has been verified. After an error, none of its rows is emitted. The error must quote
    /// no value of the data.
    fn examine<'a>(
        &'a self,
        policy: &'a Policy,
        input: &'a Arc<dyn TableProvider>,
        release: &'a Arc<Release>,
    ) -> BoxFuture<'a, Result<(), Box<dyn Error + Send + Sync>>>;
}

/// The examiner of the releases of a session, as an extension of its configuration (`SessionConfig::with_extension`).
///
/// A session without it refuses policies with limits on the finished release, because nothing would check them. The input is read
/// a second time: a table that can be read only once can't be released under such a policy.
#[derive(Clone)]
pub struct ReleaseExaminer(Arc<dyn ExamineRelease>);

impl ReleaseExaminer {
    /// Wraps an implementation.
    pub fn new(examiner: Arc<dyn ExamineRelease>) -> Self {
        Self(examiner)
    }

    pub(crate) fn inner(&self) -> &dyn ExamineRelease {
        self.0.as_ref()
    }
}

impl fmt::Debug for ReleaseExaminer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseExaminer").finish_non_exhaustive()
    }
}
