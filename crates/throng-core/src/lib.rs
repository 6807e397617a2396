//! Algorithms of p-sensitive k-anonymity, independent of any query engine, file format and clock.
//!
//! ```text
//!  batches ─► survey ─► partition ─► cluster ─► recode ─► metrics        verify
//!             cells     leaves       classes    labels,    of the         looks at released
//!                                               order      release        values alone
//! ```
//!
//! The modules are the stages. They share these ideas:
//!
//! - **Positions.** The values of a quasi-identifier are encoded as ordered positions ([`domain`]), and a class is a
//!   range of positions per column. Numeric and categorical columns share the same loops.
//! - **Cells.** Algorithms work on distinct quasi-identifier tuples with row counts and sensitive histograms
//!   ([`table`]), not on rows.
//! - **A privacy model is a deficit** ([`model`]): how far a class is from satisfying it, and whether a row lowers
//!   that.
//! - **Classes are decided by the release.** Clusters with equal labels are one equivalence class ([`recode`]).
//! - **Memory is asked for.** Tables that may not fit into memory are worked on part by part ([`out_of_core`]).
//! - **Canonical order.** No result depends on the order in which rows arrive ([`survey`], [`row_hash`]).
//!
//! No error or log message of this crate contains a value of the data.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod anonymize;
pub mod bound;
mod category_finder;
pub mod cluster;
pub mod columns;
pub mod cover;
pub mod dictionary_encode;
pub mod domain;
mod error;
pub mod exposure;
pub mod feasibility;
mod geometry;
pub mod global_dictionary;
pub mod hierarchy;
pub mod key;
mod list_coding;
pub mod list_texts;
pub mod local_search;
pub mod look_alikes;
mod loss_tables;
pub mod metrics;
pub mod model;
mod numeric_view;
pub mod out_of_core;
mod partial_domain;
pub mod partition;
pub mod profile;
pub mod progress;
mod protected_coding;
pub mod published;
pub mod recode;
mod redistribute;
pub mod risk;
pub mod row_hash;
pub mod sensitive_coding;
pub mod series;
pub mod stream;
pub mod survey;
pub mod table;
#[cfg(test)]
mod test_tables;
pub mod verify;

pub use error::{CoreError, Result};
