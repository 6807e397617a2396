//! Checks the fields and types of a policy file against the JSON schema of the raw types.
//!
//! Deserialization would stop at the first error. This walk reports all of them with their positions, and a document
//! that passes can be deserialized. It supports the subset of JSON schema that the raw types use: tables, lists,
//! scalars, enumerations, and alternatives that differ in type, or in the type of their items. Ranges of numbers are
//! left to validation, which can explain them.

use serde_json::{Map, Value as Json};

use crate::field_path::FieldPath;
use crate::open_question;
use crate::problem::Report;
use crate::spanned_toml::{SpannedNode, SpannedToml, SpannedValue};
use crate::suggest::{alternatives, did_you_mean, joined};

/// Reports unknown and missing fields, and fields of the wrong type or value.
pub fn check(document: &SpannedToml, schema: &Json, report: &mut Report<'_>) {
    let mut structure = FieldCheck { definitions: &schema["$defs"], report };
    structure.check(document.root(), schema, &FieldPath::default());
}

struct FieldCheck<'a, 'b> {
    definitions: &'a Json,
    report: &'a mut Report<'b>,
}

impl<'a> FieldCheck<'a, '_> {
    fn check(&mut self, node: &SpannedNode, schema: &'a Json, path: &FieldPath) {
        if open_question::is_open(path, node) {
            self.report.value(path, open_question::unanswered(&self.answers(schema)));
            return;
        }
        let fitting = self.fitting(node, schema);
        let Some(schema) = fitting.first() else {
            self.report.value(path, expected(&self.types(schema), node));
            return;
        };
        match &node.value {
            SpannedValue::Table(entries) => self.check_table(entries, schema, path),
            SpannedValue::List(items) => self.check_list(items, &fitting, path),
            SpannedValue::String(text) => self.check_choice(text, schema, path),
            SpannedValue::Integer(number) => self.check_size(*number, schema["type"] == "integer", path),
            SpannedValue::Float(number) if !number.is_finite() => self.report.value(path, "must be a finite number"),
            SpannedValue::Float(_) | SpannedValue::Boolean(_) | SpannedValue::Datetime => {}
        }
    }

    fn check_size(&mut self, number: i128, is_count: bool, path: &FieldPath) {
        if is_count && number < 0 {
            self.report.value(path, "must not be negative");
        } else if u64::try_from(number).is_err() && i64::try_from(number).is_err() {
            self.report.value(path, "is too large a number");
        }
    }

    /// If several list types are allowed, the first item selects one.
    fn check_list(&mut self, items: &[SpannedNode], kinds: &[&'a Json], path: &FieldPath) {
        let Some(first) = items.first() else { return };
        let meant = match kinds {
            [only] => Some(*only),
            several => several.iter().copied().find(|kind| !self.fitting(first, &kind["items"]).is_empty()),
        };
        match meant {
            Some(kind) => {
                for (position, item) in items.iter().enumerate() {
                    self.check(item, &kind["items"], &path.index(position));
                }
            }
            None => {
                let wanted: Vec<&str> = kinds.iter().flat_map(|kind| self.types(&kind["items"])).collect();
                self.report.value(&path.index(0), expected(&wanted, first));
            }
        }
    }

    fn check_table(&mut self, entries: &[(String, SpannedNode)], schema: &'a Json, path: &FieldPath) {
        let nothing = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&nothing);
        let known = || fields.keys().map(String::as_str);
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        for (name, node) in entries {
            let path = path.key(name);
            match (schema["properties"].get(name), others) {
                (Some(field), _) => self.check(node, field, &path),
                (None, Some(other)) => match did_you_mean(name, known()) {
                    Some(guess) if self.fitting(node, other).is_empty() => {
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

    /// Returns the alternatives of a schema that accept values of this type.
    fn fitting(&self, node: &SpannedNode, schema: &'a Json) -> Vec<&'a Json> {
        let schema = self.resolved(schema);
        match schema["anyOf"].as_array() {
            Some(alternatives) => alternatives.iter().flat_map(|alternative| self.fitting(node, alternative)).collect(),
            None if self.types(schema).into_iter().any(|wanted| is_of_type(&node.value, wanted)) => vec![schema],
            None => Vec::new(),
        }
    }

    /// Returns the types that a schema accepts.
    fn types(&self, schema: &'a Json) -> Vec<&'a str> {
        let schema = self.resolved(schema);
        match (schema["anyOf"].as_array(), schema["type"].as_str()) {
            (Some(alternatives), _) => alternatives.iter().flat_map(|schema| self.types(schema)).collect(),
            (None, Some(name)) => vec![name],
            (None, None) => vec!["string"],
        }
    }

    /// Describes the values that a field accepts.
    fn answers(&self, schema: &'a Json) -> String {
        let choices: Vec<&str> = choices(self.resolved(schema)).collect();
        if choices.is_empty() { described(&self.types(schema)) } else { alternatives(&choices) }
    }

    fn resolved(&self, schema: &'a Json) -> &'a Json {
        let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.map_or(schema, |name| &self.definitions[name])
    }
}

/// Returns the values of an enumeration; empty for free text.
fn choices(schema: &Json) -> impl Iterator<Item = &str> {
    schema["oneOf"].as_array().into_iter().flatten().filter_map(|choice| choice["const"].as_str())
}

fn is_of_type(value: &SpannedValue, wanted: &str) -> bool {
    match value {
        SpannedValue::String(_) => wanted == "string",
        SpannedValue::Integer(_) => matches!(wanted, "integer" | "number"),
        SpannedValue::Float(_) => wanted == "number",
        SpannedValue::Boolean(_) => wanted == "boolean",
        SpannedValue::Datetime => false,
        SpannedValue::List(_) => wanted == "array",
        SpannedValue::Table(_) => wanted == "object",
    }
}

fn expected(wanted: &[&str], node: &SpannedNode) -> String {
    format!("expected {}, found {}", described(wanted), found(&node.value))
}

/// Describes the types of a schema in the terms of TOML.
fn described(wanted: &[&str]) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in wanted {
        let name = match *name {
            "object" => "a table".to_owned(),
            "array" => "a list".to_owned(),
            "integer" => "a whole number".to_owned(),
            "boolean" => "true or false".to_owned(),
            other => format!("a {other}"),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    joined(&names, "or")
}

fn found(value: &SpannedValue) -> &'static str {
    match value {
        SpannedValue::String(_) => "a string",
        SpannedValue::Integer(_) => "a whole number",
        SpannedValue::Float(_) => "a number with a fraction",
        SpannedValue::Boolean(_) => "true or false",
        SpannedValue::Datetime => "a date or time",
        SpannedValue::List(_) => "a list",
        SpannedValue::Table(_) => "a table",
    }
}

#[cfg(test)]
#[path = "check_fields_tests.rs"]
mod tests;
