//! Edits the policy in place: comments, order and formatting of everything else are preserved.

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::fields::{self, Field, FieldKind};
use crate::written::{OPEN, preset_k};

/// Released forms that do not use a hierarchy.
const WITHOUT_HIERARCHY: [&str; 4] = ["interval", "bounds", "mean", "median"];

/// One edit of a policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PolicyEdit {
    /// A setting of a column: the name of the column, the field, and its text. An empty text removes the setting.
    Column(String, String, String),
    /// The hierarchy of a column, as the TOML of its value.
    Hierarchy(String, Option<String>),
    /// A setting of the policy as a whole, by its path. An empty text removes it.
    Promise(String, String),
}

impl PolicyEdit {
    /// Returns the change in words, for the history.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Column(name, field, value) if value.is_empty() => format!("{name}: no {field}"),
            Self::Column(name, field, value) => format!("{name}: {field} {value}"),
            Self::Hierarchy(name, Some(_)) => format!("{name}: hierarchy"),
            Self::Hierarchy(name, None) => format!("{name}: no hierarchy"),
            Self::Promise(path, value) => {
                let name = path.rsplit('.').next().unwrap_or(path);
                if value.is_empty() { format!("no {name}") } else { name.to_owned() }
            }
        }
    }

    /// Returns the text with the edit. The error states what the field expects.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        let mut document = text.parse::<DocumentMut>().map_err(|_| "the text is not TOML; fix it first".to_owned())?;
        match self {
            Self::Column(name, field, value) => {
                let (name, field, value) = (name.as_str(), field.as_str(), value.trim());
                let column = column(&mut document, name)?;
                match field {
                    "role" => {
                        set(column, "role", value.into());
                        forget_fields_of_other_roles(column, value);
                    }
                    "release" => {
                        match value {
                            "" => remove(column, field),
                            value => set(column, field, value.into()),
                        }
                        if WITHOUT_HIERARCHY.contains(&value) {
                            remove(column, "hierarchy");
                        }
                    }
                    _ => {
                        let known = fields::of_column(field);
                        let known = known.ok_or_else(|| format!("a column has no setting {field}"))?;
                        set_or_remove(column, field, known, value)?;
                    }
                }
            }
            Self::Hierarchy(name, rule) => {
                let column = column(&mut document, name)?;
                match rule {
                    None => remove(column, "hierarchy"),
                    Some(rule) => {
                        let parsed = format!("x = {rule}").parse::<DocumentMut>();
                        let value = parsed.ok().and_then(|parsed| parsed.get("x").and_then(Item::as_value).cloned());
                        set(column, "hierarchy", value.ok_or("the hierarchy can't be written as TOML")?);
                        if column
                            .get("release")
                            .and_then(Item::as_str)
                            .is_some_and(|it| WITHOUT_HIERARCHY.contains(&it))
                        {
                            remove(column, "release");
                        }
                    }
                }
            }
            Self::Promise(field, value) => promise(&mut document, field, value.trim())?,
        }
        Ok(document.to_string())
    }
}

/// Returns the text with every open question answered in the most cautious way: the column is left out, and p requires
/// nothing.
pub(crate) fn answered(text: &str) -> Option<String> {
    let mut document = text.parse::<DocumentMut>().ok()?;
    let is_open = |item: Option<&Item>| item.and_then(Item::as_str) == Some(OPEN);
    if let Some(columns) = document.get_mut("columns").and_then(Item::as_table_like_mut) {
        for (_, item) in columns.iter_mut() {
            if is_open(item.get("role")) {
                set(item, "role", "identifier".into());
                forget_fields_of_other_roles(item, "identifier");
            }
        }
    }
    if let Some(privacy) = document.get_mut("privacy").filter(|privacy| is_open(privacy.get("p"))) {
        set(privacy, "p", 1.into());
    }
    Some(document.to_string())
}

fn promise(document: &mut DocumentMut, path: &str, value: &str) -> Result<(), String> {
    match path {
        "privacy.k" => {
            let k: u64 = value.parse().map_err(|_| "k is a whole number from 2 on".to_owned())?;
            let privacy = section(document, "privacy")?;
            set(privacy, "k", i64::try_from(k).unwrap_or(i64::MAX).into());
            let of_preset = privacy.get("preset").and_then(Item::as_str).and_then(preset_k);
            if of_preset.is_some_and(|least| k < least) {
                remove(privacy, "preset");
            }
            Ok(())
        }
        "privacy.preset" => {
            let privacy = section(document, "privacy")?;
            match value {
                "" => remove(privacy, "preset"),
                value => set(privacy, "preset", value.into()),
            }
            if let Some(least) = preset_k(value) {
                set(privacy, "k", i64::try_from(least).unwrap_or(i64::MAX).into());
            }
            Ok(())
        }
        path => {
            let known = fields::of_policy().find(|known| known.name == path);
            let known = known.ok_or_else(|| format!("a policy has no setting {path}"))?;
            let steps: Vec<&str> = path.split('.').collect();
            match steps.as_slice() {
                [section_name, name] => set_or_remove(section(document, section_name)?, name, known, value)?,
                [section_name, part_name, name] => {
                    let parent = section(document, section_name)?;
                    set_or_remove(part(parent, part_name)?, name, known, value)?;
                    remove_if_empty(parent, part_name);
                }
                _ => return Err(format!("a policy has no setting {path}")),
            }
            Ok(())
        }
    }
}

