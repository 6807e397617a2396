//! Publish on the local file system: a hidden folder beside the output, and one rename.
//!
//! Two runs at once: each looks, when it begins, which release stands. The commit takes turns, by a lock on the folder above,
//! and happens only if the same release stands still. Where a file system has no locks, an exchange of folders is still one
//! step, and of two runs that overwrite in the same moment the last one stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use throng_policy::Mode;

use super::orphans::{self, Guard};
use super::{Documents, Finish, METRICS, REPORT, SUCCESS, already_there, json, lost, not_ours, without_attempt};
use crate::error::{JobError, Kind};
use crate::manifest::{FileEntry, MANIFEST, Manifest};
use crate::store_path::StorePath;

/// A hidden folder that becomes the output. Dropping it removes it.
#[derive(Debug)]
pub(super) struct LocalSite {
    output: PathBuf,
    folder: PathBuf,
    mode: Mode,
    /// The run whose release stood when this one began.
    seen: Option<String>,
    /// Folders above that had to be made, the innermost first.
    made: Vec<PathBuf>,
    /// Tells others that this run is alive.
    _alive: Option<Guard>,
    /// Where attempts are staged, with the same lock.
    attempts: OnceLock<(PathBuf, Option<Guard>)>,
}

/// What is at an output.
enum OutputState {
    /// Nothing, or an empty folder.
    Nothing,
    /// A release of ours and nothing else, by this run.
    Release(String),
    /// Anything else.
    Other,
}

impl LocalSite {
    pub(super) fn begin(output: PathBuf, mode: Mode, run_id: &str) -> Result<Self, JobError> {
        let output = without_link(output)?;
        let seen = match (look(&output)?, mode) {
            (OutputState::Nothing, _) => None,
            (OutputState::Release(run_id), Mode::Overwrite) => Some(run_id),
            (OutputState::Release(_) | OutputState::Other, Mode::Error) => {
                return Err(already_there(&output.display()));
            }
            (OutputState::Other, Mode::Overwrite) => return Err(not_ours(&output.display())),
        };
        let parent = output.parent().unwrap_or(Path::new("/"));
        let folder = parent.join(orphans::staging_name(&output, run_id));
        let made = parent.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
        let mut site = Self { output, folder, mode, seen, made, _alive: None, attempts: OnceLock::new() };
        site._alive = orphans::create_guarded(&site.folder)
            .map_err(|error| JobError::file_system(format!("creating {}", site.folder.display()), &error))?;
        for dead in orphans::find_local(&site.output, orphans::LIFETIME).dead {
            let folder = dead.path.clone();
            match dead.remove() {
                Ok(()) => tracing::info!(folder = %folder.display(), "removed what a dead run left behind"),
                Err(error) => {
                    tracing::warn!(folder = %folder.display(), %error, "could not remove what a dead run left behind")
                }
            }
        }
        Ok(site)
    }

    pub(super) fn place(&self) -> Result<StorePath, JobError> {
        StorePath::local(&self.folder)
    }

    /// A folder like the other, for attempts.
    pub(super) fn attempts(&self) -> Result<StorePath, JobError> {
        if let Some((folder, _)) = self.attempts.get() {
            return StorePath::local(folder);
        }
        let parent = self.output.parent().unwrap_or(Path::new("/"));
        let folder = parent.join(orphans::staging_name(&self.output, &uuid::Uuid::new_v4().simple().to_string()));
        let guard = orphans::create_guarded(&folder)
            .map_err(|error| JobError::file_system(format!("creating {}", folder.display()), &error))?;
        StorePath::local(&self.attempts.get_or_init(|| (folder, guard)).0)
    }

    /// Moves attempts to the folder that is published.
    pub(super) fn take(&self, attempts: Vec<FileEntry>) -> Result<Vec<FileEntry>, JobError> {
        let failed = |error: io::Error| JobError::file_system(format!("staging {}", self.output.display()), &error);
        let Some((folder, _)) = self.attempts.get() else { return Ok(attempts) };
        let take = |file: FileEntry| {
            let path = without_attempt(&file.path);
            fs::rename(folder.join(&file.path), self.folder.join(&path)).map_err(failed)?;
            Ok(FileEntry { path, ..file })
        };
        attempts.into_iter().map(take).collect()
    }

