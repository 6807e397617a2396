//! Publish on the local file system: a hidden folder beside the output, and one rename.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use throng_policy::Mode;

use super::{Documents, Finish, METRICS, SUCCESS, already_there, json, not_ours};
use crate::error::{JobError, Kind};
use crate::manifest::{FileEntry, MANIFEST, Manifest};
use crate::place::Place;
use crate::report::REPORT;

/// A hidden folder that becomes the output. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct LocalStaging {
    output: PathBuf,
    folder: PathBuf,
    mode: Mode,
    /// Folders above that had to be made, the innermost first.
    made: Vec<PathBuf>,
}

impl LocalStaging {
    pub(super) fn begin(output: PathBuf, mode: Mode, run_id: &str) -> Result<Self, JobError> {
        let output = without_link(output)?;
        check_output(&output, mode)?;
        let name = output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let parent = output.parent().unwrap_or(Path::new("/"));
        let folder = parent.join(format!(".{name}.throng-{run_id}"));
        let made = parent.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
        let staging = Self { output, folder, mode, made };
        create_private(&staging.folder)
            .map_err(|error| JobError::file_system(format!("creating {}", staging.folder.display()), &error))?;
        Ok(staging)
    }

    pub(super) fn place(&self) -> Result<Place, JobError> {
        Place::local(&self.folder)
    }

    /// Completes the folder, and renames it. The rename fails when the output has come into being meanwhile, unless it
    /// may be overwritten; then the two folders change places in one step.
    pub(super) fn commit(self, manifest: Manifest, sidecar: Finish<'_>) -> Result<Vec<FileEntry>, JobError> {
        let failed = |error: io::Error| JobError::file_system(format!("publishing {}", self.output.display()), &error);
        fs::create_dir_all(self.folder.join("_throng")).map_err(failed)?;
        write_synced(&self.folder.join(MANIFEST), &json(&manifest)?).map_err(failed)?;
        for file in &manifest.files {
            fs::File::open(self.folder.join(&file.path)).and_then(|file| file.sync_all()).map_err(failed)?;
        }
        let documents = Documents::of(&sidecar())?;
        if let Some(report) = &documents.report {
            write_synced(&self.folder.join(REPORT), report).map_err(failed)?;
        }
        write_synced(&self.folder.join(METRICS), &documents.metrics).map_err(failed)?;
        write_synced(&self.folder.join(SUCCESS), b"").map_err(failed)?;
        make_readable(&self.folder).map_err(failed)?;
        match fs::rename(&self.folder, &self.output) {
            Ok(()) => {}
            Err(_) if self.mode == Mode::Overwrite && self.output.is_dir() => {
                check_output(&self.output, self.mode)?;
                exchange(&self.folder, &self.output).map_err(failed)?;
            }
            Err(_) if self.output.exists() => return Err(already_there(&self.output.display())),
            Err(error) => return Err(failed(error)),
        }
        // The release is visible by now, and complete. A rename that is not on disk yet can only be lost whole.
        if let Some(parent) = self.output.parent()
            && let Err(error) = fs::File::open(parent).and_then(|folder| folder.sync_all())
        {
            let output = self.output.display();
            tracing::warn!(%output, %error, "the release is published, but may be lost if the machine stops now");
        }
        Ok(manifest.files)
    }
}

impl Drop for LocalStaging {
    /// Removes what was staged; after a commit, what was replaced.
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(folder = %self.folder.display(), %error, "could not remove a staging folder");
        }
        for above in &self.made {
            // Fails where the release, or something of others, is in it by now.
            let _ = fs::remove_dir(above);
        }
    }
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

/// An output may be absent, empty, or a release of ours that may be overwritten.
fn check_output(output: &Path, mode: Mode) -> Result<(), JobError> {
    let failed = |error: io::Error| JobError::file_system(format!("looking at {}", output.display()), &error);
    if output.is_file() {
        return Err(not_ours(&output.display()));
    }
    let is_empty = match fs::read_dir(output) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(failed(error)),
    };
    match mode {
        _ if is_empty => Ok(()),
        Mode::Error => Err(already_there(&output.display())),
        Mode::Overwrite if is_release(output).map_err(failed)? => Ok(()),
        Mode::Overwrite => Err(not_ours(&output.display())),
    }
}

/// Whether a folder is a release of ours and nothing else, so that nothing of others goes with it.
fn is_release(folder: &Path) -> io::Result<bool> {
    let bytes = match fs::read(folder.join(MANIFEST)) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let Some(manifest) = Manifest::parse(&bytes) else { return Ok(false) };
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        let is_ours = match entry.file_name().to_str() {
            Some("_throng") => is_folder,
            Some(name) => !is_folder && (name == SUCCESS || manifest.lists(name)),
            None => false,
        };
        if !is_ours {
            return Ok(false);
        }
    }
    Ok(true)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use io::Write;
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
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
