//! Times the stages of a job, and tells of their beginning.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use throng_datafusion::{Progress, Step};
use tracing::Span;

use crate::progress::{Observer, Stage};

/// Measures one stage after the other.
pub(crate) struct Clock {
    start: Instant,
    state: Mutex<State>,
    observer: Arc<dyn Observer>,
    /// The span of the job, in which those of its stages are, whichever task they begin in.
    job: Span,
}

#[derive(Default)]
struct State {
    stages: StageTimes,
    /// Open as long as its stage goes on.
    span: Option<Span>,
}

/// How long stages have taken, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct StageTimes {
    current: Option<(Stage, Instant)>,
    done: Vec<(Stage, Duration)>,
}

impl StageTimes {
    /// Ends the current stage and begins the next.
    pub(crate) fn begin(&mut self, stage: Stage) {
        if let Some((stage, start)) = self.current.replace((stage, Instant::now())) {
            self.add(stage, start.elapsed());
        }
    }

    /// The time of each stage so far, the current one included.
    pub(crate) fn so_far(&self) -> Vec<(Stage, Duration)> {
        let mut times = self.clone();
        if let Some((stage, start)) = times.current.take() {
            times.add(stage, start.elapsed());
        }
        times.done
    }

    fn add(&mut self, stage: Stage, time: Duration) {
        match self.done.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, known)) => *known += time,
            None => self.done.push((stage, time)),
        }
    }
}

impl Clock {
    pub(crate) fn start(observer: Arc<dyn Observer>) -> Self {
        Self { start: Instant::now(), state: Mutex::default(), observer, job: Span::current() }
    }

    /// Ends the current stage and begins the next. Returns the span in which its work belongs.
    pub(crate) fn begin(&self, stage: Stage, total: Option<u64>) -> Span {
        let span = tracing::info_span!(parent: &self.job, "stage", stage = stage.as_str());
        let mut state = self.state();
        state.stages.begin(stage);
        state.span = Some(span.clone());
        drop(state);
        self.observer.begin(stage, total);
        span
    }

    /// The time of each stage so far, the current one included, and of everything together.
    pub(crate) fn times(&self) -> Vec<(&'static str, Duration)> {
        let stages = self.state().stages.so_far();
        let stages = stages.into_iter().map(|(stage, time)| (stage.as_str(), time));
        stages.chain([("total", self.start.elapsed())]).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Clock {
    fn begin(&self, step: Step, total: Option<u64>) {
        let stage = match step {
            Step::Survey => Stage::Survey,
            Step::Partition => Stage::Partition,
            Step::Cluster => Stage::Cluster,
            Step::Recode => Stage::Recode,
        };
        Clock::begin(self, stage, total);
    }

    fn advance(&self, units: u64) {
        self.observer.advance(units);
    }
}
