//! The job: from files on an object store to a verified release on another.
//!
//! ```text
//!  survey ─► partition ─► cluster ─► recode ─► write ─► verify ─► publish
//!  input/    throng-core             write/             verify.rs  publish/
//! ```
//!
//! [`run`] runs all stages, [`check`] stops after the survey, and [`verify_release`] verifies any finished table.
//! Nothing is readable at the output location before it has been read back and verified, and an error before the commit
//! removes the staging. [`SqlSession`] runs SQL over every input that a job can read.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bound;
mod check;
mod clean;
mod column_warnings;
mod delta;
mod distributed;
mod draft;
mod error;
mod guards;
mod hierarchy;
mod input;
mod job;
mod lab;
#[cfg(feature = "leaky")]
mod leaky;
mod linked;
mod manifest;
mod memory;
mod open_table;
mod plural;
mod privacy_facts;
mod progress;
mod publish;
mod read_sidecar;
mod readback;
mod rehearse;
mod resources;
mod risk;
mod series;
mod session;
mod sql;
mod stage_timer;
mod staged_units;
mod stop;
mod store;
mod store_path;
mod store_variables;
mod summary;
mod sweep;
pub mod telemetry;
mod up_to_date;
mod verify;
mod verify_documents;
mod write;

pub use bound::{BoundedLoss, bound};
pub use check::{Checked, Planned, check, plan};
pub use clean::{CleanOptions, Cleaned, clean};
pub use distributed::{Cluster, JOB_TASKS};
pub use draft::{Draft, draft};
pub use error::{JobError, Kind};
pub use hierarchy::{HierarchyFit, check_hierarchy, make_hierarchy};
pub use job::{
    AppendOutcome, JobOptions, PublishedRelease, UnpublishedRelease, append, append_on, make_release, rebase,
    rebase_on, run, run_on,
};
pub use lab::{
    AttackRequest, DiffRequest, LabColumns, LabTable, OracleRequest, UtilityRequest, attack, diff, examine_releases,
    utility,
};
pub use linked::{LinkedFindings, verify_linked};
pub use manifest::{AppendedFile, AppendedInputs, FileEntry, Manifest};
pub use memory::MIN_MEMORY_LIMIT;
pub use open_table::OpenTable;
pub use plural::plural;
pub use progress::{NoProgress, Progress, Stage};
pub use read_sidecar::read_sidecar;
pub use rehearse::rehearse;
pub use risk::{RiskOptions, risk, risk_among};
pub use series::{SeriesComparison, SeriesFindings, verify_against, verify_ledger};
pub use session::POOL_SHARE;
pub use sql::{SqlSession, Statement, StatementResult, Stores, is_complete, planning_failure, running_failure};
pub use stop::{Stop, Stopper};
pub use sweep::{SweepSettings, Trial, check_sweep, sweep};
pub use throng_datafusion::is_decoding;
pub use throng_report::{
    Attempt, CountErrors, Figures, Quantity, Sidecar, SweepReport, fragment, report, risk_page, sweep_page,
};
pub use up_to_date::{CurrentRelease, up_to_date};
pub use verify::{verify_release, verify_release_with};
