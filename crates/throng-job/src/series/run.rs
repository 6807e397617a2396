//! One release of a series: from the ledger and the input to a release and the next ledger.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use object_store::ObjectStoreExt;
use throng_core::exposure::InsensitiveExposure;
use throng_core::key::ReleaseKey;
use throng_core::series::NightCounts;
use throng_datafusion::{AnonymizedTable, Anonymizer, Facts, Progress, Release};
use throng_policy::{Guards, Policy, SeriesSettings, delta_table};
use throng_report::Sidecar;
use throng_report::document::{ClusterFacts, RunFacts, SeriesFacts};
use tracing::Instrument;

use crate::distributed::Cluster;
use crate::error::{JobError, Kind};
use crate::guards::DeliveryGuards;
use crate::job::{
    BoundJob, CommittedWith, DescribedRelease, JobOptions, PublishedRelease, StagedRelease, begin_run, bind,
    check_distributable, check_no_overlap, output_facts, publish, run_facts, unless_stopped,
};
use crate::lab::ReleaseGate;
use crate::manifest::{MANIFEST, Manifest, input_digest, policy_digest};
use crate::progress::Stage;
use crate::publish::{ExistingRelease, Staged};
use crate::readback::{StagedFiles, read_back};
use crate::session::session;
use crate::stage_timer::StageTimer;
use crate::store_path::{Location, StorePath};
use crate::telemetry::ColumnOrigins;
use crate::write::{ROW_GROUP_ROWS, with_field_roles, write};

use super::cells::CellCounts;
use super::check::check_staged;
use super::disk_table::disk_table;
use super::ledger::{Ledger, LedgerHeader, WrittenLedger};
use super::night::{DecidedNight, Night, for_columns};
use super::place::{LedgerPlace, StagedLedger, ledger_key};
use super::rows::{read_rows, unit_types};

/// Publishes the next release of a series. With `is_rebase` it is the first of a new series, regardless of earlier
/// releases. A compute cluster reads the input and verifies the release; the ledger and its key stay in this process.
pub(crate) async fn run_series(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
    is_rebase: bool,
) -> Result<PublishedRelease, JobError> {
    run_with_key(policy, options, cluster, is_rebase, ledger_key()?).await
}

/// Publishes the next release of a series whose ledger has this key.
pub(super) async fn run_with_key(
    policy: &Policy,
    options: &JobOptions,
    cluster: Option<&Cluster>,
    is_rebase: bool,
    key: ReleaseKey,
) -> Result<PublishedRelease, JobError> {
    let Some(settings) = &policy.series else {
        return Err(JobError::internal("a policy without [series] makes no series"));
    };
    let run_id = begin_run(options);
    let span = tracing::info_span!("run", %run_id);
    async {
        let output = StorePath::parse_with(&policy.output.location, &policy.store)?;
        for location in &policy.input.locations {
            let location = delta_table(location).unwrap_or(location);
            check_no_overlap(&Location::parse_with(location, &policy.store)?.place, &output)?;
        }
        let place = LedgerPlace::open(settings, &policy.store, &output, key)?;
        // The staging records the current release, and is committed only if that is still the current one. So the ledger
        // read from here on belongs to the release that this one follows.
        let staged = Staged::begin_for(&output, policy, &run_id).await?;
        let run = run_facts(policy, run_id)?;
        let night = async {
            let before = SeriesBefore::read(policy, settings, &place, &output, &staged, is_rebase).await?;
            let replaced = before.run_id.clone();
            Ok((replaced, stage(policy, settings, options, cluster, &place, before, &staged, &run).await?))
        };
        let night = unless_stopped(options, night).await;
        let (staged, (replaced, (ready, ledger))) = staged.or_abandon(night).await?;
        let ledger = StagedLedger { place: &place, ledger, output: &output, replaced };
        publish(ready, staged, &run, output.to_string(), CommittedWith::Ledger(ledger)).await
    }
    .instrument(span)
    .await
}

/// What a series knows before a release.
struct SeriesBefore {
    /// Run of the release that this one replaces.
    run_id: Option<String>,
    /// The ledger of that release; `None` if a series begins.
    ledger: Option<Ledger>,
    guards: DeliveryGuards,
}

