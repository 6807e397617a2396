//! Writes TOML strings.

use std::fmt::{Arguments, Write};

/// Appends a TOML basic string, with special characters escaped.
pub(crate) fn toml_string(string: &str, text: &mut String) {
    text.push('"');
    for c in string.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            c if c.is_control() => append(text, format_args!("\\u{:04X}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
}

/// Returns a TOML basic string.
pub fn quoted(string: &str) -> String {
    let mut text = String::new();
    toml_string(string, &mut text);
    text
}

pub(crate) fn append(text: &mut String, arguments: Arguments<'_>) {
    // Writing to a string never fails.
    let _ = text.write_fmt(arguments);
}
