//! Checks the current release against the ledger of its series.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use rustc_hash::FxHashMap;
use throng_core::key::ReleaseKey;
use throng_core::series::{ABSENT, Crowd, SeriesState};
use throng_datafusion::{catch_decode_panic, catch_decode_panics};
use throng_policy::{OutputFormat, Policy};

use crate::delta::{DeltaHistory, DeltaLog};
use crate::error::{JobError, Kind};
use crate::input::{FileInput, JobInput, open_locations};
use crate::job::JobOptions;
use crate::session::session;
use crate::store_path::StorePath;
use crate::verify::listed_files;

use super::buckets::{BUCKETS, BucketWriter, reservation, reserve};
use super::check::canonical;
use super::kernel;
use super::ledger::{LedgerPart, part_of};
use super::place::{LedgerPlace, ledger_key};
use super::rows::{code_columns, code_fields, codes, codes_of, counted_columns, fingerprints};
use super::run::{existing_release, of_others, series_digest};

/// What a ledger states about the current release, and whether it is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeriesFindings {
    /// Number of releases of the series.
    pub releases: u64,
    /// Number of rows of the release.
    pub rows: u64,
    /// Blocks: sets of rows that the remembered releases single out together.
    pub blocks: u64,
    /// Blocks that do not satisfy the policy.
    pub broken_blocks: u64,
    /// Rows of the release that are not in the ledger, or vice versa.
    pub unknown_rows: u64,
}

impl SeriesFindings {
    /// Whether the release is the one of the ledger, and the remembered releases are safe together.
    pub fn holds(&self) -> bool {
        self.broken_blocks == 0 && self.unknown_rows == 0
    }
}

/// Checks the release at the output of a policy against its ledger: it must have the rows that the ledger remembers, class
/// by class, and every set of rows that the remembered releases single out together must satisfy the policy.
pub async fn verify_ledger(policy: &Policy, options: &JobOptions) -> Result<SeriesFindings, JobError> {
    verify_with_key(policy, options, ledger_key()?).await
}

/// Checks the release against a ledger with this key.
pub(super) async fn verify_with_key(
    policy: &Policy,
    options: &JobOptions,
    key: ReleaseKey,
) -> Result<SeriesFindings, JobError> {
    let Some(settings) = &policy.series else {
        return Err(JobError::new(Kind::BadPolicy, "the policy has no [series], and so no ledger"));
    };
    let output = StorePath::parse_with(&policy.output.location, &policy.store)?;
    let place = LedgerPlace::open(settings, &policy.store, &output, key)?;
    let session = session(options)?;
    let (run_id, input) = match policy.output.format {
        OutputFormat::Parquet => existing_files(&session, &output).await?,
        OutputFormat::Delta => latest_version(&session, &output, policy).await?,
    };
    let ledger = place.read(&run_id, &series_digest(policy, settings)?).await?;
    let (mut promise, _) = policy.promise();
    // The ledger has columns in the order of the input, which is that of the release.
    let place_of = |name: &str| input.schema().index_of(name).unwrap_or(usize::MAX);
    promise.quasi.sort_by_key(|name| place_of(name));
    promise.sensitive.sort_by_key(|promised| place_of(&promised.column));
    let sensitive: Vec<String> = promise.sensitive.iter().map(|column| column.column.clone()).collect();
    let width = sensitive.len();
    if width != ledger.header.width {
        return Err(place.damaged(&run_id));
    }
    let failed = |error| JobError::reading("the release", &error);
    let stream = catch_decode_panic(input.rows(&session)?.execute_stream()).await.map_err(failed)?;
    let mut stream = catch_decode_panics(stream);
    let class = Field::new("class", DataType::UInt64, false);
    let schema = Arc::new(Schema::new([class].into_iter().chain(code_fields(width)).collect::<Vec<_>>()));
    let mut released = BucketWriter::new(Arc::clone(&schema), &session)?;
    let mut rows = 0;
    while let Some(batch) = stream.try_next().await.map_err(failed)? {
        rows += batch.num_rows() as u64;
        let classes = fingerprints(&canonical(&batch, &promise.quasi)?, place.key)?;
        let rules = promise.sensitive.iter().map(|promised| &promised.look_alikes);
        let codes = codes(&counted_columns(&canonical(&batch, &sensitive)?, rules)?, place.key)?;
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from(classes.clone()))];
        columns.extend(code_columns(&codes, width));
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(kernel)?;
        released.push(batch, classes.into_iter().map(part_of))?;
    }
    let released = released.finish()?;
    let crowd = Crowd::new(policy.privacy.k, promise.sensitive.iter().map(|column| column.p));
    let mut findings =
        SeriesFindings { releases: ledger.header.releases, rows, blocks: 0, broken_blocks: 0, unknown_rows: 0 };
    let room = reservation(&session);
    for number in 0..BUCKETS as u32 {
        let part = ledger.parts.iter().find(|part| part.number == number);
        reserve(&room, part.map_or(0, LedgerPart::state_room) + 2 * released.room(number as usize))?;
        let state = match part {
            Some(part) => ledger.state(part).ok_or_else(|| place.damaged(&run_id))?,
            None => SeriesState::default(),
        };
        findings.add(&state, &released.read(number as usize)?, &crowd);
    }
    Ok(findings)
}

