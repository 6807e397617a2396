//! The names that most hosts need: `use throng::prelude::*`.

pub use datafusion::arrow::array::{ArrayRef, RecordBatch, create_array};
pub use datafusion::arrow::util::pretty::pretty_format_batches;
pub use datafusion::prelude::SessionContext;

pub use crate::{
    Budget, ColumnRecoding, DatePart, Findings, IntoTable, MaskSide, Nulls, Overrides, Policy, PolicyBuilder,
    PolicyError, Preset, Secret, SensitiveRelease, ThrongError, VerifiedRelease,
};
