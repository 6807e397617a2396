//! Builds the sidecar from the figures of a run.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use throng_core::metrics::{DETAIL_STEPS, DistributionShift, Utility};
use throng_core::risk::{BorrowedRows, ClassSizes, ReleasePeople, SamplingFraction};
use throng_core::verify::{Amount, Diversity, Findings, RequirementFindings};

use super::histogram::{size_bins, value_bins};
use super::{
    AlgorithmFacts, BorrowedFacts, ColumnCounts, ColumnFacts, DetailStep, DistributionFacts, InputFacts, OutputFacts,
    PrivacyFacts, PrivacyUnit, Quantity, Requirement, ResourceFacts, RiskFacts, SCHEMA_VERSION, SensitiveFacts,
    Sidecar, SliceFacts, UtilityFacts,
};

/// Facts of a release besides the findings of the verifier.
#[derive(Clone, Debug)]
pub struct ReleaseFacts {
    /// Size of the input.
    pub input: InputFacts,
    /// Size of the release.
    pub output: OutputFacts,
    /// Columns by treatment.
    pub columns: ColumnCounts,
    /// What k and p count.
    pub counts: PrivacyUnit,
    /// The methods and their settings.
    pub algorithm: AlgorithmFacts,
    /// Measures of information loss.
    pub utility: Utility,
    /// Class sizes of the input.
    pub cells: ClassSizes,
    /// Rows that classes borrow.
    pub borrowed: BorrowedRows,
    /// People of the population in each class, if they are known.
    pub people: Option<ReleasePeople>,
}

/// Identity of a run.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Unique id of the run.
    pub run_id: String,
    /// Digest of the policy in effect.
    pub policy_digest: String,
    /// Whether the policy requests a report.
    pub has_report: bool,
    /// Share of the population that is in the input, if the policy states it.
    pub sampling_fraction: Option<SamplingFraction>,
}

impl Sidecar {
    /// Returns a sidecar without times; [`set_times`](Self::set_times) adds them at the end of the run.
    pub fn new(run: &RunFacts, release: ReleaseFacts, findings: &Findings, resources: ResourceFacts) -> Self {
        let ReleaseFacts { input, output, columns, counts, algorithm, utility, cells, borrowed, people } = release;
        let k =
            findings.requirements.iter().find(|found| found.column.is_none()).map_or(1, |found| match found.required {
                Amount::Count(k) => k,
                Amount::Weight(_) => 1,
            });
        let mut sizes = ClassSizes::default();
        findings.class_sizes.iter().for_each(|(size, classes)| sizes.add(*size, *classes));
        let mut utility = UtilityFacts::from(utility);
        utility.class_sizes = size_bins(sizes.iter(), k);
        Self {
            schema_version: SCHEMA_VERSION,
            throng_version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: run.run_id.clone(),
            policy_digest: run.policy_digest.clone(),
            input,
            output,
            columns: Some(columns),
            privacy: PrivacyFacts { counts, borrowed: BorrowedFacts::of(&borrowed, k), ..PrivacyFacts::of(findings) },
            risk: Some(match people {
                Some(people) => RiskFacts::of_people(&cells, &sizes, k, &people),
                None => RiskFacts::of(&cells, &sizes, k, run.sampling_fraction),
            }),
            attacks: None,
            tables: Vec::new(),
            series: None,
            append: None,
            utility,
            algorithm,
            timing_ms: BTreeMap::new(),
            resources,
            has_report: run.has_report,
        }
    }

