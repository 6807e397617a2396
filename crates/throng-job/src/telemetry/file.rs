//! Atomic replacement of files that other processes read: they see either the old or the new text.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The reason why a file could not be written at the end of a run.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// The path is a folder.
    #[error("is a folder; name a file")]
    Folder,
    /// The parent folder does not exist.
    #[error("lies in a folder that does not exist; create it first")]
    NoFolder,
}

/// Checks the path of a file before a run begins, so that the run does not fail at its end.
pub fn check_target(path: &Path) -> Result<(), TargetError> {
    if path.is_dir() || path.file_name().is_none() {
        return Err(TargetError::Folder);
    }
    if folder(path).is_dir() { Ok(()) } else { Err(TargetError::NoFolder) }
}

/// Replaces a file by one rename. The temporary name is hidden and has no extension that a collector reads.
pub(super) fn replace(path: &Path, run_id: &str, text: &str) -> io::Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fresh = folder(path).join(format!(".{name}.{run_id}.new"));
    let written = File::create_new(&fresh).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&fresh, path));
    if replaced.is_err() {
        // The first error is returned.
        let _ = fs::remove_file(&fresh);
    }
    replaced
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("census.prom");
        for text in ["old\n", "new\n"] {
            replace(&path, "7", text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), ["census.prom"]);
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(replace(&path, "7", "text").is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[test]
    fn a_target_that_can_not_be_written_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(check_target(folder.path()), Err(TargetError::Folder));
        assert_eq!(check_target(&folder.path().join("none/census.prom")), Err(TargetError::NoFolder));
        assert_eq!(check_target(&folder.path().join("census.prom")), Ok(()));
        assert_eq!(check_target(Path::new("census.prom")), Ok(()));
    }
}
