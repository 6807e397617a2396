//! Packages from the registry of npm, in a cache that outlives the build.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::python::{cache, quietly};

/// Installs a package `name@version` into `throng/<place>/` of the user's cache on first use, and returns the folder of modules.
/// Safe for concurrent tests. Returns the reason if that is impossible.
pub(super) fn install(place: &str, package: &str) -> Result<PathBuf, String> {
    let folder = cache().join(place).join(package.replace('@', "-"));
    let modules = folder.join("node_modules");
    if modules.is_dir() {
        return Ok(modules);
    }
    let fresh = folder.with_file_name(format!(".fresh-{}", std::process::id()));
    fs::create_dir_all(&fresh).map_err(|error| format!("{}: {error}", fresh.display()))?;
    let mut command = Command::new("npm");
    command.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", package, "--prefix"]);
    let installed = quietly(command.arg(&fresh)).and_then(|()| match fs::rename(&fresh, &folder) {
        Err(error) if !modules.is_dir() => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    });
    let _ = fs::remove_dir_all(&fresh);
    installed.map(|()| modules)
}
