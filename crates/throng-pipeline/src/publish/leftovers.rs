//! What is at an output location of an object store before a run: a release, leftovers of dead runs, or files of others.
//!
//! A killed process leaves what it staged below `_throng/staging/`, and perhaps files under the unique names of its run
//! that no manifest lists. Neither blocks a later run.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use object_store::ObjectMeta;
use throng_policy::Mode;

use super::{SUCCESS, already_there, not_ours, writing};
use crate::error::JobError;
use crate::manifest::Manifest;
use crate::place::Place;

/// A run that has staged nothing for so long is dead.
const STAGING_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The leftovers of dead runs, which may be removed after a commit. Refuses an output that holds files of others.
pub(super) async fn look_around(
    output: &Place,
    mode: Mode,
    old: Option<&Manifest>,
    now: SystemTime,
) -> Result<Vec<Place>, JobError> {
    let failed = |error| writing(format!("looking at {output}"), &error);
    let listed: Vec<ObjectMeta> = output.store.list(Some(&output.path)).try_collect().await.map_err(failed)?;
    let of_release: HashSet<&str> = old.iter().flat_map(|old| &old.files).map(|file| file.path.as_str()).collect();
    let mut leftovers = Vec::new();
    let mut staged: HashMap<String, Vec<ObjectMeta>> = HashMap::new();
    for object in listed {
        let below = object.location.prefix_match(&output.path).into_iter().flatten();
        let parts: Vec<String> = below.map(|part| part.as_ref().to_owned()).collect();
        match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            // Some tools mark a folder by an empty object of its name.
            [] if object.size == 0 => {}
            ["_throng", "staging", run_id, _, ..] => staged.entry((*run_id).to_owned()).or_default().push(object),
            ["_throng", ..] => {}
            [name] if of_release.contains(name) => {}
            [name] if *name == SUCCESS && old.is_some() => {}
            [name] if is_of_a_run(name) => leftovers.push(output.at(object.location)),
            _ if mode == Mode::Error => return Err(already_there(output)),
            _ => return Err(not_ours(output)),
        }
    }
    let is_old =
        |object: &ObjectMeta| now.duration_since(object.last_modified.into()).is_ok_and(|age| age > STAGING_LIFETIME);
    let dead = staged.into_values().filter(|objects| objects.iter().all(is_old)).flatten();
    leftovers.extend(dead.map(|object| output.at(object.location)));
    Ok(leftovers)
}

/// Whether a name has the form `part-<32 hexadecimal digits>-<number>.parquet`, which only our runs give.
fn is_of_a_run(name: &str) -> bool {
    let middle = name.strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet"));
    middle.and_then(|middle| middle.split_once('-')).is_some_and(|(run_id, number)| {
        run_id.len() == 32
            && run_id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
            && number.len() >= 5
            && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_our_runs_are_leftovers() {
        let run_id = "0123456789abcdef".repeat(2);
        assert!(is_of_a_run(&format!("part-{run_id}-00000.parquet")));
        assert!(is_of_a_run(&format!("part-{run_id}-123456.parquet")));
        for name in [
            "part-00000.parquet".to_owned(),
            format!("part-{run_id}-00000.csv"),
            format!("part-{run_id}-0000.parquet"),
            format!("part-{run_id}-0000x.parquet"),
            format!("part-{run_id}0-00000.parquet"),
            format!("part-{}-00000.parquet", run_id.to_uppercase()),
            format!("part-{}-00000.parquet", "é".repeat(16)),
        ] {
            assert!(!is_of_a_run(&name), "{name}");
        }
    }
}
