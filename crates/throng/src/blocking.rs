//! The same functions for plain threads.
//!
//! Each call starts its own threads and returns when its work is done. On a thread that runs asynchronous tasks it
//! returns [`ThrongError::WouldBlock`].
//!
//! ```
//! use throng::prelude::*;
//!
//! let people = RecordBatch::try_from_iter([
//!     ("age", create_array!(Int32, [25, 39, 36]) as ArrayRef),
//!     ("illness", create_array!(Utf8, ["flu", "gout", "flu"]) as ArrayRef),
//! ])?;
//! let policy = Policy::builder()
//!     .with_k(3)
//!     .with_p(2)
//!     .quasi("age", |age| age)
//!     .sensitive("illness", |illness| illness)
//!     .with_secret(Secret::new("an example, and no secret at all")?)
//!     .build()?;
//! let release = throng::blocking::anonymize(people, &policy)?;
//! let batches = throng::blocking::collect(&release)?;
//! assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 3);
//! assert!(throng::blocking::verify(batches, &policy)?.holds());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use datafusion::arrow::array::RecordBatch;
use throng_core::risk::Risk;
use throng_core::verify::Findings;
use throng_policy::Policy;
use tokio::runtime::{Builder, Handle};

use crate::{IntoTable, ThrongError, VerifiedRelease};

/// Anonymizes a table, as [`throng::anonymize`](crate::anonymize) does.
pub fn anonymize(table: impl IntoTable, policy: &Policy) -> Result<VerifiedRelease, ThrongError> {
    wait(crate::anonymize(table, policy))
}

/// Verifies a table, as [`throng::verify`](crate::verify()) does.
pub fn verify(table: impl IntoTable, policy: &Policy) -> Result<Findings, ThrongError> {
    wait(crate::verify(table, policy))
}

/// Measures the risk of a table, as [`throng::risk`](crate::risk()) does.
pub fn risk(table: impl IntoTable, policy: &Policy) -> Result<Risk, ThrongError> {
    wait(crate::risk(table, policy))
}

/// Returns all rows of a release, as [`VerifiedRelease::collect`] does.
pub fn collect(release: &VerifiedRelease) -> Result<Vec<RecordBatch>, ThrongError> {
    wait(release.collect())
}

fn wait<T>(work: impl Future<Output = Result<T, ThrongError>>) -> Result<T, ThrongError> {
    if Handle::try_current().is_ok() {
        return Err(ThrongError::WouldBlock);
    }
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(ThrongError::Threads)?;
    runtime.block_on(work)
}
