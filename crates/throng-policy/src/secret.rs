//! The secret that keys every random choice of a release.
//!
//! Without it, an attacker who knows all rows of a table but one could run Throng on each candidate for the last row
//! and compare the output with the release. The secret must not change between runs: classes of repeated releases could
//! be intersected.
//!
//! ```text
//!  THRONG_SECRET ──► THRONG_SECRET_FILE ──► $XDG_STATE_HOME/throng/secret, else ~/.local/state/throng/secret
//!  the text          the content of a file   made by the first run, readable by its owner alone
//! ```

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::problem::{PolicyError, Problem};

/// Environment variable that holds a secret.
pub const SECRET_VARIABLE: &str = "THRONG_SECRET";

/// Environment variable that holds the path of a file with a secret.
pub const SECRET_FILE_VARIABLE: &str = "THRONG_SECRET_FILE";

/// Minimum length of a given secret in bytes.
pub const MIN_SECRET_BYTES: usize = 16;

/// Maximum number of bytes that are read from a secret file.
const MAX_FILE_BYTES: u64 = 1 << 16;

/// The secret from which every random choice of a release is derived. `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// Creates a secret from a text of at least [`MIN_SECRET_BYTES`] bytes, without surrounding whitespace.
    pub fn new(text: &str) -> Result<Self, PolicyError> {
        Self::named(SECRET_VARIABLE, text)
    }

    fn named(source: &str, text: &str) -> Result<Self, PolicyError> {
        let text = text.trim();
        if text.len() < MIN_SECRET_BYTES {
            return Err(problem(format!(
                "{source} has {} bytes, and a secret needs at least {MIN_SECRET_BYTES}; use 32 random bytes in \
                 hexadecimal, as `openssl rand -hex 32` prints them, and keep them the same for every run",
                text.len()
            )));
        }
        Ok(Self(Sha256::digest(text.as_bytes()).into()))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the secret of the user: from the environment, or else from the state folder, where it is created if
    /// missing.
    pub fn of_user() -> Result<Self, PolicyError> {
        Self::find(&|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn find(environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, PolicyError> {
        if let Some(text) = environment(SECRET_VARIABLE) {
            let not_text = || problem(format!("{SECRET_VARIABLE} is not UTF-8 text"));
            return Self::named(SECRET_VARIABLE, text.to_str().ok_or_else(not_text)?);
        }
        if let Some(path) = environment(SECRET_FILE_VARIABLE) {
            let unreadable = |error: io::Error| {
                problem(format!("the file that {SECRET_FILE_VARIABLE} names can't be read: {}", error.kind()))
            };
            return Self::named(SECRET_FILE_VARIABLE, &read(Path::new(&path)).map_err(unreadable)?);
        }
        let Some(path) = state_file(environment) else {
            return Err(cannot_store("neither XDG_STATE_HOME nor HOME names a folder"));
        };
        let text = match read_private(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(&path).and_then(|()| read_private(&path)),
            read => read,
        };
        let text =
            text.map_err(|error| cannot_store(&format!("{} can't be used ({})", path.display(), reason(&error))))?;
        Self::named(&path.display().to_string(), &text)
    }
}

fn problem(message: String) -> PolicyError {
    PolicyError::new("secret", vec![Problem { path: String::new(), place: None, message }])
}

fn cannot_store(why: &str) -> PolicyError {
    problem(format!(
        "there is no secret to key the random choices of a release, and none can be kept: {why}; set {SECRET_VARIABLE} to 32 \
         random bytes in hexadecimal, as `openssl rand -hex 32` prints them, and keep them the same for every run"
    ))
}

/// Describes an I/O error without its path.
fn reason(error: &io::Error) -> String {
    match error.get_ref() {
        Some(ours) => ours.to_string(),
        None => error.kind().to_string(),
    }
}

fn state_file(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| environment(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("throng/secret"))
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a file. On Unix, fails if other users can access it.
fn read_private(path: &Path) -> io::Result<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if std::fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::other("others can read it; restrict it with `chmod 600`"));
        }
    }
    read(path)
}

/// Creates a secret file atomically. If another process creates one concurrently, that one is kept.
fn make(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut folders = std::fs::DirBuilder::new();
    folders.recursive(true);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folders.mode(0o700);
        options.mode(0o600);
    }
    folders.create(folder)?;
    let mut bytes = [0; 40];
    getrandom::fill(&mut bytes).map_err(|_| io::Error::other("the system has no random numbers"))?;
    let (name, bytes) = bytes.split_at(8);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let draft = folder.join(format!(".secret-{}", hex(name)));
    let mut file = options.open(&draft)?;
    let linked = writeln!(file, "{}", hex(bytes)).and_then(|()| file.sync_all()).and_then(|()| {
        // A hard link fails if the file exists, whereas a rename would replace it.
        match std::fs::hard_link(&draft, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        }
    });
    let removed = std::fs::remove_file(&draft);
    linked.and(removed)
}

#[cfg(test)]
#[path = "secret_tests.rs"]
mod tests;
