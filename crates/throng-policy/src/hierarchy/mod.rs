//! Converts the hierarchies of a policy to those of the core.

mod calendar;
mod convert;
mod file;
mod inline;
mod intervals;
mod outline;
mod shape;

use std::path::Path;

use throng_core::hierarchy::HierarchySpec;

pub use convert::{NotInline, finished_tree, hierarchy_inline, hierarchy_lines, parse_hierarchy_rule};
pub use file::{HierarchyError, parse_hierarchy, read_hierarchy};
pub use outline::HierarchyOutline;
pub use shape::{height, labels, paths};

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw;
use crate::suggest::{alternatives, joined};
use crate::validate::delimiter;

/// Fields of which a hierarchy must have exactly one.
const FORMS: [&str; 7] = ["file", "lines", "tree", "intervals", "width", "date", "mask"];

/// Builds the hierarchy at `path`, or returns `None` and reports the reason.
pub fn hierarchy(
    written: &raw::RawHierarchy,
    path: &FieldPath,
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> Option<HierarchySpec> {
    match written {
        raw::RawHierarchy::File(file) => {
            let delimiter = delimiter(raw::DEFAULT_FILE_DELIMITER, path, report);
            file::hierarchy(file, delimiter, path, folder, report)
        }
        raw::RawHierarchy::Rule(rule) => match written_forms(rule).as_slice() {
            [form] => {
                check_options(rule, form, path, report);
                build(rule, path, folder, report)
            }
            [] => {
                report.value(path, format!("has no form; use one of {}", alternatives(&FORMS)));
                None
            }
            several => {
                let names: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
                report.value(path, format!("has {} forms, {}; keep one", names.len(), joined(&names, "and")));
                None
            }
        },
    }
}

fn written_forms(rule: &raw::HierarchyRule) -> Vec<&'static str> {
    let is_written = [
        rule.file.is_some(),
        rule.lines.is_some(),
        rule.tree.is_some(),
        rule.intervals.is_some(),
        rule.width.is_some(),
        rule.date.is_some(),
        rule.mask.is_some(),
    ];
    FORMS.into_iter().zip(is_written).filter_map(|(form, is_written)| is_written.then_some(form)).collect()
}

/// Reports options that belong to another form.
fn check_options(rule: &raw::HierarchyRule, form: &str, path: &FieldPath, report: &mut Report<'_>) {
    let options: [(&str, bool, &[&str]); 4] = [
        ("delimiter", rule.delimiter.is_some(), &["file", "lines"]),
        ("origin", rule.origin.is_some(), &["intervals", "width"]),
        ("growth", rule.growth.is_some(), &["width"]),
        ("levels", rule.levels.is_some(), &["width"]),
    ];
    for (option, is_written, forms) in options {
        if is_written && !forms.contains(&form) {
            report.field(&path.key(option), format!("goes with {}, not with `{form}`", alternatives(forms)));
        }
    }
}

/// Builds the form that is present.
fn build(
    rule: &raw::HierarchyRule,
    path: &FieldPath,
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> Option<HierarchySpec> {
    if rule.file.is_some() || rule.lines.is_some() {
        let written = rule.delimiter.as_deref().unwrap_or(raw::DEFAULT_FILE_DELIMITER);
        let delimiter = delimiter(written, &path.key("delimiter"), report);
        return match (&rule.file, &rule.lines) {
            (Some(file), _) => file::hierarchy(file, delimiter, &path.key("file"), folder, report),
            (None, lines) => file::written(lines.as_deref()?, delimiter, &path.key("lines"), report),
        };
    }
    if let Some(tree) = &rule.tree {
        return inline::hierarchy(tree, &path.key("tree"), report);
    }
    let origin = rule.origin.unwrap_or(raw::DEFAULT_ORIGIN);
    if let Some(widths) = &rule.intervals {
        return intervals::listed(widths, origin, &path.key("intervals"), report);
    }
    if let Some(width) = rule.width {
        let growth = rule.growth.unwrap_or(raw::DEFAULT_GROWTH);
        let levels = rule.levels.unwrap_or(raw::DEFAULT_LEVELS);
        return intervals::growing(width, growth, levels, origin, path, report);
    }
    if let Some(parts) = &rule.date {
        return calendar::hierarchy(parts, &path.key("date"), report);
    }
    rule.mask.map(HierarchySpec::Mask)
}

#[cfg(test)]
#[path = "../hierarchy_tests.rs"]
mod tests;
