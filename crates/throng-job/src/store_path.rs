//! A path on an object store: the store, the root of its URLs, and a path.
//!
//! Local paths are paths on a store of the local file system, so that all other code deals with stores and paths only.

use std::path::{Component, Path as FilePath, PathBuf};
use std::sync::Arc;

use datafusion::datasource::listing::ListingTableUrl;
use glob::Pattern;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use throng_policy::{Store, is_web};
use url::Url;

use crate::error::{JobError, Kind};
use crate::store;

/// A path on a store.
#[derive(Clone)]
pub(crate) struct StorePath {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Root URL: `file:///`, `s3://bucket/` and so on.
    pub(crate) root: Url,
    pub(crate) path: Path,
}

/// A store path, or a glob of store paths.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// The file or folder; for a glob, the folder above its first wildcard.
    pub(crate) place: StorePath,
    pub(crate) pattern: Option<Pattern>,
    /// Whether it was written as a folder, with a trailing slash.
    pub(crate) is_folder: bool,
}

impl Location {
    /// Parses a local path, a URL, or a glob of either.
    pub(crate) fn parse_with(text: &str, settings: &Store) -> Result<Self, JobError> {
        // A query of a web server is refused below, with a different message.
        if !is_web(text) || !text.contains('?') {
            let refused = |error| JobError::new(Kind::BadPolicy, format!("a location {error}"));
            throng_policy::check_location(text).map_err(refused)?;
        }
        let is_wild = |part: &str| part.contains(['*', '?', '[']);
        // The name of a local file may contain such characters.
        if !is_wild(text) || (!text.contains("://") && FilePath::new(text).exists()) {
            let is_folder = text.ends_with('/');
            return Ok(Self { place: StorePath::parse_with(text, settings)?, pattern: None, is_folder });
        }
        if is_web(text) {
            let text = "an input on http(s) has a glob or a query, and web servers can't be searched; name each file";
            return Err(JobError::new(Kind::BadPolicy, text));
        }
        let bad = || {
            JobError::new(
                Kind::BadPolicy,
                "an input location has a glob that can't be understood; see `*`, `**`, `?` and `[a-z]`",
            )
        };
        let fixed: Vec<&str> = text.split('/').take_while(|part| !is_wild(part)).collect();
        let folder = if fixed.is_empty() { ".".to_owned() } else { format!("{}/", fixed.join("/")) };
        let place = StorePath::parse_with(&folder, settings)?;
        let rest = text.split('/').skip(fixed.len()).collect::<Vec<_>>().join("/");
        let above = Pattern::escape(place.path.as_ref());
        let pattern = if above.is_empty() { rest } else { format!("{above}/{rest}") };
        Ok(Self { place, pattern: Some(Pattern::new(&pattern).map_err(|_| bad())?), is_folder: false })
    }
}

impl StorePath {
    /// Parses a local path or a URL, with default store settings.
    pub(crate) fn parse(text: &str) -> Result<Self, JobError> {
        Self::parse_with(text, &Store::default())
    }

    /// Parses a local path or a URL.
    pub(crate) fn parse_with(text: &str, settings: &Store) -> Result<Self, JobError> {
        if !text.contains("://") {
            return Self::local(FilePath::new(text));
        }
        let bad = |why: &str| JobError::new(Kind::BadPolicy, format!("a location is not usable: {why}"));
        let url = Url::parse(text).map_err(|_| bad("it is not a valid URL"))?;
        if url.scheme() == "file" {
            let path = url.to_file_path().map_err(|()| bad("it is not a path of this machine"))?;
            return Self::local(&path);
        }
        let path = Path::from_url_path(url.path()).map_err(|_| bad("it is not a path of a store"))?;
        let store = store::open(&url, settings)?;
        let mut root = url;
        root.set_path("/");
        root.set_query(None);
        root.set_fragment(None);
        Ok(Self { store, root, path })
    }

    /// Returns a path of the local file system.
    pub(crate) fn local(path: &FilePath) -> Result<Self, JobError> {
        let bad = || JobError::new(Kind::BadPolicy, "a location is not a usable path of this machine");
        let absolute = without_parents(&std::path::absolute(path).map_err(|_| bad())?);
        let path = Path::from_absolute_path(absolute).map_err(|_| bad())?;
        let root = Url::parse("file:///").map_err(|_| bad())?;
        Ok(Self { store: Arc::new(LocalFileSystem::new()), root, path })
    }

    /// Returns a path below this one.
    pub(crate) fn child(&self, name: &str) -> Self {
        let path = name.split('/').fold(self.path.clone(), |path, part| path.join(part));
        self.at(path)
    }

    /// Returns another path on the same store.
    pub(crate) fn at(&self, path: Path) -> Self {
        Self { store: Arc::clone(&self.store), root: self.root.clone(), path }
    }