    /// Completes the folder, and renames it; or exchanges it for the release that it replaces.
    pub(super) fn commit(&self, manifest: &Manifest, sidecar: Finish<'_>) -> Result<(), JobError> {
        let failed = |error: io::Error| JobError::file_system(format!("publishing {}", self.output.display()), &error);
        let beside = self.folder.join("_throng");
        fs::create_dir_all(&beside).map_err(failed)?;
        write_synced(&self.folder.join(MANIFEST), &json(manifest)?).map_err(failed)?;
        for file in &manifest.files {
            sync(&self.folder.join(&file.path)).map_err(failed)?;
        }
        let documents = Documents::of(&sidecar())?;
        if let Some(report) = &documents.report {
            write_synced(&self.folder.join(REPORT), report).map_err(failed)?;
        }
        write_synced(&self.folder.join(METRICS), &documents.metrics).map_err(failed)?;
        write_synced(&self.folder.join(SUCCESS), b"").map_err(failed)?;
        make_readable(&self.folder).map_err(failed)?;
        for folder in [&beside, &self.folder] {
            sync(folder).map_err(failed)?;
        }
        let _turn = self.output.parent().and_then(take_turn);
        match look(&self.output)? {
            OutputState::Nothing => fs::rename(&self.folder, &self.output).or_else(|error| match look(&self.output)? {
                OutputState::Nothing => Err(failed(error)),
                OutputState::Release(_) => Err(lost(&self.output.display())),
                OutputState::Other => Err(self.refused()),
            }),
            OutputState::Release(run_id) if self.mode == Mode::Overwrite && self.seen.as_ref() == Some(&run_id) => {
                exchange(&self.folder, &self.output).map_err(failed)
            }
            OutputState::Release(_) => Err(lost(&self.output.display())),
            OutputState::Other => Err(self.refused()),
        }
    }

    fn refused(&self) -> JobError {
        match self.mode {
            Mode::Error => already_there(&self.output.display()),
            Mode::Overwrite => not_ours(&self.output.display()),
        }
    }

    /// What was replaced goes with the folder. A rename that is not on disk yet can only be lost whole.
    pub(super) fn clean(self) {
        if let Some(parent) = self.output.parent()
            && let Err(error) = sync(parent)
        {
            let output = self.output.display();
            tracing::warn!(%output, %error, "the release is published, but may be lost if the machine stops now");
        }
    }
}

impl Drop for LocalSite {
    /// Removes what was staged; after a commit, what was replaced.
    fn drop(&mut self) {
        for folder in [Some(&self.folder), self.attempts.get().map(|(folder, _)| folder)].into_iter().flatten() {
            if let Err(error) = fs::remove_dir_all(folder)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(folder = %folder.display(), %error, "could not remove a staging folder");
            }
        }
        for above in &self.made {
            // Fails where the release, or something of others, is in it by now.
            let _ = fs::remove_dir(above);
        }
    }
}

/// Waits until no other run commits to an output in this folder. None where folders can't be locked.
fn take_turn(folder: &Path) -> Option<fs::File> {
    let folder = fs::File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// The folder that an output which is a link points at, so that the release is staged beside it and the link stays.
fn without_link(output: PathBuf) -> Result<PathBuf, JobError> {
    match output.canonicalize() {
        Ok(real) => Ok(real),
        Err(_) if output.is_symlink() => {
            let text = format!("{} is a link to a folder that can't be reached", output.display());
            Err(JobError::new(Kind::BadPolicy, format!("{text}; create that folder, or remove the link")))
        }
        // Absent; or what is wrong shows when it is looked at.
        Err(_) => Ok(output),
    }
}

/// What is at an output now.
fn look(output: &Path) -> Result<OutputState, JobError> {
    let failed = |error: io::Error| JobError::file_system(format!("looking at {}", output.display()), &error);
    if output.is_file() {
        return Err(not_ours(&output.display()));
    }
    match fs::read_dir(output).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(OutputState::Nothing),
        Ok(false) => Ok(release_in(output).map_err(failed)?.map_or(OutputState::Other, OutputState::Release)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(OutputState::Nothing),
        Err(error) => Err(failed(error)),
    }
}

/// The run of a folder that is a release of ours and nothing else, so that nothing of others goes with it.
fn release_in(folder: &Path) -> io::Result<Option<String>> {
    let bytes = match fs::read(folder.join(MANIFEST)) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let Some(manifest) = Manifest::parse(&bytes) else { return Ok(None) };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        let is_ours = match entry.file_name().to_str() {
            Some("_throng") => is_folder,
            Some(name) => !is_folder && (name == SUCCESS || manifest.lists(name)),
            None => false,
        };
        if !is_ours {
            return Ok(None);
        }
    }
    Ok(Some(manifest.run_id))
}

/// Brings a file or a folder to disk.
fn sync(path: &Path) -> io::Result<()> {
    fs::File::open(path).and_then(|file| file.sync_all())
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use io::Write;
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// What is verified may be read by whoever may read the folder above, and written by its owner only.
#[cfg(unix)]
fn make_readable(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let above = folder.parent().map(fs::metadata).transpose()?;
    let mode = above.map_or(0o755, |above| above.permissions().mode() & 0o755);
    fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700))
}

#[cfg(not(unix))]
fn make_readable(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Two folders change places in one step.
#[cfg(target_os = "linux")]
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE)?)
}

/// Where the system has no exchange, there is a moment without a release, and never one with half of one.
#[cfg(not(target_os = "linux"))]
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    let aside = new.with_extension("old");
    fs::rename(old, &aside)?;
    fs::rename(new, old)?;
    fs::rename(aside, new)
}
