//! State of an output as a reader sees it: nothing, or one whole release.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::sandbox;
use crate::trial::{Trial, digest, listed};

const MANIFEST: &str = "_throng/manifest.json";
const METRICS: &str = "_throng/metrics.json";
const SUCCESS: &str = "_SUCCESS";

/// Objects of an output by their path below it.
pub type Objects = BTreeMap<String, Vec<u8>>;

/// State of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Index of the known release that is current.
    pub release: Option<usize>,
    /// Whether `_SUCCESS` exists.
    pub is_complete: bool,
    /// Other objects.
    pub left: BTreeSet<String>,
}

/// Inspects an output. Returns an error unless it is empty or has one whole release, with at most hidden or verified
/// objects besides.
pub fn look(trial: &Trial, objects: &Objects) -> Result<State, String> {
    let text = |name: &str| objects.get(name).map(|bytes| serde_json::from_slice::<Value>(bytes));
    let run_id = |name: &str| match text(name) {
        Some(Ok(document)) => Ok(document["run_id"].as_str().map(str::to_owned)),
        Some(Err(_)) => Err(format!("{name} is not whole")),
        None => Ok(None),
    };
    let (manifest_run, metrics_run) = (run_id(MANIFEST)?, run_id(METRICS)?);
    let is_complete = objects.contains_key(SUCCESS);
    let mut of_release: BTreeSet<String> = BTreeSet::new();
    let release = match objects.get(MANIFEST) {
        None if is_complete => return Err("there is _SUCCESS without a release".to_owned()),
        None => None,
        Some(bytes) => {
            let files = listed(bytes);
            let release = trial.known.iter().position(|known| *known == files);
            let Some(release) = release else { return Err("the manifest lists no known release".to_owned()) };
            let manifest: Value = serde_json::from_slice(bytes).unwrap();
            for (entry, known) in manifest["files"].as_array().unwrap().iter().zip(&files) {
                let path = entry["path"].as_str().unwrap();
                let Some(found) = objects.get(path) else { return Err(format!("{path} is listed and missing")) };
                if found.len() as u64 != known.bytes || digest(found) != known.sha256 {
                    return Err(format!("{path} has another content than the manifest says"));
                }
                of_release.insert(path.to_owned());
            }
            of_release.extend([MANIFEST, METRICS, SUCCESS].map(str::to_owned));
            Some(release)
        }
    };
    if is_complete && manifest_run != metrics_run {
        return Err("the metrics beside _SUCCESS are those of another run".to_owned());
    }
    let left: BTreeSet<String> = objects.keys().filter(|path| !of_release.contains(*path)).cloned().collect();
    let known: BTreeSet<&str> = trial.known.iter().flatten().map(|file| file.sha256.as_str()).collect();
    for path in left.iter().filter(|path| !path.starts_with(['_', '.'])) {
        if !known.contains(digest(&objects[path]).as_str()) {
            return Err(format!("{path} is visible and was never verified"));
        }
    }
    Ok(State { release, is_complete, left })
}

/// Returns the files of a folder as objects.
pub fn objects_of(folder: &Path) -> Objects {
    if !folder.exists() {
        return Objects::new();
    }
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
    sandbox::contents(folder).into_iter().map(|(path, bytes)| (name(&path), bytes)).collect()
}

/// Inspects a local output. It must be absent or whole, because a rename publishes all of it at once.
pub fn look_at_folder(trial: &Trial, folder: &Path) -> Result<State, String> {
    let state = look(trial, &objects_of(folder))?;
    match state.release {
        Some(_) if state.is_complete && state.left.is_empty() => Ok(state),
        None if fs::symlink_metadata(folder).is_err() => Ok(state),
        _ => Err(format!("{} holds half of a release: {state:?}", folder.display())),
    }
}

#[test]
fn what_is_no_whole_release_is_reported() {
    let trial = Trial::new(600, 1);
    let whole = objects_of(&trial.sandbox.path("known-0"));
    let changed = |change: &dyn Fn(&mut Objects)| {
        let mut objects = whole.clone();
        change(&mut objects);
        look(&trial, &objects)
    };
    let state = State { release: Some(0), is_complete: true, left: BTreeSet::new() };
    assert_eq!(look(&trial, &whole), Ok(state.clone()));
    assert_eq!(look(&trial, &Objects::new()), Ok(State { release: None, is_complete: false, ..state.clone() }));
    let part = whole.keys().find(|name| name.starts_with("part-")).unwrap();
    let wrong = [
        (changed(&|objects| drop(objects.remove(part))), "is listed and missing"),
        (changed(&|objects| objects.get_mut(part).unwrap()[9] ^= 1), "another content"),
        (changed(&|objects| objects.get_mut(part).unwrap().truncate(90)), "another content"),
        (changed(&|objects| drop(objects.remove(MANIFEST))), "_SUCCESS without a release"),
        (changed(&|objects| objects.get_mut(METRICS).unwrap().truncate(20)), "is not whole"),
        (changed(&|objects| drop(objects.remove(METRICS))), "those of another run"),
        (changed(&|objects| drop(objects.insert("part-9.parquet".to_owned(), b"PAR1".to_vec()))), "never verified"),
    ];
    for (found, says) in wrong {
        assert!(found.as_ref().is_err_and(|wrong| wrong.contains(says)), "{found:?} should say {says}");
    }
    let staged = "_throng/staging/run/part-00000.parquet".to_owned();
    let hidden = changed(&|objects| drop(objects.insert(staged.clone(), b"PAR1".to_vec())));
    assert_eq!(hidden, Ok(State { left: [staged.clone()].into(), ..state }));
}
