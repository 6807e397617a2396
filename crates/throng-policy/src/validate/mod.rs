//! What the fields of a policy mean together: from [`raw::Policy`] to [`Policy`].
//!
//! Every function reports what is wrong and still answers, with a stand-in where it must. The answer counts only when
//! the report stays empty, so that all problems are found in one go.

mod columns;
mod delimiter;
mod input_output;
mod privacy;

use std::path::Path;
use std::sync::Arc;

use crate::document::Document;
use crate::field_path::FieldPath;
use crate::location::Environment;
use crate::policy::{Algorithm, Policy};
use crate::problem::Report;
use crate::raw;
use crate::settings::{Cluster, Partition};

pub use delimiter::delimiter;

/// What a policy refers to outside of its text.
pub struct Surroundings<'a> {
    /// Where the paths of hierarchy files start.
    pub folder: &'a Path,
    /// The environment variables of locations.
    pub environment: Environment<'a>,
}

/// Checks everything that needs no schema.
pub fn validate(
    raw: &raw::Policy,
    document: Arc<Document>,
    surroundings: &Surroundings<'_>,
    report: &mut Report<'_>,
) -> Policy {
    let columns = columns::columns(&raw.columns, surroundings.folder, report);
    Policy {
        input: input_output::input(&raw.input, surroundings.environment, report),
        output: input_output::output(&raw.output, surroundings.environment, report),
        privacy: privacy::privacy(&raw.privacy, &columns, report),
        algorithm: algorithm(raw.algorithm.as_ref(), report),
        columns,
        document,
    }
}

fn algorithm(raw: Option<&raw::Algorithm>, report: &mut Report<'_>) -> Algorithm {
    let partition = raw.and_then(|raw| raw.partition).unwrap_or_default();
    let cluster = raw.and_then(|raw| raw.cluster).unwrap_or_default();
    if partition == Partition::None && cluster == Cluster::None {
        report.value(
            &FieldPath::of(&["algorithm", "cluster"]),
            "with neither a partition nor a cluster method the whole table would be released as one class; \
             choose one of the two",
        );
    }
    Algorithm { partition, cluster, seed: raw.and_then(|raw| raw.seed).unwrap_or(raw::DEFAULT_SEED) }
}

#[cfg(test)]
#[path = "../validate_tests.rs"]
mod tests;
