//! What the fields of a policy mean together: from [`raw::RawPolicy`] to [`Policy`].
//!
//! Every function reports what is wrong and still answers, with a stand-in where it must. The answer counts only when
//! the report stays empty, so that all problems are found in one go.

mod algorithm;
mod categories;
mod columns;
mod delimiter;
mod input_output;
mod limit;
mod privacy;
mod quasi;
mod sensitive;
mod store;

use std::path::Path;
use std::sync::Arc;

use crate::location::Environment;
use crate::policy::{KeySource, Policy};
use crate::problem::Report;
use crate::raw;
use crate::spanned_toml::SpannedToml;

pub use delimiter::delimiter;

/// What a policy refers to outside of its text.
pub struct ValidationContext<'a> {
    /// Where the paths of hierarchy files start; none where there are no files.
    pub folder: Option<&'a Path>,
    /// The environment variables of locations.
    pub environment: Environment<'a>,
}

/// Checks everything that needs no schema.
pub fn validate(
    raw: &raw::RawPolicy,
    document: Arc<SpannedToml>,
    surroundings: &ValidationContext<'_>,
    report: &mut Report<'_>,
) -> Policy {
    let columns = columns::columns(&raw.columns, surroundings.folder, report);
    Policy {
        input: input_output::input(&raw.input, surroundings.environment, report),
        output: input_output::output(&raw.output, surroundings.environment, report),
        store: store::store(raw.store.as_ref(), surroundings.environment, report),
        privacy: privacy::privacy(&raw.privacy, &columns, report),
        algorithm: algorithm::algorithm(raw.algorithm.as_ref(), report),
        columns,
        key: KeySource::default(),
        document,
    }
}

#[cfg(test)]
#[path = "../validate_tests.rs"]
mod tests;
