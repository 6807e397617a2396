//! Progress of a job: re-exports the operator's trait and the stages.

pub use throng_datafusion::{NoProgress, Progress, Stage};
