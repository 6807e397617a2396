//! Compares the rows of a staged release with those of the decision.
//!
//! The decision says which row is shown in which class, and is checked against the memory of the series row by row. Rows of
//! one class with the same sensitive values are interchangeable there. So if the staged files have as many rows of every class
//! with every tuple of sensitive values as were decided, what was checked holds for them.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use futures::TryStreamExt;
use throng_core::key::ReleaseKey;
use throng_core::row_hash::Checksum;
use throng_datafusion::{Anonymizer, catch_decode_panic, catch_decode_panics, to_canonical_array};

use crate::error::{JobError, Kind};
use crate::input::JobInput;
use crate::job::JobOptions;
use crate::manifest::FileEntry;
use crate::readback::open_staged;
use crate::session::session;
use crate::store_path::StorePath;

use super::rows::{codes, counted_columns, fingerprints};

/// Returns the checksum of the classes and codes of rows.
pub(super) fn class_checksum(classes: &[u64], codes: &[u64], width: usize, key: ReleaseKey) -> Checksum {
    let key = key.derive("series row", &[]);
    let of_row = |(row, class): (usize, &u64)| {
        let of_class = key.hash(u128::from(*class));
        codes[row * width..(row + 1) * width].iter().fold(of_class, |hash, code| key.hash(hash ^ u128::from(*code)))
    };
    let mut checksum = Checksum::default();
    checksum.add(classes.iter().enumerate().map(of_row));
    checksum
}

/// Checks that staged files have the rows that were decided, class by class.
pub(super) async fn check_staged(
    place: &StorePath,
    files: &[FileEntry],
    anonymizer: &Anonymizer,
    key: ReleaseKey,
    expected: &Checksum,
    options: &JobOptions,
) -> Result<(), JobError> {
    let session = session(options)?;
    let input = open_staged(&session, place, files).await?;
    let binding = anonymizer.binding();
    let quasi = binding.released_quasi_names();
    let secret: Vec<String> = binding.sensitive.iter().map(|bound| bound.column.name.clone()).collect();
    let read: Vec<&str> = quasi.iter().chain(&secret).map(String::as_str).collect();
    let failed = |error| JobError::reading("the release", &error);
    let frame = input.rows(&session)?.select_columns(&read).map_err(failed)?;
    let mut stream = catch_decode_panics(catch_decode_panic(frame.execute_stream()).await.map_err(failed)?);
    let mut found = Checksum::default();
    while let Some(batch) = stream.try_next().await.map_err(failed)? {
        let classes = fingerprints(&canonical(&batch, &quasi)?, key)?;
        let rules = binding.sensitive.iter().map(|bound| &bound.spec.look_alikes);
        let columns = counted_columns(&canonical(&batch, &secret)?, rules)?;
        found.merge(class_checksum(&classes, &codes(&columns, key)?, secret.len(), key));
    }
    match found == *expected {
        true => Ok(()),
        false => {
            let text = "a class of the series would be released with other values than before, because the values of the input \
                        changed how it is labelled; begin a new series with `throng run --rebase`";
            Err(JobError::new(Kind::Infeasible, text))
        }
    }
}

/// Returns columns of a release in plain types.
pub(super) fn canonical(batch: &RecordBatch, names: &[String]) -> Result<Vec<ArrayRef>, JobError> {
    let column = |name: &String| {
        let column = batch.column_by_name(name).map(Arc::clone);
        let missing = || JobError::new(Kind::Verification, format!("the release has no column `{name}`"));
        Ok(to_canonical_array(&column.ok_or_else(missing)?)?)
    };
    names.iter().map(column).collect()
}
