//! A hierarchy from its root down, to display it and to write it into a policy.

use std::fmt::Write;

use throng_core::hierarchy::Tree;

use super::shape::paths;
use crate::toml_quote::toml_string;

/// A node of a hierarchy with its descendants, in leaf order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchyOutline {
    /// Label of the node.
    pub label: String,
    /// Children; empty for a leaf.
    pub below: Vec<HierarchyOutline>,
}

impl HierarchyOutline {
    /// Returns the root of a hierarchy.
    pub fn of(tree: &Tree) -> Self {
        let mut top = Self { label: tree.label(tree.root()).to_owned(), below: Vec::new() };
        for path in paths(tree) {
            let mut node = &mut top;
            for label in path.into_iter().rev().skip(1) {
                // Leaves of one branch are contiguous.
                if node.below.last().is_none_or(|last| last.label != label) {
                    node.below.push(Self { label: label.to_owned(), below: Vec::new() });
                }
                let Some(last) = node.below.len().checked_sub(1) else { break };
                node = &mut node.below[last];
            }
        }
        top
    }

    fn is_leaf(&self) -> bool {
        self.below.is_empty()
    }

    /// Writes the children as a branch of an inline tree.
    fn write_branch(&self, text: &mut String) {
        let is_values = self.below.iter().all(Self::is_leaf);
        text.push_str(if is_values { "[" } else { "{ " });
        for (place, below) in self.below.iter().enumerate() {
            text.push_str(if place > 0 { ", " } else { "" });
            toml_string(&below.label, text);
            if !is_values {
                text.push_str(" = ");
                below.write_branch(text);
            }
        }
        text.push_str(if is_values { "]" } else { " }" });
    }

    /// Renders the tree, `depth` levels below its root. A value that repeats directly below itself skips a level and is
    /// rendered once. Control characters are escaped.
    pub fn draw(&self, depth: usize) -> String {
        let mut text = plain(&self.label);
        self.draw_below("", depth, &mut text);
        text
    }

    fn draw_below(&self, indent: &str, depth: usize, text: &mut String) {
        let below = match self.below.as_slice() {
            [only] if only.label == self.label => return only.draw_below(indent, depth, text),
            below => below,
        };
        if depth == 0 {
            if !below.is_empty() {
                let _ = write!(text, " ({} below)", below.len());
            }
            return;
        }
        for (place, node) in below.iter().enumerate() {
            let is_last = place + 1 == below.len();
            let _ = write!(text, "\n{indent}{}{}", if is_last { "└─ " } else { "├─ " }, plain(&node.label));
            node.draw_below(&format!("{indent}{}", if is_last { "   " } else { "│  " }), depth - 1, text);
        }
    }
}

/// Escapes control characters of a label.
fn plain(label: &str) -> String {
    label.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Formats a tree as a line of a policy: `hierarchy = { tree = ... }`.
pub(super) fn inline(tree: &Tree) -> String {
    let mut text = String::from("hierarchy = { tree = ");
    HierarchyOutline::of(tree).write_branch(&mut text);
    text.push_str(" }\n");
    text
}
