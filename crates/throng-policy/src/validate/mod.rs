//! Validates a [`raw::RawPolicy`] and returns a [`Policy`].
//!
//! Every function reports problems and still returns a value, with a placeholder if necessary. The result is valid only
//! if the report stays empty. This way all problems are found in one pass.

mod algorithm;
mod categories;
mod columns;
mod cover;
mod delimiter;
mod frequencies;
mod guards;
mod input_output;
mod limit;
mod population;
mod privacy;
mod quasi;
mod sensitive;
mod series;
mod store;
mod tables;
mod workload;

use std::path::Path;
use std::sync::Arc;

use crate::field_path::FieldPath;
use crate::location::Environment;
use crate::policy::{KeySource, Policy};
use crate::problem::Report;
use crate::raw;
use crate::spanned_toml::SpannedToml;

pub use delimiter::delimiter;
pub use frequencies::field_of;

/// External context of a policy.
pub struct ValidationContext<'a> {
    /// Folder of hierarchy files; `None` if files are not allowed.
    pub folder: Option<&'a Path>,
    /// Environment variables of locations.
    pub environment: Environment<'a>,
}

/// Performs all checks that need no schema.
pub fn validate(
    raw: &raw::RawPolicy,
    document: Arc<SpannedToml>,
    surroundings: &ValidationContext<'_>,
    report: &mut Report<'_>,
) -> Policy {
    let mut columns = columns::columns(&raw.columns, surroundings.folder, report);
    let workload = workload::workload(raw.workload.as_ref(), &mut columns, report);
    series::append(raw, &columns, report);
    series::unknown_arrival(raw, &columns, report);
    series::pseudonyms(raw, &columns, report);
    let privacy = privacy::privacy(&raw.privacy, &columns, surroundings.environment, report);
    let (folder, environment) = (surroundings.folder, surroundings.environment);
    let (table, tables) = tables::tables(raw, &columns, &privacy, folder, environment, report);
    Policy {
        table,
        tables,
        place: FieldPath::default(),
        input: input_output::input(&raw.input, surroundings.environment, report),
        output: input_output::output(&raw.output, surroundings.environment, report),
        store: store::store(raw.store.as_ref(), surroundings.environment, report),
        privacy,
        algorithm: algorithm::algorithm(raw.algorithm.as_ref(), raw.privacy.borrow, report),
        series: series::series(raw, &columns, surroundings.environment, report),
        stream: series::stream(raw, report),
        workload,
        columns,
        has_blocks: false,
        key: KeySource::default(),
        document,
    }
}

#[cfg(test)]
#[path = "../validate_tests.rs"]
mod tests;
