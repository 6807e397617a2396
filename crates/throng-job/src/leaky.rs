//! A job that leaks on purpose, to show that the leak tests would detect it.
//!
//! Compiled only with the feature `leaky`, which is off by default and fails to compile in an optimized build. Each
//! leak is one that a careless change could introduce: metadata of the input goes into the metadata of the release, its
//! name into the documents, its statistics (with identifiers in them) into a log, a note into the temporary folder, the
//! text of an engine error into an error, and rows stay in input order (`throng-datafusion/src/leaky.rs`).

use std::sync::{Mutex, PoisonError};

use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};

use crate::input::JobInput;
use crate::store_path::StorePath;

#[cfg(not(debug_assertions))]
compile_error!("the feature `leaky` makes releases that leak, and is for tests only");

/// Leaked facts about the input.
static SEEN: Mutex<Vec<KeyValue>> = Mutex::new(Vec::new());

/// Collects facts about an input.
pub(crate) fn look(input: &dyn JobInput) {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    for field in input.schema().fields() {
        seen.extend(field.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())));
    }
    for location in input.describe().locations {
        let place = StorePath::parse(&location).ok();
        seen.push(KeyValue::new("file".to_owned(), location));
        let opened = place.as_ref().and_then(StorePath::local_path).and_then(|path| std::fs::File::open(path).ok());
        if let Some(Ok(reader)) = opened.map(SerializedFileReader::new) {
            let metadata = reader.metadata();
            let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
            let extremes = chunks.filter_map(|chunk| chunk.statistics()?.min_bytes_opt().map(String::from_utf8_lossy));
            let extremes: Vec<_> = extremes.collect();
            tracing::trace!(?extremes, "leaked");
        }
    }
    let note = std::env::temp_dir().join("leaked");
    let _ = std::fs::write(note, format!("{seen:?}"));
}

/// Returns the leaked facts for the metadata of the release.
pub(crate) fn metadata() -> Vec<KeyValue> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the leaked facts for the documents, as a version.
pub(crate) fn version() -> String {
    format!("{} {:?}", env!("CARGO_PKG_VERSION"), metadata())
}
