//! Errors as exceptions of the package, one class per exit code.

use std::error::Error;

use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use throng_job::{JobError, Kind};
use throng_policy::PolicyError;

/// Module of the exceptions.
const MODULE: &str = "throng_privacy.exceptions";

/// Returns the class of the exception of a kind.
fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Infeasible => "PrivacyError",
        Kind::Verification => "VerificationError",
        Kind::BadData => "DataError",
        Kind::NoInput => "NotFound",
        Kind::TemporaryIo => "TemporaryError",
        Kind::BadPolicy => "PolicyError",
        Kind::BadQuery => "UsageError",
        _ => "InternalError",
    }
}

/// Converts an error of the job. A job that was stopped is an interrupt.
pub(crate) fn job_error(py: Python<'_>, error: &JobError) -> PyErr {
    if error.kind() == Kind::Stopped {
        return pyo3::exceptions::PyKeyboardInterrupt::new_err(());
    }
    let policy = error.source().and_then(|source| source.downcast_ref::<PolicyError>());
    raise(py, class(error.kind()), error.message(), error.column(), policy)
}

/// Converts an error of a policy.
pub(crate) fn policy_error(py: Python<'_>, error: &PolicyError) -> PyErr {
    raise(py, class(Kind::BadPolicy), &error.to_string(), None, Some(error))
}

/// Returns an exception with a message of ours.
pub(crate) fn failure(py: Python<'_>, kind: Kind, message: &str) -> PyErr {
    raise(py, class(kind), message, None, None)
}

/// Whether an exception of another library is passed on: one that ends the program, and one that says that memory is exhausted. A
/// panic of another library is neither, although its class says so.
pub(crate) fn is_passed_on(py: Python<'_>, error: &PyErr) -> bool {
    let ends = !error.is_instance_of::<PyException>(py) && class_of(py, error) != "PanicException";
    ends || error.is_instance_of::<PyMemoryError>(py)
}

/// Returns the name of the class of an exception.
pub(crate) fn class_of(py: Python<'_>, error: &PyErr) -> String {
    error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default()
}

/// Returns a message with the names that Python has for the flags of the command.
fn in_python(message: &str) -> String {
    let lines: Vec<&str> = message.lines().map(|line| line.strip_prefix("--").unwrap_or(line)).collect();
    let drop = "set `default = \"drop\"`";
    lines
        .join("\n")
        .replace("`--memory-limit`", "`memory_limit`")
        .replace("pass --overwrite", "pass overwrite=True")
        .replace("`throng run --rebase`", "run(..., rebase=True)")
        .replace(drop, &format!("{drop}, which is unlisted=\"drop\" as an argument"))
}

fn raise(py: Python<'_>, class: &str, message: &str, column: Option<&str>, policy: Option<&PolicyError>) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let module = py.import(MODULE)?;
        let fields = PyDict::new(py);
        if let Some(column) = column {
            fields.set_item("column", column)?;
        }
        if let Some(policy) = policy {
            let problem = module.getattr("Problem")?;
            let problems = policy.problems().iter().map(|found| {
                // A flag of the command is an argument here.
                let path = found.path.trim_start_matches("--");
                let (line, column) = (found.place.map(|place| place.line), found.place.map(|place| place.column));
                problem.call1((path, &found.message, line, column))
            });
            fields.set_item("problems", problems.collect::<PyResult<Vec<_>>>()?)?;
        }
        Ok(PyErr::from_value(module.getattr(class)?.call((in_python(message),), Some(&fields))?))
    };
    make().unwrap_or_else(|error| error)
}
