//! Checks the release that stands against the ledger of its series.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::prelude::SessionContext;
use throng_core::key::ReleaseKey;
use throng_core::series::{ABSENT, Crowd};
use throng_datafusion::{catch_decode_panic, to_canonical_array};
use throng_policy::{OutputFormat, Policy};

use crate::delta::{DeltaHistory, DeltaLog};
use crate::error::{JobError, Kind};
use crate::input::{FileInput, JobInput, open_locations};
use crate::job::JobOptions;
use crate::session::session;
use crate::store_path::StorePath;
use crate::verify::listed_files;

use super::place::{LedgerPlace, ledger_key};
use super::rows::{codes, fingerprints};
use super::run::{of_others, series_digest, standing_release};

/// What a ledger says about the release that stands, and whether it is true.
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
    /// Rows of the release that the ledger does not know, or the other way round.
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
        OutputFormat::Parquet => standing_files(&session, &output).await?,
        OutputFormat::Delta => latest_version(&session, &output, policy).await?,
    };
    let ledger = place.read(&run_id, &series_digest(policy, settings)?).await?;
    let (mut promise, _) = policy.promise();
    // The ledger has columns in the order of the input, which is that of the release.
    let place_of = |name: &str| input.schema().index_of(name).unwrap_or(usize::MAX);
    promise.quasi.sort_by_key(|name| place_of(name));
    promise.sensitive.sort_by_key(|promised| place_of(&promised.column));
    let sensitive: Vec<String> = promise.sensitive.iter().map(|column| column.column.clone()).collect();
    let failed = |error| JobError::reading("the release", &error);
    let batches = catch_decode_panic(input.rows(&session)?.collect()).await.map_err(failed)?;
    let mut balance: BTreeMap<(u64, Vec<u64>), i64> = BTreeMap::new();
    let mut rows = 0;
    for batch in &batches {
        let columns = |names: &[String]| -> Result<Vec<ArrayRef>, JobError> {
            let column = |name: &String| {
                let column = batch.column_by_name(name).map(Arc::clone);
                let missing = || JobError::new(Kind::Verification, format!("the release has no column `{name}`"));
                Ok(to_canonical_array(&column.ok_or_else(missing)?)?)
            };
            names.iter().map(column).collect()
        };
        let classes = fingerprints(&columns(&promise.quasi)?, place.key)?;
        let codes = codes(&columns(&sensitive)?, place.key)?;
        let width = sensitive.len();
        for (row, class) in classes.into_iter().enumerate() {
            *balance.entry((class, codes[row * width..(row + 1) * width].to_vec())).or_default() += 1;
            rows += 1;
        }
    }
    let (state, width) = (&ledger.state, ledger.header.width);
    for (row, remembered) in state.rows.iter().enumerate() {
        let class = state.last_class(remembered.block);
        if class != ABSENT {
            *balance.entry((class, state.codes(row, width).to_vec())).or_default() -= 1;
        }
    }
    let crowd = Crowd::new(policy.privacy.k, promise.sensitive.iter().map(|column| column.p));
    let is_broken = |rows: &Vec<u32>| {
        let row = |row: &u32| (state.rows[*row as usize].key.unit, state.codes(*row as usize, width));
        !crowd.is_satisfied(rows.iter().map(row))
    };
    let blocks = state.blocks();
    Ok(SeriesFindings {
        releases: state.releases,
        rows,
        blocks: blocks.len() as u64,
        broken_blocks: blocks.iter().filter(|rows| is_broken(rows)).count() as u64,
        unknown_rows: balance.values().map(|surplus| surplus.unsigned_abs()).sum(),
    })
}

/// Returns the files of the release that stands, and the run that made it.
async fn standing_files(session: &SessionContext, output: &StorePath) -> Result<(String, Arc<dyn JobInput>), JobError> {
    let Some(manifest) = standing_release(output).await? else { return Err(nothing(output)) };
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
