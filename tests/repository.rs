//! Files of this repository, for tests that read its sources and documents.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders without sources: build output and the history.
const LEFT_OUT: [&str; 3] = [".git", "target", "node_modules"];

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Returns the files below a folder of the repository, as paths from its root with `/`, sorted.
pub fn files_below(folder: &str) -> Vec<String> {
    let root = root();
    let mut files = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !LEFT_OUT.contains(&name.as_str()) {
                folders.push(path);
            } else if path.is_file() {
                files.push(path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    files.sort();
    files
}

/// Returns the text of a file, or an empty text for a file that is not UTF-8.
pub fn text_of(path: &str) -> String {
    String::from_utf8(fs::read(root().join(path)).unwrap()).unwrap_or_default()
}

/// Returns the name of the type that a line of Rust defines: a struct, an enum, a trait, a union or an alias.
///
/// An alias must begin its line: an indented one is an associated type.
pub fn type_defined_by(line: &str) -> Option<&str> {
    let declaration = line.trim_start();
    let is_indented = declaration.len() < line.len();
    let declaration = match declaration.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => declaration,
    };
    let (keyword, rest) = declaration.split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !is_indented,
        _ => false,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (is_type && rest.starts_with(char::is_uppercase)).then(|| &rest[..end])
}
