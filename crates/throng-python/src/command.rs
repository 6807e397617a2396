//! The command `throng`, with the code of the package.

use pyo3::prelude::*;

/// Runs `throng` with these arguments, of which the first is its name, and returns its exit code. Signals go to the command and no
/// longer to Python; so it must be the last thing that a process does.
#[pyfunction]
pub fn command(py: Python<'_>, args: Vec<String>) -> u8 {
    py.detach(|| throng_cli::throng_with(args))
}
