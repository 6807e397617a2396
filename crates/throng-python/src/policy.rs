//! Policies that Python hands over.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use throng_cli::documents::algorithm;
use throng_job::Kind;
use throng_policy::{Overrides, Policy, PolicyError, Secret};

use crate::errors::{failure, policy_error};

/// A validated policy.
#[pyclass(frozen, module = "throng_privacy._native")]
pub(crate) struct NativePolicy {
    policy: Policy,
}

/// Values that replace those of the policy.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Replacements {
    /// Locations of the input; `None` leaves them to the policy.
    input: Option<Vec<String>>,
    /// Location of the output; `None` leaves it to the policy, if that is published, and else needs none.
    output: Option<String>,
    /// Whether the policy is published to its output.
    is_published: bool,
    is_overwritten: bool,
    k: Option<u64>,
    p: Option<u64>,
    budget: Option<String>,
    seed: Option<u64>,
    secret: Option<String>,
    without_preset: bool,
    /// Partition, or partition and cluster method.
    algorithm: Option<String>,
}

impl Replacements {
    fn overrides(&self) -> Overrides {
        let unpublished = || Overrides::for_a_table().output.filter(|_| !self.is_published);
        Overrides {
            input: self.input.clone(),
            output: self.output.clone().or_else(unpublished),
            overwrite: self.is_overwritten,
            k: self.k,
            p: self.p,
            budget: self.budget.clone(),
            seed: self.seed,
            without_preset: self.without_preset,
        }
    }

    fn finish(&self, py: Python<'_>, read: Result<Policy, PolicyError>) -> PyResult<NativePolicy> {
        let secret = self.secret.as_deref().map(Secret::new).transpose();
        let algorithm = self.algorithm.as_deref().map(algorithm).transpose();
        let algorithm = algorithm.map_err(|text| failure(py, Kind::BadQuery, &text))?;
        let policy = read.and_then(|mut policy| {
            if let Some((partition, cluster)) = algorithm {
                (policy.algorithm.partition, policy.algorithm.cluster) = (partition, cluster);
            }
            Ok(match secret? {
                Some(secret) => policy.with_secret(secret),
                None => policy,
            })
        });
        policy.map(|policy| NativePolicy { policy }).map_err(|error| policy_error(py, &error))
    }
}

#[pymethods]
impl NativePolicy {
    /// Reads a policy file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, replacements: Replacements) -> PyResult<Self> {
        replacements.finish(py, Policy::load(&path, &replacements.overrides()))
    }

    /// Parses a policy. Hierarchy files are relative to the working folder.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, replacements: Replacements) -> PyResult<Self> {
        replacements.finish(py, Policy::parse(text, Path::new(""), &replacements.overrides()))
    }

    /// Reads a policy as JSON.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str, replacements: Replacements) -> PyResult<Self> {
        replacements.finish(py, Policy::from_json_with(text, &replacements.overrides()))
    }

    /// Parameters k and p.
    #[getter]
    fn privacy(&self) -> (u64, u64) {
        (self.policy.privacy.k, self.policy.privacy.p)
    }

    /// How often an input is read: once more if the finished release is examined with it, and several times in a series.
    #[getter]
    fn reads(&self) -> u32 {
        let privacy = &self.policy.privacy;
        if self.policy.series.is_some() {
            return 4;
        }
        // Sets and masked codes are read with the values of the input, before people are counted.
        match (privacy.population.is_some(), privacy.max_gain.is_some()) {
            (true, _) => 4,
            (false, true) => 2,
            (false, false) => 1,
        }
    }

    /// Names of the partition and the cluster method.
    #[getter]
    fn algorithm(&self) -> (&'static str, &'static str) {
        (self.policy.algorithm.partition.as_str(), self.policy.algorithm.cluster.as_str())
    }
}

impl NativePolicy {
    /// Returns the policy.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }
}
