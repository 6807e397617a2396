//! Reports of attacks.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::random::LabRandom;
use crate::statistics::{mean_interval, ratio_interval, rounded};

/// Outcomes of all attacks.
#[derive(Clone, Debug, Serialize)]
pub struct AttackReport {
    /// Number of people who were attacked.
    pub targets: u64,
    /// Rows of the release.
    pub rows: u64,
    /// Number of distinct labels that could not be parsed, and were taken to stand for any value.
    pub unread_labels: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Attacks that were run.
    pub attacks: Vec<AttackOutcome>,
    /// Attacks that were not run.
    pub skipped: Vec<SkippedAttack>,
}

/// An attack that was not run.
#[derive(Clone, Debug, Serialize)]
pub struct SkippedAttack {
    /// Name of the attack in reports.
    pub name: &'static str,
    /// Why its input is missing or does not allow it.
    pub reason: &'static str,
}

/// Outcome of one attack.
#[derive(Clone, Debug, Serialize)]
pub struct AttackOutcome {
    /// Name of the attack in reports.
    pub name: &'static str,
    /// The sensitive column that is attacked, if the attack targets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Success without what the attack adds.
    pub prior: f64,
    /// Description of `prior`.
    pub prior_is: &'static str,
    /// Success with the release.
    pub release: f64,
    /// Success with the original instead of the release.
    pub original: f64,
    /// `release / prior`.
    pub gain: f64,
    /// 95 % interval of `release`.
    pub release_interval: [f64; 2],
    /// 95 % interval of the gain.
    pub gain_interval: [f64; 2],
    /// Proven upper bound of the success with the release, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// Number of trials: people, values or guesses, by attack.
    pub trials: u64,
    /// Number of people, or of guesses, over which the means are taken.
    pub people: u64,
    /// Share of the trials in which the intruder is at least 90 % sure.
    pub certain: f64,
    /// Further figures.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

/// Success of one trial: by prior knowledge, with the release, and with the original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Success {
    pub(crate) prior: f64,
    pub(crate) release: f64,
    pub(crate) original: f64,
    /// Number of people with this success.
    pub(crate) weight: f64,
}

impl Success {
    pub(crate) fn new(prior: f64, release: f64, original: f64) -> Self {
        Self { prior, release, original, weight: 1.0 }
    }
}

/// Belief at and above which the intruder is sure.
const CERTAIN: f64 = 0.9;

impl AttackReport {
    /// Returns the attacks that gain more than this.
    pub fn above(&self, gain: f64) -> impl Iterator<Item = &AttackOutcome> {
        self.attacks.iter().filter(move |outcome| outcome.gain > gain)
    }
}

impl AttackOutcome {
    /// Summarizes trials; `None` if there are none.
    pub(crate) fn of(
        name: &'static str,
        column: Option<String>,
        prior_is: &'static str,
        trials: &[Success],
        seed: u64,
    ) -> Option<Self> {
        let weight: f64 = trials.iter().map(|trial| trial.weight).sum();
        if trials.is_empty() || weight <= 0.0 {
            return None;
        }
        let mean = |of: fn(&Success) -> f64| trials.iter().map(|trial| trial.weight * of(trial)).sum::<f64>() / weight;
        let (prior, release) = (mean(|trial| trial.prior), mean(|trial| trial.release));
        // Scaled weights turn the bootstrap of means into one of weighted means.
        let scale = trials.len() as f64 / weight;
        let weighted = |of: fn(&Success) -> f64| -> Vec<f64> {
            trials.iter().map(|trial| trial.weight * scale * of(trial)).collect()
        };
        let (releases, priors) = (weighted(|trial| trial.release), weighted(|trial| trial.prior));
        // Only a prior of zero needs a floor: one of the attacked people.
        let floor = if prior > 0.0 { f64::MIN_POSITIVE } else { 1.0 / weight };
        let gain = if release == 0.0 && prior == 0.0 { 1.0 } else { release / prior.max(floor) };
        let mut random = LabRandom::new(seed, name);
        let gain_interval = ratio_interval(&releases, &priors, floor, &mut random);
        let certain: f64 = trials.iter().filter(|trial| trial.release >= CERTAIN).map(|trial| trial.weight).sum();
        Some(Self {
            name,
            column,
            prior: rounded(prior),
            prior_is,
            release: rounded(release),
            original: rounded(mean(|trial| trial.original)),
            gain: rounded(gain),
            release_interval: mean_interval(&releases).map(|end| rounded(end.clamp(0.0, 1.0))),
            gain_interval: gain_interval.map(rounded),
            bound: None,
            trials: trials.len() as u64,
            people: weight.round() as u64,
            certain: rounded(certain / weight),
            details: Map::new(),
        })
    }

    /// Adds a proven upper bound of the success with the release.
    pub(crate) fn with_bound(self, bound: f64) -> Self {
        Self { bound: Some(rounded(bound)), ..self }
    }

    /// Sets the number of people, where a trial is about several.
    pub(crate) fn with_people(self, people: usize) -> Self {
        Self { people: people as u64, ..self }
    }

    /// Adds a figure.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}
