//! Compares releases as an intruder would, from their files alone.
//!
//! Rows that are equal in every column that both releases have are the same row to an intruder: within one class always, and across
//! classes if neither release has another row like it. What remains of a class of the earlier release has left, and what
//! remains of a class of the later one has come. Each of these sets must be empty or satisfy k and p, as far as the rows show:
//! an intruder without the ledger can't count units.
//!
//! ```text
//!  earlier ─┐                    ┌─ in both: stayed ───────────────────────────┐
//!  later ───┴─ by row ─► matched ┴─ in one ─► by rest ─► moved, left or come ──┴─ by set ─► rows and values counted
//! ```
//!
//! Rows are kept on disk between the steps. Each step takes one bucket at a time, and counts while it reads, so memory depends
//! neither on the rows of the releases nor on those of their largest class.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use rustc_hash::{FxHashMap, FxHashSet};
use throng_core::key::ReleaseKey;
use throng_core::series::UNCOUNTED;
use throng_core::verify::Promise;
use throng_datafusion::{catch_decode_panic, catch_decode_panics, to_canonical_array, to_canonical_field};
use throng_policy::Store;

use crate::error::{JobError, Kind};
use crate::input::JobInput;
use crate::job::JobOptions;
use crate::session::session;
use crate::verify::open_release;

use super::buckets::{BUCKETS, reservation, reserve};
use super::rows::{codes, counted_columns, hashes};
use super::seen_rows::{BucketBy, SeenColumns, SeenRows, SeenWriter, SetKey, StoredSeen};

/// Maximum memory of an entry of a hash table, and of a value in one.
const ENTRY_BYTES: usize = 256;
const VALUE_BYTES: usize = 32;

/// What two releases reveal together.
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
    let session = session(options)?;
    let comparer = Comparer { promise, session: &session, buckets: BUCKETS };
    let later = OpenedRelease::open(release, store, &session).await?;
    let mut comparisons = Vec::new();
    // Rows of the later release, by the columns that the last earlier one shares with it.
    let mut read: Option<(BTreeSet<String>, StoredSeen)> = None;
    for location in previous {
        let earlier = OpenedRelease::open(location, store, &session).await?;
        let shared = shared_columns(&earlier, &later)?;
        let (shared, rows) = match read.take() {
            Some((columns, rows)) if columns == shared => (columns, rows),
            _ => {
                let rows = comparer.read(&later, &shared, |seen| seen.later = seen.earlier.take()).await?;
                (shared, rows)
            }
        };
        let earlier = comparer.read(&earlier, &shared, |_| ()).await?;
        comparisons.push(SeriesComparison { previous: location.clone(), ..comparer.compare(&earlier, &rows)? });
        read = Some((shared, rows));
    }
    Ok(comparisons)
}

/// A release that is compared with another.
struct OpenedRelease<'a> {
    location: &'a str,
    input: Arc<dyn JobInput>,
}

impl<'a> OpenedRelease<'a> {
    async fn open(location: &'a str, store: &Store, session: &SessionContext) -> Result<Self, JobError> {
        Ok(Self { location, input: open_release(session, &[location.to_owned()], store).await? })
    }
}

/// Returns the columns that both releases have, by which an intruder links their rows. Fails if one of them has types that can't
/// be compared: every row would look new.
fn shared_columns(earlier: &OpenedRelease<'_>, later: &OpenedRelease<'_>) -> Result<BTreeSet<String>, JobError> {
    let schemas = [earlier.input.schema(), later.input.schema()];
    let [before, after] = schemas.map(|schema| {
        let of_field = |field: &Arc<Field>| (field.name().clone(), to_canonical_field(field).data_type().clone());
        schema.fields().iter().map(of_field).collect::<BTreeMap<_, _>>()
    });
    let are_comparable = |a: &DataType, b: &DataType| a == b || (a.is_integer() && b.is_integer());
    let mut shared = BTreeSet::new();
    for (name, data_type) in &before {
        let Some(other) = after.get(name) else { continue };
        if !are_comparable(data_type, other) {
            let (earlier, later) = (earlier.location, later.location);
            let text = format!(
                "column `{name}` of {earlier} and of {later} have different types, so their rows can't be compared; \
                 convert one of them"
            );
            return Err(JobError::new(Kind::Verification, text));
        }
        shared.insert(name.clone());
    }
    let alone = before.len() + after.len() - 2 * shared.len();
    if alone > 0 {
        tracing::warn!(columns = alone, "columns that only one of the releases has are not compared");
    }
    Ok(shared)
}

