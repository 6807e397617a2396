//! Portable text of a policy, for use on another machine.
//!
//! ```text
//!  policy.toml + hierarchies/*.csv + command line ──> Policy ──> portable text ──> Policy, elsewhere
//! ```
//!
//! A portable policy is itself a policy file and needs no separate format or parser. It differs from the original file
//! in two ways:
//!
//! - Every tree hierarchy is written as the `lines` of a hierarchy file. An inline `tree` would not suffice: it rejects
//!   content that files may have, such as a root other than `*`, a value named `*`, or one label on two levels of
//!   different branches. Lines represent any tree exactly, and stay flat however deep it is.
//! - All settings of input, output and stores are omitted, and so are other tables and the location of a population. The text
//!   contains nothing from the environment, and no
//!   environment variable is read when it is parsed.
//!
//! Rules such as `mask` and numbers stay as written: TOML is parsed with exact numbers, so weights do not change by
//! rounding. Command-line flags are included, since they have replaced values of the file.

use throng_core::hierarchy::{HierarchySpec, Tree};

use crate::hierarchy::hierarchy_lines;
use crate::load;
use crate::overrides::Overrides;
use crate::policy::{Policy, Role};
use crate::problem::PolicyError;
use crate::spanned_toml::{SpannedNode, SpannedValue};
use crate::toml_quote::{append, toml_string};
use crate::validate::ValidationContext;

/// Name of a portable policy in error messages.
const NAME: &str = "portable policy";

impl Policy {
    /// Returns the policy as text that refers to no file, folder or environment variable, and contains no location.
    ///
    /// [`Policy::from_portable`] returns a policy with the same [`Policy::canonical_json`] that binds to the same
    /// inputs and yields the same releases.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use throng_policy::{Overrides, Policy};
    /// let text = "version = 1\nprivacy.k = 10\ncolumns.zip = { role = 'quasi', hierarchy = { mask = 'right' } }\n";
    /// let policy = Policy::parse(text, Path::new("."), &Overrides::for_a_table())?;
    /// let elsewhere = Policy::from_portable(&policy.to_portable())?;
    /// assert_eq!(elsewhere.canonical_json(), policy.canonical_json());
    /// # Ok::<(), throng_policy::PolicyError>(())
    /// ```
    pub fn to_portable(&self) -> String {
        let mut text = String::new();
        for (name, node) in entries(self.document.root()) {
            match name.as_str() {
                "input" | "output" | "store" | "series" | "table" | "tables" => {}
                "columns" => self.write_columns(node, &mut text),
                "privacy" => {
                    text.push_str("privacy = ");
                    self.write_privacy(node, &mut text);
                    text.push('\n');
                }
                _ => {
                    toml_string(name, &mut text);
                    text.push_str(" = ");
                    write_value(&node.value, &mut text);
                    text.push('\n');
                }
            }
        }
        text
    }

    /// Parses the output of [`Policy::to_portable`]. No file is opened, whatever the text says, and no environment
    /// variable is read. The locations are those of [`Overrides::for_a_table`].
    pub fn from_portable(text: &str) -> Result<Policy, PolicyError> {
        let surroundings = ValidationContext { folder: None, environment: &|_| None };
        load::read_within(NAME, text, &Overrides::for_a_table(), &surroundings)
    }

    /// Writes one line per column under dotted keys, which may occur anywhere in the text.
    fn write_columns(&self, columns: &SpannedNode, text: &mut String) {
        for (name, column) in entries(columns) {
            text.push_str("columns.");
            toml_string(name, text);
            text.push_str(" = ");
            match (&column.value, self.tree_of(name)) {
                (SpannedValue::Table(fields), Some(tree)) => write_column_with_tree(fields, tree, text),
                (value, _) => write_value(value, text),
            }
            text.push('\n');
        }
    }

    /// Writes `[privacy]` without the location of a population. A unit that was removed from the policy is left out; a series does
    /// so, because it counts units with its ledger.
    fn write_privacy(&self, privacy: &SpannedNode, text: &mut String) {
        let is_kept = |name: &str| !(self.privacy.unit.is_empty() && ["unit", "unit_nulls"].contains(&name));
        let kept = entries(privacy).iter().filter(|(name, _)| is_kept(name));
        write_table(kept, text, |name, value, text| match (name, value) {
            ("population", SpannedValue::Table(fields)) => write_table(fields, text, |name, value, text| match name {
                "table" => toml_string(POPULATION, text),
                _ => write_value(value, text),
            }),
            _ => write_value(value, text),
        });
    }

    fn tree_of(&self, column: &str) -> Option<&Tree> {
        let (_, role) = self.columns.by_name.iter().find(|(name, _)| name == column)?;
        let hierarchy = match role {
            Role::Quasi(quasi) => quasi.hierarchy.as_deref()?,
            Role::Sensitive(sensitive) => sensitive.protection.as_deref()?.hierarchy.as_ref(),
            Role::Identifier | Role::Insensitive | Role::Pseudonym => return None,
        };
        match hierarchy {
            HierarchySpec::Tree(tree) => Some(tree),
            _ => None,
        }
    }
}

fn entries(table: &SpannedNode) -> &[(String, SpannedNode)] {
    match &table.value {
        SpannedValue::Table(entries) => entries,
        _ => &[],
    }
}

/// Name of the population table, which remote processes do not read.
const POPULATION: &str = "population";

fn write_column_with_tree(fields: &[(String, SpannedNode)], tree: &Tree, text: &mut String) {
    write_table(fields, text, |name, value, text| match name {
        "hierarchy" => {
            text.push_str("{ lines = ");
            toml_string(&hierarchy_lines(tree), text);
            text.push_str(" }");
        }
        _ => write_value(value, text),
    });
}

fn write_value(value: &SpannedValue, text: &mut String) {
    match value {
        SpannedValue::String(string) => toml_string(string, text),
        SpannedValue::Integer(number) => append(text, format_args!("{number}")),
        // The shortest text that parses to the same number.
        SpannedValue::Float(number) => append(text, format_args!("{number:?}")),
        SpannedValue::Boolean(flag) => append(text, format_args!("{flag}")),
        // Not reachable: no field of a valid policy is a date.
        SpannedValue::Datetime => text.push_str("''"),
        SpannedValue::List(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                text.push_str(if position > 0 { ", " } else { "" });
                write_value(&item.value, text);
            }
            text.push(']');
        }
        SpannedValue::Table(entries) => write_table(entries, text, |_, value, text| write_value(value, text)),
    }
}

fn write_table<'a>(
    entries: impl IntoIterator<Item = &'a (String, SpannedNode)>,
    text: &mut String,
    write: impl Fn(&str, &SpannedValue, &mut String),
) {
    text.push_str("{ ");
    for (position, (name, node)) in entries.into_iter().enumerate() {
        text.push_str(if position > 0 { ", " } else { "" });
        toml_string(name, text);
        text.push_str(" = ");
        write(name, &node.value, text);
    }
    text.push_str(" }");
}

#[cfg(test)]
#[path = "portable_tests.rs"]
mod tests;
