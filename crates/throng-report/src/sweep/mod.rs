//! The result of a sweep over a grid of policies, and its page.

mod page;

pub use page::sweep_page;

use crate::numbers::percent;

/// The result of one trial.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Its k.
    pub k: u64,
    /// Its p.
    pub p: u64,
    /// The name of its algorithm.
    pub algorithm: String,
    /// Figures of the release, or the reason why there can be none.
    pub outcome: Result<Figures, String>,
}

/// Figures of a release that was not published.
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

/// The result of a grid.
#[derive(Clone, Debug)]
pub struct SweepReport {
    /// The rows of the input that the trials are about.
    pub rows: u64,
    /// The trials, in their order.
    pub attempts: Vec<Attempt>,
    /// The loss that must not be exceeded, and the index of the best trial within it.
    pub budget: Option<(f64, Option<usize>)>,
}

impl SweepReport {
    /// The result of `attempts` on `rows` rows, with the best of them within `loss`.
    pub fn new(rows: u64, attempts: Vec<Attempt>, loss: Option<f64>) -> Self {
        let budget = loss.map(|loss| (loss, best(&attempts, loss)));
        Self { rows, attempts, budget }
    }

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

    /// The reason why the first policy of the grid can't be kept, where none can.
    pub fn refusal(&self) -> Option<&str> {
        match self.attempts.iter().any(|attempt| attempt.outcome.is_ok()) {
            true => None,
            false => {
                Some(self.attempts.iter().find_map(|attempt| attempt.outcome.as_ref().err()).map_or("", |why| why))
            }
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

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
