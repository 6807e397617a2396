//! One release of a series: from the ledger and the input to a release and the next ledger.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, UInt32Array};
use datafusion::arrow::compute::{interleave_record_batch, take_record_batch};
use futures::stream;
use object_store::ObjectStoreExt;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use throng_core::exposure::InsensitiveExposure;
use throng_core::key::ReleaseKey;
use throng_core::series::{
    ABSENT, Crowd, Leavers, NightCounts, OpenNight, RowKey, SeriesRules, SeriesState, ShownRow, audit,
};
use throng_datafusion::Anonymizer;
use throng_policy::{BoundSensitive, Guards, LeaverSetting, Policy, SeriesSettings, delta_table};
use throng_report::Sidecar;
use throng_report::document::{
    AlgorithmFacts, InputFacts, OutputFacts, ReleaseFacts, ResourceFacts, RunFacts, SeriesFacts,
};
use tracing::Instrument;

use crate::error::{JobError, Kind};
use crate::guards::DeliveryGuards;
use crate::job::{BoundJob, JobOptions, PublishedRelease, bind, check_apart, column_counts, privacy_unit, run_facts};
use crate::lab::ReleaseGate;
use crate::manifest::{MANIFEST, Manifest, input_digest, policy_digest};
use crate::privacy_facts::complete;
use crate::progress::Stage;
use crate::publish::{InputIdentity, Staged, StandingRelease};
use crate::readback::{ReadBack, StagedFiles, read_back};
use crate::resources::peak_memory_bytes;
use crate::session::session;
use crate::stage_timer::StageTimer;
use crate::store_path::{Location, StorePath};
use crate::telemetry::ColumnOrigins;
use crate::write::{ROW_GROUP_ROWS, write};

use super::form::{form, recode};
use super::ledger::Ledger;
use super::place::{LedgerPlace, ledger_key};
use super::rows::{NightRows, codes, counted_columns, read_rows};

/// A release of a series that is ready to be published, with its ledger.
struct StagedNight {
    sidecar: Sidecar,
    read_back: ReadBack,
    input_digest: Option<String>,
    ledger: Ledger,
    clock: Arc<StageTimer>,
    warnings: Vec<String>,
}

/// Publishes the next release of a series. With `is_rebase` it is the first of a new one, whatever was published before.
pub(crate) async fn run_series(
    policy: &Policy,
    options: &JobOptions,
    is_rebase: bool,
) -> Result<PublishedRelease, JobError> {
    run_with_key(policy, options, is_rebase, ledger_key()?).await
}

