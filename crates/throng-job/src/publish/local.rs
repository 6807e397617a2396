//! Publishes on the local file system: a hidden staging folder beside the output, and one rename.
//!
//! Concurrent runs: each run records the current release when it begins. Commits are serialized by a lock on the parent
//! folder, and a commit succeeds only if that release is still the current one. On a file system without locks the
//! exchange of folders is still atomic, and if two runs overwrite at the same time, the last one wins.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use throng_policy::Mode;

use super::orphans::{self, Guard};
use super::{
    Documents, Finish, METRICS, REPORT, SUCCESS, already_there, json, lost, named_after_run, not_ours, without_attempt,
};
use crate::error::{JobError, Kind};
use crate::manifest::{FileEntry, MANIFEST, Manifest};
use crate::store_path::StorePath;

/// A hidden folder that becomes the output. It is removed on drop.
#[derive(Debug)]
pub(super) struct LocalSite {
    output: PathBuf,
    folder: PathBuf,
    mode: Mode,
    /// Run id of the release that was current when this run began.
    seen: Option<String>,
    /// Parent folders that had to be created, innermost first.
    made: Vec<PathBuf>,
    /// Lock that marks this run as alive.
    _alive: Option<Guard>,
    /// Staging folder of attempts, with its lock.
    attempts: OnceLock<(PathBuf, Option<Guard>)>,
    /// Spare open files, closed before the staging is removed: the process may have reached its limit of open files by
    /// then.
    spare: Vec<fs::File>,
}

/// Number of files that are open while a folder with one folder below it is removed.
const SPARE_FILES: usize = 3;

/// State of an output location.
enum OutputState {
    /// Absent, or an empty folder.
    Nothing,
    /// A release of Throng and nothing else, with its run id.
    Release(String),
    /// Anything else.
    Other,
}

impl LocalSite {
    pub(super) fn begin(output: PathBuf, mode: Mode, run_id: &str) -> Result<Self, JobError> {
        let output = without_link(output)?;
        let seen = match (look(&output)?, mode) {
            (OutputState::Nothing, _) => None,
            (OutputState::Release(run_id), Mode::Overwrite | Mode::Series | Mode::Append) => Some(run_id),
            (OutputState::Release(_) | OutputState::Other, Mode::Error) => {
                return Err(already_there(&output.display()));
            }
            (OutputState::Other, Mode::Overwrite | Mode::Series | Mode::Append) => {
                return Err(not_ours(&output.display()));
            }
        };
        Self::stage(output, mode, seen, run_id)
    }

    /// Creates the staging folder of an output whose state is known.
    pub(super) fn stage(output: PathBuf, mode: Mode, seen: Option<String>, run_id: &str) -> Result<Self, JobError> {
        let spare = (0..SPARE_FILES).map(|_| fs::File::open("/")).collect::<io::Result<Vec<_>>>();
        let spare = spare.map_err(|error| JobError::file_system(format!("staging {}", output.display()), &error))?;
        let parent = output.parent().unwrap_or(Path::new("/"));
        let folder = parent.join(orphans::staging_name(&output, run_id));
        let made = parent.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
        let mut site = Self { output, folder, mode, seen, made, _alive: None, attempts: OnceLock::new(), spare };
        site._alive = orphans::create_guarded(&site.folder)
            .map_err(|error| JobError::creating(format!("creating {}", site.folder.display()), &error))?;
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

    /// Returns the staging folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn place(&self) -> Result<StorePath, JobError> {
        StorePath::local(&self.folder)
    }

    /// Returns the staging folder of attempts, and creates it on first use.
    pub(super) fn attempts(&self) -> Result<StorePath, JobError> {
        if let Some((folder, _)) = self.attempts.get() {
            return StorePath::local(folder);
        }
        let parent = self.output.parent().unwrap_or(Path::new("/"));
        let folder = parent.join(orphans::staging_name(&self.output, &uuid::Uuid::new_v4().simple().to_string()));
        let guard = orphans::create_guarded(&folder)
            .map_err(|error| JobError::creating(format!("creating {}", folder.display()), &error))?;
        StorePath::local(&self.attempts.get_or_init(|| (folder, guard)).0)
    }

    /// Moves attempts to the folder that is published, or to a folder below it.
    pub(super) fn take(&self, attempts: Vec<FileEntry>, below: Option<&str>) -> Result<Vec<FileEntry>, JobError> {
        let failed = |error: io::Error| JobError::file_system(format!("staging {}", self.output.display()), &error);
        let Some((folder, _)) = self.attempts.get() else { return Ok(attempts) };
        let into = below.map_or_else(|| self.folder.clone(), |below| self.folder.join(below));
        fs::create_dir_all(&into).map_err(failed)?;
        let take = |file: FileEntry| {
            let path = without_attempt(&file.path);
            fs::rename(folder.join(&file.path), into.join(&path)).map_err(failed)?;
            Ok(FileEntry { path, ..file })
        };
        attempts.into_iter().map(take).collect()
    }

