//! Progress of a job: the trait of the operator, with the stages of a job.

pub use throng_datafusion::{NoProgress, Progress, Stage};
