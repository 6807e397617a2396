//! A series of releases that stay safe together.
//!
//! ```text
//!  ledger ─► rows ─► throng_core::series ─► the operator ─► write, read back ─► ledger, then release
//!  place.rs  rows.rs  night.rs, form.rs                     check.rs            place.rs    publish/
//! ```
//!
//! Neither the rows of the input nor those of the ledger are held in memory. The rows of the input are matched with the
//! ledger unit by unit (`match_rows.rs`), in buckets of units on disk. The ledger is divided by classes, and the decision about a class depends
//! on its own rows alone, so a night processes one part at a time ([`throng_core::series`]). Newcomers are held in memory,
//! except in the first release, whose classes the operator forms. [`run_series`] runs one night, [`verify_ledger`] checks the
//! current release against its ledger, and [`verify_against`] compares releases as an intruder would, from their files alone.

mod against;
mod buckets;
mod cells;
mod check;
mod disk_table;
mod form;
mod ledger;
mod match_rows;
mod night;
mod place;
mod rows;
mod run;
mod sealed;
mod seen_rows;
mod turnover;
mod unit_classes;
mod verify_ledger;

use crate::error::JobError;

pub use against::{SeriesComparison, verify_against};
pub(crate) use place::StagedLedger;
pub(crate) use run::{existing_release, run_series};
pub use verify_ledger::{SeriesFindings, verify_ledger};

fn kernel(source: datafusion::arrow::error::ArrowError) -> JobError {
    throng_datafusion::AnonymizeError::Kernel("series", source).into()
}

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
