//! `throng utility`, `throng attack` and `throng diff`: reads the tables, and has the lab compare them.
//!
//! The lab (`throng-lab`) knows no files and no policies. Here tables are opened as every other input, roles are taken from a policy
//! or from names, and batches are passed on in the order of the files.

mod columns;
mod counts;
mod gate;
mod oracle;
mod population;
mod read;

use throng_lab::attacks::{AttackInput, AttackReport, DEFAULT_TARGETS};
use throng_lab::utility::{UtilityOptions, UtilityReport};
use throng_lab::{DiffReport, LabError, LabSpec, Lexicon};
use throng_policy::{Policy, Store};

pub use columns::LabColumns;
pub(crate) use counts::SweepCounts;
pub use gate::examine_releases;
pub(crate) use gate::{ExaminedRelease, ReleaseGate};
pub use oracle::OracleRequest;
pub(crate) use population::{CountedBoxes, OpenPopulation};

use crate::error::{JobError, Kind};
use crate::job::JobOptions;
pub(crate) use read::LabSource;
pub use read::LabTable;
use read::{read_original, read_population, read_release, read_traces};

impl From<LabError> for JobError {
    fn from(error: LabError) -> Self {
        Self::new(Kind::BadData, error.to_string())
    }
}

/// What `throng utility` measures.
#[derive(Clone, Debug)]
pub struct UtilityRequest {
    /// The table that was published.
    pub release: LabTable,
    /// The table before it was anonymized, to compare with.
    pub original: LabTable,
    /// Roles of the columns.
    pub columns: LabColumns,
    /// Column that models predict; by default the first sensitive one.
    pub target: Option<String>,
    /// Number of random questions of each kind.
    pub queries: usize,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Measures how well a release answers the questions that its original would answer.
pub async fn utility(request: &UtilityRequest, options: &JobOptions) -> Result<UtilityReport, JobError> {
    let store = request.columns.store();
    let original = LabSource::open(&request.original, &store, options).await?;
    let release = LabSource::open_release(&request.release, &store, options).await?;
    let mut spec = request.columns.spec(&original, &release).await?;
    // Only the columns that are asked about are read.
    spec.insensitive.clear();
    spec.unit.clear();
    let target = match &request.target {
        None => 0,
        Some(name) => match spec.sensitive.iter().position(|column| column.name == *name) {
            Some(place) => place,
            None => {
                if spec.quasi.iter().any(|column| column.name == *name) {
                    let text =
                        format!("`{name}` is a quasi-identifier; models predict a column that is released unchanged");
                    return Err(JobError::new(Kind::BadQuery, text));
                }
                spec.sensitive.push(throng_lab::KnownSensitive { name: name.clone(), ..Default::default() });
                spec.sensitive.len() - 1
            }
        },
    };
    let mut lexicon = Lexicon::new(spec)?;
    let original = read_original(&mut lexicon, &original, 0, request.seed).await?;
    let release = read_release(&mut lexicon, &release, None).await?.finish(&mut lexicon)?;
    let workload = request.columns.workload();
    let asked = UtilityOptions { queries: request.queries, workload, target: Some(target), seed: request.seed };
    Ok(throng_lab::utility::utility(&lexicon, &original, &release, &asked))
}

/// What `throng attack` is given.
#[derive(Clone, Debug)]
pub struct AttackRequest {
    /// The table that was published, which is attacked.
    pub release: LabTable,
    /// The table before it was anonymized, which decides whether a guess is right.
    pub original: LabTable,
    /// Roles of the columns.
    pub columns: LabColumns,
    /// Earlier releases of the same people.
    pub previous: Vec<LabTable>,
    /// People who are not in the table.
    pub population: Option<LabTable>,
    /// People who are attacked.
    pub targets: usize,
    /// How guesses are run, if they are.
    pub oracle: Option<OracleRequest>,
    /// Seed of every random choice.
    pub seed: u64,
}

impl AttackRequest {
    /// A request with the columns of a policy, and defaults otherwise.
    pub fn of_policy(release: impl Into<LabTable>, original: impl Into<LabTable>, policy: Policy) -> Self {
        Self {
            release: release.into(),
            original: original.into(),
            columns: LabColumns::Policy(Box::new(policy)),
            previous: Vec::new(),
            population: None,
            targets: DEFAULT_TARGETS,
            oracle: None,
            seed: 0,
        }
    }
}

/// Attacks a release as an intruder would, and scores the answers with the original.
pub async fn attack(request: &AttackRequest, options: &JobOptions) -> Result<AttackReport, JobError> {
    let store = request.columns.store();
    let original = LabSource::open(&request.original, &store, options).await?;
    let release = LabSource::open_release(&request.release, &store, options).await?;
    let spec = request.columns.spec(&original, &release).await?;
    let traces = read_traces(&release).await?;
    let mut lexicon = Lexicon::new(spec)?;
    let source = original;
    let original = read_original(&mut lexicon, &source, request.targets, request.seed).await?;
    let population = match &request.population {
        Some(table) => {
            let source = LabSource::open(table, &store, options).await?;
            Some(read_population(&mut lexicon, &source, request.targets, request.seed).await?)
        }
        None => None,
    };
    let released = read_release(&mut lexicon, &release, None).await?.finish(&mut lexicon)?;
    let mut previous = Vec::new();
    for table in &request.previous {
        let source = LabSource::open_release(table, &store, options).await?;
        previous.push(read_release(&mut lexicon, &source, None).await?.finish(&mut lexicon)?);
    }
    let mut report = throng_lab::attacks::attack(&AttackInput {
        lexicon: &lexicon,
        original: &original,
        release: &released,
        previous: &previous,
        population: population.as_ref(),
        traces: Some(&traces),
        seed: request.seed,
    });
    if let Some(asked) = &request.oracle {
        let outcome = oracle::attack(asked, &mut lexicon, &source, &released, request.seed, options).await?;
        report.attacks.extend(outcome);
    } else {
        report
            .skipped
            .push(throng_lab::attacks::SkippedAttack { name: "oracle", reason: "runs of guesses were not asked for" });
    }
    Ok(report)
}

/// What `throng diff` compares.
#[derive(Clone, Debug)]
pub struct DiffRequest {
    /// The two releases.
    pub releases: [LabTable; 2],
    /// Roles of the columns of each release.
    pub columns: [LabColumns; 2],
    /// The original, from which people are drawn.
    pub original: Option<LabTable>,
    /// Column that both releases show unchanged, and that identifies a row.
    pub link: Option<String>,
    /// People who are examined, if there is an original.
    pub targets: usize,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Finds out what two releases of the same people reveal together.
pub async fn diff(request: &DiffRequest, options: &JobOptions) -> Result<DiffReport, JobError> {
    let store = request.columns[0].store();
    let first = LabSource::open_release(&request.releases[0], &store, options).await?;
    let second = LabSource::open_release(&request.releases[1], &request.columns[1].store(), options).await?;
    let original = match &request.original {
        Some(table) => Some(LabSource::open(table, &store, options).await?),
        None => None,
    };
    let specs = [
        request.columns[0].spec(original.as_ref().unwrap_or(&first), &first).await?,
        request.columns[1].spec(original.as_ref().unwrap_or(&second), &second).await?,
    ];
    let (spec, forms) = columns::joined(specs);
    let mut lexicon = Lexicon::new(LabSpec { insensitive: Vec::new(), ..spec })?;
    let original = match &original {
        Some(source) => Some(read_original(&mut lexicon, source, request.targets, request.seed).await?),
        None => None,
    };
    let link = request.link.as_deref();
    let [forms_first, forms_second] = forms;
    let first = read_release(&mut lexicon, &first, Some((link, forms_first))).await?;
    let second = read_release(&mut lexicon, &second, Some((link, forms_second))).await?;
    let (first, second) = (first.finish(&mut lexicon)?, second.finish(&mut lexicon)?);
    Ok(match link {
        Some(_) => throng_lab::diff_linked(&lexicon, &first, &second),
        None => throng_lab::diff(&lexicon, &first, &second, original.as_ref(), request.seed),
    })
}

/// Settings of stores where there is no policy.
fn no_settings() -> Store {
    Store::default()
}