/// Publishes the next release of a series whose ledger has this key.
pub(super) async fn run_with_key(
    policy: &Policy,
    options: &JobOptions,
    is_rebase: bool,
    key: ReleaseKey,
) -> Result<PublishedRelease, JobError> {
    let Some(settings) = &policy.series else {
        return Err(JobError::internal("a policy without [series] makes no series"));
    };
    let run_id = uuid::Uuid::new_v4().simple().to_string();
    if let Some(recorder) = &options.recorder {
        recorder.started(&run_id);
    }
    let span = tracing::info_span!("run", %run_id);
    async {
        let output = StorePath::parse_with(&policy.output.location, &policy.store)?;
        for location in &policy.input.locations {
            let location = delta_table(location).unwrap_or(location);
            check_apart(&Location::parse_with(location, &policy.store)?.place, &output)?;
        }
        let place = LedgerPlace::open(settings, &policy.store, &output, key)?;
        // The staging remembers which release it saw. It is committed only if that one still stands, so the ledger that is
        // read from here on is that of the release which this one follows.
        let staged = Staged::begin_for(&output, policy, &run_id).await?;
        let run = run_facts(policy, run_id)?;
        let night = async {
            // The entry of a table is its commit, and its manifest may be older.
            let (standing, earlier) = match staged.table_before() {
                Some((standing, earlier)) => (standing, Some(earlier)),
                None => match standing_release(&output).await? {
                    Some(release) => (StandingRelease::OfRun(release.run_id), None),
                    None => (StandingRelease::Nothing, None),
                },
            };
            let ledger = match &standing {
                _ if is_rebase => None,
                StandingRelease::OfRun(run_id) => Some(place.read(run_id, &series_digest(policy, settings)?).await?),
                StandingRelease::OfOthers => return Err(of_others(&output)),
                StandingRelease::Nothing => {
                    place.check_unused(&output).await?;
                    None
                }
            };
            if let (Some(ledger), Some(earlier)) = (&ledger, earlier) {
                check_remembered(&output, earlier, ledger.state.releases.min(settings.remember))?;
            }
            let night = stage(policy, settings, options, &place, ledger, &staged, &run).await?;
            let replaced = match standing {
                StandingRelease::OfRun(run_id) => Some(run_id),
                StandingRelease::Nothing | StandingRelease::OfOthers => None,
            };
            Ok((replaced, night))
        };
        let night = tokio::select! {
            biased;
            () = options.stop.asked() => Err(JobError::new(Kind::Stopped, "stopped; nothing was published")),
            night = night => night,
        };
        match night {
            Ok((replaced, night)) => publish(night, staged, &place, replaced, &run, output.to_string()).await,
            Err(error) => {
                staged.abandon().await;
                Err(error)
            }
        }
    }
    .instrument(span)
    .await
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

/// Returns the digest of the policy and of the unit, under which a series stays the same.
///
/// Guards and declared types refuse deliveries, and change nothing of a release.
pub(super) fn series_digest(policy: &Policy, settings: &SeriesSettings) -> Result<String, JobError> {
    let mut policy = policy.clone();
    policy.privacy.guards = Guards::default();
    policy.columns.types.clear();
    Ok(format!("{}/{}", policy_digest(&policy)?, settings.unit.join("/")))
}

/// Returns the manifest of the release that stands.
pub(crate) async fn standing_release(output: &StorePath) -> Result<Option<Manifest>, JobError> {
    let place = output.child(MANIFEST);
    let failed = |error| JobError::storage(format!("reading {place}"), &error);
    match place.store.get(&place.path).await {
        Ok(found) => Ok(Manifest::parse(&found.bytes().await.map_err(failed)?)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Returns the requirements on every block, from a bound policy.
pub(super) fn crowd(anonymizer: &Anonymizer) -> Crowd {
    let binding = anonymizer.binding();
    Crowd::new(binding.k, binding.sensitive.iter().map(|column| column.p))
}

async fn stage(
    policy: &Policy,
    settings: &SeriesSettings,
    options: &JobOptions,
    place: &LedgerPlace,
    ledger: Option<Ledger>,
    staged: &Staged,
    run: &RunFacts,
) -> Result<StagedNight, JobError> {
    let clock = Arc::new(StageTimer::start(options));
    let session = session(options)?;
    let BoundJob { input, table } = bind(policy, &session, options).await?;
    if let Some(recorder) = &options.recorder {
        recorder.bound(ColumnOrigins::of(table.anonymizer()));
    }
    let anonymizer = Arc::clone(table.anonymizer());
    let guards = DeliveryGuards::of(policy).await?;
    guards.check_declared(input.expected_rows())?;
    let gate = ReleaseGate::open(policy, &session, &input).await?;
    let span = clock.begin(Stage::Survey, None);
    let tonight = read_rows(&session, input.as_ref(), &anonymizer, &settings.unit, place.key).instrument(span).await?;
    let night = Night { anonymizer: &anonymizer, settings, key: place.key, tonight: &tonight, ledger: ledger.as_ref() };
    let prepared = night.prepare(&clock)?;
    check_suppression(&prepared.counts, tonight.keys.len() as u64, anonymizer.binding().suppression_limit)?;

    let recoded = prepared.recoded;
    let (delivered, released) = (tonight.keys.len() as u64, recoded.batch.num_rows() as u64);
    guards.check_release(delivered, released, recoded.facts.utility.ncp)?;
    let span = clock.begin(Stage::Write, Some(recoded.batch.num_rows() as u64));
    let rows = recoded.batch.num_rows();
    let batches =
        (0..rows).step_by(ROW_GROUP_ROWS).map(|at| Ok(recoded.batch.slice(at, ROW_GROUP_ROWS.min(rows - at))));
    let rows_per_file = usize::try_from(policy.output.rows_per_file).unwrap_or(usize::MAX);
    let (schema, staging) = (Arc::clone(anonymizer.schema()), staged.place()?);
    let batches: Vec<_> = batches.collect();
    let files = write(stream::iter(batches), schema, &staging, rows_per_file, options).instrument(span).await?;

    let span = clock.begin(Stage::Verify, Some(rows as u64));
    let (count, bytes) = (files.len() as u64, files.iter().map(|file| file.bytes).sum());
    let staged_files = files.clone();
    let written = StagedFiles { files, place: &staging, facts: &recoded.facts, units: None };
    let (findings, read_back) = read_back(written, &anonymizer, options, None).instrument(span).await?;
    let examined = gate.examine_files(&staging, &staged_files).await?;

    let described = input.describe();
    let (version, earlier_versions) = staged.table_version().unzip();
    let counts = prepared.counts;
    let waiting = counts.held + counts.outdated + counts.suppressed;
    let release = ReleaseFacts {
        input: InputFacts {
            rows: tonight.keys.len() as u64,
            files: described.files,
            bytes: described.bytes,
            version: described.version,
        },
        output: OutputFacts {
            rows: rows as u64,
            files: count,
            bytes,
            suppressed_rows: waiting,
            version,
            earlier_versions,
        },
        columns: column_counts(anonymizer.binding()),
        counts: privacy_unit(policy),
        algorithm: AlgorithmFacts {
            partition: policy.algorithm.partition.as_str().into(),
            cluster: recoded.facts.method.cluster.as_str().into(),
            reason: recoded.facts.reason.into(),
            seed: policy.algorithm.seed,
            budget: policy.algorithm.budget.to_string(),
            leaves: recoded.facts.leaves,
            search_cycles: recoded.facts.cycles,
        },
        utility: recoded.facts.utility,
        cells: recoded.facts.cells,
        borrowed: recoded.facts.borrowed,
        people: None,
    };
    let resources = ResourceFacts { threads: options.threads, peak_memory_bytes: peak_memory_bytes(), cluster: None };
    let facts = series_facts(&counts, &prepared.state, settings, anonymizer.binding().k);
    let sidecar = Sidecar { series: Some(facts), ..Sidecar::new(run, release, &findings, resources) };
    let mut sidecar = Sidecar { attacks: examined.attacks, ..sidecar };
    complete(&mut sidecar.privacy, anonymizer.binding(), &guards, read_back.exposure());
    let warnings = read_back.exposure().map(InsensitiveExposure::warnings).unwrap_or_default();
    let input_digest = input.fingerprint().map(|fingerprint| input_digest(policy, fingerprint)).transpose()?;
    let width = anonymizer.binding().sensitive.len();
    let digest = series_digest(policy, settings)?;
    let ledger = Ledger::new(&run.run_id, &digest, width, prepared.state, prepared.content);
    Ok(StagedNight { sidecar, read_back, input_digest, ledger, clock, warnings })
}

/// Counts of rows are rounded up to the next multiple of k: a sidecar reveals nothing about fewer than k rows.
fn series_facts(counts: &NightCounts, state: &SeriesState, settings: &SeriesSettings, k: u64) -> SeriesFacts {
    let up = |count: u64| count.div_ceil(k.max(1)) * k.max(1);
    SeriesFacts {
        releases: state.releases,
        remembered: state.releases.saturating_sub(1).min(settings.remember),
        reserve: settings.reserve,
        come: up(counts.come),
        gone: up(counts.gone),
        held: up(counts.held),
        outdated: up(counts.outdated),
        suppressed: up(counts.suppressed),
        shown_on: up(counts.shown_on),
    }
}

/// Returns an error if more rows of the input are missing from the release than the policy allows.
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

/// What one night is made of.
struct Night<'a> {
    anonymizer: &'a Anonymizer,
    settings: &'a SeriesSettings,
    key: ReleaseKey,
    tonight: &'a NightRows,
    ledger: Option<&'a Ledger>,
}

/// A night that has been decided.
struct PreparedNight {
    recoded: super::form::RecodedRelease,
    state: SeriesState,
    /// Rows of the release in the order of the state.
    content: RecordBatch,
    counts: NightCounts,
}

impl Night<'_> {
    fn prepare(&self, clock: &StageTimer) -> Result<PreparedNight, JobError> {
        let Self { anonymizer, settings, key, tonight, ledger } = *self;
        let empty = SeriesState::default();
        let state = ledger.map_or(&empty, |ledger| &ledger.state);
        let rules = SeriesRules {
            crowd: crowd(anonymizer),
            remember: usize::try_from(settings.remember).unwrap_or(usize::MAX),
            max_delay: settings.max_delay,
            max_waiting: (settings.max_waiting * tonight.keys.len() as f64) as usize,
            leavers: match settings.leavers {
                LeaverSetting::ShowOn => Leavers::ShowOn,
                LeaverSetting::DropClass => Leavers::DropBlock,
            },
        };
        let span = clock.begin(Stage::Cluster, None).entered();
        let open = OpenNight::new(state, &rules, &tonight.keys, &tonight.codes);
        let pool = take_record_batch(&tonight.content, &UInt32Array::from(open.pool().to_vec())).map_err(kernel)?;
        let units: Vec<u128> = open.pool().iter().map(|row| tonight.keys[*row as usize].unit).collect();
        let mut formed = form(anonymizer, &pool, &units, key, settings.reserve, state.releases == 0)?;
        for class in &mut formed.classes {
            class.rows.iter_mut().for_each(|row| *row = open.pool()[*row as usize]);
        }
        let mut closed = open.close(&formed.classes);
        drop(span);
        tracing::info!(
            shown = closed.counts.shown,
            shown_on = closed.counts.shown_on,
            come = closed.counts.come,
            gone = closed.counts.gone,
            held = closed.counts.held,
            "classes of the series kept, and newcomers added"
        );
        if closed.shown.is_empty() {
            return Err(JobError::new(Kind::Infeasible, "no row of the series can be shown; nothing is published"));
        }

        let _span = clock.begin(Stage::Recode, None).entered();
        // The memory has the rows of the release in the order of their keys, and so has its content.
        let key_of = |(row, _): &(ShownRow, u64)| match row {
            ShownRow::Again(row) => state.rows[*row as usize].key,
            ShownRow::New(row) => tonight.keys[*row as usize],
        };
        closed.shown.par_sort_unstable_by_key(key_of);
        let shown = self.shown_rows(state, &closed.shown)?;
        let classes: Vec<u64> = closed.shown.iter().map(|(_, class)| *class).collect();
        let recoded = recode(anonymizer, &shown, key, &classes, (formed.leaves, formed.cycles))?;
        let keys: Vec<RowKey> = closed.shown.iter().map(key_of).collect();
        self.check(state, &rules.crowd, &keys, &closed.shown, &recoded)?;

        // The released values of new classes are known only now.
        let mut state_after = closed.state;
        let print_of: FxHashMap<u64, u64> = classes.iter().copied().zip(recoded.classes.iter().copied()).collect();
        for trail in &mut state_after.trails {
            if let Some(last) = trail.last_mut().filter(|last| **last != ABSENT) {
                *last = print_of.get(last).copied().unwrap_or(*last);
            }
        }
        if shown.num_rows() != state_after.shown() {
            return Err(JobError::internal("the memory of the series has other rows than the release"));
        }
        Ok(PreparedNight { recoded, state: state_after, content: shown, counts: closed.counts })
    }

    /// Returns the content of the rows to show. A row that was shown before is shown as it was, also in columns that are
    /// neither quasi-identifiers nor sensitive: someone who follows a row by these would see one row change.
    fn shown_rows(&self, state: &SeriesState, shown: &[(ShownRow, u64)]) -> Result<RecordBatch, JobError> {
        let tonight = &self.tonight.content;
        let before = self.ledger.map_or_else(|| tonight.slice(0, 0), |ledger| ledger.content.clone());
        if before.schema() != tonight.schema() {
            let text = "the columns of the input, or their types, have changed since the last release of the series; take the \
                        change back, or begin a new series with `throng run --rebase`";
            return Err(JobError::new(Kind::BadPolicy, text));
        }
        let is_shown = |row: &u32| state.last_class(state.rows[*row as usize].block) != ABSENT;
        // Rows of the memory that were shown, in the order of the content.
        let in_ledger: Vec<u32> = (0..state.rows.len() as u32).filter(is_shown).collect();
        let place = |(row, _): &(ShownRow, u64)| match row {
            ShownRow::New(row) => Some((1, *row as usize)),
            ShownRow::Again(row) => in_ledger.binary_search(row).ok().map(|at| (0, at)),
        };
        let places = shown.iter().map(place).collect::<Option<Vec<_>>>();
        let places = places.ok_or_else(|| JobError::internal("a row of the series has no content"))?;
        interleave_record_batch(&[&before, tonight], &places).map_err(kernel)
    }

    /// Checks the release against the memory once more, from its released values.
    fn check(
        &self,
        state: &SeriesState,
        crowd: &Crowd,
        keys: &[RowKey],
        shown: &[(ShownRow, u64)],
        recoded: &super::form::RecodedRelease,
    ) -> Result<(), JobError> {
        for ((row, class), released) in shown.iter().zip(&recoded.classes) {
            if matches!(row, ShownRow::Again(_)) && class != released {
                let text = "a class of the series would be released with other values than before, because the values of the \
                            input changed how it is labelled; begin a new series with `throng run --rebase`";
                return Err(JobError::new(Kind::Infeasible, text));
            }
        }
        let sensitive = &self.anonymizer.binding().sensitive;
        let column = |column: &BoundSensitive| recoded.batch.column_by_name(&column.column.name).cloned();
        let columns: Vec<_> = sensitive.iter().filter_map(column).collect();
        let columns = counted_columns(&columns, sensitive)?;
        // From here on in the order of the release.
        let released = codes(&columns, self.key)?;
        let width = crowd.width();
        let mut codes_of = vec![&[][..]; keys.len()];
        for (at, row) in recoded.order.iter().enumerate() {
            codes_of[*row as usize] = &released[at * width..(at + 1) * width];
        }
        let rows = keys.iter().zip(&codes_of).zip(&recoded.classes).map(|((key, codes), class)| (*key, *codes, *class));
        let findings = audit(state, crowd, rows);
        match findings.holds() {
            true => Ok(()),
            false => Err(JobError::new(
                Kind::Verification,
                format!(
                    "the release and the ones before it single out {} sets of rows that do not satisfy the policy; nothing is \
                     published",
                    findings.broken_blocks
                ),
            )),
        }
    }
}

async fn publish(
    night: StagedNight,
    staged: Staged,
    place: &LedgerPlace,
    replaced: Option<String>,
    run: &RunFacts,
    location: String,
) -> Result<PublishedRelease, JobError> {
    let StagedNight { mut sidecar, read_back, input_digest, ledger, clock, warnings } = night;
    let span = clock.begin(Stage::Publish, None);
    let input = InputIdentity { digest: input_digest, version: sidecar.input.version };
    let mut finish = || {
        sidecar.set_times(&clock.times());
        sidecar.resources.peak_memory_bytes = peak_memory_bytes();
        sidecar.clone()
    };
    let files = async {
        let bytes = match place.write(&ledger).await {
            Ok(bytes) => bytes,
            Err(error) => {
                staged.abandon().await;
                return Err(error);
            }
        };
        let committed = staged.verified(read_back).commit(run, input, &mut finish).await?;
        place.committed(&run.run_id, replaced.as_deref()).await;
        tracing::info!(bytes, rows = ledger.state.rows.len(), "ledger written");
        Ok::<_, JobError>(committed.clean().await)
    }
    .instrument(span)
    .await?;
    tracing::info!(files = files.len(), rows = sidecar.output.rows, "release published");
    Ok(PublishedRelease { location, sidecar, files, warnings })
}

fn kernel(source: datafusion::arrow::error::ArrowError) -> JobError {
    throng_datafusion::AnonymizeError::Kernel("series", source).into()
}