    /// Sets the duration of each stage.
    pub fn set_times(&mut self, times: &[(&'static str, Duration)]) {
        self.timing_ms = times.iter().map(|(stage, time)| (Cow::Borrowed(*stage), time.as_millis() as u64)).collect();
    }
}

impl BorrowedFacts {
    fn of(borrowed: &BorrowedRows, k: u64) -> Option<Self> {
        let up = |count: u64| count.div_ceil(k.max(1)) * k.max(1);
        Some(Self {
            classes: up(borrowed.classes),
            own_rows: up(borrowed.own_rows),
            own_rows_without_diversity: up(borrowed.own_rows_without_diversity),
            effective_k: borrowed.effective_k?,
            effective_p: borrowed.effective_p,
        })
    }
}

impl PrivacyFacts {
    /// Requirements as the verifier found them in the released values.
    pub fn of(findings: &Findings) -> Self {
        let requirement = |found: &RequirementFindings| Requirement {
            model: found.model.into(),
            column: found.column.clone(),
            required: found.required.into(),
            achieved: found.achieved.into(),
        };
        let sensitive = |found: &Diversity| SensitiveFacts {
            column: found.column.clone(),
            reading: found.reading.into(),
            fewest: found.fewest,
            mean: round(found.mean),
            disclosures: found.disclosures,
            largest_share: Some(round(found.largest_share)),
            look_alikes: None,
            diversity: value_bins(found.by_distinct.iter().map(|(values, of)| (*values, *of))),
        };
        Self {
            satisfied: findings.holds(),
            counts: PrivacyUnit::Rows,
            requirements: findings.requirements.iter().map(requirement).collect(),
            homogeneity: round(findings.homogeneity),
            sensitive: findings.diversity.iter().map(sensitive).collect(),
            borrowed: None,
            guards: None,
            insensitive: None,
            repeating_identifiers: 0,
            pseudonyms: None,
        }
    }
}

impl From<Amount> for Quantity {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Count(count) => Self::Count(count),
            Amount::Weight(weight) => Self::Weight(round(weight)),
        }
    }
}

impl From<Utility> for UtilityFacts {
    fn from(utility: Utility) -> Self {
        let part = |column: throng_core::metrics::ColumnUtility| {
            let facts = ColumnFacts {
                ncp: round(column.ncp),
                information_loss: round(column.information_loss),
                sse_sst: column.sse_sst.map(round),
                detail: column.detail.map_or_else(Vec::new, detail_steps),
                distribution: column.change.map(DistributionFacts::from),
            };
            (column.name, facts)
        };
        let gap = utility.gap();
        Self {
            lower_bound: utility.bound.map(|bound| round_down(bound.value)),
            bound_of: utility.bound.map(|bound| bound.measure.as_str().into()),
            gap: gap.map(round),
            classes: utility.classes,
            avg: round(utility.avg),
            dm: utility.dm,
            ncp: round(utility.ncp),
            weighted_ncp: round(utility.weighted_ncp),
            information_loss: round(utility.information_loss),
            sse_sst: utility.sse_sst.map(round),
            class_sizes: Vec::new(),
            columns: utility.columns.into_iter().map(part).collect(),
        }
    }
}

/// Pairs the upper bounds of the steps with their rows.
fn detail_steps(rows: [u64; DETAIL_STEPS.len()]) -> Vec<DetailStep> {
    DETAIL_STEPS.into_iter().zip(rows).map(|(up_to, rows)| DetailStep { up_to, rows }).collect()
}

impl From<DistributionShift> for DistributionFacts {
    fn from(change: DistributionShift) -> Self {
        let slice = |slice: throng_core::metrics::DomainSlice| SliceFacts {
            end: round(slice.end),
            before: round(slice.before),
            after: round(slice.after),
        };
        // Two digits, so that the distance does not reveal single rows of a small table.
        let distance = (change.distance * 100.0).round() / 100.0;
        Self { distance, slices: change.slices.into_iter().map(slice).collect() }
    }
}

/// Rounds down to six decimal places, so that a lower bound stays one.
fn round_down(measure: f64) -> f64 {
    (measure * 1e6).floor() / 1e6
}

/// Rounds to six decimal places: precise enough for a measure, and less revealing about its terms.
pub(super) fn round(measure: f64) -> f64 {
    (measure * 1e6).round() / 1e6
}