impl SeriesBefore {
    /// Reads the ledger of the release that is the current one when the staging begins.
    async fn read(
        policy: &Policy,
        settings: &SeriesSettings,
        place: &LedgerPlace,
        output: &StorePath,
        staged: &Staged,
        is_rebase: bool,
    ) -> Result<Self, JobError> {
        // The entry of a table is its commit, and its manifest may be older.
        let (existing, earlier) = match staged.table_before() {
            Some((existing, earlier)) => (existing, Some(earlier)),
            None => match existing_release(output).await? {
                Some(release) => (ExistingRelease::OfRun(release.run_id), None),
                None => (ExistingRelease::Nothing, None),
            },
        };
        let run_id = match &existing {
            ExistingRelease::OfRun(run_id) => Some(run_id.clone()),
            ExistingRelease::Nothing | ExistingRelease::OfOthers => None,
        };
        place.check_owner(output, run_id.as_deref(), &policy.store).await?;
        let digest = series_digest(policy, settings)?;
        let ledger = match &existing {
            _ if is_rebase => None,
            ExistingRelease::OfRun(run_id) => Some(place.read(run_id, &digest).await?),
            ExistingRelease::OfOthers => return Err(of_others(output)),
            ExistingRelease::Nothing => {
                place.check_unused(output).await?;
                None
            }
        };
        if let (Some(ledger), Some(earlier)) = (&ledger, earlier) {
            check_remembered(output, earlier, ledger.header.remembered as u64)?;
        }
        let delivered = match (&ledger, &run_id) {
            (Some(ledger), _) => Some(ledger.header.delivered),
            // A new series may begin because its ledger can't be read.
            (None, Some(run_id)) if policy.privacy.guards.max_rows_change.is_some() => {
                place.read(run_id, &digest).await.ok().map(|ledger| ledger.header.delivered)
            }
            (None, _) => None,
        };
        Ok(Self { run_id, ledger, guards: DeliveryGuards::of_series(policy, delivered) })
    }
}

/// Returns an error if time travel reaches releases that the series does not remember.
fn check_remembered(output: &StorePath, readable: u64, remembered: u64) -> Result<(), JobError> {
    if readable <= remembered {
        return Ok(());
    }
    let text = format!(
        "{readable} earlier releases of {output} can still be read by time travel, and the series remembers {remembered}, so what \
         they show together is not known; their files expire an hour after they were replaced: try again then"
    );
    Err(JobError::new(Kind::TemporaryIo, text))
}

/// Returns the error for a table whose files another program has written.
pub(super) fn of_others(output: &StorePath) -> JobError {
    let text = format!(
        "another program has written the files of the latest version of {output}, so the release that the ledger knows no longer \
         stands; restore it from a backup, or begin a new series with `throng run --rebase`, whose releases are not checked against \
         the earlier ones"
    );
    JobError::new(Kind::BadPolicy, text)
}

/// Returns an error if a column of the unit has another type than in the last release: the pseudonyms of equal values differ then, and
/// everyone would seem to have left, and to have come as someone else.
fn check_unit_types(unit: &[String], before: &[String], tonight: &[String]) -> Result<(), JobError> {
    let mut changes = unit.iter().zip(before).zip(tonight).filter(|((_, before), tonight)| before != tonight);
    let Some(((column, before), tonight)) = changes.next() else { return Ok(()) };
    let text = format!(
        "column `{column}` of the `unit` was of type {before} in the last release of the series and is of type {tonight} now, so people \
         could not be recognized; convert it to {before} in the input, or begin a new series with `throng run --rebase`, whose releases \
         are not checked against the earlier ones"
    );
    Err(JobError::new(Kind::BadPolicy, text))
}

/// Returns the digest of the policy and of the unit, under which a series stays the same.
///
/// Guards and declared types may refuse a delivery, but do not affect a release.
pub(super) fn series_digest(policy: &Policy, settings: &SeriesSettings) -> Result<String, JobError> {
    let mut policy = policy.clone();
    policy.privacy.guards = Guards::default();
    policy.columns.types.clear();
    Ok(format!("{}/{}", policy_digest(&policy)?, settings.unit.join("/")))
}

