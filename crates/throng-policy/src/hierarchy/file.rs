//! Hierarchy files in the convention of ARX: one line per value, from the value to the root; and the same lines where
//! they are written in the policy itself.

use std::io;
use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use throng_core::hierarchy::{HierarchySpec, Tree, TreeError};

use crate::field_path::FieldPath;
use crate::problem::Report;

/// Why a file is not a hierarchy. Its labels stay out of the message.
#[derive(Debug, Error)]
enum FileError {
    #[error("a portable policy has no files beside it; write its `lines` into the policy")]
    Portable,
    #[error("there is no such file; paths start at the folder of the policy")]
    Missing,
    #[error("it can't be read: {0}")]
    Unreadable(io::ErrorKind),
    #[error("line {0} is not UTF-8 text")]
    NotText(usize),
    #[error("it is not a table of separated values")]
    NotSeparated,
    #[error("its lines have one level only; is `{}` what separates its levels?", .0.escape_ascii())]
    OneLevel(u8),
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// The hierarchy in the file that is `written` at `path`. Without a folder there are no files, and none is looked for.
pub fn hierarchy(
    written: &str,
    delimiter: u8,
    path: &FieldPath,
    folder: Option<&Path>,
    report: &mut Report<'_>,
) -> Option<HierarchySpec> {
    match folder.ok_or(FileError::Portable).and_then(|folder| read(&folder.join(written), delimiter)) {
        Ok(tree) => Some(HierarchySpec::Tree(Arc::new(tree))),
        Err(error) => {
            report.value(path, format!("`{written}`: {error}"));
            None
        }
    }
}

/// The hierarchy whose lines stand at `path`.
pub fn written(lines: &str, delimiter: u8, path: &FieldPath, report: &mut Report<'_>) -> Option<HierarchySpec> {
    match parse(lines, delimiter) {
        Ok(tree) => Some(HierarchySpec::Tree(Arc::new(tree))),
        Err(error) => {
            report.value(path, error.to_string());
            None
        }
    }
}

fn read(file: &Path, delimiter: u8) -> Result<Tree, FileError> {
    let bytes = std::fs::read(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FileError::Missing,
        kind => FileError::Unreadable(kind),
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        FileError::NotText(before.iter().filter(|byte| **byte == b'\n').count() + 1)
    })?;
    parse(text.strip_prefix('\u{feff}').unwrap_or(text), delimiter)
}

fn parse(text: &str, delimiter: u8) -> Result<Tree, FileError> {
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text.as_bytes());
    let (mut paths, mut lines) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(|_| FileError::NotSeparated)?;
        lines.push(record.position().map_or(0, |position| line_of(position, text)));
        paths.push(record.iter().map(str::to_owned).collect::<Vec<_>>());
    }
    if !paths.is_empty() && paths.iter().all(|path| path.len() == 1) {
        return Err(FileError::OneLevel(delimiter));
    }
    Ok(Tree::from_paths(&paths).map_err(|error| at_lines_of_file(error, &lines))?)
}

/// The line of a record. The reader's position is before the empty lines that it skips to get there.
fn line_of(position: &csv::Position, text: &str) -> usize {
    let skipped =
        text.as_bytes().iter().skip(position.byte() as usize).take_while(|byte| matches!(byte, b'\n' | b'\r'));
    position.line() as usize + skipped.filter(|byte| **byte == b'\n').count()
}

/// The core counts paths. Where a file has empty lines between them, its own numbers are other ones.
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
