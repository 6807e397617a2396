//! Figures of the current text: on a sample first, then of the whole release, then for other k.
//!
//! ```text
//!  text ─► policy ─► survey, if columns changed ─► sample ─► exact release ─► other k
//!            └ problems            └ risk            each is shown when it is there
//! ```
//!
//! A change of the text cancels the work on the previous text.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use throng::throng_datafusion::Anonymizer;
use throng::throng_policy::BoundSetting;
use throng::{Overrides, Policy};
use throng_job::{JobError, Kind, OpenTable, SweepReport, SweepSettings, Trial};

use crate::answer::LiveAnswer;
use crate::held_survey::{HeldSurvey, survey_key};
use crate::project::{PolicyProblem, problems};
use crate::sample::sample;
use crate::state::StudioState;

/// Values of k on the frontier besides the current one.
const GRID: [u64; 6] = [2, 3, 5, 10, 20, 50];

/// Starts computing the figures of the current text of a project, replacing those of the previous text.
pub(crate) fn refresh(state: &Arc<StudioState>, id: usize) {
    let started = state.with_project(id, |project| {
        let (generation, stale) = project.live.restart();
        project.live.problems = match project.written_problem() {
            Some(problem) => vec![problem],
            None => project.policy(&Overrides::default()).err().as_ref().map(problems).unwrap_or_default(),
        };
        let policy = project.provisional(&Overrides::default());
        let live = &mut project.live;
        live.refusal = None;
        live.doing = policy.as_ref().zip(project.table.as_ref()).map(|_| "figures");
        live.is_outdated = live.sample.is_some() || live.exact.is_some();
        if policy.is_none() {
            (live.sample, live.exact, live.frontier) = (None, None, None);
        }
        Some((generation, stale, policy?, Arc::clone(project.table.as_ref()?)))
    });
    let Some((generation, stale, policy, table)) = started.flatten() else { return };
    let look = LiveLook { state: Arc::clone(state), id, generation, stale, policy, table };
    let work = tokio::spawn(look.run());
    state.with_project(id, |project| project.live.work = Some(work.abort_handle()));
}

/// The work on one text.
struct LiveLook {
    state: Arc<StudioState>,
    id: usize,
    generation: u64,
    stale: Arc<AtomicBool>,
    policy: Policy,
    table: Arc<OpenTable>,
}

impl LiveLook {
    async fn run(self) {
        if let Err(error) = self.look().await
            && error.kind() != Kind::Stopped
        {
            self.show(|live| {
                (live.sample, live.exact, live.frontier) = (None, None, None);
                live.refusal = Some(error.to_string());
            });
        }
        self.show(|live| live.doing = None);
    }

    /// Changes the figures, unless this text has been replaced by another.
    fn show(&self, change: impl FnOnce(&mut crate::project::LiveFigures)) {
        let is_shown = self.state.with_project(self.id, |project| {
            let is_current = project.live.generation == self.generation;
            if is_current {
                change(&mut project.live);
            }
            is_current
        });
        if is_shown == Some(true) {
            self.state.publish();
        }
    }

    async fn look(&self) -> Result<(), JobError> {
        let anonymizer = Anonymizer::new(Arc::new(self.policy.clone()), Arc::clone(self.table.schema()))?;
        if anonymizer.binding().quasi.is_empty() {
            let text = "no column is a quasi-identifier yet: choose those that others may know";
            return Err(JobError::new(Kind::BadPolicy, text));
        }
        let survey = self.survey(&anonymizer).await?;
        let answer = self.sample(&survey, &anonymizer).await?;
        let Some(answer) = answer else { return Ok(()) };
        let has_sample = answer.is_some();
        self.show(|live| {
            live.sample = answer.map(Arc::new);
            // Exact figures of another text would contradict the sample.
            (live.exact, live.frontier, live.is_outdated) = (None, None, false);
            live.doing = Some(if has_sample { "exact figures" } else { "figures" });
        });
        let sidecar = throng_job::rehearse(&self.policy, &self.state.quiet_options()).await?;
        self.show(|live| {
            live.exact = Some(Arc::new(LiveAnswer::of_sidecar(sidecar)));
            live.is_outdated = false;
            live.doing = Some("other k");
        });
        let frontier = self.frontier().await?;
        self.show(|live| live.frontier = Some(Arc::new(frontier)));
        Ok(())
    }

    /// Returns the survey of the columns, read again if they have changed.
    async fn survey(&self, anonymizer: &Anonymizer) -> Result<Arc<HeldSurvey>, JobError> {
        let key = survey_key(anonymizer.binding());
        let held = self.state.with_project(self.id, |project| project.live.survey.clone()).flatten();
        if let Some(held) = held.filter(|held| held.key == key) {
            return Ok(held);
        }
        let survey = Arc::new(HeldSurvey::read(&self.table, anonymizer.binding()).await?);
        self.show(|live| {
            live.risk.clone_from(&survey.risk);
            live.survey = Some(Arc::clone(&survey));
        });
        Ok(survey)
    }

    /// Returns the figures of a sample. The inner option is empty if the table is not held, and the outer one if they are stale.
    async fn sample(
        &self,
        survey: &Arc<HeldSurvey>,
        anonymizer: &Anonymizer,
    ) -> Result<Option<Option<LiveAnswer>>, JobError> {
        let (survey, anonymizer, stale) = (Arc::clone(survey), anonymizer.clone(), Arc::clone(&self.stale));
        let shows_values = self.state.shows_values;
        let sampled = tokio::task::spawn_blocking(move || sample(&survey, &anonymizer, &stale, shows_values));
        let answer = sampled.await.map_err(|_| JobError::new(Kind::Internal, "the sample could not be computed"))??;
        let is_stale = self.stale.load(std::sync::atomic::Ordering::Relaxed);
        Ok((!is_stale).then_some(answer))
    }

    /// Evaluates other k on the same table, by the code of `throng sweep`.
    async fn frontier(&self) -> Result<SweepReport, JobError> {
        let (k, p) = (self.policy.privacy.k, self.policy.privacy.p);
        let trials = self.state.with_project(self.id, |project| {
            let trial = |k: u64| {
                let overrides = Overrides { k: Some(k), p: Some(p), without_preset: true, ..Overrides::default() };
                let policy = project.provisional(&overrides).ok_or_else(|| format!("k = {k} and p = {p} do not fit"));
                // Computing a bound for each would take long, and the page shows only that of the chosen k.
                let policy = policy.map(|mut policy| {
                    policy.algorithm.bound = BoundSetting::Off;
                    policy
                });
                Trial { k, p, algorithm: self.policy.algorithm.partition.as_str().to_owned(), policy }
            };
            frontier_grid(k).into_iter().map(trial).collect::<Vec<_>>()
        });
        throng_job::sweep(trials.unwrap_or_default(), SweepSettings::default(), &self.state.quiet_options()).await
    }
}

/// Returns the values of k of the frontier, ascending.
pub(crate) fn frontier_grid(k: u64) -> Vec<u64> {
    let mut grid: Vec<u64> = GRID.into_iter().chain([k]).collect();
    grid.sort_unstable();
    grid.dedup();
    grid
}

impl crate::project::Project {
    /// Returns the problem of a text that is not TOML.
    fn written_problem(&self) -> Option<PolicyProblem> {
        let text = self.written().err()?;
        let line = text.strip_prefix("line ").and_then(|rest| rest.split(':').next()?.parse().ok());
        Some(PolicyProblem { line, text })
    }
}
