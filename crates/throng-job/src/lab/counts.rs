//! Errors of random counts in releases that are made for a sweep, measured and dropped.

use std::sync::Arc;

use throng_datafusion::{NoProgress, Progress};
use throng_lab::Lexicon;
use throng_lab::utility::{CountQueries, UtilityOptions};
use throng_policy::{BoundSetting, Policy};
use throng_report::CountErrors;

use super::columns::LabColumns;
use super::gate::source_of_release;
use super::read::{LabSource, read_original, read_release};
use crate::error::{JobError, Kind};
use crate::job::{BoundJob, JobOptions, bind, failure};
use crate::session::session;
use crate::sweep::as_single_release;

/// Questions about the input of a sweep. They are drawn for its first release, and put to every one.
#[derive(Default)]
pub(crate) struct SweepCounts {
    drawn: Option<DrawnQueries>,
}

/// Questions, and the number of rows of the table that they were drawn from.
struct DrawnQueries {
    lexicon: Lexicon,
    queries: CountQueries,
    rows: u64,
}

impl SweepCounts {
    /// Makes the release of a policy in memory, and returns how far its answers are from the true ones.
    pub(crate) async fn measure(&mut self, policy: &Policy, options: &JobOptions) -> Result<CountErrors, JobError> {
        let mut policy = as_single_release(policy.clone());
        // The sweep has computed it.
        policy.algorithm.bound = BoundSetting::Off;
        let session = session(options)?;
        let BoundJob { input, table } = bind(&policy, &session, options).await?;
        // The sweep has held the classes against the models, and no row of the release leaves this function.
        let table = table.with_progress(Arc::new(NoProgress) as Arc<dyn Progress>).with_external_verification();
        let plan = table.plan(&session.state()).await.map_err(|error| JobError::reading("the input", &error))?;
        let release = match plan.release(session.task_ctx()).await {
            Ok(release) => release,
            Err(error) => return Err(failure(error, &table, input.as_ref(), &session).await),
        };
        input.check_unchanged().await?;
        let source = source_of_release(&release, &session)?;
        let original = LabSource::of_input(input, &session);
        let rows_read = release.facts().rows_read;
        if self.drawn.is_none() {
            self.drawn = Some(draw(&policy, &original, &source, rows_read).await?);
        }
        let Some(DrawnQueries { lexicon, queries, rows }) = &mut self.drawn else {
            return Err(JobError::internal("questions were not drawn"));
        };
        if *rows != rows_read {
            return Err(changed());
        }
        let released = read_release(lexicon, &source, None).await?.finish(lexicon)?;
        let found = queries.errors(&released);
        Ok(CountErrors { median: found.median_error, p95: found.p95_error })
    }
}

/// Draws the questions of `throng utility` about an original with this many rows.
async fn draw(policy: &Policy, original: &LabSource, release: &LabSource, rows: u64) -> Result<DrawnQueries, JobError> {
    let mut spec = LabColumns::Policy(Box::new(policy.clone())).spec(original, release).await?;
    // Only the columns that are asked about are read.
    spec.insensitive.clear();
    spec.unit.clear();
    let mut lexicon = Lexicon::new(spec)?;
    let asked = UtilityOptions::default();
    let original = read_original(&mut lexicon, original, 0, asked.seed).await?;
    if original.rows() != rows {
        return Err(changed());
    }
    let queries = CountQueries::draw(&lexicon, &original, &asked);
    Ok(DrawnQueries { lexicon, queries, rows })
}

fn changed() -> JobError {
    JobError::new(Kind::TemporaryIo, "the table has changed while it was read; try again")
}