/// Removes the settings that a column of another role must not have.
fn forget_fields_of_other_roles(column: &mut Item, role: &str) {
    let names = |fields: &'static [Field]| fields.iter().map(|field| field.name);
    let (quasi, sensitive) = (names(&fields::QUASI), names(&fields::SENSITIVE));
    let gone: Vec<&str> = match role {
        "quasi" => sensitive.chain(["release"]).collect(),
        "sensitive" => quasi.chain(["release", "hierarchy"]).collect(),
        _ => quasi.chain(sensitive).chain(["release", "hierarchy"]).collect(),
    };
    for field in gone {
        remove(column, field);
    }
}

fn section<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut Item, String> {
    let item = document.entry(name).or_insert_with(|| Item::Table(Table::new()));
    if item.is_table_like() { Ok(item) } else { Err(format!("{name} is not a table of the policy")) }
}

/// Returns a table within a section, creating it if it is missing.
fn part<'a>(section: &'a mut Item, name: &str) -> Result<&'a mut Item, String> {
    let refused = || format!("{name} is not a table of the policy");
    let section = section.as_table_like_mut().ok_or_else(refused)?;
    if section.get(name).is_none() {
        section.insert(name, Item::Table(Table::new()));
    }
    section.get_mut(name).filter(|part| part.is_table_like()).ok_or_else(refused)
}

/// Removes a table of a section that has lost its last setting. Its comments move above the section.
fn remove_if_empty(section: &mut Item, name: &str) {
    let Some(empty) = section.get(name).filter(|part| part.as_table_like().is_some_and(TableLike::is_empty)) else {
        return;
    };
    let comment = empty.as_table().and_then(|table| table.decor().prefix()?.as_str()).map(str::to_owned);
    if let Some(table) = section.as_table_like_mut() {
        table.remove(name);
    }
    keep_above(section, comment);
}

fn column<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut Item, String> {
    let columns = document.entry("columns").or_insert_with(|| {
        let mut columns = Table::new();
        columns.set_implicit(true);
        Item::Table(columns)
    });
    let columns = columns.as_table_like_mut().ok_or("columns is not a table of the policy")?;
    if columns.get(name).is_none() {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        columns.insert(name, Item::Table(table));
    }
    let column = columns.get_mut(name).filter(|column| column.is_table_like());
    column.ok_or_else(|| "the column is not a table of the policy".to_owned())
}

/// Sets a value; the comments around an existing one stay.
fn set(table: &mut Item, field: &str, mut value: Value) {
    let Some(table) = table.as_table_like_mut() else { return };
    match table.get_mut(field).and_then(Item::as_value_mut) {
        Some(existing) => {
            *value.decor_mut() = existing.decor().clone();
            *existing = value;
        }
        None => {
            value.decor_mut().clear();
            table.insert(field, Item::Value(value));
        }
    }
}

/// Removes a value. The comment above it moves to the next value, since it may apply to more than one, or above the
/// table.
fn remove(item: &mut Item, field: &str) {
    let Some(table) = item.as_table_like_mut() else { return };
    let comment = table.key(field).and_then(|key| key.leaf_decor().prefix()?.as_str().map(str::to_owned));
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    let next = names.iter().position(|name| name == field).and_then(|at| names.get(at + 1)).cloned();
    table.remove(field);
    let next = next.filter(|next| table.get(next).is_some_and(Item::is_value));
    match (comment.as_ref().filter(|comment| comment.contains('#')), next) {
        (Some(comment), Some(next)) => {
            if let Some(mut key) = table.key_mut(&next) {
                let own = key.leaf_decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
                key.leaf_decor_mut().set_prefix(format!("{comment}{own}"));
            }
        }
        _ => keep_above(item, comment),
    }
}

/// Puts a comment above a table.
fn keep_above(item: &mut Item, comment: Option<String>) {
    if let (Some(comment), Some(table)) = (comment.filter(|comment| comment.contains('#')), item.as_table_mut()) {
        let own = table.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
        table.decor_mut().set_prefix(own + comment.trim_start_matches('\n'));
    }
}

fn set_or_remove(table: &mut Item, name: &str, field: &Field, value: &str) -> Result<(), String> {
    // A list without elements has no effect.
    let is_list = matches!(field.kind, FieldKind::Words | FieldKind::Names | FieldKind::Lists);
    let is_empty = value.is_empty() || (is_list && value.chars().all(|c| c.is_whitespace() || c == ',' || c == ';'));
    match is_empty {
        true => remove(table, name),
        false => set(table, name, field.parse(value)?),
    }
    Ok(())
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
