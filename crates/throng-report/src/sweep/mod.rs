//! The result of a sweep over a grid of policies, and its page.

mod page;

pub use page::sweep_page;

use crate::numbers::percent;

/// Result of one trial.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Parameter k of the trial.
    pub k: u64,
    /// Parameter p of the trial.
    pub p: u64,
    /// Name of the algorithm.
    pub algorithm: String,
    /// Figures of the release, or the reason why the policy can't be satisfied.
    pub outcome: Result<Figures, String>,
}

/// Figures of a release that was not published.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Number of equivalence classes of the release.
    pub classes: u64,
    /// Mean NCP over rows and quasi-identifiers.
    pub ncp: f64,
    /// The same with the weights of the policy, which is the loss that is bounded.
    pub weighted_ncp: f64,
    /// Proven lower bound of the loss, if the policy asks for it.
    pub lower_bound: Option<f64>,
    /// How far the release is above the lower bound, relative to it.
    pub gap: Option<f64>,
    /// Errors of random counts, if they were measured.
    pub count_errors: Option<CountErrors>,
    /// Maximum risk of a row.
    pub highest_risk: f64,
    /// Mean risk of a row.
    pub average_risk: f64,
    /// Number of suppressed rows.
    pub suppressed_rows: u64,
    /// Name of the cluster method.
    pub cluster: &'static str,
    /// Duration without reading the input.
    pub milliseconds: u64,
}

impl Figures {
    /// Whether weights of quasi-identifiers make a difference to the loss.
    pub(crate) fn has_weights(&self) -> bool {
        (self.weighted_ncp - self.ncp).abs() > 1e-9
    }
}

/// Relative errors of random counts in a release, against the true counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountErrors {
    /// Error that half of the counts do not exceed.
    pub median: f64,
    /// Error that 95 % of the counts do not exceed.
    pub p95: f64,
}

/// The combinations that a sweep has tried, with what each of them would release.
#[derive(Clone, Debug)]
pub struct SweepReport {
    /// Rows of the input.
    pub rows: u64,
    /// Trials in order.
    pub attempts: Vec<Attempt>,
    /// Upper limit of the loss, and the index of the best trial within it.
    pub budget: Option<(f64, Option<usize>)>,
}

impl SweepReport {
    /// Collects `attempts` on `rows` rows and selects the best one within `loss`.
    pub fn new(rows: u64, attempts: Vec<Attempt>, loss: Option<f64>) -> Self {
        let budget = loss.map(|loss| (loss, best(&attempts, loss)));
        Self { rows, attempts, budget }
    }

    /// Returns whether lower bounds of the loss were computed.
    pub fn has_bounds(&self) -> bool {
        self.figures().any(|figures| figures.lower_bound.is_some())
    }

    /// Returns whether errors of random counts were measured.
    pub fn has_count_errors(&self) -> bool {
        self.figures().any(|figures| figures.count_errors.is_some())
    }

    /// Returns the figures of the policies that can be satisfied.
    fn figures(&self) -> impl Iterator<Item = &Figures> {
        self.attempts.iter().filter_map(|attempt| attempt.outcome.as_ref().ok())
    }

    /// Returns the best policy within the loss budget in one line, if there is a budget.
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

    /// Returns the reason why the first policy can't be satisfied, if none can.
    pub fn refusal(&self) -> Option<&str> {
        match self.attempts.iter().any(|attempt| attempt.outcome.is_ok()) {
            true => None,
            false => {
                Some(self.attempts.iter().find_map(|attempt| attempt.outcome.as_ref().err()).map_or("", |why| why))
            }
        }
    }
}

/// Returns the trial within `loss` that has the lowest maximum risk; ties are broken by the highest p, then by the
/// lowest loss.
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

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
