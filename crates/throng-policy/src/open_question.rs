//! Open questions: `"?"` in place of a value that somebody has to decide.
//!
//! `throng init` drafts a policy and leaves what it can't know as questions. A policy with a question is no policy: all
//! of them are listed with their places, beside everything else that is wrong. A flag of the command line answers a
//! question like a value in the file does.
//!
//! Only settings can be asked for: the fields of `[privacy]`, of a column, and the default of columns. Elsewhere `?` is
//! a value like any other: tables do hold question marks, and so do the hierarchies of their columns.

use crate::field_path::{FieldPath, PathStep};
use crate::spanned_toml::{SpannedNode, SpannedValue};

/// What stands for an open question.
pub const OPEN: &str = "?";

/// Whether the value at this path is a question.
pub fn is_open(path: &FieldPath, node: &SpannedNode) -> bool {
    matches!(&node.value, SpannedValue::String(text) if text == OPEN) && can_be_open(path)
}

fn can_be_open(path: &FieldPath) -> bool {
    match path.steps() {
        [PathStep::Key(table), PathStep::Key(_)] => table == "privacy" || table == "columns",
        [PathStep::Key(table), PathStep::Key(_), PathStep::Key(_)] => table == "columns",
        _ => false,
    }
}

/// What to do about a question to which `expected` are the answers.
pub fn unanswered(expected: &str) -> String {
    format!("open question; put {expected} in place of \"{OPEN}\"")
}

#[cfg(test)]
#[path = "open_question_tests.rs"]
mod tests;
