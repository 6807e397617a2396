//! Times the stages of a job, and tells of their beginning.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::progress::{Observer, Stage};

/// Measures one stage after the other.
pub(crate) struct Clock {
    start: Instant,
    current: Option<(Stage, Instant)>,
    done: Vec<(Stage, Duration)>,
    observer: Arc<dyn Observer>,
}

impl Clock {
    pub(crate) fn start(observer: Arc<dyn Observer>) -> Self {
        Self { start: Instant::now(), current: None, done: Vec::new(), observer }
    }

    /// Ends the current stage and begins the next. Returns the span in which its work belongs.
    pub(crate) fn begin(&mut self, stage: Stage, total: Option<u64>) -> tracing::Span {
        self.end();
        self.current = Some((stage, Instant::now()));
        self.observer.begin(stage, total);
        tracing::info_span!("stage", stage = stage.as_str())
    }

    fn end(&mut self) {
        if let Some((stage, start)) = self.current.take() {
            self.add(stage, start.elapsed());
        }
    }

    fn add(&mut self, stage: Stage, time: Duration) {
        match self.done.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, known)) => *known += time,
            None => self.done.push((stage, time)),
        }
    }

    /// Books a part of the current stage as part of another: the two were done hand in hand.
    pub(crate) fn move_time(&mut self, from: Stage, to: Stage, time: Duration) {
        self.end();
        if let Some((_, known)) = self.done.iter_mut().find(|(known, _)| *known == from) {
            *known = known.saturating_sub(time);
        }
        self.add(to, time);
    }

    /// The time of each stage so far, the current one included, and of everything together.
    pub(crate) fn times(&self) -> Vec<(&'static str, Duration)> {
        let done = self.done.iter().map(|(stage, time)| (stage.as_str(), *time));
        let current = self.current.iter().map(|(stage, start)| (stage.as_str(), start.elapsed()));
        done.chain(current).chain([("total", self.start.elapsed())]).collect()
    }
}
