//! Pins files to one version while they are read.
//!
//! A job reads a file in many requests. If it is replaced in between, the rows read may belong to neither version. So
//! every request names the version that was found first, and the store refuses any other.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use url::Url;

use super::InputFile;
use crate::error::{JobError, Kind};
use crate::store_path::StorePath;

/// Number of files that are checked concurrently.
const CONCURRENT_LOOKS: usize = 16;

/// A store that reads some files in one version only. Nothing is written through it.
struct Pinned {
    store: Arc<dyn ObjectStore>,
    versions: HashMap<Path, String>,
}

/// Pins files to the version that was found. Local files are not pinned: checking their version costs as much as
/// reading them, so they are checked afterwards.
pub(super) fn pin(files: Vec<InputFile>) -> Vec<InputFile> {
    let mut versions: HashMap<Url, HashMap<Path, String>> = HashMap::new();
    for file in files.iter().filter(|file| file.place.local_path().is_none()) {
        // A weak tag never matches in a conditional request.
        if let Some(tag) = file.meta.e_tag.as_ref().filter(|tag| !tag.starts_with("W/")) {
            let of_store = versions.entry(file.place.root.clone()).or_default();
            of_store.insert(file.meta.location.clone(), in_requests(tag, &file.place.root));
        }
    }
    let mut stores: HashMap<Url, Arc<dyn ObjectStore>> = HashMap::new();
    let pinned = files.into_iter().map(|file| {
        let root = &file.place.root;
        let Some(of_store) = versions.get(root) else { return file };
        let store = stores
            .entry(root.clone())
            .or_insert_with(|| Arc::new(Pinned { store: Arc::clone(&file.place.store), versions: of_store.clone() }));
        InputFile { place: StorePath { store: Arc::clone(store), ..file.place }, ..file }
    });
    pinned.collect()
}

/// Returns the tag in the format of a request. Azure omits the quotes when it lists objects.
fn in_requests(tag: &str, root: &Url) -> String {
    let is_azure = root.scheme().starts_with('a');
    if is_azure && !tag.starts_with('"') { format!("\"{tag}\"") } else { tag.to_owned() }
}

/// Returns an error if a file has changed since it was found. Must be called after reading and before anything is
/// published.
pub(super) async fn check_unchanged(files: &[InputFile]) -> Result<(), JobError> {
    let looks = files.iter().map(|file| {
        let file = file.clone();
        async move {
            match file.place.store.head(&file.place.path).await {
                Ok(found) if is_same(&file.meta, &found) => Ok(()),
                Ok(_) | Err(Error::Precondition { .. } | Error::NotFound { .. }) => Err(changed(&file.place)),
                Err(error) => Err(JobError::storage(format!("looking at {} once more", file.place), &error)),
            }
        }
    });
    futures::stream::iter(looks.collect::<Vec<_>>()).buffered(CONCURRENT_LOOKS).try_collect().await
}

/// Whether two results of `head` or `list` are of the same version. Stores report times to the second in one response
/// and more precisely in another, so times are compared only without tags, and to the second.
fn is_same(one: &ObjectMeta, other: &ObjectMeta) -> bool {
    let has_same_version = one.version.is_none() || other.version.is_none() || one.version == other.version;
    let has_same_tag = match (&one.e_tag, &other.e_tag) {
        (Some(one), Some(other)) => one.trim_matches('"') == other.trim_matches('"'),
        _ => one.last_modified.timestamp() == other.last_modified.timestamp(),
    };
    one.size == other.size && has_same_version && has_same_tag
}

fn changed(place: &StorePath) -> JobError {
    let text = format!("{place} has changed while it was read; nothing is published, run again when it is complete");
    JobError::new(Kind::TemporaryIo, text)
}

impl fmt::Display for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

/// Does not show the store, which may reveal credentials.
impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("files", &self.versions.len()).finish_non_exhaustive()
    }
}

#[async_trait]
impl ObjectStore for Pinned {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.store.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(location, options).await
    }

    /// Range requests use this method too.
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let if_match = options.if_match.or_else(|| self.versions.get(location).cloned());
        self.store.get_opts(location, GetOptions { if_match, ..options }).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    async fn file(store: &Arc<dyn ObjectStore>, name: &str) -> InputFile {
        let path = Path::from(name);
        store.put(&path, "one".into()).await.unwrap();
        let place = StorePath { store: Arc::clone(store), root: Url::parse("memory:///").unwrap(), path: path.clone() };
        InputFile { place, meta: store.head(&path).await.unwrap() }
    }

    #[tokio::test]
    async fn a_file_is_sent_in_the_version_that_was_found_and_in_no_other() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let files = pin(vec![file(&store, "a").await, file(&store, "b").await]);
        let (pinned, path) = (&files[0].place.store, Path::from("a"));
        assert_eq!(pinned.get_range(&path, 1..3).await.unwrap(), "ne");
        store.put(&path, "two".into()).await.unwrap();
        let refused = |error| matches!(error, Error::Precondition { .. });
        assert!(refused(pinned.get_range(&path, 1..3).await.unwrap_err()));
        assert!(refused(pinned.get_ranges(&path, &[0..1, 2..3]).await.unwrap_err()));
        assert!(refused(pinned.get(&path).await.unwrap_err()));
        assert_eq!(pinned.get_range(&Path::from("b"), 0..3).await.unwrap(), "one");
    }

    #[test]
    fn the_same_version_is_known_whichever_way_a_store_tells_of_it() {
        let meta = |tag: Option<&str>, millis: i64| ObjectMeta {
            location: Path::from("a"),
            last_modified: std::time::SystemTime::UNIX_EPOCH
                .checked_add(std::time::Duration::from_millis(millis as u64))
                .unwrap()
                .into(),
            size: 3,
            e_tag: tag.map(str::to_owned),
            version: None,
        };
        assert!(is_same(&meta(Some("\"0x8D\""), 1_000), &meta(Some("0x8D"), 1_999)));
        assert!(!is_same(&meta(Some("\"0x8D\""), 1_000), &meta(Some("\"0x8E\""), 1_000)));
        assert!(is_same(&meta(None, 1_000), &meta(None, 1_999)));
        assert!(!is_same(&meta(None, 1_000), &meta(None, 2_000)));
        assert!(!is_same(&meta(None, 1_000), &ObjectMeta { size: 4, ..meta(None, 1_000) }));
        assert_eq!(in_requests("0x8D", &Url::parse("az://box/").unwrap()), "\"0x8D\"");
        assert_eq!(in_requests("\"0x8D\"", &Url::parse("abfss://box@people/").unwrap()), "\"0x8D\"");
        assert_eq!(in_requests("7", &Url::parse("memory:///").unwrap()), "7");
    }

    #[tokio::test]
    async fn a_file_that_was_replaced_or_removed_is_named() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        for pinned in [false, true] {
            let files = vec![file(&store, "a").await, file(&store, "b").await];
            let files = if pinned { pin(files) } else { files };
            check_unchanged(&files).await.unwrap();
            store.put(&Path::from("b"), "one".into()).await.unwrap();
            let error = check_unchanged(&files).await.unwrap_err();
            assert_eq!(error.kind(), Kind::TemporaryIo);
            assert!(error.to_string().contains("memory:///b has changed"), "{error}");
            store.delete(&Path::from("a")).await.unwrap();
            let error = check_unchanged(&files).await.unwrap_err();
            assert!(error.to_string().contains("memory:///a has changed"), "{error}");
        }
    }
}
