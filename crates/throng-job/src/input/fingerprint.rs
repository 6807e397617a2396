//! A digest that distinguishes one input from another without reading it.

use std::time::{Duration, SystemTime};

use throng_policy::{CsvOptions, Format, Policy};

use super::find::FoundFiles;
use super::{InputFile, delta_input, find};
use crate::error::JobError;
use crate::write::digest;

/// Resolution of modification times: within it, a file may change twice and keep the same time.
const TICK: Duration = Duration::from_secs(2);

/// Returns the current fingerprint of a policy's input.
pub(crate) async fn current_fingerprint(policy: &Policy) -> Result<Option<String>, JobError> {
    if let Some(table) = delta_input::table_of(&policy.input.locations) {
        return delta_input::current_fingerprint(table, policy).await.map(Some);
    }
    let FoundFiles { files, format, .. } =
        find::find(&policy.input.locations, policy.input.format, &policy.store).await?;
    Ok(fingerprint(&files, format, policy.input.csv, SystemTime::now()))
}

/// Returns a digest of the locations of the files, the read options, and the version of each file: size, time and tag.
/// `None` if a file is too recent for its time to distinguish two versions.
pub(super) fn fingerprint(files: &[InputFile], format: Format, csv: CsvOptions, now: SystemTime) -> Option<String> {
    let is_distinguishable = |file: &InputFile| {
        // The tag of a local file is derived from its time; those of stores are derived from the content, or are never
        // reused.
        let has_tag = file.place.local_path().is_none() && file.meta.e_tag.is_some();
        has_tag || now.duration_since(file.meta.last_modified.into()).is_ok_and(|age| age >= TICK)
    };
    if !files.iter().all(is_distinguishable) {
        return None;
    }
    // The files are in a fixed order.
    let files: Vec<_> = files
        .iter()
        .map(|file| {
            let meta = &file.meta;
            let time = SystemTime::from(meta.last_modified).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            (file.place.to_string(), meta.size, time.as_nanos().to_string(), meta.e_tag.clone(), meta.version.clone())
        })
        .collect();
    let text = serde_json::to_vec(&(format.as_str(), csv.delimiter, csv.header, files)).ok()?;
    Some(digest(&text))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};
    use url::Url;

    use super::*;
    use crate::store_path::StorePath;

    const COMMAS: CsvOptions = CsvOptions { delimiter: b',', header: true };

    fn digest_of(files: &[InputFile]) -> Option<String> {
        fingerprint(files, Format::Parquet, COMMAS, SystemTime::now() + TICK)
    }

    async fn file(store: &Arc<dyn ObjectStore>, name: &str, text: &'static str) -> InputFile {
        let path = Path::from(name);
        store.put(&path, text.into()).await.unwrap();
        let place = StorePath { store: Arc::clone(store), root: Url::parse("memory:///").unwrap(), path: path.clone() };
        InputFile { place, meta: store.head(&path).await.unwrap() }
    }

    #[tokio::test]
    async fn every_part_of_an_input_counts() {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let (a, b) = (file(&store, "a", "one").await, file(&store, "b", "one").await);
        let known = digest_of(&[a.clone(), b.clone()]);
        assert!(known.is_some());
        assert_eq!(digest_of(&[a.clone(), b.clone()]), known);
        assert_ne!(digest_of(std::slice::from_ref(&a)), known);
        assert_ne!(digest_of(&[a.clone(), file(&store, "c", "one").await]), known);
        assert_ne!(digest_of(&[a.clone(), file(&store, "b", "one").await]), known, "another version of the same bytes");
        let files = [a, b];
        let now = SystemTime::now() + TICK;
        assert_ne!(fingerprint(&files, Format::Csv, COMMAS, now), known);
        assert_ne!(
            fingerprint(&files, Format::Csv, COMMAS, now),
            fingerprint(&files, Format::Csv, CsvOptions { delimiter: b';', ..COMMAS }, now)
        );
        assert_ne!(
            fingerprint(&files, Format::Csv, COMMAS, now),
            fingerprint(&files, Format::Csv, CsvOptions { header: false, ..COMMAS }, now)
        );
    }

    #[test]
    fn a_local_file_that_was_just_written_has_no_fingerprint_yet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "one").unwrap();
        let place = StorePath::local(&path).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let meta = runtime.block_on(place.store.head(&place.path)).unwrap();
        let written: SystemTime = meta.last_modified.into();
        let files = [InputFile { place, meta }];
        assert_eq!(fingerprint(&files, Format::Parquet, COMMAS, written), None);
        assert!(fingerprint(&files, Format::Parquet, COMMAS, written + TICK).is_some());
    }
}
