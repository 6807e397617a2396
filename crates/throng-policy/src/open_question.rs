//! Open questions: `"?"` in place of a value that the user must decide.
//!
//! `throng init` drafts a policy and leaves what it can't infer as open questions. A policy with open questions is
//! invalid: all of them are reported with their positions, along with all other problems. A command-line flag answers a
//! question like a value in the file.
//!
//! Only settings can be open: the fields of `[privacy]`, of a column, and the default of columns. Elsewhere `?` is an
//! ordinary value, since data and hierarchies may contain question marks.

use crate::field_path::{FieldPath, PathStep};
use crate::spanned_toml::{SpannedNode, SpannedValue};

/// Marker of an open question.
pub const OPEN: &str = "?";

/// Returns whether the value at this path is an open question.
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

/// Returns the message for an open question with the `expected` answers.
pub fn unanswered(expected: &str) -> String {
    format!("open question; put {expected} in place of \"{OPEN}\"")
}

#[cfg(test)]
#[path = "open_question_tests.rs"]
mod tests;
