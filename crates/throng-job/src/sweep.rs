//! `throng sweep`: a grid of k, p and algorithms on one survey of the input. Publishes nothing.
//!
//! ```text
//!  input ──► survey, once ──► (k, p, algorithm) ──► classes, recoded and checked against the models ──► risk and loss
//!                                   │ can't be kept         with `utility`: release in memory ──► errors of counts
//!                                   ▼
//!                             why, in its place
//! ```

use std::sync::Arc;

use throng_core::anonymize::PartitionChoice;
use throng_core::risk::RiskSummary;
use throng_datafusion::{Anonymizer, Candidate, Progress, SweepResult};
use throng_policy::Policy;
use throng_report::{Attempt, Figures, SweepReport};

use crate::error::{JobError, Kind};
use crate::job::{BoundJob, JobOptions, bind, failure};
use crate::lab::SweepCounts;
use crate::session::session;
use crate::stage_timer::StageTimer;

/// A policy of the grid.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Parameter k.
    pub k: u64,
    /// Parameter p.
    pub p: u64,
    /// Name of the algorithm.
    pub algorithm: String,
    /// The policy, or the reason why these parameters are invalid.
    pub policy: Result<Policy, String>,
}

/// What a sweep reports besides risk and loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepSettings {
    /// The loss within which the best policy is named, if any.
    pub loss: Option<f64>,
    /// Whether the release of each policy is made in memory, and random counts in it are compared with the true ones.
    pub utility: bool,
}

/// Evaluates policies on the input of the first valid one.
pub async fn sweep(trials: Vec<Trial>, settings: SweepSettings, options: &JobOptions) -> Result<SweepReport, JobError> {
    let mut outcomes: Vec<Option<Result<Candidate, String>>> = trials.iter().map(|_| None).collect();
    let mut rows = 0;
    // MDR builds the trees of its columns during the survey, so it can't share a survey with other methods.
    for is_mdr in [false, true] {
        let of_kind = |trial: &Trial| {
            trial
                .policy
                .as_ref()
                .ok()
                .filter(|policy| (policy.algorithm.partition == PartitionChoice::Mdr) == is_mdr)
                .cloned()
        };
        let shared: Vec<(usize, Policy)> =
            trials.iter().enumerate().filter_map(|(at, trial)| Some((at, of_kind(trial)?))).collect();
        let places: Vec<usize> = shared.iter().map(|(at, _)| *at).collect();
        let Some(found) = evaluate(shared, options).await? else { continue };
        rows = found.rows;
        for (at, tried) in places.into_iter().zip(found.tried) {
            outcomes[at] = Some(tried.map_err(|error| error.to_string()));
        }
    }
    let (mut counts, mut attempts) = (SweepCounts::default(), Vec::with_capacity(trials.len()));
    for (Trial { k, p, algorithm, policy }, tried) in trials.into_iter().zip(outcomes) {
        let outcome = match (tried, policy) {
            (Some(Ok(tried)), Ok(policy)) => {
                let count_errors = if settings.utility { Some(counts.measure(&policy, options).await?) } else { None };
                Ok(Figures { count_errors, ..figures(&tried) })
            }
            (Some(Err(why)), _) | (_, Err(why)) => Err(why),
            (None, Ok(_)) => return Err(JobError::internal("a policy was not evaluated")),
        };
        attempts.push(Attempt { k, p, algorithm, outcome });
    }
    Ok(SweepReport::new(rows, attempts, settings.loss))
}

/// Returns the policy of one release: that of a series counts units by its ledger, which a release on its own has not.
pub(crate) fn as_single_release(mut policy: Policy) -> Policy {
    policy.series = None;
    policy
}

/// Evaluates policies that share a survey; `None` if there are no policies.
pub(crate) async fn evaluate(
    trials: Vec<(usize, Policy)>,
    options: &JobOptions,
) -> Result<Option<SweepResult>, JobError> {
    let trials: Vec<(usize, Policy)> = trials.into_iter().map(|(at, policy)| (at, as_single_release(policy))).collect();
    let Some((_, first)) = trials.first() else { return Ok(None) };
    let session = session(options)?;
    let BoundJob { input, table } = bind(first, &session, options).await?;
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;
    let schema = table.anonymizer().input_schema();
    let anonymizers = trials.iter().map(|(_, policy)| Anonymizer::new(Arc::new(policy.clone()), Arc::clone(schema)));
    let anonymizers = anonymizers.collect::<Result<Vec<_>, _>>()?;
    let progress: Arc<dyn Progress> = Arc::new(StageTimer::start(options));
    let context = session.task_ctx();
    let tried = table.anonymizer().evaluate(anonymizers, plan.input(), &context, &progress);
    match tried.await {
        Ok(trials) => Ok(Some(trials)),
        Err(error) => Err(failure(error, &table, input.as_ref(), &session).await),
    }
}

fn figures(tried: &Candidate) -> Figures {
    let risk = RiskSummary::of_release(&tried.sizes, &[]);
    Figures {
        classes: risk.classes,
        ncp: tried.utility.ncp,
        weighted_ncp: tried.utility.weighted_ncp,
        lower_bound: tried.utility.bound.map(|bound| bound.value),
        gap: tried.utility.gap(),
        count_errors: None,
        highest_risk: risk.highest,
        average_risk: risk.average,
        suppressed_rows: tried.suppressed,
        cluster: tried.cluster,
        milliseconds: tried.time.as_millis() as u64,
    }
}

/// Returns an error if no policy of the grid can be satisfied.
pub fn check_sweep(swept: &SweepReport) -> Result<(), JobError> {
    swept.refusal().map_or(Ok(()), |why| {
        let text = format!("no policy of the grid can be kept; the first: {why}");
        Err(JobError::new(Kind::Infeasible, text))
    })
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
