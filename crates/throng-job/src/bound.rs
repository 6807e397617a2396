//! `throng bound`: how far the release of a policy is from the best possible one. Publishes nothing.

use std::time::Duration;

use throng_core::bound::{BoundedMeasure, LowerBound};
use throng_datafusion::Candidate;
use throng_policy::{BoundSetting, Policy};

use crate::error::{JobError, Kind};
use crate::job::JobOptions;
use crate::sweep::evaluate;

/// A release that was not published, and the lower bound of its loss.
#[derive(Clone, Debug)]
pub struct BoundedLoss {
    /// Number of rows that are not suppressed.
    pub rows: u64,
    /// Loss that no release under the policy falls below.
    pub bound: LowerBound,
    /// The bounded measure of the release.
    pub loss: f64,
    /// How far the release is above the bound, relative to it; `None` if the bound is zero.
    pub gap: Option<f64>,
    /// Name of the cluster method.
    pub cluster: &'static str,
}

/// Forms the classes of a policy in memory, and computes a lower bound of the loss of any release. Without a time limit the
/// bound takes a fixed amount of work.
pub async fn bound(policy: &Policy, time: Option<Duration>, options: &JobOptions) -> Result<BoundedLoss, JobError> {
    let mut policy = policy.clone();
    policy.algorithm.bound = time.map_or(BoundSetting::On, BoundSetting::Time);
    let found = evaluate(vec![(0, policy)], options).await?;
    let (rows, tried) = found.map_or((0, Vec::new()), |found| (found.rows, found.tried));
    let Some(tried) = tried.into_iter().next() else {
        return Err(JobError::new(Kind::Internal, "the policy was not evaluated".to_owned()));
    };
    let Candidate { utility, cluster, suppressed: _, .. } = tried?;
    let Some(bound) = utility.bound else {
        let text = "the table is divided into parts, and a bound needs all of its groups at once; they are too many: try \
                    fewer quasi-identifiers, or a sample of the rows";
        return Err(JobError::new(Kind::BadPolicy, text.to_owned()));
    };
    let loss = match bound.measure {
        BoundedMeasure::Ncp => utility.weighted_ncp,
        BoundedMeasure::SseSst => utility.sse_sst.unwrap_or_default(),
    };
    Ok(BoundedLoss { rows, bound, loss, gap: bound.gap(loss), cluster })
}
