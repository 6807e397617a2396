//! The gate: a staged release is attacked before it is published, if the policy limits what an intruder may gain.

use std::sync::Arc;

use datafusion::prelude::SessionContext;
use object_store::ObjectStoreExt;
use throng_lab::Lexicon;
use throng_lab::attacks::{AttackInput, AttackReport, DEFAULT_TARGETS};
use throng_policy::Policy;
use throng_report::document::{AttackFacts, AttackGain};

use super::columns::LabColumns;
use super::read::{LabSource, read_original, read_release, read_traces};
use crate::error::{JobError, Kind};
use crate::input::{FileInput, InputFile, JobInput};
use crate::manifest::FileEntry;
use crate::store_path::StorePath;

/// Attacks a staged release. Returns what may be published of it, nothing if the policy sets no limit, and an error if an attack
/// gains more than the limit.
pub(crate) async fn gate(
    policy: &Policy,
    session: &SessionContext,
    input: &Arc<dyn JobInput>,
    place: &StorePath,
    files: &[FileEntry],
) -> Result<Option<AttackFacts>, JobError> {
    let Some(limit) = policy.privacy.max_gain else { return Ok(None) };
    let report = attack_staged(policy, session, input, place, files).await?;
    // Rows that were read a second time must be those that were released.
    input.check_unchanged().await?;
    let broken: Vec<String> = report
        .above(limit)
        .map(|outcome| {
            let column = outcome.column.as_ref().map(|column| format!(" of `{column}`")).unwrap_or_default();
            format!("{}{column} gains {:.2}", outcome.name, outcome.gain)
        })
        .collect();
    if !broken.is_empty() {
        let text = format!(
            "attacks on the staged release gain more than `max_gain = {limit}` allows: {}; nothing is published; raise k or p, \
             coarsen a column, or raise the limit",
            broken.join(", ")
        );
        return Err(JobError::new(Kind::Verification, text));
    }
    tracing::info!(attacks = report.attacks.len(), "release withstands the attacks");
    Ok(Some(facts(&report, limit, policy.privacy.k)))
}

async fn attack_staged(
    policy: &Policy,
    session: &SessionContext,
    input: &Arc<dyn JobInput>,
    place: &StorePath,
    files: &[FileEntry],
) -> Result<AttackReport, JobError> {
    let mut staged = Vec::new();
    for file in files {
        let place = place.child(&file.path);
        let meta = place.store.head(&place.path).await;
        let meta = meta.map_err(|error| JobError::storage(format!("reading {place} back"), &error))?;
        staged.push(InputFile { place, meta });
    }
    let staged: Arc<dyn JobInput> = Arc::new(FileInput::of_release(session, staged).await?);
    let (original, release) = (LabSource::of_input(Arc::clone(input), session), LabSource::of_input(staged, session));
    let spec = LabColumns::Policy(Box::new(policy.clone())).spec(&original, &release).await?;
    let seed = policy.algorithm.seed;
    let traces = read_traces(&release).await?;
    let mut lexicon = Lexicon::new(spec)?;
    let original = read_original(&mut lexicon, &original, DEFAULT_TARGETS, seed).await?;
    let release = read_release(&mut lexicon, &release, None).await?.finish(&mut lexicon)?;
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