    /// Returns the local path, if it is on the local file system.
    pub(crate) fn local_path(&self) -> Option<PathBuf> {
        (self.root.scheme() == "file").then(|| PathBuf::from(format!("/{}", self.path)))
    }

    /// Whether it is on a web server, which is read-only.
    pub(crate) fn is_web(&self) -> bool {
        is_web(self.root.as_str())
    }

    /// Whether one of the two contains the other, or they are equal. Symlinks are resolved.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self.local_path(), other.local_path()) {
            (Some(this), Some(other)) => {
                let (this, other) = (without_links(&this), without_links(&other));
                this.starts_with(&other) || other.starts_with(&this)
            }
            _ => {
                self.root == other.root
                    && (self.path.prefix_matches(&other.path) || other.path.prefix_matches(&self.path))
            }
        }
    }

    /// Whether both are one place. Symlinks are resolved.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        match (self.local_path(), other.local_path()) {
            (Some(this), Some(other)) => without_links(&this) == without_links(&other),
            _ => self.root == other.root && self.path == other.path,
        }
    }

    /// Returns the URL for DataFusion's listing tables.
    pub(crate) fn table_url(&self) -> Result<ListingTableUrl, JobError> {
        let unusable = || JobError::internal("a path could not be turned into a URL");
        let mut url = self.root.clone();
        url.path_segments_mut()
            .map_err(|()| unusable())?
            .clear()
            .extend(self.path.parts().map(|p| p.as_ref().to_owned()));
        ListingTableUrl::try_new(url, None).map_err(|_| unusable())
    }
}

/// Removes `..` from a path. Existing folders are resolved first, because `..` of a symlink is not its parent folder.
fn without_parents(path: &FilePath) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut above, component| {
        match component {
            Component::ParentDir => {
                above = above.canonicalize().unwrap_or(above);
                above.pop();
            }
            other => above.push(other),
        }
        above
    })
}

/// Resolves symlinks in the existing part of a path.
fn without_links(path: &FilePath) -> PathBuf {
    let known = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    known.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?))).unwrap_or_else(|| path.to_owned())
}

/// Does not show the store, which may reveal credentials.
impl std::fmt::Debug for StorePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Place({self})")
    }
}

impl std::fmt::Display for StorePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.local_path() {
            Some(path) => write!(f, "{}", path.display()),
            None => write!(f, "{}{}", self.root, self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_above_is_resolved_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.join("a/b"), root.join("link")).unwrap();
        let resolved = |path: &str| StorePath::local(&root.join(path)).unwrap().local_path().unwrap();
        assert_eq!(resolved("a/../out"), root.join("out"));
        assert_eq!(resolved("none/../out"), root.join("out"));
        #[cfg(unix)]
        assert_eq!(resolved("link/../out"), root.join("a/out"));
    }

    #[test]
    fn a_glob_is_parted_from_the_folder_above_it() {
        let location = Location::parse_with("/data/2024/part-*.parquet", &Store::default()).unwrap();
        assert_eq!(location.place.path.as_ref(), "data/2024");
        let pattern = location.pattern.unwrap();
        assert!(pattern.matches("data/2024/part-1.parquet"));
        assert!(!pattern.matches("data/2025/part-1.parquet"));
    }

    #[test]
    fn places_overlap_when_one_is_inside_the_other() {
        let place = |path: &str| StorePath::local(FilePath::new(path)).unwrap();
        assert!(place("/data").overlaps(&place("/data/out")));
        assert!(place("/data/out").overlaps(&place("/data")));
        assert!(!place("/data").overlaps(&place("/database")));
        assert!(place("/data/").is_same_place(&place("/data")) && !place("/data").is_same_place(&place("/data/out")));
    }

    #[test]
    fn a_location_that_no_store_takes_is_refused_without_showing_it() {
        let error = StorePath::parse("ftp://secret@host/x").unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy);
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn a_file_of_a_web_server_is_a_place_and_a_glob_there_is_not() {
        let place = StorePath::parse("http://host:8000/data/a%20b.parquet").unwrap();
        assert_eq!((place.root.as_str(), place.path.as_ref()), ("http://host:8000/", "data/a b.parquet"));
        assert_eq!(place.table_url().unwrap().as_str(), "http://host:8000/data/a%20b.parquet");
        assert!(place.is_web());
        for text in ["https://host/*.parquet", "https://host/a.parquet?X-Amz-Signature=hunter2"] {
            let error = Location::parse_with(text, &Store::default()).unwrap_err();
            assert_eq!(error.kind(), Kind::BadPolicy);
            assert!(error.to_string().contains("name each file") && !error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_text_of_a_place_shows_nothing_of_its_store() {
        let settings = Store { endpoint: Some("https://minio.example.org".to_owned()), ..Store::default() };
        let place = StorePath::parse_with("s3://bucket/a/b", &settings).unwrap();
        assert_eq!(format!("{place:?}"), "Place(s3://bucket/a/b)");
    }
}
