//! Checks that a document has the fields and types of the policy file, against the schema of the raw types.
//!
//! Deserializing would stop at the first mistake. This walk finds all of them, each with its place, and what it lets
//! through deserializes. It knows as much of JSON schema as our own types need: tables, lists, scalars, closed choices,
//! and alternatives that differ in type. Limits of numbers are left to validation, which can say why they are there.

use serde_json::{Map, Value as Json};

use crate::document::{Document, Node, Value};
use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::suggest::{alternatives, did_you_mean, joined};

/// Reports every field of the document that the schema does not have, misses, or wants to have another type or value.
pub fn check(document: &Document, schema: &Json, report: &mut Report<'_>) {
    let mut structure = Structure { definitions: &schema["$defs"], report };
    structure.check(document.root(), schema, &FieldPath::default());
}

struct Structure<'a, 'b> {
    definitions: &'a Json,
    report: &'a mut Report<'b>,
}

impl<'a> Structure<'a, '_> {
    fn check(&mut self, node: &Node, schema: &'a Json, path: &FieldPath) {
        let wanted = self.types(schema);
        let Some(schema) = self.matching(node, schema) else {
            self.report.value(path, format!("expected {}, found {}", described(&wanted), found(&node.value)));
            return;
        };
        match &node.value {
            Value::Table(entries) => self.check_table(entries, schema, path),
            Value::List(items) => {
                for (position, item) in items.iter().enumerate() {
                    self.check(item, &schema["items"], &path.index(position));
                }
            }
            Value::String(text) => self.check_choice(text, schema, path),
            Value::Integer(number) if schema["type"] == "integer" && u64::try_from(*number).is_err() => {
                let size = if *number < 0 { "must not be negative" } else { "is too large a number" };
                self.report.value(path, size);
            }
            Value::Float(number) if !number.is_finite() => self.report.value(path, "must be a finite number"),
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime => {}
        }
    }

    fn check_table(&mut self, entries: &[(String, Node)], schema: &'a Json, path: &FieldPath) {
        let nothing = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&nothing);
        let known = || fields.keys().map(String::as_str);
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        for (name, node) in entries {
            let path = path.key(name);
            match (schema["properties"].get(name), others) {
                (Some(field), _) => self.check(node, field, &path),
                (None, Some(other)) => match did_you_mean(name, known()) {
                    Some(guess) if self.matching(node, other).is_none() => {
                        self.report.field(&path, format!("expected {}; {guess}", described(&self.types(other))));
                    }
                    _ => self.check(node, other, &path),
                },
                (None, None) => {
                    let advice = did_you_mean(name, known())
                        .unwrap_or_else(|| format!("use {}", alternatives(&known().collect::<Vec<_>>())));
                    self.report.field(&path, format!("unknown field; {advice}"));
                }
            }
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if !entries.iter().any(|(key, _)| key == name) {
                self.report.field(&path.key(name), "required field is missing");
            }
        }
    }

    fn check_choice(&mut self, text: &str, schema: &Json, path: &FieldPath) {
        let choices: Vec<&str> = choices(schema).collect();
        if choices.is_empty() || choices.contains(&text) {
            return;
        }
        let advice =
            did_you_mean(text, choices.iter().copied()).unwrap_or_else(|| format!("use {}", alternatives(&choices)));
        self.report.value(path, format!("unknown value `{}`; {advice}", text.escape_debug()));
    }

    /// The schema, or the one of its alternatives, that is for values of this type.
    fn matching(&self, node: &Node, schema: &'a Json) -> Option<&'a Json> {
        let schema = self.resolved(schema);
        match schema["anyOf"].as_array() {
            Some(alternatives) => alternatives.iter().find_map(|alternative| self.matching(node, alternative)),
            None => self.types(schema).into_iter().any(|wanted| is_of_type(&node.value, wanted)).then_some(schema),
        }
    }

    /// The types that a schema takes.
    fn types(&self, schema: &'a Json) -> Vec<&'a str> {
        let schema = self.resolved(schema);
        match (schema["anyOf"].as_array(), schema["type"].as_str()) {
            (Some(alternatives), _) => alternatives.iter().flat_map(|schema| self.types(schema)).collect(),
            (None, Some(name)) => vec![name],
            (None, None) => vec!["string"],
        }
    }

    fn resolved(&self, schema: &'a Json) -> &'a Json {
        let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.map_or(schema, |name| &self.definitions[name])
    }
}

/// The values of a closed choice; none for free text.
fn choices(schema: &Json) -> impl Iterator<Item = &str> {
    schema["oneOf"].as_array().into_iter().flatten().filter_map(|choice| choice["const"].as_str())
}

fn is_of_type(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(_) => wanted == "string",
        Value::Integer(_) => matches!(wanted, "integer" | "number"),
        Value::Float(_) => wanted == "number",
        Value::Boolean(_) => wanted == "boolean",
        Value::Datetime => false,
        Value::List(_) => wanted == "array",
        Value::Table(_) => wanted == "object",
    }
}

/// The types of a schema in the words of the file.
fn described(wanted: &[&str]) -> String {
    let names: Vec<String> = wanted
        .iter()
        .map(|name| match *name {
            "object" => "a table".to_owned(),
            "array" => "a list".to_owned(),
            "integer" => "a whole number".to_owned(),
            "boolean" => "true or false".to_owned(),
            other => format!("a {other}"),
        })
        .collect();
    joined(&names, "or")
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime => "a date or time",
        Value::List(_) => "a list",
        Value::Table(_) => "a table",
    }
}

#[cfg(test)]
#[path = "structure_tests.rs"]
mod tests;
