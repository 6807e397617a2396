//! A policy as JSON: the fields of the policy file in the syntax that services and schemas use.

use std::fmt;
use std::path::Path;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::load::{UNNAMED, environment_variable, read_document};
use crate::overrides::Overrides;
use crate::policy::Policy;
use crate::problem::{PolicyError, Problem};
use crate::spanned_toml::{SpannedNode, SpannedToml, SpannedValue};
use crate::table_at_hand::locations_if_missing;
use crate::text_position::LineColumn;
use crate::validate::ValidationContext;

impl Policy {
    /// Reads a policy from JSON with the fields that [`json_schema`](crate::json_schema) describes.
    ///
    /// It is validated like a policy file, except that a problem names its field and not its line. Locations may be left out: a
    /// policy for a table in memory needs none. Paths of hierarchy files are relative to the working folder. A field that is
    /// given twice is an error, as it is in TOML.
    ///
    /// ```
    /// # use throng_policy::Policy;
    /// let policy = Policy::from_json(r#"{
    ///     "version": 1,
    ///     "privacy": { "k": 10, "p": 3 },
    ///     "columns": { "age": { "role": "quasi" }, "illness": { "role": "sensitive" } }
    /// }"#)?;
    /// assert_eq!((policy.privacy.k, policy.privacy.p), (10, 3));
    ///
    /// let error = Policy::from_json(r#"{ "version": 1, "privacy": { "k": "ten" }, "columns": {} }"#).unwrap_err();
    /// assert_eq!(error.problems()[0].path, "privacy.k");
    /// # Ok::<(), throng_policy::PolicyError>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Policy, PolicyError> {
        Self::from_json_with(text, &Overrides::default())
    }

    /// Reads a policy from JSON as [`Policy::from_json`] does, with overrides.
    pub fn from_json_with(text: &str, overrides: &Overrides) -> Result<Policy, PolicyError> {
        let root: SpannedNode = serde_json::from_str(text).map_err(|error| syntax_error(&error))?;
        let document = SpannedToml::of_root(UNNAMED, root);
        let missing = locations_if_missing(&document);
        let overrides = Overrides {
            input: overrides.input.clone().or(missing.input),
            output: overrides.output.clone().or(missing.output),
            ..overrides.clone()
        };
        let surroundings = ValidationContext { folder: Some(Path::new("")), environment: &environment_variable };
        read_document(document, &overrides, &surroundings)
    }
}

/// Messages of the parser contain no text of the policy; those of [`JsonValue`] contain field names.
fn syntax_error(error: &serde_json::Error) -> PolicyError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    let place = (line > 0).then_some(LineColumn { line, column });
    let message = format!("not JSON of a policy: {text}");
    PolicyError::new(UNNAMED, vec![Problem { path: String::new(), place, message }])
}

impl<'de> Deserialize<'de> for SpannedNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonValue).map(SpannedNode::unplaced)
    }
}

/// Deserializes a value without a position. Keeps the order of objects, which determines the order of the leaves of a
/// tree.
struct JsonValue;

impl<'de> Visitor<'de> for JsonValue {
    type Value = SpannedValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of a policy")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<SpannedValue, E> {
        Ok(SpannedValue::Boolean(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<SpannedValue, E> {
        Ok(SpannedValue::Integer(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<SpannedValue, E> {
        Ok(SpannedValue::Integer(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<SpannedValue, E> {
        Ok(SpannedValue::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<SpannedValue, E> {
        Ok(SpannedValue::String(text.to_owned()))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<SpannedValue, E> {
        Err(E::custom("null is not a value of a policy; leave the field out"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<SpannedValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(SpannedValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<SpannedValue, A::Error> {
        let mut entries: Vec<(String, SpannedNode)> = Vec::new();
        let mut names = std::collections::HashSet::new();
        while let Some((name, node)) = access.next_entry::<String, SpannedNode>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("field {name:?} is given twice")));
            }
            entries.push((name, node));
        }
        Ok(SpannedValue::Table(entries))
    }
}

#[cfg(test)]
#[path = "json_document_tests.rs"]
mod tests;
