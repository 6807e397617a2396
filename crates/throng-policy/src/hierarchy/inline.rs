//! Inline hierarchies of a policy.
//!
//! ```text
//! { Europe = ["France"], Asia = { East = ["Japan"] } }      France; France; Europe; *
//!                                                           Japan;  East;   Asia;   *
//! ```
//!
//! A shallow branch repeats its value at the lower levels: in paths of equal length, a repeated label is a skipped
//! level.

use std::collections::HashMap;
use std::sync::Arc;

use throng_core::hierarchy::{HierarchySpec, ROOT, Tree};

use crate::field_path::FieldPath;
use crate::problem::Report;
use crate::raw::Branch;

/// Builds the hierarchy of an inline tree, whose root is implicit.
pub fn hierarchy(tree: &Branch, path: &FieldPath, report: &mut Report<'_>) -> Option<HierarchySpec> {
    let mut walk = InlineTreeWalk {
        report,
        is_sound: true,
        above: Vec::new(),
        groups: HashMap::new(),
        values: HashMap::new(),
        paths: Vec::new(),
    };
    walk.branch(tree, path);
    let InlineTreeWalk { is_sound, paths, .. } = walk;
    if !is_sound {
        return None;
    }
    match Tree::from_paths(&padded(paths)) {
        Ok(tree) => Some(HierarchySpec::Tree(Arc::new(tree))),
        Err(error) => {
            report.value(path, error.to_string());
            None
        }
    }
}

/// Pads paths to equal length, and appends the root.
fn padded(mut paths: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let depth = paths.iter().map(Vec::len).max().unwrap_or(0);
    for path in &mut paths {
        let value = path[0].clone();
        path.splice(0..0, std::iter::repeat_n(value, depth - path.len()));
        path.push(ROOT.to_owned());
    }
    paths
}

/// Collects a path per value, and reports ambiguous labels.
struct InlineTreeWalk<'a, 'b> {
    report: &'a mut Report<'b>,
    is_sound: bool,
    /// Groups around the current branch, outermost first.
    above: Vec<String>,
    groups: HashMap<String, FieldPath>,
    values: HashMap<String, FieldPath>,
    /// Paths from each value to its outermost group.
    paths: Vec<Vec<String>>,
}

impl InlineTreeWalk<'_, '_> {
    fn branch(&mut self, branch: &Branch, path: &FieldPath) {
        let is_empty = match branch {
            Branch::Values(values) => values.is_empty(),
            Branch::Groups(groups) => groups.0.is_empty(),
        };
        if is_empty {
            self.refuse(path, "is empty; give it at least one value");
        }
        match branch {
            Branch::Values(values) => {
                for (position, value) in values.iter().enumerate() {
                    self.value(value, path.index(position));
                }
            }
            Branch::Groups(groups) => {
                for (label, below) in &groups.0 {
                    let path = path.key(label);
                    self.group(label, &path);
                    self.above.push(label.clone());
                    self.branch(below, &path);
                    self.above.pop();
                }
            }
        }
    }

    fn value(&mut self, value: &str, path: FieldPath) {
        let first = self.values.get(value).or_else(|| self.other_group(value));
        if !self.refuse_known(value, first.cloned(), &path) {
            let upwards = self.above.iter().rev().cloned();
            self.paths.push(std::iter::once(value.to_owned()).chain(upwards).collect());
            self.values.insert(value.to_owned(), path);
        }
    }

    fn group(&mut self, label: &str, path: &FieldPath) {
        let first = self.other_group(label).or_else(|| self.values.get(label));
        if !self.refuse_known(label, first.cloned(), path) {
            self.groups.insert(label.to_owned(), path.clone());
        }
    }

    /// Returns a group with this label other than the parent: a label that repeats directly below itself skips a level.
    fn other_group(&self, label: &str) -> Option<&FieldPath> {
        self.groups.get(label).filter(|_| self.above.last().is_none_or(|above| above != label))
    }

    fn refuse_known(&mut self, label: &str, first: Option<FieldPath>, path: &FieldPath) -> bool {
        if label == ROOT {
            self.refuse(path, "`*` is the root above the whole tree; use another name");
        } else if let Some(first) = &first {
            self.refuse(path, &format!("is already in this tree, at {first}; a value has one place in a hierarchy"));
        }
        label == ROOT || first.is_some()
    }

    fn refuse(&mut self, path: &FieldPath, message: &str) {
        self.is_sound = false;
        self.report.field(path, message);
    }
}
