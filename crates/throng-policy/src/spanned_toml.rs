//! TOML tree of a policy in which every value has its origin.
//!
//! Command-line flags replace values of the file before validation. A problem at a replaced value names the flag
//! instead of a position.

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::field_path::{FieldPath, PathStep};
use crate::problem::{PolicyError, Problem, shortened};
use crate::text_position::{LineColumn, LineIndex};

/// Where a value comes from, for messages about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueOrigin {
    /// Read from the file.
    File {
        /// Position of the key; for a list element, of the element.
        key: LineColumn,
        /// Position of the value.
        value: LineColumn,
    },
    /// Set by a command-line flag.
    Flag(&'static str),
    /// A builder or a JSON text, whose values are known by their path alone.
    Unplaced,
}

/// A value and its origin.
#[derive(Clone, Debug)]
pub struct SpannedNode {
    /// The value, of any type that TOML has.
    pub value: SpannedValue,
    /// Where the value comes from.
    pub origin: ValueOrigin,
}

/// A value of a policy before its type is checked.
#[derive(Clone, Debug)]
pub enum SpannedValue {
    /// Text.
    String(String),
    /// An integer. Values beyond the range of `i128` are saturated, and later rejected for their size.
    Integer(i128),
    /// A float; may be infinite or NaN.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// A date or time, which no field accepts.
    Datetime,
    /// A list, whose elements may be of different types.
    List(Vec<SpannedNode>),
    /// A table, in the order of the file.
    Table(Vec<(String, SpannedNode)>),
}

/// A policy file with valid syntax.
#[derive(Clone, Debug)]
pub struct SpannedToml {
    name: String,
    root: SpannedNode,
}

impl SpannedToml {
    /// Parses the text of a policy; `name` stands for the file in error messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, PolicyError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(PolicyError::new(name, syntax_problems(&LineIndex::of(text), &errors)));
        }
        let origin = ValueOrigin::File { key: LineColumn::START, value: LineColumn::START };
        Ok(Self {
            name: name.to_owned(),
            root: SpannedNode { value: table_value(table.get_ref(), &LineIndex::of(text)), origin },
        })
    }

    /// Returns a document with this root. `name` stands for the file in messages.
    pub fn of_root(name: &str, root: SpannedNode) -> Self {
        Self { name: name.to_owned(), root }
    }

    /// Returns the name of the file in error messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the root table.
    pub fn root(&self) -> &SpannedNode {
        &self.root
    }

    /// Returns the value at a path.
    pub fn get(&self, path: &FieldPath) -> Option<&SpannedNode> {
        path.steps().iter().try_fold(&self.root, |node, step| node.child(step))
    }

    /// Returns the origin of the value at a path; for a missing value, that of the nearest enclosing table.
    pub fn origin(&self, path: &FieldPath) -> ValueOrigin {
        let mut node = &self.root;
        for step in path.steps() {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        node.origin
    }

    /// Sets `table.field` to the value of a flag. If `table` is not a table in the file, nothing is changed, and the
    /// structural check reports it.
    pub fn replace(&mut self, table: &str, field: &str, flag: &'static str, value: SpannedValue) {
        let origin = ValueOrigin::Flag(flag);
        let Some(table) = self.root.entry(table, origin, || SpannedValue::Table(Vec::new())) else { return };
        if let Some(node) = table.entry(field, origin, || SpannedValue::Boolean(false)) {
            *node = SpannedNode { value, origin };
        }
    }

    /// Removes `table.field`, if present.
    pub fn remove(&mut self, table: &str, field: &str) {
        if let SpannedValue::Table(tables) = &mut self.root.value
            && let Some((_, node)) = tables.iter_mut().find(|(key, _)| key == table)
            && let SpannedValue::Table(entries) = &mut node.value
        {
            entries.retain(|(key, _)| key != field);
        }
    }

    /// Returns the document as JSON, in file order.
    pub fn to_json(&self) -> Json {
        self.root.to_json()
    }
}

impl SpannedNode {
    /// A value that is known by its path alone.
    pub fn unplaced(value: SpannedValue) -> Self {
        Self { value, origin: ValueOrigin::Unplaced }
    }

    fn child(&self, step: &PathStep) -> Option<&SpannedNode> {
        match (&self.value, step) {
            (SpannedValue::Table(entries), PathStep::Key(name)) => {
                entries.iter().find(|(key, _)| key == name).map(|(_, node)| node)
            }
            (SpannedValue::List(items), PathStep::Index(position)) => items.get(*position),
            _ => None,
        }
    }

    /// Returns the entry of a table, inserting it if missing; `None` if this is not a table.
    pub fn entry(
        &mut self,
        name: &str,
        origin: ValueOrigin,
        value: impl FnOnce() -> SpannedValue,
    ) -> Option<&mut SpannedNode> {
        let SpannedValue::Table(entries) = &mut self.value else { return None };
        let position = entries.iter().position(|(key, _)| key == name).unwrap_or_else(|| {
            entries.push((name.to_owned(), SpannedNode { value: value(), origin }));
            entries.len() - 1
        });
        Some(&mut entries[position].1)
    }

    fn to_json(&self) -> Json {
        match &self.value {
            SpannedValue::String(text) => Json::from(text.as_str()),
            SpannedValue::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => Json::from(number),
                (_, Ok(number)) => Json::from(number),
                _ => Json::Null,
            },
            SpannedValue::Float(number) => Json::from(*number),
            SpannedValue::Boolean(flag) => Json::from(*flag),
            SpannedValue::Datetime => Json::Null,
            SpannedValue::List(items) => items.iter().map(SpannedNode::to_json).collect(),
            SpannedValue::Table(entries) => entries.iter().map(|(key, node)| (key.clone(), node.to_json())).collect(),
        }
    }
}

fn table_value(table: &DeTable<'_>, places: &LineIndex<'_>) -> SpannedValue {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let nodes = entries.into_iter().map(|(key, value)| {
        let place = places.at(key.span().start);
        (key.get_ref().to_string(), node(value, Some(place), places))
    });
    SpannedValue::Table(nodes.collect())
}

fn node(spanned: &Spanned<DeValue<'_>>, key: Option<LineColumn>, places: &LineIndex<'_>) -> SpannedNode {
    let value = match spanned.get_ref() {
        DeValue::String(string) => SpannedValue::String(string.to_string()),
        DeValue::Integer(integer) => {
            let limit = if integer.as_str().starts_with('-') { i128::MIN } else { i128::MAX };
            SpannedValue::Integer(i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(limit))
        }
        DeValue::Float(float) => SpannedValue::Float(float.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => SpannedValue::Boolean(*flag),
        DeValue::Datetime(_) => SpannedValue::Datetime,
        DeValue::Array(items) => SpannedValue::List(items.iter().map(|item| node(item, None, places)).collect()),
        DeValue::Table(table) => table_value(table, places),
    };
    let place = places.at(spanned.span().start);
    SpannedNode { value, origin: ValueOrigin::File { key: key.unwrap_or(place), value: place } }
}

/// Keeps the first syntax error of each line, since others are mostly consequences. Messages of the parser contain no
/// text of the file.
fn syntax_problems(places: &LineIndex<'_>, errors: &[toml::de::Error]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = errors
        .iter()
        .map(|error| Problem {
            path: String::new(),
            place: error.span().map(|span| places.at(span.start)),
            message: format!("not TOML: {}", error.message()),
        })
        .collect();
    problems.sort_by_key(|problem| problem.place);
    problems.dedup_by_key(|problem| problem.place.map(|place| place.line));
    shortened(problems)
}
