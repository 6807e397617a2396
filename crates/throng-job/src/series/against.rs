//! Compares releases as an intruder would, from their files alone.
//!
//! Rows that are equal in every released column are the same row to an intruder: within one class always, and across
//! classes if neither release has another row like it. What remains of a class of the earlier release has left, and what
//! remains of a class of the later one has come. Each of these sets must be empty or satisfy k and p, as far as rows tell:
//! an intruder without the ledger can't count units.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use rustc_hash::{FxHashMap, FxHashSet};
use throng_core::key::ReleaseKey;
use throng_core::series::UNCOUNTED;
use throng_core::verify::Promise;
use throng_datafusion::{catch_decode_panic, to_canonical_array};
use throng_policy::Store;

use crate::error::{JobError, Kind};
use crate::input::{FileInput, JobInput, open_locations};
use crate::job::JobOptions;
use crate::session::session;
use crate::verify::{listed_files, release_at};

use super::rows::{codes, hashes};

/// What two releases give away together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesComparison {
    /// Location of the earlier release.
    pub previous: String,
    /// Rows of the later release that are in the earlier one, in the same class.
    pub stayed: u64,
    /// Rows that both releases have, in different classes.
    pub moved: u64,
    /// Rows of the earlier release only.
    pub left: u64,
    /// Rows of the later release only.
    pub come: u64,
    /// Rows in sets of fewer than k rows.
    pub rows_below_k: u64,
    /// Rows in sets with fewer than p values of a sensitive column.
    pub rows_below_p: u64,
}

impl SeriesComparison {
    /// Whether every set that the releases single out together satisfies the promise.
    pub fn holds(&self) -> bool {
        self.rows_below_k == 0 && self.rows_below_p == 0
    }
}

/// A row as an intruder sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct SeenRow {
    class: u128,
    /// All released columns except the quasi-identifiers.
    rest: u128,
    /// Codes of the sensitive values.
    values: Vec<u64>,
}

/// Compares a release with each of the earlier ones.
pub async fn verify_against(
    release: &str,
    previous: &[String],
    promise: &Promise,
    store: &Store,
    options: &JobOptions,
) -> Result<Vec<SeriesComparison>, JobError> {
    if previous.is_empty() {
        return Ok(Vec::new());
    }
    let later = read(release, promise, store, options).await?;
    let mut comparisons = Vec::new();
    for location in previous {
        let earlier = read(location, promise, store, options).await?;
        comparisons.push(SeriesComparison { previous: location.clone(), ..compare(&earlier, &later, promise) });
    }
    Ok(comparisons)
}

async fn read(
    location: &str,
    promise: &Promise,
    store: &Store,
    options: &JobOptions,
) -> Result<Vec<SeenRow>, JobError> {
    let session = session(options)?;
    let locations = [location.to_owned()];
    let input: Arc<dyn JobInput> = match release_at(&locations, store).await? {
        Some((place, manifest)) => {
            Arc::new(FileInput::of_release(&session, listed_files(&place, &manifest).await?).await?)
        }
        None => open_locations(&session, &locations, store).await?,
    };
    let failed = |error| JobError::reading("the release", &error);
    let batches = catch_decode_panic(input.rows(&session)?.collect()).await.map_err(failed)?;
    let mut rows = Vec::new();
    for batch in &batches {
        let column = |name: &str| -> Result<ArrayRef, JobError> {
            let missing = || JobError::new(Kind::Verification, format!("{location} has no column `{name}`"));
            Ok(to_canonical_array(batch.column_by_name(name).ok_or_else(missing)?)?)
        };
        let hash = |names: &[&str]| -> Result<Vec<u128>, JobError> {
            let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
            match columns.is_empty() {
                true => Ok(vec![0; batch.num_rows()]),
                false => hashes(&columns, ReleaseKey::PUBLIC),
            }
        };
        let schema = batch.schema();
        let mut rest: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        rest.retain(|name| !promise.quasi.iter().any(|quasi| quasi == name));
        rest.sort_unstable();
        let quasi: Vec<&str> = promise.quasi.iter().map(String::as_str).collect();
        let (classes, rest) = (hash(&quasi)?, hash(&rest)?);
        let secret = promise.sensitive.iter().map(|sensitive| column(&sensitive.column));
        let (values, width) =
            (codes(&secret.collect::<Result<Vec<_>, _>>()?, ReleaseKey::PUBLIC)?, promise.sensitive.len());
        for (row, (class, rest)) in classes.into_iter().zip(rest).enumerate() {
            rows.push(SeenRow { class, rest, values: values[row * width..(row + 1) * width].to_vec() });
        }
    }
    Ok(rows)
}

fn compare(earlier: &[SeenRow], later: &[SeenRow], promise: &Promise) -> SeriesComparison {
    let mut found = SeriesComparison::default();
    let mut unmatched: FxHashMap<&SeenRow, usize> = FxHashMap::default();
    earlier.iter().for_each(|row| *unmatched.entry(row).or_default() += 1);
    // The sets: by the class in the earlier release and in the later one, if any.
    let mut sets: BTreeMap<(Option<u128>, Option<u128>), Vec<&SeenRow>> = BTreeMap::new();
    let mut new = Vec::new();
    for row in later {
        match unmatched.get_mut(row).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                found.stayed += 1;
                sets.entry((Some(row.class), Some(row.class))).or_default().push(row);
            }
            None => new.push(row),
        }
    }
    let old: Vec<&SeenRow> = unmatched.iter().flat_map(|(row, count)| std::iter::repeat_n(*row, *count)).collect();
    let alike = |rows: &[&SeenRow]| {
        let mut alike: FxHashMap<u128, Vec<usize>> = FxHashMap::default();
        rows.iter().enumerate().for_each(|(at, row)| alike.entry(row.rest).or_default().push(at));
        alike
    };
    let old_alike = alike(&old);
    let mut has_moved: FxHashSet<usize> = FxHashSet::default();
    for (rest, at) in alike(&new) {
        if let ([from], [to]) = (old_alike.get(&rest).map_or(&[][..], Vec::as_slice), at.as_slice()) {
            found.moved += 1;
            sets.entry((Some(old[*from].class), Some(new[*to].class))).or_default().push(new[*to]);
            has_moved.insert(*from);
        } else {
            for row in at {
                found.come += 1;
                sets.entry((None, Some(new[row].class))).or_default().push(new[row]);
            }
        }
    }
    for (_, row) in old.iter().enumerate().filter(|(at, _)| !has_moved.contains(at)) {
        found.left += 1;
        sets.entry((Some(row.class), None)).or_default().push(row);
    }
    for rows in sets.values() {
        found.rows_below_k += if (rows.len() as u64) < promise.k { rows.len() as u64 } else { 0 };
        let is_poor = promise.sensitive.iter().enumerate().any(|(at, sensitive)| {
            let values: FxHashSet<u64> =
                rows.iter().map(|row| row.values[at]).filter(|code| *code != UNCOUNTED).collect();
            sensitive.p > 1 && (values.len() as u64) < sensitive.p
        });
        found.rows_below_p += if is_poor { rows.len() as u64 } else { 0 };
    }
    found
}
