//! Open questions: `"?"` in place of a value that somebody has to decide.
//!
//! `throng init` drafts a policy and leaves what it can't know as questions. A policy with a question is no policy: all
//! of them are listed with their places, beside everything else that is wrong. A flag of the command line answers a
//! question like a value in the file does.
//!
//! Only settings can be asked for: the fields of `[privacy]`, of a column, and the default of columns. Elsewhere `?` is
//! a value like any other: tables do hold question marks, and so do the hierarchies of their columns.

use crate::document::{Node, Value};
use crate::field_path::{FieldPath, Step};

/// What stands for an open question.
pub const OPEN: &str = "?";

/// Whether the value at this path is a question.
pub fn is_open(path: &FieldPath, node: &Node) -> bool {
    matches!(&node.value, Value::String(text) if text == OPEN) && can_be_open(path)
}

fn can_be_open(path: &FieldPath) -> bool {
    match path.steps() {
        [Step::Key(table), Step::Key(_)] => table == "privacy" || table == "columns",
        [Step::Key(table), Step::Key(_), Step::Key(_)] => table == "columns",
        _ => false,
    }
}

/// What to do about a question to which `expected` are the answers.
pub fn unanswered(expected: &str) -> String {
    format!("open question; put {expected} in place of \"{OPEN}\"")
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
