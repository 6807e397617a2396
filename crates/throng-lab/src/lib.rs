//! The lab: how useful a release is, and how much an intruder gains from it.
//!
//! Everything here is computed from two tables, the release and its original, and from the column roles in a policy. Nothing
//! is shared with the code that makes releases: labels are parsed from their text, classes are counted again, and no algorithm
//! of the core is called. The caller reads files; the lab receives record batches.
//!
//! ```text
//!  original ──► OriginalReader ──► OriginalTable ─┐
//!                                                 ├─► utility()   how well the release answers questions
//!  release  ──► ReleasedReader ──► ReleasedTable ─┼─► diff()      what two releases reveal together
//!                                                 └─► attack()    what an intruder learns, one file per attack
//!  release, population ──► population::ReleasedBoxes, PeopleCounter   how many people look like a class
//! ```
//!
//! A [`Lexicon`] holds what all tables of one comparison share: the values of each column, and the meaning of labels. Memory is
//! that of the distinct combinations of quasi-identifiers and sensitive values, and of samples of a fixed size.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod attacks;
mod diff;
mod error;
mod extent;
mod label;
mod lexicon;
pub mod population;
mod random;
mod spec;
mod statistics;
mod table;
#[cfg(test)]
mod test_tables;
pub mod utility;

pub use diff::{DiffReport, diff, diff_linked};
pub use error::LabError;
pub use lexicon::Lexicon;
pub use spec::{KnownQuasi, KnownSensitive, LabSpec, QuasiScale, ReleasedForm, ValueNames};
pub use table::{OriginalReader, OriginalTable, ReleasedReader, ReleasedTable};