/// Returns the manifest of the current release.
pub(crate) async fn existing_release(output: &StorePath) -> Result<Option<Manifest>, JobError> {
    let place = output.child(MANIFEST);
    let failed = |error| JobError::storage(format!("reading {place}"), &error);
    match place.store.get(&place.path).await {
        Ok(found) => Ok(Manifest::parse(&found.bytes().await.map_err(failed)?)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

#[expect(clippy::too_many_arguments, reason = "the state of a night, in the order of its stages")]
async fn stage(
    policy: &Policy,
    settings: &SeriesSettings,
    options: &JobOptions,
    cluster: Option<&Cluster>,
    place: &LedgerPlace,
    before: SeriesBefore,
    staged: &Staged,
    run: &RunFacts,
) -> Result<(StagedRelease, WrittenLedger), JobError> {
    let SeriesBefore { ledger, guards, .. } = before;
    let clock = Arc::new(StageTimer::start(options));
    let session = session(options)?;
    let BoundJob { input, table } = bind(policy, &session, options).await?;
    if let Some(recorder) = &options.recorder {
        recorder.bound(ColumnOrigins::of(table.anonymizer()));
    }
    let anonymizer = Arc::clone(table.anonymizer());
    check_distributable(cluster, input.as_ref())?;
    let unit_types = unit_types(input.schema(), &settings.unit);
    if let Some(ledger) = &ledger {
        check_unit_types(&settings.unit, &ledger.header.unit_types, &unit_types)?;
    }
    guards.check_declared(input.expected_rows())?;
    let gate = ReleaseGate::open(policy, &session, &input).await?;
    let span = clock.begin(Stage::Survey, None);
    let tonight = read_rows(&session, cluster, input.as_ref(), &anonymizer, &settings.unit, place.key);
    let tonight = tonight.instrument(span).await?;
    let of_cluster = cluster.map(|cluster| cluster_facts(cluster, tonight.bytes));
    let delivered = tonight.rows;
    // Labels have as many stars as in the first release, whichever codes are there tonight.
    let mask_lengths =
        ledger.as_ref().map_or_else(|| tonight.mask_lengths.clone(), |ledger| ledger.header.mask_lengths.clone());
    let anonymizer = match mask_lengths.is_empty() {
        true => anonymizer,
        false => {
            let policy = anonymizer.policy().with_mask_lengths(&mask_lengths);
            Arc::new(Anonymizer::new(Arc::new(policy), Arc::clone(anonymizer.input_schema()))?)
        }
    };
    guards.check_rows(delivered, delivered)?;
    // How many earlier releases this one is made safe with.
    let earlier = ledger.as_ref().map_or(0, |ledger| ledger.header.remembered as u64);
    let night = Night {
        anonymizer: &anonymizer,
        settings,
        session: &session,
        place,
        tonight: Arc::new(tonight),
        ledger,
        threads: options.threads,
    };
    let decided = night.decide(&clock).await?;
    drop(night);
    let DecidedNight {
        rows,
        checksum,
        ledger,
        waiting,
        releases,
        remembered,
        counts,
        formed,
        cells,
        in_several_classes,
    } = decided;
    tracing::info!(
        shown = counts.shown,
        shown_on = counts.shown_on,
        come = counts.come,
        gone = counts.gone,
        held = counts.held,
        "classes of the series kept, and newcomers added"
    );
    if counts.shown == 0 {
        return Err(JobError::new(Kind::Infeasible, "no row of the series can be shown; nothing is published"));
    }
    check_suppression(&counts, delivered, anonymizer.binding().suppression_limit)?;
    let header = LedgerHeader {
        run_id: run.run_id.clone(),
        policy_digest: series_digest(policy, settings)?,
        releases,
        remembered,
        width: anonymizer.binding().sensitive.len(),
        delivered,
        unit_types,
        mask_lengths,
    };
    let ledger = ledger.finish(header, &waiting)?;

    let release = recoded(&anonymizer, &session, rows, counts.shown, options, &clock).await?;
    let (method, reason) = anonymizer.method();
    let CellCounts { sizes: cells, borrowed } = cells;
    let (leaves, cycles) = formed;
    let facts = Facts { leaves, cycles, method, reason, cells, borrowed, ..release.facts().clone() };
    guards.check_release(delivered, counts.shown, facts.utility.ncp)?;
    let span = clock.begin(Stage::Write, Some(counts.shown));
    let batches = release.compact_stream_with_units(ROW_GROUP_ROWS, options.threads);
    // From here on the stream alone owns the release, and frees memory and spill files with its last row.
    drop(release);
    let rows_per_file = usize::try_from(policy.output.rows_per_file).unwrap_or(usize::MAX);
    let (schema, staging) = (with_field_roles(anonymizer.schema(), anonymizer.binding()), staged.place()?);
    let files = write(batches, schema, &staging, rows_per_file, options).instrument(span).await?;

    let span = clock.begin(Stage::Verify, Some(counts.shown));
    let staged_files = files.clone();
    let written = StagedFiles { files, place: &staging, facts: &facts, units: None };
    let (findings, read_back) = read_back(written, &anonymizer, options, cluster).instrument(span).await?;
    check_staged(&staging, &staged_files, &anonymizer, place.key, &checksum, options).await?;
    let examined = gate.examine_files(&staging, &staged_files).await?;

    // The release has rows that are no longer in the input, and lacks rows of it that wait.
    let suppressed = counts.held + counts.outdated + counts.suppressed;
    let facts = Facts { rows_read: delivered, suppressed, ..facts };
    let verified = DescribedRelease {
        policy,
        anonymizer: &anonymizer,
        guards: &guards,
        input: &input.describe(),
        output: output_facts(&staged_files, &facts, staged),
        facts,
        findings: &findings,
        exposure: read_back.exposure(),
        examined,
        threads: options.threads,
        cluster: of_cluster,
    };
    let (k, nights) = (anonymizer.binding().k, (releases, earlier));
    let series = series_facts(&counts, in_several_classes, nights, settings, k);
    let sidecar = Sidecar { series: Some(series), ..verified.sidecar(run) };
    let warnings = read_back.exposure().map(InsensitiveExposure::warnings).unwrap_or_default();
    let input_digest = input.fingerprint().map(|fingerprint| input_digest(policy, fingerprint)).transpose()?;
    Ok((StagedRelease { sidecar, read_back, input_digest, clock, warnings }, ledger))
}

/// Returns the bytes that a cluster has sent. There is no release plan on a store, because the driver decides about rows.
fn cluster_facts(cluster: &Cluster, bytes: u64) -> ClusterFacts {
    let shuffle_bytes = BTreeMap::from([("survey".into(), bytes)]);
    ClusterFacts { partitions: cluster.partitions, groups: 0, outline_bytes: 0, shuffle_bytes }
}

/// Returns the facts about a series. Counts are rounded up to the next multiple of k: a sidecar reveals nothing about fewer than k rows.
fn series_facts(
    counts: &NightCounts,
    in_several_classes: u64,
    (releases, remembered): (u64, u64),
    settings: &SeriesSettings,
    k: u64,
) -> SeriesFacts {
    let up = |count: u64| count.div_ceil(k.max(1)) * k.max(1);
    SeriesFacts {
        releases,
        remembered,
        reserve: settings.reserve,
        come: up(counts.come),
        gone: up(counts.gone),
        held: up(counts.held),
        outdated: up(counts.outdated),
        suppressed: up(counts.suppressed),
        shown_on: up(counts.shown_on),
        in_several_classes: up(in_several_classes),
    }
}

/// Returns an error if more input rows are missing from the release than the policy allows.
fn check_suppression(counts: &NightCounts, rows: u64, limit: Option<f64>) -> Result<(), JobError> {
    let missing = counts.held + counts.outdated + counts.suppressed;
    match limit {
        Some(limit) if missing as f64 > (limit * rows as f64 * (1.0 + f64::EPSILON)).floor() => {
            let text = format!(
                "of {rows} rows {missing} would have to wait or be suppressed, and `suppression_limit` is {limit}; raise it, or \
                 begin a new series with `throng run --rebase`"
            );
            Err(JobError::new(Kind::Infeasible, text))
        }
        _ => Ok(()),
    }
}

/// Returns the release of rows whose classes are given as blocks.
async fn recoded(
    anonymizer: &Anonymizer,
    session: &SessionContext,
    rows: Arc<super::buckets::StoredBuckets>,
    count: u64,
    options: &JobOptions,
    clock: &Arc<StageTimer>,
) -> Result<Arc<Release>, JobError> {
    let schema = Arc::clone(rows.schema());
    let policy = for_columns(anonymizer.policy().for_blocks(), &schema);
    let load = Arc::new(move |bucket| rows.read(bucket));
    let table = AnonymizedTable::new(disk_table(schema, options.threads, load)?, Arc::new(policy))?
        .with_progress(Arc::clone(clock) as Arc<dyn Progress>)
        .with_expected_rows(Some(count))
        .with_parts_between_blocks()
        .with_external_verification();
    let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the rows to show", &error))?;
    let release = plan.release(session.task_ctx()).await?;
    match release.rows() == count {
        true => Ok(release),
        false => Err(JobError::internal("a release has other rows than the series shows")),
    }
}
