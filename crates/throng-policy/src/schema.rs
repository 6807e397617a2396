//! Generates the JSON schema of the policy file from the raw types.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::raw;

/// Returns the JSON schema of the policy file. Its descriptions are the reference of the fields.
///
/// Editors can use it to complete and check a policy; policies are checked against the same schema when they are read.
pub fn json_schema() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<raw::RawPolicy>();
    let mut schema = schema.to_value();
    without_null(&mut schema);
    unwrap_descriptions(&mut schema);
    schema
}

/// Removes the `null` alternative of optional fields: TOML has no null, and absent fields are omitted.
fn without_null(schema: &mut Value) {
    if let Value::Object(object) = schema {
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(alternatives)) = object.get_mut("anyOf") {
            alternatives.retain(|alternative| alternative.get("type").is_none_or(|name| name != "null"));
            if let [Value::Object(only)] = alternatives.as_slice() {
                let only = only.clone();
                object.shift_remove("anyOf");
                for (key, value) in only {
                    object.entry(key).or_insert(value);
                }
            }
        }
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(without_null),
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

/// Joins the lines of each description, which are wrapped in the source code.
fn unwrap_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(description)) = object.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            object.values_mut().for_each(unwrap_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(unwrap_descriptions),
        _ => {}
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
