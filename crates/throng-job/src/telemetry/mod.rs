//! What a run tells other systems about itself: metrics for Prometheus, lineage for catalogs.
//!
//! ```text
//!  job ──► Recorder ──► Record ──► metrics.rs  text for the textfile collector of node_exporter
//!          hears of     how the    lineage.rs  an event of OpenLineage
//!          the run      run ended
//! ```
//!
//! A [`Record`] is taken at the end of every run, also of one that failed or was stopped, so that the files tell of it.
//! They hold what the sidecar may say (aggregates over the whole release), names of columns, locations, and the message
//! of a failure; none of it holds a value of the data.

mod dataset;
mod file;
mod lineage;
mod metrics;
mod origins;
mod recorder;

pub use file::{TargetError, check_target};
pub use origins::{ColumnOrigin, ColumnOrigins, ColumnTreatment};
pub use recorder::{Ending, Record, Recorder};
