//! Validates delimiters of CSV inputs and hierarchy files.

use crate::field_path::FieldPath;
use crate::problem::Report;

/// Returns the delimiter as a byte, or reports that it is not a single valid ASCII character.
pub fn delimiter(written: &str, path: &FieldPath, report: &mut Report<'_>) -> u8 {
    match written.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => *byte,
        _ => {
            report.value(path, "must be one ASCII character other than a quote or a line break");
            b','
        }
    }
}
