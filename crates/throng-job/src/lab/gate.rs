//! What stands between a release and those who get it: attacks, and people of the population.
//!
//! Every release that leaves this crate passes here after it was verified: staged files before they are published, and rows of this
//! process before a host receives them. A session that was given the gate ([`examine_releases`]) passes its releases through it,
//! too, before the first row of a query leaves.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::SessionContext;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::ObjectStoreExt;
use throng_core::risk::ReleasePeople;
use throng_datafusion::{ExamineRelease, Release, ReleaseExaminer};
use throng_lab::Lexicon;
use throng_lab::attacks::{AttackInput, AttackReport, DEFAULT_TARGETS};
use throng_policy::Policy;
use throng_report::document::{AttackFacts, AttackGain};

use super::columns::LabColumns;
use super::population::OpenPopulation;
use super::read::{LabSource, read_original, read_release, read_traces};
use crate::error::{JobError, Kind};
use crate::input::{FileInput, InputFile, JobInput, of_host};
use crate::manifest::FileEntry;
use crate::session::guarded_context;
use crate::store_path::StorePath;

/// Rows of a batch of a release that is read in this process.
const BATCH_ROWS: usize = 1 << 13;

/// What was measured of a release before it left.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExaminedRelease {
    /// What may be published of the attacks; nothing if the policy sets no limit.
    pub(crate) attacks: Option<AttackFacts>,
    /// People of the population in each class; nothing if the policy has no population.
    pub(crate) people: Option<ReleasePeople>,
}

/// The gate of a policy, opened before a release is made, so that a mistake costs no release.
pub(crate) struct ReleaseGate {
    policy: Policy,
    session: SessionContext,
    input: Arc<dyn JobInput>,
    population: Option<OpenPopulation>,
}

impl ReleaseGate {
    /// Opens what the policy examines a release with. The input is read once more, if there is anything to examine.
    pub(crate) async fn open(
        policy: &Policy,
        session: &SessionContext,
        input: &Arc<dyn JobInput>,
    ) -> Result<Self, JobError> {
        let population = OpenPopulation::open(policy, session, input).await?;
        Ok(Self { policy: policy.clone(), session: session.clone(), input: Arc::clone(input), population })
    }

    /// Examines staged files. Returns an error if a limit of the policy is exceeded.
    pub(crate) async fn examine_files(
        &self,
        place: &StorePath,
        files: &[FileEntry],
    ) -> Result<ExaminedRelease, JobError> {
        if !self.examines() {
            return Ok(ExaminedRelease::default());
        }
        let mut staged = Vec::new();
        for file in files {
            let place = place.child(&file.path);
            let meta = place.store.head(&place.path).await;
            let meta = meta.map_err(|error| JobError::storage(format!("reading {place} back"), &error))?;
            staged.push(InputFile { place, meta });
        }
        let staged: Arc<dyn JobInput> = Arc::new(FileInput::of_release(&self.session, staged).await?);
        self.examine(&LabSource::of_input(staged, &self.session), None).await
    }

    /// Examines a release of this process.
    pub(crate) async fn examine_release(&self, release: &Arc<Release>) -> Result<ExaminedRelease, JobError> {
        if !self.examines() {
            return Ok(ExaminedRelease::default());
        }
        let source = source_of_release(release, &self.session)?;
        let rows = release.facts().rows_read;
        self.examine(&source, Some(rows)).await
    }

    fn examines(&self) -> bool {
        self.policy.privacy.max_gain.is_some() || self.population.is_some()
    }

    /// Examines a release of an input with this many rows, if they are known.
    async fn examine(&self, release: &LabSource, rows: Option<u64>) -> Result<ExaminedRelease, JobError> {
        let input = LabSource::of_input(Arc::clone(&self.input), &self.session);
        let people = match &self.population {
            Some(population) => Some(population.examine(&self.policy, &self.session, &input, release).await?),
            None => None,
        };
        let attacks = match self.policy.privacy.max_gain {
            Some(limit) => Some(self.attack(&input, release, rows, limit).await?),
            None => None,
        };
        // Rows that were read a second time must be those that were released.
        self.input.check_unchanged().await?;
        Ok(ExaminedRelease { attacks, people })
    }

