//! Times the stages of a job, and forwards progress.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::job::JobOptions;
use crate::progress::{Progress, Stage};
use crate::telemetry::Recorder;

/// Times consecutive stages and forwards progress.
pub(crate) struct StageTimer {
    start: Instant,
    stages: Mutex<StageTimes>,
    progress: Arc<dyn Progress>,
    recorder: Option<Arc<Recorder>>,
}

/// Durations of consecutive stages.
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

    /// Ends the current stage.
    fn end(&mut self) {
        if let Some((stage, start)) = self.current.take() {
            self.add(stage, start.elapsed());
        }
    }

    /// Returns the duration of each stage so far, including the current one.
    pub(crate) fn so_far(&self) -> Vec<(Stage, Duration)> {
        let mut times = self.clone();
        times.end();
        times.done
    }

    fn add(&mut self, stage: Stage, time: Duration) {
        match self.done.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, known)) => *known += time,
            None => self.done.push((stage, time)),
        }
    }
}

impl StageTimer {
    /// Starts the timer of a job, which forwards progress to the observer and the recorder of the job.
    pub(crate) fn start(options: &JobOptions) -> Self {
        let (progress, recorder) = (Arc::clone(&options.observer), options.recorder.clone());
        Self { start: Instant::now(), stages: Mutex::default(), progress, recorder }
    }

    /// Continues the times of work that took `spent` until now, without the time since then.
    pub(crate) fn resume(times: StageTimes, spent: Duration, options: &JobOptions) -> Self {
        let timer = Self::start(options);
        let start = timer.start.checked_sub(spent).unwrap_or(timer.start);
        Self { start, stages: Mutex::new(times), ..timer }
    }

    /// Ends the current stage, and returns the times of all stages and the time since the start.
    pub(crate) fn pause(&self) -> (StageTimes, Duration) {
        let mut stages = self.stages();
        stages.end();
        (stages.clone(), self.start.elapsed())
    }

    /// Ends the current stage and begins the next. Returns the span of the new stage.
    pub(crate) fn begin(&self, stage: Stage, total: Option<u64>) -> tracing::Span {
        stage.begin(self, total)
    }

    /// Returns the duration of each stage so far, including the current one, and the total.
    pub(crate) fn times(&self) -> Vec<(&'static str, Duration)> {
        let stages = self.stages().so_far();
        let stages = stages.into_iter().map(|(stage, time)| (stage.as_str(), time));
        stages.chain([("total", self.start.elapsed())]).collect()
    }

    fn stages(&self) -> MutexGuard<'_, StageTimes> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for StageTimer {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        self.stages().begin(stage);
        tracing::debug!(stage = stage.as_str(), "stage begins");
        if let Some(recorder) = &self.recorder {
            recorder.begin(stage);
        }
        self.progress.begin(stage, total);
    }

    fn advance(&self, units: u64) {
        self.progress.advance(units);
    }
}
