//! Edits of the policy in place: comments, order and spelling of everything else survive.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value};

use crate::written::{OPEN, preset_k};

/// Fields that only quasi-identifiers have, and fields that only sensitive columns have.
const QUASI_FIELDS: [&str; 3] = ["weight", "nulls", "limit"];
const SENSITIVE_FIELDS: [&str; 3] = ["p", "protected", "categories"];

/// Released forms that have no use for a hierarchy.
const WITHOUT_HIERARCHY: [&str; 4] = ["interval", "bounds", "mean", "median"];

/// One edit of a policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PolicyEdit {
    /// A setting of a column: the name of the column, the field, and its text. An empty text removes the setting.
    Column(String, String, String),
    /// The hierarchy of a column, as the TOML of its value.
    Hierarchy(String, Option<String>),
    /// A setting of `[privacy]`, or `budget`. An empty text removes it.
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
            Self::Promise(field, _) => field.clone(),
        }
    }

    /// Returns the text with the edit. The error says what the field expects.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        let mut document =
            text.parse::<DocumentMut>().map_err(|_| "the text is no TOML; repair it first".to_owned())?;
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
                        set_or_remove(column, field, value, |value| Ok(value.into()))?;
                        if WITHOUT_HIERARCHY.contains(&value) {
                            remove(column, "hierarchy");
                        }
                    }
                    "nulls" => set_or_remove(column, field, value, |value| Ok(value.into()))?,
                    "weight" => set_or_remove(column, field, value, weight)?,
                    "p" => set_or_remove(column, field, value, whole)?,
                    "limit" => set_or_remove(column, field, value, limit)?,
                    _ => return Err(format!("a column has no setting {field}")),
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
                            .is_some_and(|name| WITHOUT_HIERARCHY.contains(&name))
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

/// Returns the text with every open question answered in the most careful way: the column is left out, and p asks for nothing.
pub(crate) fn answered(text: &str) -> Option<String> {
    let mut document = text.parse::<DocumentMut>().ok()?;
    let is_open = |item: Option<&Item>| item.and_then(Item::as_str) == Some(OPEN);
    if let Some(columns) = document.get_mut("columns").and_then(Item::as_table_like_mut) {
        for (_, item) in columns.iter_mut() {
            if let Some(column) = item.as_table_like_mut()
                && is_open(column.get("role"))
            {
                set(column, "role", "identifier".into());
                forget_fields_of_other_roles(column, "identifier");
            }
        }
    }
    if let Some(privacy) = document.get_mut("privacy").and_then(Item::as_table_like_mut)
        && is_open(privacy.get("p"))
    {
        set(privacy, "p", 1.into());
    }
    Some(document.to_string())
}

fn promise(document: &mut DocumentMut, field: &str, value: &str) -> Result<(), String> {
    if field == "budget" {
        let algorithm = section(document, "algorithm")?;
        return set_or_remove(algorithm, "budget", value, |value| Ok(value.into()));
    }
    let privacy = section(document, "privacy")?;
    match field {
        "k" => {
            let k: u64 = value.parse().map_err(|_| "k is a whole number from 2 on".to_owned())?;
            set(privacy, "k", whole(value)?);
            let of_preset = privacy.get("preset").and_then(Item::as_str).and_then(preset_k);
            if of_preset.is_some_and(|least| k < least) {
                remove(privacy, "preset");
            }
            Ok(())
        }
        "p" => set_or_remove(privacy, "p", value, whole),
        "alpha" | "suppression_limit" => set_or_remove(privacy, field, value, share),
        "preset" => {
            set_or_remove(privacy, "preset", value, |value| Ok(value.into()))?;
            if let Some(least) = preset_k(value) {
                set(privacy, "k", i64::try_from(least).unwrap_or(i64::MAX).into());
            }
            Ok(())
        }
        _ => Err(format!("a policy has no promise {field}")),
    }
}

/// Removes the settings that a column of another role must not have.
fn forget_fields_of_other_roles(column: &mut dyn TableLike, role: &str) {
    let gone: &[&[&str]] = match role {
        "quasi" => &[&SENSITIVE_FIELDS, &["release"]],
        "sensitive" => &[&QUASI_FIELDS, &["release", "hierarchy"]],
        _ => &[&QUASI_FIELDS, &SENSITIVE_FIELDS, &["release", "hierarchy"]],
    };
    for field in gone.iter().copied().flatten() {
        remove(column, field);
    }
}

fn section<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut dyn TableLike, String> {
    let item = document.entry(name).or_insert_with(|| Item::Table(Table::new()));
    item.as_table_like_mut().ok_or_else(|| format!("{name} is not a table of the policy"))
}

fn column<'a>(document: &'a mut DocumentMut, name: &str) -> Result<&'a mut dyn TableLike, String> {
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
    let column = columns.get_mut(name).and_then(Item::as_table_like_mut);
    column.ok_or_else(|| "the column is not a table of the policy".to_owned())
}

/// Sets a value; the comments around an existing one stay.
fn set(table: &mut dyn TableLike, field: &str, mut value: Value) {
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

/// Removes a value. The comment above it moves to the next value, since it may speak of more.
fn remove(table: &mut dyn TableLike, field: &str) {
    let comment = table.key(field).and_then(|key| key.leaf_decor().prefix()?.as_str().map(str::to_owned));
    let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
    let next = names.iter().position(|name| name == field).and_then(|at| names.get(at + 1)).cloned();
    table.remove(field);
    if let (Some(comment), Some(next)) = (comment.filter(|comment| comment.contains('#')), next)
        && let Some(mut key) = table.key_mut(&next)
    {
        let own = key.leaf_decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default().to_owned();
        key.leaf_decor_mut().set_prefix(comment + &own);
    }
}

fn set_or_remove(
    table: &mut dyn TableLike,
    field: &str,
    value: &str,
    parse: impl Fn(&str) -> Result<Value, String>,
) -> Result<(), String> {
    match value {
        "" => remove(table, field),
        value => set(table, field, parse(value)?),
    }
    Ok(())
}

fn whole(text: &str) -> Result<Value, String> {
    let number = text.parse::<u32>().ok().filter(|number| *number > 0);
    number.map(|number| i64::from(number).into()).ok_or_else(|| "give a whole number from 1 on".to_owned())
}

fn weight(text: &str) -> Result<Value, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.map(Value::from).ok_or_else(|| "a weight is a number above 0".to_owned())
}

fn share(text: &str) -> Result<Value, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.map(Value::from).ok_or_else(|| "give a number from 0 on".to_owned())
}

/// A level, ascending numbers at which bands begin, or values of the hierarchy.
fn limit(text: &str) -> Result<Value, String> {
    if let Ok(level) = text.parse::<u32>() {
        return Ok(i64::from(level).into());
    }
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Err("a limit is a level, or a list with commas".to_owned());
    }
    let numbers: Result<Vec<f64>, _> = parts.iter().map(|part| part.parse::<f64>()).collect();
    let list: Array = match numbers {
        Ok(numbers) => numbers.into_iter().map(number).collect(),
        Err(_) => parts.into_iter().map(Value::from).collect(),
    };
    Ok(Value::Array(list))
}

/// Writes a number without a fraction as an integer.
pub(crate) fn number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { (number as i64).into() } else { number.into() }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