    /// Attacks a release. Returns what may be published of it, and an error if an attack gains more than the limit.
    async fn attack(
        &self,
        input: &LabSource,
        release: &LabSource,
        rows: Option<u64>,
        limit: f64,
    ) -> Result<AttackFacts, JobError> {
        let report = attack_release(&self.policy, input, release, rows).await?;
        let broken: Vec<String> = report
            .above(limit)
            .map(|outcome| {
                let column = outcome.column.as_ref().map(|column| format!(" of `{column}`")).unwrap_or_default();
                format!("{}{column} gains {:.2}", outcome.name, outcome.gain)
            })
            .collect();
        if !broken.is_empty() {
            let text = format!(
                "attacks on the staged release gain more than `max_gain = {limit}` allows: {}; nothing is published; raise k \
                 or p, coarsen a column, or raise the limit",
                broken.join(", ")
            );
            return Err(JobError::new(Kind::Verification, text));
        }
        tracing::info!(attacks = report.attacks.len(), "release withstands the attacks");
        Ok(facts(&report, limit, self.policy.privacy.k))
    }
}

async fn attack_release(
    policy: &Policy,
    original: &LabSource,
    release: &LabSource,
    rows: Option<u64>,
) -> Result<AttackReport, JobError> {
    let spec = LabColumns::Policy(Box::new(policy.clone())).spec(original, release).await?;
    let seed = policy.algorithm.seed;
    let traces = read_traces(release).await?;
    let mut lexicon = Lexicon::new(spec)?;
    let original = read_original(&mut lexicon, original, DEFAULT_TARGETS, seed).await?;
    if rows.is_some_and(|rows| rows != original.rows()) {
        return Err(JobError::new(Kind::TemporaryIo, "the table has changed while its release was made; try again"));
    }
    let release = read_release(&mut lexicon, release, None).await?.finish(&mut lexicon)?;
    Ok(throng_lab::attacks::attack(&AttackInput {
        lexicon: &lexicon,
        original: &original,
        release: &release,
        previous: &[],
        population: None,
        traces: Some(&traces),
        seed,
    }))
}

/// Returns what may be published: means over at least k people, rounded.
fn facts(report: &AttackReport, max_gain: f64, k: u64) -> AttackFacts {
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    let measured = report.attacks.iter().filter(|outcome| outcome.people >= k).map(|outcome| AttackGain {
        name: outcome.name.into(),
        column: outcome.column.clone(),
        release: rounded(outcome.release),
        gain: rounded(outcome.gain),
    });
    AttackFacts { max_gain, measured: measured.collect() }
}

/// Examines the releases of a session before the first row of a query leaves: `anonymize`, `STORED AS THRONG`, and every
/// [`AnonymizedTable`](throng_datafusion::AnonymizedTable). Without it a session refuses policies with limits on the finished release.
pub fn examine_releases(session: &SessionContext) {
    // A session of its own: the tables are read in one stream, with the memory and the stores of this session.
    let reading = guarded_context(session.copied_config(), session.runtime_env());
    let examiner = ReleaseExaminer::new(Arc::new(SessionGate { reading }));
    session.state_ref().write().config_mut().set_extension(Arc::new(examiner));
}

/// Examines the releases of a session by the limits of their policies.
struct SessionGate {
    reading: SessionContext,
}

impl ExamineRelease for SessionGate {
    fn examine<'a>(
        &'a self,
        policy: &'a Policy,
        input: &'a Arc<dyn TableProvider>,
        release: &'a Arc<Release>,
    ) -> BoxFuture<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>> {
        let examined = async move {
            let gate = ReleaseGate::open(policy, &self.reading, &of_host(input)).await?;
            gate.examine_release(release).await?;
            Ok(())
        };
        examined.boxed()
    }
}

/// Returns the rows of a release of this process as a table that the lab can read.
pub(super) fn source_of_release(release: &Arc<Release>, session: &SessionContext) -> Result<LabSource, JobError> {
    let stream = Arc::new(ReleaseStream { schema: release.schema(), release: Arc::clone(release) });
    let table = StreamingTable::try_new(release.schema(), vec![stream])
        .map_err(|_| JobError::internal("a release could not be read"))?;
    let table: Arc<dyn TableProvider> = Arc::new(table);
    Ok(LabSource::of_input(of_host(&table), session))
}

/// The rows of a release of this process, as the only partition of a table.
struct ReleaseStream {
    schema: SchemaRef,
    release: Arc<Release>,
}

/// Without the rows.
impl fmt::Debug for ReleaseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseStream").finish_non_exhaustive()
    }
}

impl PartitionStream for ReleaseStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.release.stream(BATCH_ROWS, 1);
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}
