//! Times the stages of a job, and tells of their beginning.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use throng_datafusion::{Progress, Step};

use crate::progress::{Observer, Stage};

/// Measures one stage after the other.
pub(crate) struct Clock {
    start: Instant,
    stages: Mutex<Stages>,
    observer: Arc<dyn Observer>,
}

#[derive(Default)]
struct Stages {
    current: Option<(Stage, Instant)>,
    done: Vec<(Stage, Duration)>,
}

impl Stages {
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
        let mut stages = self.stages();
        if let Some((stage, start)) = stages.current.replace((stage, Instant::now())) {
            stages.add(stage, start.elapsed());
        }
        drop(stages);
        self.observer.begin(stage, total);
        tracing::info_span!("stage", stage = stage.as_str())
    }

    /// The time of each stage so far, the current one included, and of everything together.
    pub(crate) fn times(&self) -> Vec<(&'static str, Duration)> {
        let stages = self.stages();
        let done = stages.done.iter().map(|(stage, time)| (stage.as_str(), *time));
        let current = stages.current.iter().map(|(stage, start)| (stage.as_str(), start.elapsed()));
        done.chain(current).chain([("total", self.start.elapsed())]).collect()
    }

    fn stages(&self) -> MutexGuard<'_, Stages> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
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