impl SeriesFindings {
    /// Adds a part of the ledger, and the rows of the release in the classes of this part.
    fn add(&mut self, state: &SeriesState, released: &RecordBatch, crowd: &Crowd) {
        let width = crowd.width();
        let classes = released.column(0).as_primitive::<UInt64Type>();
        let order: Vec<u32> = (0..released.num_rows() as u32).collect();
        let codes = codes_of(released, 1, width, &order);
        let mut balance: FxHashMap<(u64, &[u64]), i64> = FxHashMap::default();
        for (row, class) in classes.values().iter().enumerate() {
            *balance.entry((*class, &codes[row * width..(row + 1) * width])).or_default() += 1;
        }
        for (row, remembered) in state.rows.iter().enumerate() {
            let class = state.last_class(remembered.block);
            if class != ABSENT {
                *balance.entry((class, state.codes(row, width))).or_default() -= 1;
            }
        }
        self.unknown_rows += balance.values().map(|surplus| surplus.unsigned_abs()).sum::<u64>();
        let is_broken = |rows: &&Vec<u32>| {
            let row = |row: &u32| (state.rows[*row as usize].key.unit, state.codes(*row as usize, width));
            !crowd.is_satisfied(rows.iter().map(row))
        };
        let blocks = state.blocks();
        self.blocks += blocks.len() as u64;
        self.broken_blocks += blocks.iter().filter(is_broken).count() as u64;
    }
}

/// Returns the files of the current release, and the run that made it.
async fn existing_files(session: &SessionContext, output: &StorePath) -> Result<(String, Arc<dyn JobInput>), JobError> {
    let Some(manifest) = existing_release(output).await? else { return Err(nothing(output)) };
    let input = FileInput::of_release(session, listed_files(output, &manifest).await?).await?;
    Ok((manifest.run_id, Arc::new(input)))
}

/// Returns the latest version of a table, and the run that made it.
async fn latest_version(
    session: &SessionContext,
    output: &StorePath,
    policy: &Policy,
) -> Result<(String, Arc<dyn JobInput>), JobError> {
    let Some(log) = DeltaLog::list(output).await? else { return Err(nothing(output)) };
    let run = DeltaHistory::read(session, &log).await?.files_run.ok_or_else(|| of_others(output))?;
    let table = format!("delta+{}", policy.output.location);
    Ok((run, open_locations(session, &[table], &policy.store).await?))
}

fn nothing(output: &StorePath) -> JobError {
    JobError::new(Kind::NoInput, format!("{output} has no release"))
}
