//! What the fuzz targets check. The tests of the workspace include this file, and run every input of the corpus and every
//! past finding through the same checks.
//!
//! Each check takes any bytes and panics when something is wrong. What it compares with is counted by simple means of its
//! own.

pub mod file;
pub mod hierarchy;
pub mod job;
pub mod mutate;
pub mod policy;
pub mod read;
pub mod table;

/// Panics when something is wrong with what bytes lead to.
pub type Check = fn(&[u8]);

/// The checks by the names of their targets.
pub const TARGETS: [(&str, Check); 8] = [
    ("policy", policy::check),
    ("hierarchy", hierarchy::check),
    ("table", table::check),
    ("file", file::check),
    ("init", read::init),
    ("risk", read::risk),
    ("verify", read::verify),
    ("sql", read::sql),
];

/// Returns the target whose corpus a target uses: those that read files share one.
pub fn corpus_of(target: &str) -> &str {
    if ["init", "risk", "verify", "sql"].contains(&target) { "file" } else { target }
}
