//! The threads of the process.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use throng_job::{JobError, Kind};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::errors::{failure, job_error};

/// The runtime and the process that has started it.
static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

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
