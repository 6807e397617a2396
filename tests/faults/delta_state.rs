//! State of a Delta table as a reader of its log sees it, without any library.

use serde_json::Value;

use crate::state::Objects;
use crate::trial::{KnownFile, Trial, digest};

/// Returns the known release that the latest version is, by the digests of its files; `None` if there is no table. Every entry must
/// be whole, and each version must replace the one before.
pub fn latest(trial: &Trial, objects: &Objects) -> Option<usize> {
    let entries = entries(objects);
    for pair in entries.windows(2) {
        assert_eq!(paths(&pair[1], "remove"), paths(&pair[0], "add"));
    }
    let file = |path: &String| {
        let bytes = objects.get(path).unwrap_or_else(|| panic!("the latest version names an absent file"));
        (bytes.len() as u64, digest(bytes))
    };
    let files: Vec<(u64, String)> = paths(entries.last()?, "add").iter().map(file).collect();
    let is_known = |known: &Vec<KnownFile>| {
        known.iter().map(|file| (file.bytes, file.sha256.clone())).collect::<Vec<_>>() == files
    };
    Some(trial.known.iter().position(is_known).unwrap_or_else(|| panic!("the latest version is no known release")))
}

/// Returns the data files that no version names.
pub fn unlisted(objects: &Objects) -> Vec<String> {
    let listed: Vec<String> = entries(objects).iter().flat_map(|entry| paths(entry, "add")).collect();
    let files = objects.keys().filter(|name| !name.starts_with('_') && name.ends_with(".parquet"));
    files.filter(|name| !listed.contains(name)).cloned().collect()
}

/// Returns the run that made the latest version, and its files; `None` if there is no table.
pub fn latest_files(objects: &Objects) -> Option<(String, Vec<String>)> {
    let entries = entries(objects);
    let entry = entries.last()?;
    let run = entry.iter().find_map(|line| line["commitInfo"]["throngRunId"].as_str());
    Some((run.expect("an entry names its run").to_owned(), paths(entry, "add")))
}

/// Returns the number of versions.
pub fn versions(objects: &Objects) -> usize {
    entries(objects).len()
}

/// Returns the lines of each entry of the log.
fn entries(objects: &Objects) -> Vec<Vec<Value>> {
    let names = objects.iter().filter_map(|(name, bytes)| Some((name.strip_prefix("_delta_log/")?, bytes)));
    let entry = |(version, (name, bytes)): (usize, (&str, &Vec<u8>))| {
        assert_eq!(name, format!("{version:020}.json"));
        let text = std::str::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    names.enumerate().map(entry).collect()
}

fn paths(entry: &[Value], action: &str) -> Vec<String> {
    let mut paths: Vec<String> =
        entry.iter().filter_map(|line| line[action]["path"].as_str().map(str::to_owned)).collect();
    paths.sort();
    paths
}
