//! The leak suite: readers of a release, its documents or the logs learn nothing about the input except what the policy
//! releases.
//!
//! ```text
//!  planted.rs      canaries in every place of an input          errors.rs    what is said when something goes wrong
//!  search.rs       a search through every byte that comes out   order.rs     ranks of rows before and after
//!  statistics.rs   what a Parquet file says of itself           caught.rs    each of these checks on something that leaks
//! ```
//!
//! A build that leaks on purpose (`--features throng-cli/leaky`) must fail it; see CONTRIBUTING.md.

mod caught;
mod errors;
mod order;
mod planted;
mod search;
mod statistics;
