//! The threads of the process.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use throng_job::{JobError, Kind};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::errors::{failure, job_error};

/// The runtime and the process that has started it.
static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

/// Time that work which was dropped has at the end of the process to remove its temporary files.
const AT_EXIT: Duration = Duration::from_secs(5);

/// Ends the threads of this process, and waits for a few seconds until they have removed their temporary files. A forked process has
/// no threads, and leaves those of its parent alone.
#[pyfunction]
pub fn shut_down(py: Python<'_>) {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let is_own = runtime.as_ref().is_some_and(|(owner, _)| *owner == std::process::id());
    let ended = if is_own { runtime.take() } else { None };
    drop(runtime);
    if let Some((_, ended)) = ended {
        // A thread that reads a stream of Python waits for the interpreter.
        py.detach(|| ended.shutdown_timeout(AT_EXIT));
    }
}

/// Returns the runtime of this process, which is started by the first call together with the panic hook of this library: the message
/// of a panic may hold a value. A forked process has a copy of it without its threads,
/// and would wait for them forever; so it is refused.
pub(crate) fn runtime(py: Python<'_>) -> PyResult<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match runtime.as_ref() {
        Some((owner, runtime)) if *owner == process => Ok(runtime.handle().clone()),
        Some(_) => Err(failure(
            py,
            Kind::BadQuery,
            "this process was forked from one that had used Throng, and has none of its threads; start processes with \
             multiprocessing.set_start_method(\"spawn\") or \"forkserver\"",
        )),
        None => {
            throng_cli::hide_panic_messages("throng_privacy");
            let built = Builder::new_multi_thread().enable_all().thread_name("throng").build();
            let built = built.map_err(|error| job_error(py, &JobError::creating("starting threads", &error)))?;
            let handle = built.handle().clone();
            *runtime = Some((process, built));
            Ok(handle)
        }
    }
}
