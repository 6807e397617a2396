//! A series of releases that stay safe together.
//!
//! ```text
//!  ledger ─► rows ─► throng_core::series ─► form ─► recode ─► write, read back ─► ledger, then release
//!  place.rs  rows.rs                        form.rs                               place.rs    publish/
//! ```
//!
//! The rows of the input and of the ledger are held in memory. [`run_series`] runs one night, [`verify_ledger`] checks the
//! release that stands against its ledger, and [`verify_against`] compares releases as an intruder would, from their
//! files alone.

mod against;
mod form;
mod ledger;
mod place;
mod rows;
mod run;
mod sealed;
mod verify_ledger;

pub use against::{SeriesComparison, verify_against};
pub(crate) use run::{run_series, standing_release};
pub use verify_ledger::{SeriesFindings, verify_ledger};

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
