//! Re-identification risk before and after anonymization.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use throng_core::risk::{COMMON_THRESHOLDS, ClassSizes, ReleasePeople, RiskSummary, SamplingFraction, share};

use super::convert::round;

/// Re-identification risk by the quasi-identifiers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RiskFacts {
    /// Risk in the input: upper bounds, with rows rounded up to the next multiple of k.
    pub before: TableRisk,
    /// Exact risk in the release.
    pub after: TableRisk,
    /// The population, if the input is a sample with a known fraction or known people. The risk of journalist and marketer
    /// then follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<PopulationFacts>,
}

/// The population that the input is a sample of, as known from the sampling fraction, weights or a table of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopulationFacts {
    /// Share of the population that is in the input.
    pub fraction: f64,
    /// Number of people of the population; estimated, unless they are counted in a table.
    pub people: u64,
    /// Estimated number of people who are unique in the population by the original quasi-identifiers; rows of the input
    /// that they stand for are rounded up to the next multiple of k.
    pub uniques: u64,
    /// Expected number of rows of the input that an intruder with a register of the population re-identifies; rounded up
    /// to the next multiple of k.
    pub reidentified_before: u64,
    /// The same for the release.
    pub reidentified_after: f64,
    /// People in the classes of the release; absent where only a fraction is known, and in sidecars of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<MatchedPeople>,
}

/// People of the population whom the classes of a release match by their labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchedPeople {
    /// Source of the numbers of people: `table` or `weights`.
    pub source: Cow<'static, str>,
    /// The fewest people whom a class matches: the k of k-map.
    pub fewest: u64,
    /// The fewest that the policy allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k_map: Option<u64>,
    /// Share of the population that no class matches, rounded up to a hundredth.
    pub outside: f64,
    /// Share of the people of a class who are in the input; absent where they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<PresenceFacts>,
}

/// Share of the people whom a class matches who are in the input, over all classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PresenceFacts {
    /// The smallest share, rounded down to a hundredth; 0 where a person of the population is matched by no class.
    pub least: f64,
    /// The largest share, rounded up to a hundredth.
    pub most: f64,
    /// The smallest share that the policy allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_min: Option<f64>,
    /// The largest share that the policy allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_max: Option<f64>,
}

/// Re-identification risk in one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRisk {
    /// Number of classes; for the input, of distinct quasi-identifier tuples.
    pub classes: u64,
    /// Share of rows that are alone in their class.
    pub sample_uniques: f64,
    /// Risk from an attacker who knows that the target is in the table.
    pub prosecutor: AttackerRisk,
    /// Risk from an attacker who does not know that. Estimated if the sampling fraction or weights are known, counted if the
    /// population is; otherwise the table stands for the population, and this is an upper bound.
    pub journalist: AttackerRisk,
    /// Risk from an attacker who targets as many people as possible.
    pub marketer: MarketerRisk,
}

/// Risk from an attacker who targets one person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttackerRisk {
    /// Maximum risk of a row.
    pub highest: f64,
    /// Mean risk of a row.
    pub average: f64,
    /// Rows with a risk above 0.2, 0.09 and 1/k, in descending order of the threshold.
    pub at_risk: Vec<AtRisk>,
}

/// Share of rows with a risk above a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtRisk {
    /// Threshold, exclusive.
    pub above: f64,
    /// Share of the rows.
    pub share: f64,
}

/// Risk from an attacker who targets as many people as possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarketerRisk {
    /// Expected share of re-identified rows.
    pub average: f64,
}

impl RiskFacts {
    /// Computes the risk from the class sizes before and after. `fraction` is the share of the population in the input.
    pub(crate) fn of(before: &ClassSizes, after: &ClassSizes, k: u64, fraction: Option<SamplingFraction>) -> Self {
        let mut thresholds: Vec<f64> = COMMON_THRESHOLDS.into_iter().chain([1.0 / k.max(1) as f64]).collect();
        thresholds.sort_by(|a, b| b.total_cmp(a));
        thresholds.dedup();
        let facts = Self {
            before: RiskSummary::of_original(before, &thresholds, k).into(),
            after: RiskSummary::of_release(after, &thresholds).into(),
            population: None,
        };
        match fraction {
            Some(fraction) => facts.in_population(fraction, before, after, k),
            None => facts,
        }
    }

