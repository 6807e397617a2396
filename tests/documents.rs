//! Documents name only what exists: tests in italics, paths and types in backticks.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod repository;

use std::collections::BTreeSet;

use repository::{files_below, text_of, type_defined_by};

/// Documents that name parts of the repository.
const DOCUMENTS: [&str; 3] = ["SECURITY.md", "ARCHITECTURE.md", "GLOSSARY.md"];
/// Extensions by which a word in backticks is a file.
const EXTENSIONS: [&str; 7] = [".rs", ".slt", ".md", ".yaml", ".json", ".py", ".toml"];

/// Index of the repository for checking documents.
struct Repository {
    /// All files, and all folders with a trailing `/`.
    paths: BTreeSet<String>,
    types: BTreeSet<String>,
    functions: BTreeSet<String>,
    tests: BTreeSet<String>,
}

impl Repository {
    fn read() -> Self {
        let (mut paths, mut types) = (BTreeSet::new(), BTreeSet::new());
        let (mut functions, mut tests) = (BTreeSet::new(), BTreeSet::new());
        for path in files_below("") {
            paths.extend(path.match_indices('/').map(|(at, _)| path[..=at].to_owned()));
            if path.ends_with(".rs") {
                let text = text_of(&path);
                types.extend(text.lines().filter_map(type_defined_by).map(str::to_owned));
                let mut is_test = false;
                for line in text.lines().map(str::trim_start) {
                    if let Some(name) = function_defined_by(line) {
                        functions.insert(name.to_owned());
                        if is_test {
                            tests.insert(name.to_owned());
                        }
                        is_test = false;
                    }
                    is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
                }
            }
            paths.insert(path);
        }
        Self { paths, types, functions, tests }
    }

    /// Whether a path of a document is that of a file, a module or a folder.
    ///
    /// Documents write `core/table.rs` for `crates/throng-core/src/table.rs`, omit the folders of a path before its
    /// first distinctive one, and name a module or a test without its extension.
    fn has_path(&self, path: &str) -> bool {
        let mut forms = vec![path.to_owned()];
        if let Some((package, rest)) = path.split_once('/') {
            forms.push(format!("crates/throng-{package}/src/{rest}"));
            forms.push(format!("crates/{path}"));
        }
        forms.iter().any(|form| {
            let ends = [form.clone(), format!("{form}.rs"), format!("{form}/")];
            ends.iter().any(|end| {
                self.paths.contains(end) || self.paths.iter().any(|known| known.ends_with(&format!("/{end}")))
            })
        })
    }
}

/// Returns the name of the function that a line defines.
fn function_defined_by(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("fn ") {
        Some(rest) => rest,
        None => line.split_once(" fn ").filter(|(before, _)| is_before_a_function(before))?.1,
    };
    Some(&rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_')?])
}

fn is_before_a_function(text: &str) -> bool {
    text.split(' ').all(|word| ["async", "const", "unsafe"].contains(&word) || word.starts_with("pub"))
}

/// Returns the texts between two marks, outside of fenced blocks.
fn between(text: &str, mark: char) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            found.extend(line.split(mark).skip(1).step_by(2));
        }
    }
    found
}

fn is_path(word: &str) -> bool {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let is_file = EXTENSIONS.iter().any(|extension| word.ends_with(extension) && word.len() > extension.len());
    // A path that begins with `_throng/` is in a release.
    is_plain && (word.contains('/') || is_file) && !word.starts_with('_') && !word.starts_with('/')
}

/// Returns the type and its member that a word names: `Recoding`, `Recoding::new`.
fn as_type(word: &str) -> Option<(&str, Option<&str>)> {
    let (name, member) = match word.split_once("::") {
        Some((name, member)) => (name, Some(member)),
        None => (word, None),
    };
    let is_name = name.chars().all(char::is_alphanumeric)
        && name.starts_with(char::is_uppercase)
        && name.contains(char::is_lowercase);
    is_name.then_some((name, member))
}

#[test]
fn documents_name_paths_and_types_that_exist() {
    let repository = Repository::read();
    let mut absent = Vec::new();
    for document in DOCUMENTS {
        for word in between(&text_of(document), '`') {
            let is_there = match as_type(word) {
                Some((name, member)) => {
                    repository.types.contains(name) && member.is_none_or(|member| repository.functions.contains(member))
                }
                None => !is_path(word) || repository.has_path(word),
            };
            if !is_there {
                absent.push(format!("`{word}` in {document}"));
            }
        }
    }
    assert!(absent.is_empty(), "documents name what does not exist: {absent:#?}");
}

#[test]
fn documents_name_tests_that_exist() {
    let repository = Repository::read();
    let (mut named, mut absent) = (0, Vec::new());
    for document in DOCUMENTS {
        for word in between(&text_of(document).replace("**", ""), '*') {
            let is_name = word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if is_name && word.contains('_') {
                named += 1;
                if !repository.tests.contains(word) {
                    absent.push(format!("*{word}* in {document}"));
                }
            }
        }
    }
    assert!(named > 5, "only {named} tests were found in italics");
    assert!(absent.is_empty(), "documents name tests that do not exist: {absent:#?}");
}
