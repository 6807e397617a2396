//! One word, one meaning: no two types share a name, and papers are cited by the keys of REFERENCES.md.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod repository;

use std::collections::{BTreeMap, BTreeSet};

use repository::{files_below, text_of, type_defined_by};

/// Returns the lines of a source file that are in no test and in every build, with their numbers.
///
/// Skips inline test modules, and items that only exist without a feature: with the feature, another item replaces
/// them.
fn built_lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = Vec::new();
    let mut numbered = (1..).zip(text.lines());
    while let Some((number, line)) = numbered.next() {
        let is_module_of_tests = line == "#[cfg(test)]";
        if is_module_of_tests || line.starts_with("#[cfg(not(feature") {
            // The item ends with its block, or with its first line if it has no block.
            let mut next = numbered.by_ref().skip_while(|(_, line)| line.starts_with("#[") || line.starts_with("///"));
            if next.next().is_some_and(|(_, line)| line.ends_with('{')) {
                numbered.by_ref().find(|(_, line)| line.starts_with('}'));
            }
            continue;
        }
        lines.push((number, line));
    }
    lines
}

/// Returns the modules that exist only in tests: `#[cfg(test)] mod name;` in a file of the same crate.
fn test_modules(sources: &[String]) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for path in sources {
        let text = text_of(path);
        let lines: Vec<_> = text.lines().collect();
        for pair in lines.windows(2) {
            let name = pair[1].strip_prefix("mod ").or_else(|| pair[1].strip_prefix("pub(crate) mod "));
            if let ("#[cfg(test)]", Some(name)) = (pair[0], name.and_then(|name| name.strip_suffix(';'))) {
                modules.insert(name.to_owned());
            }
        }
    }
    modules
}

#[test]
fn every_type_name_is_defined_once() {
    let sources: Vec<_> = files_below("crates")
        .into_iter()
        .filter(|path| path.ends_with(".rs") && path.split('/').nth(2) == Some("src"))
        .collect();
    let test_modules = test_modules(&sources);
    let mut definitions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in &sources {
        let module = path.rsplit('/').next().unwrap().trim_end_matches(".rs");
        if module.ends_with("_tests") || test_modules.contains(module) {
            continue;
        }
        for (number, line) in built_lines(&text_of(path)) {
            if let Some(name) = type_defined_by(line) {
                definitions.entry(name.to_owned()).or_default().push(format!("{path}:{number}"));
            }
        }
    }
    assert!(definitions.len() > 100, "only {} types were found", definitions.len());
    definitions.retain(|_, places| places.len() > 1);
    assert!(definitions.is_empty(), "types with the name of another: {definitions:#?}");
}

/// Whether a text cites a paper by a letter, which identifies nothing to a reader.
fn cites_by_letter(text: &str) -> bool {
    ["paper ", "papers ", "Paper ", "Papers ", "paper_"].into_iter().any(|word| {
        text.match_indices(word).any(|(at, _)| {
            let mut rest = text[at + word.len()..].chars();
            let letters = if word.ends_with('_') { 'a'..='e' } else { 'A'..='E' };
            let ends_word = |after: char| match word.ends_with('_') {
                true => !after.is_alphanumeric(),
                false => !after.is_alphanumeric() && after != '_' && after != '\'',
            };
            rest.next().is_some_and(|letter| letters.contains(&letter)) && rest.next().is_none_or(ends_word)
        })
    })
}

/// Returns the sources and documents that may cite a paper.
fn citing_files() -> impl Iterator<Item = String> {
    let documents = files_below("").into_iter().filter(|path| !path.contains('/') && path.ends_with(".md"));
    ["crates", "docs", "benches", "tests", "fuzz"].into_iter().flat_map(files_below).chain(documents)
}

#[test]
fn a_letter_is_noticed_in_text_and_in_names() {
    for text in [["see Paper", " B."].concat(), ["fn table_of_paper", "_d_is()"].concat(), ["paper", "_a"].concat()] {
        assert!(cites_by_letter(&text), "{text}");
    }
    for text in ["Paper Trails", "paper_table_1", "Paper A's", "papers and", "paper_d1"] {
        assert!(!cites_by_letter(text), "{text}");
    }
}

#[test]
fn papers_are_cited_by_their_keys() {
    let mut found = Vec::new();
    for path in citing_files() {
        let text = text_of(&path);
        found.extend(
            (1..).zip(text.lines()).filter(|(_, line)| cites_by_letter(line)).map(|(n, _)| format!("{path}:{n}")),
        );
    }
    assert!(found.is_empty(), "papers without a key of REFERENCES.md: {found:#?}");
}

#[test]
fn every_key_is_in_the_references() {
    let references = text_of("REFERENCES.md");
    let mut unknown = BTreeSet::new();
    for path in citing_files() {
        for part in text_of(&path).split('[').skip(1) {
            let end = part.find([',', ']']).unwrap_or(part.len());
            let key = &part[..end];
            if is_key(key) && !references.contains(&format!("**[{key}]**")) {
                unknown.insert(format!("{key} in {path}"));
            }
        }
    }
    assert!(unknown.is_empty(), "keys that REFERENCES.md does not have: {unknown:#?}");
}

#[test]
fn the_glossary_is_in_alphabetical_order() {
    let text = text_of("GLOSSARY.md");
    let entries = text.lines().filter_map(|line| line.strip_prefix("**")?.split("**").next());
    let words: Vec<String> = entries.map(|entry| entry.to_lowercase().replace(['-', '/'], " ")).collect();
    assert!(words.len() > 50, "only {} entries were found", words.len());
    let unsorted: Vec<_> = words.windows(2).filter(|pair| pair[0] > pair[1]).collect();
    assert!(unsorted.is_empty(), "entries of GLOSSARY.md out of order: {unsorted:?}");
}

/// Whether a text in brackets has the form of a key: a name and a year.
fn is_key(text: &str) -> bool {
    text.rsplit_once(' ').is_some_and(|(name, year)| {
        let is_name = name.starts_with(char::is_uppercase) && name.chars().all(|c| c.is_alphabetic() || c == '-');
        is_name && year.len() == 4 && year.chars().all(|c| c.is_ascii_digit())
    })
}
