//! The science of Throng: p-sensitive k-anonymity on tables of people, without an engine, a file format or a clock.
//!
//! ```text
//!  batches ─► survey ─► partition ─► cluster ─► recode ─► metrics        verify
//!             cells     leaves       classes    labels,    of the         looks at released
//!                                               order      release        values alone
//! ```
//!
//! The modules are the stages. What ties them together:
//!
//! - **Positions.** A quasi-identifier is a list of ordered positions ([`domain`]), and a class is a range of positions
//!   per column. Numbers and categories run through the same loops.
//! - **Cells.** Algorithms work on distinct tuples with counts and sensitive histograms ([`table`]), not on rows.
//! - **A model is a deficit** ([`model`]): how far is this class from satisfying you, and does this row help?
//! - **The release decides.** Clusters that read the same are one class ([`recode`]).
//! - **Canonical order.** Nothing depends on the order of arrival ([`survey`], [`content`]).
//!
//! No error or log of this crate holds a value of the data.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod anonymize;
pub mod cluster;
pub mod columns;
pub mod dictionary_encode;
pub mod domain;
mod error;
pub mod feasibility;
mod geometry;
pub mod global_dictionary;
pub mod hierarchy;
pub mod key;
pub mod local_search;
mod loss_tables;
pub mod metrics;
pub mod model;
mod numeric_view;
pub mod partition;
pub mod profile;
pub mod recode;
mod redistribute;
pub mod risk;
pub mod row_hash;
pub mod sensitive_coding;
pub mod survey;
pub mod table;
#[cfg(test)]
mod test_tables;
pub mod verify;

pub use error::{CoreError, Result};
