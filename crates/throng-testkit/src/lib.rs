//! Test support for Throng: strategies for random tables, brute force for tiny ones, and an S3 server behind a
//! fault-injecting proxy. A dev-dependency only.
//!
//! ```
//! use proptest::strategy::{Strategy, ValueTree};
//! use proptest::test_runner::TestRunner;
//! use throng_testkit::tables;
//!
//! let mut runner = TestRunner::deterministic();
//! let table = tables(1..=20, 1..=4, 0..=3).new_tree(&mut runner)?.current();
//! assert!(table.rows <= 20 && table.quasi.len() <= 4);
//! # Ok::<(), proptest::test_runner::Reason>(())
//! ```

// Failures here are bugs in a test, for which a panic is the best report.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod certificates;
mod clouds;
mod column;
mod partitions;
mod python;
mod random_table;
pub mod s3;
mod server_process;
mod skip;
mod test_rng;

use proptest::test_runner::{Config, RngSeed};

pub use certificates::{Authority, Issued};
pub use clouds::CloudStore;
pub use partitions::set_partitions;
pub use python::PythonPackages;
pub use random_table::{RandomCoding, RandomTable, tables};
pub use skip::{skip, skip_record};
pub use test_rng::TestRng;

/// Configures `cases` cases with a fixed seed, so that failures are reproducible.
pub fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(0x7468_726f_6e67), ..Config::default() }
}
