//! Times the stages of a job, and tells of their beginning.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use throng_datafusion::{Progress, Step};

use crate::progress::{Observer, Stage};

/// Measures one stage after the other.
pub(crate) struct Clock {
    start: Instant,
    stages: Mutex<StageTimes>,
    observer: Arc<dyn Observer>,
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
        Self { start: Instant::now(), stages: Mutex::default(), observer }
    }

    /// Ends the current stage and begins the next. Returns the span in which its work belongs.
    pub(crate) fn begin(&self, stage: Stage, total: Option<u64>) -> tracing::Span {
        self.mark(stage, total);
        tracing::info_span!("stage", stage = stage.as_str())
    }

    fn mark(&self, stage: Stage, total: Option<u64>) {
        self.stages().begin(stage);
        tracing::debug!(stage = stage.as_str(), "stage begins");
        self.observer.begin(stage, total);
    }

    /// The time of each stage so far, the current one included, and of everything together.
    pub(crate) fn times(&self) -> Vec<(&'static str, Duration)> {
        let stages = self.stages().so_far();
        let stages = stages.into_iter().map(|(stage, time)| (stage.as_str(), time));
        stages.chain([("total", self.start.elapsed())]).collect()
    }

    fn stages(&self) -> MutexGuard<'_, StageTimes> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The operator has spans of its own.
impl Progress for Clock {
    fn begin(&self, step: Step, total: Option<u64>) {
        let stage = match step {
            Step::Survey => Stage::Survey,
            Step::Partition => Stage::Partition,
            Step::Cluster => Stage::Cluster,
            Step::Recode => Stage::Recode,
        };
        self.mark(stage, total);
    }

    fn advance(&self, units: u64) {
        self.observer.advance(units);
    }
}
