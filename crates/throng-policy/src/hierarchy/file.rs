//! Hierarchy files in ARX format, one line per value from the value to the root, and the same lines inside a policy.

use std::io;
use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use throng_core::hierarchy::{HierarchySpec, Tree, TreeError};

use crate::field_path::FieldPath;
use crate::problem::Report;

/// Default delimiter of levels.
const SEMICOLON: u8 = b';';

/// A hierarchy could not be read. Messages contain no labels.
#[derive(Debug, Error)]
pub enum HierarchyError {
    /// A portable policy refers to a file.
    #[error("a portable policy has no files beside it; write its `lines` into the policy")]
    Portable,
    /// The file does not exist.
    #[error("there is no such file")]
    Missing,
    /// The file can't be read.
    #[error("it can't be read: {0}")]
    Unreadable(io::ErrorKind),
    /// A line is not UTF-8.
    #[error("line {0} is not UTF-8 text")]
    NotText(usize),
    /// The text is not a table of separated values.
    #[error("it is not a table of separated values")]
    NotSeparated,
    /// The lines have a single level.
    #[error("its lines have one level only; is `{}` what separates its levels?", .0.escape_ascii())]
    OneLevel(u8),
    /// The lines do not form a tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// Reads a hierarchy file: one line per value, from the value to the root, separated by semicolons.
pub fn read_hierarchy(file: &Path) -> Result<Tree, HierarchyError> {
    read(file, SEMICOLON)
}

/// Parses the lines of a hierarchy file.
///
/// ```
/// let tree = throng_policy::parse_hierarchy("France;Europe;*\nJapan;Asia;*")?;
/// let france = tree.leaf("France").ok_or("no France")?;
/// assert_eq!(tree.label(tree.ancestor(france, 1)), "Europe");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse_hierarchy(text: &str) -> Result<Tree, HierarchyError> {
    parse(without_mark(text), SEMICOLON)
}

/// Reads the hierarchy file named at `path`, relative to `folder`. Without a folder no file is opened, and a problem is
/// reported.
pub fn hierarchy(
    written: &str,
    delimiter: u8,
    path: &FieldPath,
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> Option<HierarchySpec> {
    match folder.ok_or(HierarchyError::Portable).and_then(|folder| read(&folder.join(written), delimiter)) {
        Ok(tree) => Some(HierarchySpec::Tree(Arc::new(tree))),
        Err(error) => {
            let note = match error {
                HierarchyError::Missing => "; paths start at the folder of the policy",
                _ => "",
            };
            report.value(path, format!("`{written}`: {error}{note}"));
            None
        }
    }
}

/// Parses the hierarchy lines at `path`.
pub fn written(lines: &str, delimiter: u8, path: &FieldPath, report: &mut Report<'_>) -> Option<HierarchySpec> {
    match parse(lines, delimiter) {
        Ok(tree) => Some(HierarchySpec::Tree(Arc::new(tree))),
        Err(error) => {
            report.value(path, error.to_string());
            None
        }
    }
}

fn read(file: &Path, delimiter: u8) -> Result<Tree, HierarchyError> {
    let bytes = std::fs::read(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => HierarchyError::Missing,
        kind => HierarchyError::Unreadable(kind),
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        HierarchyError::NotText(before.iter().filter(|byte| **byte == b'\n').count() + 1)
    })?;
    parse(without_mark(text), delimiter)
}

/// Byte order mark.
const MARK: &str = "\u{feff}";

/// Strips a byte order mark.
fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

fn parse(text: &str, delimiter: u8) -> Result<Tree, HierarchyError> {
    // The CSV reader strips a leading byte order mark. One that is still in the text belongs to a label, so it is
    // doubled.
    let marked = text.starts_with(MARK).then(|| format!("{MARK}{text}"));
    let text = marked.as_deref().unwrap_or(text);
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text.as_bytes());
    let (mut paths, mut lines) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(|_| HierarchyError::NotSeparated)?;
        lines.push(record.position().map_or(0, |position| line_of(position, text)));
        paths.push(record.iter().map(str::to_owned).collect::<Vec<_>>());
    }
    if !paths.is_empty() && paths.iter().all(|path| path.len() == 1) {
        return Err(HierarchyError::OneLevel(delimiter));
    }
    Ok(Tree::from_paths(&paths).map_err(|error| at_lines_of_file(error, &lines))?)
}

/// Returns the line of a record. The reader's position is before the empty lines that it skips.
fn line_of(position: &csv::Position, text: &str) -> usize {
    let skipped =
        text.as_bytes().iter().skip(position.byte() as usize).take_while(|byte| matches!(byte, b'\n' | b'\r'));
    position.line() as usize + skipped.filter(|byte| **byte == b'\n').count()
}

/// Maps path numbers of the core to line numbers of the file, which may have empty lines.
fn at_lines_of_file(error: TreeError, lines: &[usize]) -> TreeError {
    let of_file = |path: usize| lines.get(path.wrapping_sub(1)).copied().unwrap_or(path);
    match error {
        TreeError::Empty => TreeError::Empty,
        TreeError::Ragged { line, found, expected } => TreeError::Ragged { line: of_file(line), found, expected },
        TreeError::Roots { line } => TreeError::Roots { line: of_file(line) },
        TreeError::DuplicateLeaf { line, first } => {
            TreeError::DuplicateLeaf { line: of_file(line), first: of_file(first) }
        }
        TreeError::TwoParents { line, first, level } => {
            TreeError::TwoParents { line: of_file(line), first: of_file(first), level }
        }
        TreeError::Cycle { line, lower, upper } => TreeError::Cycle { line: of_file(line), lower, upper },
    }
}
