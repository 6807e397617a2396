//! Starts moto, an S3 server with atomic conditional puts.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::http;
use crate::skip::skip;

/// If this variable is set, tests fail instead of being skipped when the server is unavailable.
pub const REQUIRE: &str = "THRONG_REQUIRE_S3";

const REQUIREMENTS: &str = include_str!("requirements.txt");
const SCRIPT: &str = include_str!("server.py");

/// Names of the Python interpreter.
const PYTHONS: [&str; 2] = ["python3", "python"];

/// A server with in-memory objects. It ends when this is dropped or the test process ends, because it exits at the end
/// of its standard input.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    _life: ChildStdin,
}

impl Server {
    /// Starts a server, installing its packages on first use. If that is impossible, prints the reason to stderr and
    /// returns `None`.
    pub fn start() -> Option<Self> {
        match Self::try_start() {
            Ok(server) => Some(server),
            Err(why) if std::env::var_os(REQUIRE).is_some() => {
                panic!("{REQUIRE} is set, but there is no S3 server: {why}")
            }
            Err(why) => {
                skip(&format!("there is no S3 server to test with: {why}"));
                None
            }
        }
    }

    fn try_start() -> Result<Self, String> {
        let python = PYTHONS.into_iter().find(|name| quietly(Command::new(name).arg("--version")).is_ok());
        let python = python.ok_or("there is no Python")?;
        let packages = packages(python)?;
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .env("PYTHONPATH", packages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{python} could not be started: {error}"))?;
        let life = child.stdin.take().ok_or("the server has no input")?;
        let mut line = String::new();
        let told = child.stdout.take().map(|output| BufReader::new(output).read_line(&mut line));
        let Some(port) = told.and_then(|_| line.trim().parse().ok()) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err("the server did not start".to_owned());
        };
        Ok(Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)), _life: life })
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Creates a bucket. Its name needs at least three characters.
    pub fn make_bucket(&self, name: &str) {
        let request = format!(
            "PUT /{name} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\nAuthorization: \
             AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n",
            self.address
        );
        let answer = http::exchange(self.address, request.as_bytes()).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "no bucket: {}", String::from_utf8_lossy(&answer));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the folder of the packages, in a cache that outlives the build. Safe for concurrent tests.
fn packages(python: &str) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    (REQUIREMENTS, python_version(python)?).hash(&mut hasher);
    let folder = cache().join(format!("moto-{:016x}", hasher.finish()));
    if folder.is_dir() {
        return Ok(folder);
    }
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(cache()).map_err(failed)?;
    let fresh = cache().join(format!(".moto-{}", std::process::id()));
    let list = fresh.with_extension("txt");
    fs::write(&list, REQUIREMENTS).map_err(failed)?;
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
    named.map(|()| folder)
}

/// Part of the cache key, because native packages depend on the Python version.
fn python_version(python: &str) -> Result<Vec<u8>, String> {
    let output = Command::new(python).args(["-c", "import sys; print(sys.version)"]).output();
    Ok(output.map_err(|error| format!("{python} could not be asked: {error}"))?.stdout)
}

fn cache() -> PathBuf {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    cache.unwrap_or_else(std::env::temp_dir).join("throng").join("s3")
}

/// Runs a command; on failure returns the last line of its stderr.
fn quietly(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.lines().last().unwrap_or("no reason was told").to_owned()) }
}
