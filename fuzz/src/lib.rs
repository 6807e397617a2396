//! Checks of the fuzz targets. The tests of the workspace include this file, and run every input of the corpus and every
//! past finding through the same checks.
//!
//! Each check takes any bytes and panics if something is wrong. Expected results are computed by simple, independent
//! code.

pub mod file;
pub mod hierarchy;
pub mod job;
pub mod mutate;
pub mod policy;
pub mod read;
pub mod table;

/// Panics if the result for these bytes is wrong.
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

/// Returns the target whose corpus a target uses: targets that read files share one.
pub fn corpus_of(target: &str) -> &str {
    if ["init", "risk", "verify", "sql"].contains(&target) { "file" } else { target }
}
