//! One call of the library by Python: waits for work, and calls back for progress, logs and signals.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use throng_job::{JobError, JobOptions, Progress, Stage, Stopper};
use tokio::time::timeout;

use crate::data::NativeTable;
use crate::errors::job_error;
use crate::logs;
use crate::runtime::runtime;

/// Time between two looks at signals, progress and logs.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Time that a job has after an interrupt to remove its staging.
const GRACE: Duration = Duration::from_secs(10);

/// Time that other work has after an interrupt to remove what it has spilled. A user does not wait longer for the prompt; what is
/// left is removed later, and at the latest when the process ends.
const SHORT_GRACE: Duration = Duration::from_millis(500);

/// How a call is executed. None of it affects the result.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CallSettings {
    threads: Option<usize>,
    memory_limit: Option<u64>,
    on_progress: Option<Py<PyAny>>,
}

/// A call that is about to begin.
pub(crate) struct JobCall {
    /// Options for the job.
    pub(crate) options: JobOptions,
    stopper: Stopper,
    seen: Arc<SeenProgress>,
    on_progress: Option<Py<PyAny>>,
}

/// The last progress that was reported.
#[derive(Default)]
struct SeenProgress(Mutex<StageCount>);

/// Units of work of the current stage.
#[derive(Clone, Copy, Default, PartialEq)]
struct StageCount {
    stage: Option<Stage>,
    done: u64,
    total: Option<u64>,
}

impl Progress for SeenProgress {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = StageCount { stage: Some(stage), done: 0, total };
    }

    fn advance(&self, units: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).done += units;
    }
}

impl JobCall {
    /// Prepares a call that reads a table, if one is given.
    pub(crate) fn new(settings: CallSettings, table: Option<&NativeTable>) -> Self {
        let (stopper, stop) = Stopper::new();
        let seen = Arc::new(SeenProgress::default());
        let defaults = JobOptions::default();
        let options = JobOptions {
            threads: settings.threads.unwrap_or(defaults.threads).max(1),
            memory_limit: settings.memory_limit,
            observer: Arc::clone(&seen) as Arc<dyn Progress>,
            stop,
            table: table.map(NativeTable::provider),
            is_table_in_memory: table.is_some_and(NativeTable::is_in_memory),
            ..defaults
        };
        Self { options, stopper, seen, on_progress: settings.on_progress }
    }

    /// Waits for work without the lock of the interpreter. On a signal whose handler raises, the work is dropped.
    pub(crate) fn wait<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl Future<Output = Result<T, JobError>> + Send + 'static,
    ) -> PyResult<T> {
        self.run(py, work, false)
    }

    /// Waits for work that has to remove its staging when it is stopped.
    pub(crate) fn wait_for_cleanup<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl Future<Output = Result<T, JobError>> + Send + 'static,
    ) -> PyResult<T> {
        self.run(py, work, true)
    }

    fn run<T: Send + 'static>(
        self,
        py: Python<'_>,
        work: impl Future<Output = Result<T, JobError>> + Send + 'static,
        has_staging: bool,
    ) -> PyResult<T> {
        logs::collect();
        let runtime = runtime(py)?;
        let mut task = runtime.spawn(work);
        let mut reported = StageCount::default();
        let ended = loop {
            if let Ok(ended) = py.detach(|| runtime.block_on(async { timeout(TICK, &mut task).await })) {
                break ended;
            }
            // Outside of the runtime: a callback may call the library again.
            if let Err(interrupt) = self.look(py, &mut reported) {
                self.stopper.stop();
                let grace = if has_staging { GRACE } else { SHORT_GRACE };
                if !has_staging {
                    task.abort();
                }
                let ended = py.detach(|| runtime.block_on(async { timeout(grace, &mut task).await }));
                task.abort();
                return match ended {
                    Ok(Ok(Ok(result))) if has_staging => published(py, result, interrupt),
                    _ => Err(interrupt),
                };
            }
        };
        let reported = logs::deliver(py).and_then(|()| self.report(py, &mut reported));
        match ended {
            Ok(Ok(result)) => match reported {
                Ok(()) => Ok(result),
                Err(error) if has_staging => published(py, result, error),
                Err(error) => Err(error),
            },
            Ok(Err(error)) => Err(job_error(py, &error)),
            Err(_) => {
                let error = JobError::new(throng_job::Kind::Internal, "a thread of Throng failed; please report this");
                Err(job_error(py, &error))
            }
        }
    }

    /// Calls back into Python. An exception of a handler or a callback ends the call.
    fn look(&self, py: Python<'_>, reported: &mut StageCount) -> PyResult<()> {
        py.check_signals()?;
        logs::deliver(py)?;
        self.report(py, reported)
    }

    fn report(&self, py: Python<'_>, reported: &mut StageCount) -> PyResult<()> {
        let seen = *self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(callback), Some(stage), true) = (&self.on_progress, seen.stage, seen != *reported) else {
            return Ok(());
        };
        *reported = seen;
        callback.call1(py, (stage.as_str(), seen.done, seen.total))?;
        Ok(())
    }
}

/// Returns the result of work that was finished although a callback has failed: what is published stays so. An interrupt is raised.
fn published<T>(py: Python<'_>, result: T, error: PyErr) -> PyResult<T> {
    if !error.is_instance_of::<PyException>(py) {
        return Err(error);
    }
    error.write_unraisable(py, None);
    Ok(result)
}