    /// Adds the files of the current release to the staging, and gives staged files unique names.
    pub(super) fn add_to(&self, manifest: Manifest, kept: Vec<FileEntry>) -> Result<Manifest, JobError> {
        let failed =
            |error: io::Error| JobError::file_system(format!("appending to {}", self.output.display()), &error);
        let mut files = kept;
        for file in &files {
            let (from, to) = (self.output.join(&file.path), self.folder.join(&file.path));
            // A file system without links gets copies.
            fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop)).map_err(failed)?;
            if fs::metadata(&to).map_err(failed)?.len() != file.bytes {
                let text = format!("{} has another size than its manifest says; nothing is appended", from.display());
                return Err(JobError::new(Kind::BadData, text));
            }
        }
        for file in manifest.files {
            let named = named_after_run(file.clone(), &manifest.run_id);
            fs::rename(self.folder.join(&file.path), self.folder.join(&named.path)).map_err(failed)?;
            files.push(named);
        }
        Ok(Manifest { files, ..manifest })
    }

    /// Completes the folder and renames it, or exchanges it with the release that it replaces.
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
        make_readable(&self.folder, &beside).map_err(failed)?;
        let tables = manifest.folders().into_iter().map(|table| self.folder.join(table));
        for folder in tables.chain([beside, self.folder.clone()]) {
            sync(&folder).map_err(failed)?;
        }
        let _turn = self.output.parent().and_then(take_turn);
        match look(&self.output)? {
            OutputState::Nothing => fs::rename(&self.folder, &self.output).or_else(|error| match look(&self.output)? {
                OutputState::Nothing => Err(failed(error)),
                OutputState::Release(_) => Err(lost(&self.output.display())),
                OutputState::Other => Err(self.refused()),
            }),
            OutputState::Release(run_id) if self.mode != Mode::Error && self.seen.as_ref() == Some(&run_id) => {
                exchange(&self.folder, &self.output).map_err(failed)
            }
            OutputState::Release(_) => Err(lost(&self.output.display())),
            OutputState::Other => Err(self.refused()),
        }
    }

    fn refused(&self) -> JobError {
        match self.mode {
            Mode::Error => already_there(&self.output.display()),
            Mode::Overwrite | Mode::Series | Mode::Append => not_ours(&self.output.display()),
        }
    }

    /// Drops the folder together with the replaced release. A rename that is not on disk yet can only be lost
    /// completely.
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
    /// Removes the staging; after a commit, the replaced release.
    fn drop(&mut self) {
        self.spare.clear();
        for folder in [Some(&self.folder), self.attempts.get().map(|(folder, _)| folder)].into_iter().flatten() {
            if let Err(error) = fs::remove_dir_all(folder)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(folder = %folder.display(), %error, "could not remove a staging folder");
            }
        }
        for above in &self.made {
            // Fails if the folder is not empty: it holds the release, or other files.
            let _ = fs::remove_dir(above);
        }
    }
}

/// Blocks until no other run commits to an output in this folder. `None` where folders can't be locked.
fn take_turn(folder: &Path) -> Option<fs::File> {
    let folder = fs::File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// Resolves an output that is a symlink, so that the release is staged beside the target and the link stays.
pub(super) fn without_link(output: PathBuf) -> Result<PathBuf, JobError> {
    match output.canonicalize() {
        Ok(real) => Ok(real),
        Err(_) if output.is_symlink() => {
            let text = format!("{} is a link to a folder that can't be reached", output.display());
            Err(JobError::new(Kind::BadPolicy, format!("{text}; create that folder, or remove the link")))
        }
        // The output is absent; any other error is reported when it is inspected.
        Err(_) => Ok(output),
    }
}

/// Returns the state of an output.
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

/// Returns the run id of a folder that holds a release of Throng and nothing else, so that replacing it removes no
/// other files.
fn release_in(folder: &Path) -> io::Result<Option<String>> {
    let bytes = match fs::read(folder.join(MANIFEST)) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let Some(manifest) = Manifest::parse(&bytes) else { return Ok(None) };
    let tables = manifest.folders();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        let is_ours = match entry.file_name().to_str() {
            Some("_throng") => is_folder,
            Some(name) if is_folder => tables.contains(name) && has_only_listed(&entry.path(), name, &manifest)?,
            Some(name) => name == SUCCESS || manifest.lists(name),
            None => false,
        };
        if !is_ours {
            return Ok(None);
        }
    }
    Ok(Some(manifest.run_id))
}

/// Whether the folder of a table has nothing but files that the manifest lists.
fn has_only_listed(folder: &Path, table: &str, manifest: &Manifest) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_listed = |name: &str| manifest.lists(&format!("{table}/{name}"));
        if entry.file_type()?.is_dir() || !entry.file_name().to_str().is_some_and(is_listed) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Flushes a file or a folder to disk.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    fs::File::open(path).and_then(|file| file.sync_all())
}

pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use io::Write;
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes a verified release readable for everyone who may read the parent folder, as far as the umask of the process permits,
/// and writable for its owner only. `created` is a folder with default permissions.
#[cfg(unix)]
pub(super) fn make_readable(folder: &Path, created: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let above = folder.parent().map(fs::metadata).transpose()?;
    let usual = fs::metadata(created)?.permissions().mode();
    let mode = above.map_or(0o755, |above| above.permissions().mode() & 0o755) & usual;
    fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700))
}

#[cfg(not(unix))]
pub(super) fn make_readable(_folder: &Path, _created: &Path) -> io::Result<()> {
    Ok(())
}

/// Exchanges two folders atomically.
#[cfg(target_os = "linux")]
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE)?)
}

/// Without an atomic exchange there is a moment without a release, but never a partial one.
#[cfg(not(target_os = "linux"))]
fn exchange(new: &Path, old: &Path) -> io::Result<()> {
    let aside = new.with_extension("old");
    fs::rename(old, &aside)?;
    fs::rename(new, old)?;
    fs::rename(aside, new)
}
