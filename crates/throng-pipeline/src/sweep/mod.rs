//! `throng sweep`: a grid of k, p and algorithms on one look at the input. Publishes nothing.
//!
//! ```text
//!  input ──► survey, once ──► (k, p, algorithm) ──► classes, recoded and held against the models ──► risk and loss
//!                                   │ can't be kept
//!                                   ▼
//!                             why, in its place
//! ```

mod page;

use std::sync::Arc;

use throng_core::risk::RiskSummary;
use throng_datafusion::{Anonymizer, Progress, Trials, Tried};
use throng_policy::{Partition, Policy};

pub use page::sweep_page;

use crate::clock::Clock;
use crate::engine::session;
use crate::error::{JobError, Kind};
use crate::job::{Bound, JobOptions, bind, failure};
use crate::report::numbers::percent;

/// A policy to be tried out.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its k.
    pub k: u64,
    /// Its p.
    pub p: u64,
    /// What its algorithm is called.
    pub algorithm: String,
    /// The policy itself, or why there is none with these numbers.
    pub policy: Result<Policy, String>,
}

/// What came of a trial.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Its k.
    pub k: u64,
    /// Its p.
    pub p: u64,
    /// What its algorithm is called.
    pub algorithm: String,
    /// What the release would be like, or why there can be none.
    pub outcome: Result<Figures, String>,
}

/// What a release would be like.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Classes.
    pub classes: u64,
    /// The mean NCP over rows and quasi-identifiers.
    pub ncp: f64,
    /// The highest risk of a row.
    pub highest_risk: f64,
    /// The mean risk of a row.
    pub average_risk: f64,
    /// The rows that would be left out.
    pub suppressed_rows: u64,
    /// How classes were formed.
    pub cluster: &'static str,
    /// How long that took, without reading the input.
    pub milliseconds: u64,
}

/// What came of a grid.
#[derive(Clone, Debug)]
pub struct Swept {
    /// The rows of the input that the trials are about.
    pub rows: u64,
    /// The trials, in their order.
    pub attempts: Vec<Attempt>,
    /// The loss that must not be exceeded, and which of the trials is best within it.
    pub budget: Option<(f64, Option<usize>)>,
}

/// Tries out policies on the input of the first that is valid.
pub async fn sweep(trials: Vec<Trial>, loss: Option<f64>, options: &JobOptions) -> Result<Swept, JobError> {
    let mut outcomes: Vec<Option<Result<Tried, String>>> = trials.iter().map(|_| None).collect();
    let mut rows = 0;
    // The MDR trees of its columns are made in the survey, which no other method can share.
    for is_mdr in [false, true] {
        let of_kind = |trial: &Trial| {
            trial
                .policy
                .as_ref()
                .ok()
                .filter(|policy| (policy.algorithm.partition == Partition::Mdr) == is_mdr)
                .cloned()
        };
        let shared: Vec<(usize, Policy)> =
            trials.iter().enumerate().filter_map(|(at, trial)| Some((at, of_kind(trial)?))).collect();
        let places: Vec<usize> = shared.iter().map(|(at, _)| *at).collect();
        let Some(found) = try_out(shared, options).await? else { continue };
        rows = found.rows;
        for (at, tried) in places.into_iter().zip(found.tried) {
            outcomes[at] = Some(tried.map_err(|error| error.to_string()));
        }
    }
    let attempts: Vec<Attempt> = trials
        .into_iter()
        .zip(outcomes)
        .map(|(trial, tried)| {
            let why = trial.policy.err().unwrap_or_default();
            let outcome = tried.unwrap_or(Err(why)).map(|tried| Figures::of(&tried));
            Attempt { k: trial.k, p: trial.p, algorithm: trial.algorithm, outcome }
        })
        .collect();
    let budget = loss.map(|loss| (loss, best(&attempts, loss)));
    Ok(Swept { rows, attempts, budget })
}

/// Tries out policies that share a survey; none where there is no policy.
async fn try_out(trials: Vec<(usize, Policy)>, options: &JobOptions) -> Result<Option<Trials>, JobError> {
    let Some((_, first)) = trials.first() else { return Ok(None) };
    let session = session(options)?;
    let Bound { source, table } = bind(first, &session).await?;
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;
    let schema = table.anonymizer().input_schema();
    let anonymizers = trials.iter().map(|(_, policy)| Anonymizer::new(Arc::new(policy.clone()), Arc::clone(schema)));
    let anonymizers = anonymizers.collect::<Result<Vec<_>, _>>()?;
    let progress: Arc<dyn Progress> = Arc::new(Clock::start(options));
    let context = session.task_ctx();
    let tried = table.anonymizer().try_out(anonymizers, plan.input(), &context, &progress);
    match tried.await {
        Ok(trials) => Ok(Some(trials)),
        Err(error) => Err(failure(error, &table, &source, &session).await),
    }
}

impl Figures {
    fn of(tried: &Tried) -> Self {
        let risk = RiskSummary::of_release(&tried.sizes, &[]);
        Self {
            classes: risk.classes,
            ncp: tried.utility.ncp,
            highest_risk: risk.highest,
            average_risk: risk.average,
            suppressed_rows: tried.suppressed,
            cluster: tried.cluster,
            milliseconds: tried.time.as_millis() as u64,
        }
    }
}

/// The trial with the lowest highest risk within a loss; among equals the one with the highest p, and then with the least
/// loss.
fn best(attempts: &[Attempt], loss: f64) -> Option<usize> {
    let within =
        attempts.iter().enumerate().filter_map(|(at, attempt)| Some((at, attempt, attempt.outcome.as_ref().ok()?)));
    let within = within.filter(|(_, _, figures)| figures.ncp <= loss);
    let order = |a: &(usize, &Attempt, &Figures), b: &(usize, &Attempt, &Figures)| {
        let risk = a.2.highest_risk.total_cmp(&b.2.highest_risk);
        risk.then(b.1.p.cmp(&a.1.p)).then(a.2.ncp.total_cmp(&b.2.ncp))
    };
    within.min_by(order).map(|(at, _, _)| at)
}

impl Swept {
    /// The best policy for the loss budget in one line, where there is a budget.
    pub fn advice(&self) -> Option<String> {
        let (loss, best) = self.budget?;
        let found = best.and_then(|at| {
            let attempt = &self.attempts[at];
            let figures = attempt.outcome.as_ref().ok()?;
            Some(format!(
                "best for a loss of at most {}: k = {}, p = {} with {} (loses {}, highest risk {})",
                percent(loss),
                attempt.k,
                attempt.p,
                attempt.algorithm,
                percent(figures.ncp),
                percent(figures.highest_risk)
            ))
        });
        Some(found.unwrap_or_else(|| format!("no policy of the grid loses at most {}", percent(loss))))
    }

    /// An error where no policy of the grid can be kept.
    pub fn check(&self) -> Result<(), JobError> {
        match self.attempts.iter().any(|attempt| attempt.outcome.is_ok()) {
            true => Ok(()),
            false => {
                let why: Option<&String> = self.attempts.iter().find_map(|attempt| attempt.outcome.as_ref().err());
                let text =
                    format!("no policy of the grid can be kept; the first: {}", why.cloned().unwrap_or_default());
                Err(JobError::new(Kind::Infeasible, text))
            }
        }
    }
}

#[cfg(test)]
#[path = "../sweep_tests.rs"]
mod tests;
