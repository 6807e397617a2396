//! The module `throng_privacy._native`: the library for Rust hosts and the job, as Python sees them.
//!
//! ```text
//!  frame, stream, location, table of DataFusion          file, TOML, JSON
//!          | data.rs                                          | policy.rs
//!          v                                                  v
//!     job_call.rs  one call: threads, memory, progress, logs, Ctrl-C
//!          |
//!          +--> release.rs    a verified release: an Arrow stream, a table of DataFusion, files
//!          +--> measures.rs   risk, draft, check, plan, bound, sweep, verify, hierarchies
//!          +--> lab.rs        attack, utility, diff
//!          +--> command.rs    the command `throng`
//! ```
//!
//! Work runs on the threads of one runtime per process, without the lock of the interpreter. The thread that has called waits, and
//! alone calls back into Python: for progress, for logs, and for signals. So a worker never waits for the interpreter, and a
//! consumer that holds its lock while it reads rows can't block one.
//!
//! Documents go to Python as JSON; the package makes typed objects of them.

mod capsules;
mod command;
mod data;
mod errors;
mod job_call;
mod lab;
mod logs;
mod measures;
mod policy;
mod release;
mod runtime;

use pyo3::prelude::*;

/// The native part of `throng_privacy`. Its names are not for users.
#[pymodule]
#[pyo3(name = "_native")]
pub mod native {
    #[pymodule_export]
    use crate::capsules::{SqlFunctions, check_datafusion};
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::data::{NativeTable, checksum};
    #[pymodule_export]
    use crate::lab::{attack, diff, utility};
    #[pymodule_export]
    use crate::measures::{
        bound, census, check, check_hierarchy, draft, generate_census, make_hierarchy, plan, risk, sweep, verify,
    };
    #[pymodule_export]
    use crate::policy::NativePolicy;
    #[pymodule_export]
    use crate::release::{NativeRelease, anonymize, run};
    #[pymodule_export]
    use crate::runtime::shut_down;

    /// Version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
