//! Positions in the text of a policy file.

use std::fmt;

/// A line and column of a file, both 1-based; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineColumn {
    /// Line of the file; the first is 1.
    pub line: usize,
    /// Character of the line; the first is 1.
    pub column: usize,
}

impl LineColumn {
    /// Beginning of a file.
    pub const START: LineColumn = LineColumn { line: 1, column: 1 };
}

impl fmt::Display for LineColumn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// Maps byte offsets of a text to positions without scanning it for each offset.
pub(crate) struct LineIndex<'a> {
    text: &'a str,
    /// Number of characters before each block of the text.
    blocks: Vec<usize>,
    /// Byte offset of each line.
    lines: Vec<usize>,
}

/// Size of a block in bytes.
const BLOCK: usize = 256;

impl<'a> LineIndex<'a> {
    /// Indexes a text.
    pub(crate) fn of(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let feeds = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place + 1);
        let mut characters = 0;
        let blocks = bytes.chunks(BLOCK).map(|block| {
            let before = characters;
            characters += starts(block);
            before
        });
        Self { text, blocks: blocks.collect(), lines: std::iter::once(0).chain(feeds).collect() }
    }

    /// Returns the position of a byte offset. An offset within a character or beyond the end is rounded down.
    pub(crate) fn at(&self, offset: usize) -> LineColumn {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        LineColumn { line, column: self.characters(offset) - self.characters(start) + 1 }
    }

    /// Returns the number of characters before an offset.
    fn characters(&self, offset: usize) -> usize {
        let block = offset / BLOCK;
        let before = self.blocks.get(block).copied();
        // The end of the text may be at the start of a block that does not exist.
        let Some(before) = before else { return self.text.chars().count() };
        before + starts(&self.text.as_bytes()[block * BLOCK..offset])
    }
}

/// Returns the number of characters that start in these bytes.
fn starts(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -64).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_not_bytes() {
        let text = "a = 1\nü = \"x\"";
        let places = LineIndex::of(text);
        let at = |offset| places.at(offset).to_string();
        assert_eq!(places.at(0), LineColumn::START);
        assert_eq!(at(5), "1:6");
        assert_eq!(at(6), "2:1");
        assert_eq!(at(7), "2:1");
        assert_eq!(at(text.find('"').unwrap()), "2:5");
        assert_eq!(at(1000), "2:8");
        assert_eq!(LineIndex::of("").at(0), LineColumn::START);
    }

    #[test]
    fn places_of_long_texts_are_those_that_are_counted_from_the_beginning() {
        let line = "key = \"größer €\" ";
        for text in [line.repeat(1000), format!("{line}\n").repeat(1000), "x".repeat(2 * BLOCK), "é".repeat(BLOCK)] {
            let places = LineIndex::of(&text);
            for offset in (0..text.len() + 2).step_by(7).chain([BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, text.len()]) {
                let before = &text[..text.floor_char_boundary(offset)];
                let line_start = before.rfind('\n').map_or(0, |feed| feed + 1);
                let column = before[line_start..].chars().count() + 1;
                assert_eq!(places.at(offset), LineColumn { line: before.matches('\n').count() + 1, column });
            }
        }
    }
}