/// Compares releases on disk.
pub(super) struct Comparer<'a> {
    pub(super) promise: &'a Promise,
    pub(super) session: &'a SessionContext,
    /// Number of buckets. Findings do not depend on it.
    pub(super) buckets: usize,
}

impl Comparer<'_> {
    pub(super) fn writer(&self, by: BucketBy) -> Result<SeenWriter, JobError> {
        SeenWriter::new(self.promise.sensitive.len(), by, self.buckets, self.session)
    }

    /// Reads the `shared` columns of a release as an earlier one; `place` may move its rows to the later one.
    async fn read(
        &self,
        release: &OpenedRelease<'_>,
        shared: &BTreeSet<String>,
        place: impl Fn(&mut SeenRows),
    ) -> Result<StoredSeen, JobError> {
        let OpenedRelease { location, input } = release;
        input.read_plan(None).apply(self.session)?;
        let failed = |error| JobError::reading("the release", &error);
        let stream = catch_decode_panic(input.rows(self.session)?.execute_stream()).await.map_err(failed)?;
        let mut stream = catch_decode_panics(stream);
        let mut writer = self.writer(BucketBy::Row)?;
        while let Some(batch) = stream.try_next().await.map_err(failed)? {
            let mut rows = writer.columns();
            self.see(location, &batch, shared, &place, &mut rows)?;
            writer.push(rows)?;
        }
        writer.finish()
    }

    /// Adds the rows of a batch as an intruder sees them.
    fn see(
        &self,
        location: &str,
        batch: &RecordBatch,
        shared: &BTreeSet<String>,
        place: impl Fn(&mut SeenRows),
        to: &mut SeenColumns,
    ) -> Result<(), JobError> {
        let promise = self.promise;
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
        let is_quasi = |name: &str| promise.quasi.iter().any(|quasi| quasi == name);
        let rest: Vec<&str> = shared.iter().map(String::as_str).filter(|name| !is_quasi(name)).collect();
        let quasi: Vec<&str> = promise.quasi.iter().map(String::as_str).collect();
        let (classes, rest) = (hash(&quasi)?, hash(&rest)?);
        let secret = promise.sensitive.iter().map(|sensitive| column(&sensitive.column));
        let secret = secret.collect::<Result<Vec<_>, _>>()?;
        let rules = promise.sensitive.iter().map(|sensitive| &sensitive.look_alikes);
        let values = codes(&counted_columns(&secret, rules)?, ReleaseKey::PUBLIC)?;
        let width = promise.sensitive.len();
        for (row, (class, rest)) in classes.into_iter().zip(rest).enumerate() {
            let mut seen = SeenRows { earlier: Some(class), later: None, rest, rows: 1 };
            place(&mut seen);
            to.push(&seen, &values[row * width..(row + 1) * width]);
        }
        Ok(())
    }

    /// Compares two releases whose rows are in buckets by row.
    pub(super) fn compare(&self, earlier: &StoredSeen, later: &StoredSeen) -> Result<SeriesComparison, JobError> {
        let mut found = SeriesComparison::default();
        let mut sets = self.writer(BucketBy::Set)?;
        let unmatched = self.match_equal(earlier, later, &mut sets, &mut found)?;
        self.match_moved(&unmatched, &mut sets, &mut found)?;
        self.count_sets(&sets.finish()?, &mut found)?;
        Ok(found)
    }

    /// Matches equal rows of one class. Returns the rows of each release that the other does not have in that class.
    fn match_equal(
        &self,
        earlier: &StoredSeen,
        later: &StoredSeen,
        sets: &mut SeenWriter,
        found: &mut SeriesComparison,
    ) -> Result<StoredSeen, JobError> {
        let (room, width) = (reservation(self.session), self.promise.sensitive.len());
        let mut unmatched = self.writer(BucketBy::Rest)?;
        for bucket in 0..self.buckets {
            // Rows in the earlier release and in the later one, and where the values are.
            let mut alike: FxHashMap<(u128, u128), ([u64; 2], usize)> = FxHashMap::default();
            let mut all_values = Vec::new();
            for (release, stored) in [earlier, later].into_iter().enumerate() {
                for part in stored.parts(bucket) {
                    for (seen, values) in part?.iter() {
                        let Some(class) = seen.earlier.or(seen.later) else { continue };
                        let (rows, _) = alike.entry((class, seen.rest)).or_insert_with(|| {
                            all_values.extend(values);
                            ([0, 0], all_values.len() - width)
                        });
                        rows[release] += seen.rows;
                    }
                    reserve(&room, alike.len() * (ENTRY_BYTES + width * VALUE_BYTES))?;
                }
            }
            let (mut stayed, mut alone) = (sets.columns(), unmatched.columns());
            for ((class, rest), ([before, after], at)) in alike {
                let (class, values, both) = (Some(class), &all_values[at..at + width], before.min(after));
                found.stayed += both;
                if both > 0 {
                    stayed.push(&SeenRows { earlier: class, later: class, rest, rows: both }, values);
                }
                if before > both {
                    alone.push(&SeenRows { earlier: class, later: None, rest, rows: before - both }, values);
                }
                if after > both {
                    alone.push(&SeenRows { earlier: None, later: class, rest, rows: after - both }, values);
                }
            }
            sets.push(stayed)?;
            unmatched.push(alone)?;
        }
        unmatched.finish()
    }

    /// Matches rows that are equal except for their class, if each release has only one of them.
    fn match_moved(
        &self,
        unmatched: &StoredSeen,
        sets: &mut SeenWriter,
        found: &mut SeriesComparison,
    ) -> Result<(), JobError> {
        let room = reservation(self.session);
        for bucket in 0..self.buckets {
            // Keyed by all other columns: the number of rows in the earlier release and in the later one, and a class
            // of each.
            let mut alike: FxHashMap<u128, ([u64; 2], SetKey)> = FxHashMap::default();
            for part in unmatched.parts(bucket) {
                for (seen, _) in part?.iter() {
                    let ([before, after], classes) = alike.entry(seen.rest).or_default();
                    *before += if seen.earlier.is_some() { seen.rows } else { 0 };
                    *after += if seen.later.is_some() { seen.rows } else { 0 };
                    *classes = (classes.0.or(seen.earlier), classes.1.or(seen.later));
                }
                reserve(&room, alike.len() * ENTRY_BYTES)?;
            }
            for part in unmatched.parts(bucket) {
                let mut rows = sets.columns();
                for (seen, values) in part?.iter() {
                    match alike.get(&seen.rest) {
                        // Counted once, as a row of the later release.
                        Some(([1, 1], _)) if seen.later.is_none() => continue,
                        Some(([1, 1], (earlier, _))) => {
                            found.moved += 1;
                            rows.push(&SeenRows { earlier: *earlier, ..*seen }, values);
                        }
                        _ => {
                            *if seen.later.is_some() { &mut found.come } else { &mut found.left } += seen.rows;
                            rows.push(seen, values);
                        }
                    }
                }
                sets.push(rows)?;
            }
        }
        Ok(())
    }

    /// Counts the rows and values of each set, and the rows of sets that do not satisfy the promise.
    fn count_sets(&self, sets: &StoredSeen, found: &mut SeriesComparison) -> Result<(), JobError> {
        let (room, sensitive) = (reservation(self.session), &self.promise.sensitive);
        for bucket in 0..self.buckets {
            let (mut counted, mut held): (FxHashMap<SetKey, CountedSet>, usize) = (FxHashMap::default(), 0);
            for part in sets.parts(bucket) {
                for (seen, values) in part?.iter() {
                    let set = counted.entry(seen.set()).or_insert_with(|| CountedSet::new(sensitive.len()));
                    set.rows += seen.rows;
                    for ((known, value), promised) in set.values.iter_mut().zip(values).zip(sensitive) {
                        // Values beyond p make no difference.
                        if *value != UNCOUNTED && (known.len() as u64) < promised.p {
                            held += usize::from(known.insert(*value));
                        }
                    }
                }
                reserve(&room, counted.len() * (ENTRY_BYTES + sensitive.len() * ENTRY_BYTES) + held * VALUE_BYTES)?;
            }
            for CountedSet { rows, values } in counted.values() {
                let is_poor = values
                    .iter()
                    .zip(sensitive)
                    .any(|(values, promised)| promised.p > 1 && (values.len() as u64) < promised.p);
                found.rows_below_k += if *rows < self.promise.k { *rows } else { 0 };
                found.rows_below_p += if is_poor { *rows } else { 0 };
            }
        }
        Ok(())
    }
}

/// Rows that are singled out together.
struct CountedSet {
    rows: u64,
    /// Distinct values of each sensitive column, up to p.
    values: Vec<FxHashSet<u64>>,
}

impl CountedSet {
    fn new(width: usize) -> Self {
        Self { rows: 0, values: vec![FxHashSet::default(); width] }
    }
}

#[cfg(test)]
#[path = "against_tests.rs"]
mod tests;
