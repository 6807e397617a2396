//! Packs a wheel of the library that cargo has built, installs it into a fresh virtual environment, and runs the lines of the README, the
//! command and the tests of the Python package there: `try_wheel.py`, without the build of its own.
//!
//! The packages of the tests are in a virtual environment in the cache of the user, which is made by the first run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use throng_testkit::skip;

/// If this variable is set, the test fails instead of being skipped when there is no Python or no package registry.
const REQUIRE: &str = "THRONG_REQUIRE_PYTHON";

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Names of the interpreter. The frames of the tests need 3.11.
const PYTHONS: [&str; 5] = ["python3.11", "python3.12", "python3.13", "python3", "python"];

#[test]
fn the_python_package() {
    let environment = match environment() {
        Ok(environment) => environment,
        Err(why) if std::env::var_os(REQUIRE).is_some() => panic!("{REQUIRE} is set, but {why}"),
        Err(why) => return skip(&format!("the Python package can't be tested: {why}")),
    };
    let status = Command::new(environment.join("bin/python"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("try_wheel.py"))
        .arg("--library")
        .arg(library())
        .arg("--packages")
        .arg(&environment)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "the Python package fails; the output of its wheel and its tests is above");
}

/// Returns the path of the library: cargo builds it before the tests of its package, into the folder of their executables.
fn library() -> PathBuf {
    let executable = std::env::current_exe().unwrap();
    let name = format!("{}throng_privacy_native{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    executable.parent().unwrap().join(name)
}

/// Returns the virtual environment with the packages of the tests. Safe for concurrent runs.
fn environment() -> Result<PathBuf, String> {
    let (python, version) = python().ok_or("there is no Python 3.11 or later")?;
    let mut hasher = DefaultHasher::new();
    (REQUIREMENTS, &version).hash(&mut hasher);
    let folder = cache().join(format!("venv-{:016x}", hasher.finish()));
    // A virtual environment can't be moved, so this file says that it is complete.
    let complete = folder.join("complete");
    if complete.is_file() {
        return Ok(folder);
    }
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(cache()).map_err(failed)?;
    let lock = fs::File::create(folder.with_extension("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if complete.is_file() {
        return Ok(folder);
    }
    let _ = fs::remove_dir_all(&folder);
    quietly(Command::new(python).args(["-m", "venv"]).arg(&folder))?;
    let list = folder.join("requirements.txt");
    fs::write(&list, REQUIREMENTS).map_err(failed)?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"];
    quietly(Command::new(folder.join("bin/python")).args(install).arg("--requirement").arg(&list))?;
    fs::write(&complete, version).map_err(failed)?;
    Ok(folder)
}

/// Returns an interpreter and its version.
fn python() -> Option<(&'static str, String)> {
    let ask = "import sys; assert sys.version_info >= (3, 11); print(sys.version)";
    PYTHONS.into_iter().find_map(|name| {
        let answer = Command::new(name).args(["-c", ask]).stderr(Stdio::null()).output().ok()?;
        answer.status.success().then(|| (name, String::from_utf8_lossy(&answer.stdout).into_owned()))
    })
}

fn cache() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    cache.unwrap_or_else(std::env::temp_dir).join("throng").join("python")
}

/// Runs a command; on failure returns the last line of its stderr.
fn quietly(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.lines().last().unwrap_or("no reason is known").to_owned()) }
}