    /// Computes the risk from the class sizes before and after, and from the people of the population whom each class matches.
    pub(crate) fn of_people(before: &ClassSizes, after: &ClassSizes, k: u64, people: &ReleasePeople) -> Self {
        let facts = Self::of(before, after, k, people.fraction(before.rows()));
        let share_above = |above: f64| share(people.rows_above(above), people.rows());
        let up = |share: f64| (share * 100.0).ceil() / 100.0;
        let matched = MatchedPeople {
            source: people.source.as_str().into(),
            fewest: people.fewest(),
            k_map: people.limits.k_map,
            outside: up(if people.people > 0.0 { people.outside / people.people } else { 0.0 }),
            presence: people.presence().map(|presence| PresenceFacts {
                least: (presence.least * 100.0).floor() / 100.0,
                most: up(presence.most),
                delta_min: people.limits.delta_min,
                delta_max: people.limits.delta_max,
            }),
        };
        Self {
            after: facts.after.estimated(people.highest(), people.average(), share_above),
            population: facts.population.map(|population| PopulationFacts {
                people: people.people.round() as u64,
                reidentified_after: round(people.reidentified()),
                matched: Some(matched),
                ..population
            }),
            ..facts
        }
    }

    /// Replaces the risk of journalist and marketer by estimates.
    fn in_population(self, fraction: SamplingFraction, before: &ClassSizes, after: &ClassSizes, k: u64) -> Self {
        let k = k.max(1);
        let up = |count: f64| (count / k as f64).ceil() as u64 * k;
        let (original, release) = (fraction.risk(before, 0.0), fraction.risk(after, 0.0));
        let reidentified = up(original.reidentified).min(before.rows());
        // As in the figures of the prosecutor, nothing of the original depends on fewer than k rows.
        let has_small = before.rows() > 0 && before.smallest() < k;
        let highest = if has_small { fraction.expected_risk(1) } else { original.highest };
        let up_to_k = |sizes: &ClassSizes, above: f64| up(fraction.rows_above(sizes, above) as f64).min(sizes.rows());
        let exact = |sizes: &ClassSizes, above: f64| fraction.rows_above(sizes, above);
        let average = share(reidentified, before.rows());
        // Rows of the sample are rounded, before each of them stands for many people.
        let unique_rows = up(before.unique_rows() as f64 * original.unique_if_sample_unique).min(before.rows());
        let uniques = (unique_rows as f64 / fraction.get()).round() as u64;
        Self {
            before: self.before.estimated(highest, average, |above| share(up_to_k(before, above), before.rows())),
            after: self
                .after
                .estimated(release.highest, release.average, |above| share(exact(after, above), after.rows())),
            population: Some(PopulationFacts {
                fraction: round(fraction.get()),
                people: release.people.round() as u64,
                uniques,
                reidentified_before: reidentified,
                reidentified_after: round(release.reidentified),
                matched: None,
            }),
        }
    }
}

impl TableRisk {
    /// Sets the risk of journalist and marketer; `share_above` returns the share of rows above a threshold.
    fn estimated(self, highest: f64, average: f64, share_above: impl Fn(f64) -> f64) -> Self {
        let at_risk =
            self.journalist.at_risk.iter().map(|known| AtRisk { share: round(share_above(known.above)), ..*known });
        let journalist = AttackerRisk { highest: round(highest), average: round(average), at_risk: at_risk.collect() };
        Self { journalist, marketer: MarketerRisk { average: round(average) }, ..self }
    }
}

impl From<RiskSummary> for TableRisk {
    fn from(summary: RiskSummary) -> Self {
        let at_risk =
            summary.at_risk.iter().map(|(above, share)| AtRisk { above: round(*above), share: round(*share) });
        let prosecutor = AttackerRisk {
            highest: round(summary.highest),
            average: round(summary.average),
            at_risk: at_risk.collect(),
        };
        Self {
            classes: summary.classes,
            sample_uniques: round(summary.uniques),
            journalist: prosecutor.clone(),
            marketer: MarketerRisk { average: round(summary.average) },
            prosecutor,
        }
    }
}

#[cfg(test)]
#[path = "risk_tests.rs"]
mod tests;
