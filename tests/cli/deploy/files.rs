//! Minimal parsers for the files in `deploy/`.

use std::fs;
use std::path::{Path, PathBuf};

use yaml_rust2::{Yaml, YamlLoader};

/// Returns the path of a file of the repository.
pub fn path(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(name)
}

pub fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the documents of a YAML file.
pub fn yaml(name: &str) -> Vec<Yaml> {
    YamlLoader::load_from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the only document of this kind.
pub fn object(name: &str, kind: &str) -> Yaml {
    let mut found = yaml(name).into_iter().filter(|document| document["kind"].as_str() == Some(kind));
    let one = found.next().unwrap_or_else(|| panic!("{name} has no {kind}"));
    assert!(found.next().is_none(), "{name} has more than one {kind}");
    one
}

/// Returns the strings of a list.
pub fn strings(list: &Yaml) -> Vec<String> {
    list.as_vec().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// Returns the numbers of a list.
pub fn numbers(list: &Yaml) -> Vec<i64> {
    list.as_vec().unwrap().iter().map(|item| item.as_i64().unwrap()).collect()
}

/// Returns the settings of a systemd unit: section, key, value.
pub fn unit(name: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for line in text(name).lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => section = name.to_owned(),
            None => {
                let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{name}: {line}"));
                assert!(!section.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric()), "{name}: {line}");
                settings.push((section.clone(), key.to_owned(), value.to_owned()));
            }
        }
    }
    settings
}

/// Returns the only value of a setting.
pub fn setting<'a>(unit: &'a [(String, String, String)], section: &str, key: &str) -> &'a str {
    let found: Vec<&str> =
        unit.iter().filter(|(s, k, _)| s == section && k == key).map(|(_, _, value)| value.as_str()).collect();
    assert_eq!(found.len(), 1, "{section}.{key}: {found:?}");
    found[0]
}

/// Returns the instructions of a Containerfile with their arguments, by stage.
pub fn stages(name: &str) -> Vec<Vec<(String, String)>> {
    let lines: Vec<String> = text(name).lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let whole = lines.join("\n").replace("\\\n", " ");
    let mut stages: Vec<Vec<(String, String)>> = Vec::new();
    for line in whole.lines().filter(|line| !line.trim().is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{name}: {line}"));
        assert!(word.chars().all(|c| c.is_ascii_uppercase()), "{name}: {line}");
        if word == "FROM" {
            stages.push(Vec::new());
        }
        stages.last_mut().unwrap().push((word.to_owned(), rest.trim().to_owned()));
    }
    stages
}

/// Returns the lists of strings after a name in Python, like `arguments=["run", "x"]`.
pub fn python_lists(text: &str, name: &str) -> Vec<Vec<String>> {
    let start = format!("{name}=[");
    let lists = text.split(&start).skip(1);
    let list = |rest: &str| {
        let (inside, _) = rest.split_once(']').unwrap();
        inside.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    lists.map(list).collect()
}

/// Parses a size with a unit of Kubernetes, systemd or compose, all of which are powers of 1024 here.
pub fn bytes(size: &str) -> u64 {
    let digits = size.find(|c: char| !c.is_ascii_digit()).unwrap();
    let factor = match &size[digits..] {
        "Gi" | "G" | "GiB" => 1 << 30,
        "Mi" | "m" | "MiB" => 1 << 20,
        other => panic!("{size}: {other}"),
    };
    size[..digits].parse::<u64>().unwrap() * factor
}
