//! Python packages for tests, in a cache that outlives the build.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names of the Python interpreter.
const PYTHONS: [&str; 2] = ["python3", "python"];

/// Pinned packages, and the interpreter for which they were installed.
#[derive(Debug)]
pub struct PythonPackages {
    python: &'static str,
    folder: PathBuf,
}

impl PythonPackages {
    /// Installs packages into `throng/<place>/<name>-*` of the user's cache on first use; `requirements` must list all of them. Safe
    /// for concurrent tests. Returns the reason if that is impossible.
    pub fn install(place: &str, name: &str, requirements: &str) -> Result<Self, String> {
        let python = PYTHONS.into_iter().find(|name| quietly(Command::new(name).arg("--version")).is_ok());
        let python = python.ok_or("there is no Python")?;
        let mut hasher = DefaultHasher::new();
        (requirements, python_version(python)?).hash(&mut hasher);
        let cache = cache().join(place);
        let folder = cache.join(format!("{name}-{:016x}", hasher.finish()));
        if folder.is_dir() {
            return Ok(Self { python, folder });
        }
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(&cache).map_err(failed)?;
        let fresh = cache.join(format!(".{name}-{}", std::process::id()));
        let list = fresh.with_extension("txt");
        fs::write(&list, requirements).map_err(failed)?;
        let fetched = quietly(
            Command::new(python)
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"])
                .args([Path::new("--target"), &fresh, Path::new("--requirement"), &list]),
        );
        let _ = fs::remove_file(&list);
        let named = fetched.and_then(|()| match fs::rename(&fresh, &folder) {
            Err(error) if !folder.is_dir() => Err(failed(error)),
            _ => Ok(()),
        });
        let _ = fs::remove_dir_all(&fresh);
        named.map(|()| Self { python, folder })
    }

    /// Returns a command that runs a script with the packages.
    pub fn script(&self, text: &str) -> Command {
        let mut command = Command::new(self.python);
        command.args(["-c", text]).env("PYTHONPATH", &self.folder).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// Part of the cache key, because native packages depend on the Python version.
fn python_version(python: &str) -> Result<Vec<u8>, String> {
    let output = Command::new(python).args(["-c", "import sys; print(sys.version)"]).output();
    Ok(output.map_err(|error| format!("{python} could not be asked: {error}"))?.stdout)
}

pub(crate) fn cache() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    cache.unwrap_or_else(std::env::temp_dir).join("throng")
}

/// Runs a command; on failure returns the last line of its stderr.
pub(crate) fn quietly(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.lines().last().unwrap_or("no reason was given").to_owned()) }
}
