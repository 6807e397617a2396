//! The policy as it is written, read leniently: a text with mistakes and open questions still fills the page.

use std::collections::BTreeMap;

use throng::{Preset, throng_policy::parse_hierarchy_rule};
use toml_edit::{DocumentMut, Item, TableLike};

use crate::builder;
use crate::fields::{self, Field};

/// Marker of an open question in a policy.
pub(crate) const OPEN: &str = "?";

/// Roles, as they are written in a policy.
pub(crate) const ROLES: [&str; 4] = ["identifier", "quasi", "sensitive", "insensitive"];

/// Settings by name or path, as they are entered on the page; `None` for one that only the text can represent.
pub(crate) type Settings = BTreeMap<&'static str, Option<String>>;

/// The settings of a policy that the page shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WrittenPolicy {
    /// Parameter k, explicit or from the preset.
    pub(crate) k: Option<u64>,
    /// Name of the preset.
    pub(crate) preset: Option<String>,
    /// Parameter p; `None` if it is absent or open.
    pub(crate) p: Option<u64>,
    /// Whether p is an open question.
    pub(crate) is_p_open: bool,
    /// All other settings, by path.
    pub(crate) settings: Settings,
    /// Location of the release.
    pub(crate) output: Option<String>,
    /// Columns in the order of the text.
    pub(crate) columns: Vec<WrittenColumn>,
}

/// The settings of one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WrittenColumn {
    pub(crate) name: String,
    pub(crate) role: Option<String>,
    pub(crate) hierarchy: Option<String>,
    /// The hierarchy as the builder enters it: its kind and text.
    pub(crate) entered: Option<(&'static str, String)>,
    pub(crate) release: Option<String>,
    /// All other settings, by name.
    pub(crate) settings: Settings,
}

impl WrittenPolicy {
    /// Reads a text. Returns the position and kind of the mistake if it is not TOML; the parser's message may quote the text,
    /// which is the user's own.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let document = text.parse::<DocumentMut>().map_err(|error| place(text, &error))?;
        let privacy = table(document.get("privacy"));
        let number = |field: &str| privacy.and_then(|table| table.get(field)).and_then(Item::as_integer);
        let word = |table: Option<&dyn TableLike>, field: &str| {
            table.and_then(|table| table.get(field)).and_then(Item::as_str).map(str::to_owned)
        };
        let preset = word(privacy, "preset");
        let of_preset = preset.as_deref().and_then(preset_k);
        let columns = table(document.get("columns")).map(|columns| {
            columns.iter().filter_map(|(name, item)| Some(column(name, item.as_table_like()?))).collect()
        });
        Ok(Self {
            k: number("k").and_then(|k| u64::try_from(k).ok()).or(of_preset),
            preset: preset.filter(|name| name != OPEN),
            p: number("p").and_then(|p| u64::try_from(p).ok()),
            is_p_open: word(privacy, "p").is_some_and(|p| p == OPEN),
            settings: settings(fields::of_policy(), document.as_table()),
            output: word(table(document.get("output")), "location"),
            columns: columns.unwrap_or_default(),
        })
    }

    /// Returns the settings of a column.
    pub(crate) fn column(&self, name: &str) -> Option<&WrittenColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the columns whose role is an open question.
    pub(crate) fn open_roles(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|column| column.role.as_deref() == Some(OPEN)).map(|column| column.name.as_str())
    }

    /// Returns the number of open questions that the page can answer.
    pub(crate) fn questions(&self) -> usize {
        self.open_roles().count() + usize::from(self.is_p_open)
    }
}

/// Returns the k of a preset.
pub(crate) fn preset_k(name: &str) -> Option<u64> {
    Preset::ALL.into_iter().find(|preset| preset.as_str() == name).map(Preset::k)
}

fn table(item: Option<&Item>) -> Option<&dyn TableLike> {
    item.and_then(Item::as_table_like)
}

/// Returns the settings that a table has.
fn settings(fields: impl Iterator<Item = &'static Field>, table: &dyn TableLike) -> Settings {
    let found = fields.filter_map(|field| {
        let mut steps = field.name.split('.');
        let first = table.get(steps.next()?)?;
        let item = steps.try_fold(first, |item, step| item.as_table_like()?.get(step))?;
        Some((field.name, field.shown(item)))
    });
    found.collect()
}

fn column(name: &str, table: &dyn TableLike) -> WrittenColumn {
    let word = |field: &str| table.get(field).and_then(Item::as_str).map(str::to_owned);
    WrittenColumn {
        name: name.to_owned(),
        role: word("role"),
        hierarchy: table.get("hierarchy").map(described),
        entered: table.get("hierarchy").and_then(builder::entered),
        release: word("release"),
        settings: settings(fields::QUASI.iter().chain(&fields::SENSITIVE), table),
    }
}

/// Describes a hierarchy in a few words, without the values of a tree.
fn described(item: &Item) -> String {
    if let Some(file) = item.as_str() {
        return format!("file {file}");
    }
    let Some(rule) = item.as_table_like() else { return "?".to_owned() };
    let list = |field: &str| {
        rule.get(field).and_then(Item::as_array).map(|list| {
            list.iter()
                .map(|value| value.as_str().map_or_else(|| value.to_string().trim().to_owned(), str::to_owned))
                .collect::<Vec<_>>()
                .join(", ")
        })
    };
    let text = |field: &str| rule.get(field).map(|item| item.to_string().trim().trim_matches('"').to_owned());
    if let Some(widths) = list("intervals") {
        return format!("intervals {widths}");
    }
    if let Some(width) = text("width") {
        return format!("widths from {width}");
    }
    if let Some(parts) = list("date") {
        return format!("date: {parts}");
    }
    if let Some(side) = text("mask") {
        return format!("mask from the {side}");
    }
    if let Some(file) = text("file") {
        return format!("file {file}");
    }
    match parse_hierarchy_rule("hierarchy", &format!("hierarchy = {}", item.to_string().trim())) {
        Ok(throng::HierarchySpec::Tree(tree)) => {
            let (leaves, levels) = (tree.leaf_count(), tree.height(tree.root()));
            format!("tree of {leaves} values, {levels} levels")
        }
        _ => "tree".to_owned(),
    }
}

fn place(text: &str, error: &toml_edit::TomlError) -> String {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    format!("line {line}: this is not TOML: {}", error.message())
}

#[cfg(test)]
#[path = "written_tests.rs"]
mod tests;
