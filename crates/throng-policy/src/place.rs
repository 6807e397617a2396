//! Places in the text of a policy file.

use std::fmt;

/// A line and a column of a file, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The beginning of a file.
    pub const START: Place = Place { line: 1, column: 1 };

    /// The place of a byte offset. An offset past the end, or inside of a character, is the place before it.
    pub(crate) fn of_offset(text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line = before.matches('\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line, column: before[line_start..].chars().count() + 1 }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_not_bytes() {
        let text = "a = 1\nü = \"x\"";
        assert_eq!(Place::of_offset(text, 0), Place::START);
        assert_eq!(Place::of_offset(text, 5).to_string(), "1:6");
        assert_eq!(Place::of_offset(text, 6).to_string(), "2:1");
        assert_eq!(Place::of_offset(text, 7).to_string(), "2:1");
        assert_eq!(Place::of_offset(text, text.find('"').unwrap()).to_string(), "2:5");
        assert_eq!(Place::of_offset(text, 1000).to_string(), "2:8");
    }
}
