//! Telemetry of a run: metrics for Prometheus and lineage for catalogs.
//!
//! ```text
//!  job ──► Recorder ──► Record ──► metrics.rs  text for the textfile collector of node_exporter
//!          receives     how the    lineage.rs  an event of OpenLineage
//!          the run      run ended
//! ```
//!
//! A [`Record`] is taken at the end of every run, including failed and stopped ones. The files hold what the sidecar
//! may publish (aggregates over the whole release), column names, locations, and the message of a failure, and no value
//! of the data.

mod dataset;
mod file;
mod lineage;
mod metrics;
mod origins;
mod recorder;

pub use file::{TargetError, check_target};
pub use origins::{ColumnOrigin, ColumnOrigins, ColumnTreatment};
pub use recorder::{Ending, Record, Recorder};
