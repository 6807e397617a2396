//! Parses and formats hierarchies outside a policy.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use thiserror::Error;
use throng_core::hierarchy::{HierarchySpec, Tree};

use super::outline::inline;
use super::{hierarchy, paths};
use crate::field_path::FieldPath;
use crate::problem::{PolicyError, Problem, Report};
use crate::raw::{self, DEFAULT_FILE_DELIMITER};
use crate::spanned_toml::SpannedToml;
use crate::{check_fields, schema};

/// Name of the hierarchy field in a policy.
const FIELD: &str = "hierarchy";

/// The hierarchy can't be written as an inline tree.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "this hierarchy can't be written as a tree in a policy, where the root is `*` and a value has one place; keep the file"
)]
pub struct NotInline;

/// Parses a hierarchy in the syntax of a policy: `hierarchy = { mask = "right" }`. `name` stands for the file in error
/// messages.
///
/// ```
/// use throng_core::hierarchy::HierarchySpec;
/// let spec = throng_policy::parse_hierarchy_rule("rule", "hierarchy = { intervals = [5, 10] }")?;
/// assert!(matches!(spec, HierarchySpec::Intervals { .. }));
/// # Ok::<(), throng_policy::PolicyError>(())
/// ```
pub fn parse_hierarchy_rule(name: &str, text: &str) -> Result<HierarchySpec, PolicyError> {
    let document = SpannedToml::parse(name, text)?;
    let schema = json!({
        "type": "object",
        "properties": { FIELD: { "$ref": "#/$defs/HierarchyRule" } },
        "required": [FIELD],
        "$defs": schema::json_schema()["$defs"],
    });
    let mut report = Report::new(&document);
    check_fields::check(&document, &schema, &mut report);
    report.finish()?;

    let path = FieldPath::of(&[FIELD]);
    let broken = || {
        let message = "the hierarchy does not have the structure of one in a policy".to_owned();
        PolicyError::new(name, vec![Problem { path: path.to_string(), place: None, message }])
    };
    let written: raw::RawHierarchy = serde_json::from_value(document.to_json()[FIELD].clone()).map_err(|_| broken())?;
    let mut report = Report::new(&document);
    let spec = hierarchy(&written, &path, Some(Path::new("")), &mut report);
    report.finish()?;
    spec.ok_or_else(broken)
}

/// Formats a tree as a line of a policy: `hierarchy = { tree = ... }`.
pub fn hierarchy_inline(tree: &Tree) -> Result<String, NotInline> {
    let text = inline(tree);
    // Verify the round trip.
    match parse_hierarchy_rule(FIELD, &text) {
        Ok(HierarchySpec::Tree(read)) if paths(&read).eq(paths(tree)) => Ok(text),
        _ => Err(NotInline),
    }
}

/// Formats a tree as a hierarchy file in leaf order: from the value to the root, separated by semicolons.
pub fn hierarchy_lines(tree: &Tree) -> String {
    let mut lines = String::new();
    for path in paths(tree) {
        for (level, label) in path.into_iter().enumerate() {
            if level > 0 {
                lines.push_str(DEFAULT_FILE_DELIMITER);
            }
            // The reader would strip a leading byte order mark.
            let is_plain = !label.contains(['"', '\r', '\n', '\u{feff}']) && !label.contains(DEFAULT_FILE_DELIMITER);
            match is_plain {
                true => lines.push_str(label),
                false => lines.extend(["\"", &label.replace('"', "\"\""), "\""]),
            }
        }
        lines.push('\n');
    }
    lines
}

/// Returns the tree of a hierarchy, or `None` if the hierarchy depends on the values of a column.
pub fn finished_tree(spec: HierarchySpec) -> Option<Arc<Tree>> {
    match spec {
        HierarchySpec::Tree(tree) => Some(tree),
        _ => None,
    }
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
