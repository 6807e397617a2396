//! Documents of Throng and the pages rendered from them.
//!
//! | file | content |
//! |---|---|
//! | `document/` | the sidecar `_throng/metrics.json` of a release |
//! | `report/` | the page of a release, rendered from the sidecar |
//! | `sweep/` | the result of a sweep and its page |
//! | `risk_page` | the page of the risk of a table |
//! | `page`, `numbers`, `plot/` | page layout, number formats, inline SVG |
//!
//! The crate depends on no engine, store or clock. A page is a string in which all text is escaped, so that neither a
//! column name nor a damaged document can inject markup.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod document;
pub mod numbers;
mod page;
pub mod plot;
mod report;
mod risk_page;
mod sweep;

pub use document::{Quantity, Sidecar};
pub use page::fragment;
pub use report::report;
pub use risk_page::risk_page;
pub use sweep::{Attempt, CountErrors, Figures, SweepReport, sweep_page};
