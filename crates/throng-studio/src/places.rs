//! Files that the page may access: only those below the folders that the command was started with.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// Extension of the policy that is saved next to a table.
const ENDING: &str = ".policy.toml";

/// Returns the path of the policy of a table: next to a local file or folder, and otherwise in the working folder.
pub(crate) fn policy_of(location: &str) -> PathBuf {
    let is_plain = !location.contains("://") && !location.contains(['*', '?', '[']);
    let path = Path::new(location);
    let stem = path.file_name().and_then(|name| name.to_str()).map(|name| name.split('.').next().unwrap_or(name));
    match stem.filter(|stem| is_plain && !stem.is_empty()) {
        Some(stem) => path.parent().unwrap_or(Path::new("")).join(format!("{stem}{ENDING}")),
        None => PathBuf::from("policy.toml"),
    }
}

/// Folders that hold everything the page may open.
#[derive(Clone, Debug)]
pub(crate) struct AllowedFolders(Vec<PathBuf>);

impl AllowedFolders {
    /// The working folder, and the folder of the table or policy of the command line.
    pub(crate) fn new(location: Option<&str>) -> Self {
        let given = location.filter(|location| !location.contains("://")).map(Path::new);
        let given = given.map(|path| if path.is_dir() { path } else { path.parent().unwrap_or(path) });
        let folders =
            [Some(Path::new(".")), given.map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path })];
        Self(folders.into_iter().flatten().filter_map(|folder| fs::canonicalize(folder).ok()).collect())
    }

    /// Returns an error unless a path, with all links resolved, lies below one of the folders.
    pub(crate) fn check(&self, location: &str) -> Result<(), String> {
        if location.contains("://") {
            return Err("a URL is opened from the command line: throng studio URL".to_owned());
        }
        // A glob is not a path, so its fixed folder is checked.
        let fixed = location.find(['*', '?', '[']).map_or(location, |at| &location[..at]);
        let fixed =
            if fixed.len() < location.len() { fixed.rsplit_once('/').map_or(".", |(folder, _)| folder) } else { fixed };
        let fixed = if fixed.is_empty() { "." } else { fixed };
        let Ok(path) = fs::canonicalize(fixed) else { return Err("there is no such file".to_owned()) };
        if self.0.iter().any(|folder| path.starts_with(folder)) {
            return Ok(());
        }
        Err("this is outside of the folder that the Studio was started in; start it with the path: throng studio PATH"
            .to_owned())
    }
}

/// Returns a path below a folder; `None` for an absolute path or one that leaves the folder.
pub(crate) fn below(folder: &Path, relative: &str) -> Option<PathBuf> {
    let path = Path::new(relative);
    let is_below = !relative.is_empty() && path.components().all(|part| matches!(part, Component::Normal(_)));
    is_below.then(|| folder.join(path))
}

/// Returns a file name for a column: letters, digits, `-` and `_`.
pub(crate) fn file_name(column: &str) -> String {
    let name: String = column
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' })
        .take(60)
        .collect();
    if name.is_empty() { "column".to_owned() } else { name }
}

/// Writes a file atomically through a temporary one, so that readers see either the old or the new text. An existing file
/// keeps its permissions.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    write(path, text, File::options().write(true).create(true).truncate(true))
}

/// Writes a file that contains values of a table and is readable only by this user.
pub(crate) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    write(path, text, &options)
}

fn write(path: &Path, text: &str, options: &OpenOptions) -> std::io::Result<()> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("policy");
    let staged = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let permissions = fs::metadata(path).map(|known| known.permissions()).ok();
    let written = options.open(&staged).and_then(|mut file| {
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&staged, path));
    if moved.is_err() {
        let _ = fs::remove_file(&staged);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_lies_beside_its_table() {
        let place = |location: &str| policy_of(location).display().to_string();
        assert_eq!(place("data/people.parquet"), "data/people.policy.toml");
        assert_eq!(place("data/census/"), "data/census.policy.toml");
        assert_eq!(place("people.csv"), "people.policy.toml");
        assert_eq!(place("s3://bucket/people.parquet"), "policy.toml");
        assert_eq!(place("data/part-*.parquet"), "policy.toml");
    }

    #[test]
    fn paths_that_leave_a_folder_are_refused() {
        let folder = Path::new("/data");
        assert_eq!(below(folder, "hierarchies/age.csv"), Some(PathBuf::from("/data/hierarchies/age.csv")));
        for path in ["../x", "a/../../x", "/etc/passwd", "", "./x"] {
            assert_eq!(below(folder, path), None, "{path}");
        }
        let allowed = AllowedFolders::new(None);
        assert!(allowed.check("Cargo.toml").is_ok());
        for path in ["/etc/passwd", "../../../../etc/passwd", "s3://bucket/x", "/etc/*.conf"] {
            assert!(allowed.check(path).is_err(), "{path}");
        }
        assert_eq!(file_name("../a b"), "___a_b");
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        replace(&path, "a").unwrap();
        replace(&path, "b").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn values_are_for_this_user_only_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let values = folder.path().join("age.csv");
        write_private(&values, "1;*\n").unwrap();
        assert_eq!(mode(&values), 0o600);
        let policy = folder.path().join("policy.toml");
        replace(&policy, "a").unwrap();
        fs::set_permissions(&policy, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&policy, "b").unwrap();
        assert_eq!(mode(&policy), 0o640);
    }
}
