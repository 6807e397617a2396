//! What the files of a release say about their columns: role and form, as the metadata of the Arrow schema.
//!
//! ```text
//!  throng.role    quasi, sensitive, insensitive; identifier for a pseudonym
//!  throng.form    interval, bounds, ancestor, set, mean, median, mode, value, category, pseudonym
//!  throng.column  the column that the field comes from, if it has another name: age for age_min and age_max
//! ```
//!
//! All of it follows from the policy and the schema of the input, and the sidecar has it too.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use throng_policy::{Binding, FieldRole};

const ROLE: &str = "throng.role";
const FORM: &str = "throng.form";
const COLUMN: &str = "throng.column";

/// Returns the schema of a release with the role and the form of its fields.
pub(crate) fn with_field_roles(schema: &Schema, binding: &Binding) -> SchemaRef {
    let roles = binding.field_roles();
    let fields = schema.fields().iter().map(|field| {
        let metadata = roles.iter().find(|of| of.field == *field.name()).map(metadata).unwrap_or_default();
        field.as_ref().clone().with_metadata(metadata)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn metadata(of: &FieldRole<'_>) -> HashMap<String, String> {
    let column = (of.field != of.column).then_some((COLUMN, of.column));
    let pairs = [(ROLE, of.role), (FORM, of.form)].into_iter().chain(column);
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Returns whether a release can have this entry in the metadata of a field.
pub(crate) fn is_field_role(field: &str, key: &str, value: &str) -> bool {
    match key {
        ROLE => FieldRole::roles().contains(&value),
        FORM => FieldRole::forms().contains(&value),
        // The name of the field begins with that of its column.
        COLUMN => !value.is_empty() && field.len() > value.len() && field.starts_with(value),
        _ => false,
    }
}
