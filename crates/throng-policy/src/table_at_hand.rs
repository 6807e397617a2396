//! Policies that a host applies to its own table, which need no locations.

use crate::field_path::FieldPath;
use crate::overrides::Overrides;
use crate::spanned_toml::SpannedToml;

/// Returns the locations of [`Overrides::for_a_table`] for those that are missing in a document.
pub(crate) fn locations_if_missing(document: &SpannedToml) -> Overrides {
    let is_missing = |table: &str| document.get(&FieldPath::of(&[table, "location"])).is_none();
    let Overrides { input, output, .. } = Overrides::for_a_table();
    Overrides {
        input: input.filter(|_| is_missing("input")),
        output: output.filter(|_| is_missing("output")),
        ..Overrides::default()
    }
}
