//! What the fuzz targets check. The tests of the workspace include this file, and run every input of the corpus and every
//! past finding through the same checks.
//!
//! Each check takes any bytes and panics when something is wrong. What it compares with is counted by simple means of its
//! own.

pub mod file;
pub mod hierarchy;
pub mod job;
pub mod policy;
pub mod table;

/// Panics when something is wrong with what bytes lead to.
pub type Check = fn(&[u8]);

/// The checks by the names of their targets.
pub const TARGETS: [(&str, Check); 4] =
    [("policy", policy::check), ("hierarchy", hierarchy::check), ("table", table::check), ("file", file::check)];
