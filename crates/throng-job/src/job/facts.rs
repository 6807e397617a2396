//! What the sidecar says about a release.

use throng_core::columns::DEFAULT_WEIGHT;
use throng_core::exposure::InsensitiveExposure;
use throng_core::verify::Findings;
use throng_datafusion::{Anonymizer, Facts};
use throng_policy::{Binding, ColumnRole, Policy};
use throng_report::document::{
    AlgorithmFacts, ClusterFacts, ColumnCounts, InputFacts, OutputFacts, PrivacyUnit, ReleaseFacts,
    ReleasedColumnFacts, ResourceFacts, RunFacts, Sidecar,
};

use crate::error::JobError;
use crate::guards::DeliveryGuards;
use crate::input::InputDescription;
use crate::lab::ExaminedRelease;
use crate::manifest::{FileEntry, policy_digest};
use crate::privacy_facts::complete;
use crate::publish::Staged;
use crate::resources::peak_memory_bytes;

/// A verified release, and what its sidecar says about it.
pub(crate) struct DescribedRelease<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) anonymizer: &'a Anonymizer,
    pub(crate) guards: &'a DeliveryGuards,
    pub(crate) input: &'a InputDescription,
    pub(crate) output: OutputFacts,
    pub(crate) facts: Facts,
    pub(crate) findings: &'a Findings,
    pub(crate) exposure: Option<&'a InsensitiveExposure>,
    pub(crate) examined: ExaminedRelease,
    pub(crate) threads: usize,
    pub(crate) cluster: Option<ClusterFacts>,
}

impl DescribedRelease<'_> {
    /// Returns the sidecar of the release. Its times are set when it is published.
    pub(crate) fn sidecar(self, run: &RunFacts) -> Sidecar {
        let ExaminedRelease { people, attacks } = self.examined;
        let release = release_facts(self.policy, self.anonymizer, self.input, self.output, self.facts);
        let release = ReleaseFacts { people, ..release };
        let (threads, cluster) = (self.threads, self.cluster);
        let resources = ResourceFacts { threads, peak_memory_bytes: peak_memory_bytes(), cluster };
        let mut sidecar = Sidecar { attacks, ..Sidecar::new(run, release, self.findings, resources) };
        complete(&mut sidecar.privacy, self.anonymizer.binding(), self.guards, self.exposure);
        sidecar
    }
}

/// Returns the sizes of the files of a release.
pub(crate) fn output_facts(files: &[FileEntry], facts: &Facts, staged: &Staged) -> OutputFacts {
    let (version, earlier_versions) = staged.table_version().unzip();
    OutputFacts {
        rows: files.iter().map(|file| file.rows).sum(),
        files: files.len() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
        suppressed_rows: facts.suppressed,
        version,
        earlier_versions,
    }
}

/// Returns what the sidecar says about a release.
fn release_facts(
    policy: &Policy,
    anonymizer: &Anonymizer,
    input: &InputDescription,
    output: OutputFacts,
    facts: Facts,
) -> ReleaseFacts {
    ReleaseFacts {
        input: InputFacts { rows: facts.rows_read, files: input.files, bytes: input.bytes, version: input.version },
        output,
        columns: column_counts(anonymizer.binding()),
        counts: privacy_unit(policy),
        algorithm: AlgorithmFacts {
            partition: policy.algorithm.partition.as_str().into(),
            cluster: facts.method.cluster.as_str().into(),
            reason: facts.reason.into(),
            seed: policy.algorithm.seed,
            budget: policy.algorithm.budget.to_string(),
            leaves: facts.leaves,
            search_cycles: facts.cycles,
            workload: policy.workload.clone(),
        },
        utility: facts.utility,
        cells: facts.cells,
        borrowed: facts.borrowed,
        people: None,
    }
}

/// Returns the identity of a run.
pub(crate) fn run_facts(policy: &Policy, run_id: String) -> Result<RunFacts, JobError> {
    Ok(RunFacts {
        run_id,
        policy_digest: policy_digest(policy)?,
        has_report: policy.output.report,
        sampling_fraction: policy.privacy.sampling_fraction,
    })
}

/// Returns what k and p count under a policy.
fn privacy_unit(policy: &Policy) -> PrivacyUnit {
    if policy.privacy.unit.is_empty() { PrivacyUnit::Rows } else { PrivacyUnit::Units }
}

fn column_counts(binding: &Binding) -> ColumnCounts {
    ColumnCounts {
        dropped: binding.dropped.len() as u64,
        quasi: binding.quasi.iter().filter(|quasi| !quasi.spec.is_hidden()).count() as u64,
        sensitive: binding.sensitive.len() as u64,
        unchanged: binding.insensitive.len() as u64,
        released: binding.released_roles().into_iter().map(released_column).collect(),
    }
}

fn released_column(of: ColumnRole<'_>) -> ReleasedColumnFacts {
    ReleasedColumnFacts {
        column: of.column.to_owned(),
        role: of.role.into(),
        release: of.release.map(Into::into),
        weight: of.weight.filter(|weight| *weight != DEFAULT_WEIGHT),
    }
}
