//! A strict parser of the Prometheus text format, as restricted by the textfile collector: no timestamps on samples.

use std::collections::{BTreeMap, HashSet};

/// Samples of a text, by name and labels in order.
#[derive(Debug)]
pub struct Samples(BTreeMap<(String, Vec<(String, String)>), f64>);

impl Samples {
    /// Parses a text. Panics if a line is malformed.
    pub fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line is not ended");
        let mut samples = BTreeMap::new();
        let mut families: HashSet<String> = HashSet::new();
        let mut helped: Option<String> = None;
        let mut current: Option<String> = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap_or_else(|| panic!("no help: {line}"));
                assert!(is_name(name, true) && !help.is_empty(), "{line}");
                helped = Some(name.to_owned());
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!((helped.take().as_deref(), kind), (Some(name), "gauge"), "{line}");
                assert!(families.insert(name.to_owned()), "the family {name} is there twice");
                current = Some(name.to_owned());
            } else {
                let (name, labels, value) = sample(line);
                assert_eq!(current.as_deref(), Some(name.as_str()), "a sample outside of its family: {line}");
                assert!(samples.insert((name, labels), value).is_none(), "a sample is there twice: {line}");
            }
        }
        assert!(helped.is_none());
        Self(samples)
    }

    /// Returns the value of the sample with this name and these labels, besides the label of the policy.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let of = |(found, with): &(String, Vec<(String, String)>)| {
            let with: Vec<(&str, &str)> = with.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            found == name && with[0].0 == "policy" && with[1..] == *labels
        };
        self.0.iter().find(|(key, _)| of(key)).map(|(_, value)| *value)
    }

    /// Returns the names of all metrics.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.0.keys().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        names
    }

    /// Returns the values of a label, in the order of the samples.
    pub fn labels(&self, name: &str, label: &str) -> Vec<&str> {
        let of = self.0.keys().filter(|(found, _)| found == name);
        of.flat_map(|(_, labels)| labels.iter().filter(|(name, _)| name == label))
            .map(|(_, value)| &value[..])
            .collect()
    }
}

fn is_name(name: &str, colons: bool) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_' || (colons && c == ':');
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

fn sample(line: &str) -> (String, Vec<(String, String)>, f64) {
    let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("a sample without labels: {line}"));
    assert!(is_name(name, true), "{line}");
    let mut labels = Vec::new();
    let mut rest = rest;
    loop {
        let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(is_name(label, false) && !label.starts_with("__"), "{line}");
        let (value, after) = quoted(after).unwrap_or_else(|| panic!("{line}"));
        assert!(labels.iter().all(|(known, _)| known != label), "{line}");
        labels.push((label.to_owned(), value));
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => {
                rest = after.strip_prefix("} ").unwrap_or_else(|| panic!("{line}"));
                break;
            }
        }
    }
    (name.to_owned(), labels, rest.parse().unwrap_or_else(|_| panic!("no number, or a time after it: {line}")))
}

/// Parses a text up to its closing quote. Returns it and the rest.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                escaped @ ('\\' | '"') => escaped,
                _ => return None,
            }),
            other => value.push(other),
        }
    }
    None
}
