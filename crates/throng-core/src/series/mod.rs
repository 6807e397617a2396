//! Releases that stay safe together.
//!
//! Someone who keeps several releases of a table can intersect and subtract their classes. The finest sets obtained in
//! this way are the *blocks*: rows that were shown in the same class in every release, and absent from the same releases.
//! Every other set is a union of blocks. So a series is safe if every block satisfies the privacy models, as every class
//! does: what stayed together, what left a class and what joined one are unions of blocks.
//!
//! One consequence determines the design: a class with fewer than 2k units is shown by a later release as a whole or not
//! at all, as otherwise the rows that stayed or the rows that left would be fewer than k. So blocks are frozen, rows
//! that have left the input are shown on until enough of them have left one block, where m-invariance would add
//! counterfeit rows [Xiao 2007], and newcomers form separate classes, since what arrives together can be subtracted
//! [Fung 2008].
//!
//! | file | idea |
//! |---|---|
//! | `crowd` | what every block must satisfy |
//! | `state` | the memory: rows, blocks and trails |
//! | `night` | the step from one release to the next |
//! | `audit` | the same check, repeated on a finished release |

mod audit;
mod crowd;
mod night;
mod state;

pub use audit::{AuditFindings, audit};
pub use crowd::{Crowd, UNCOUNTED};
pub use night::{
    CarriedRows, ClosedNight, Leavers, Newcomers, NightCounts, OpenNight, Pool, PoolClass, SeriesRules, ShownRow,
    next_state,
};
pub use state::{ABSENT, RememberedRow, RowKey, SeriesState, WaitingRow};

#[cfg(test)]
#[path = "series_tests.rs"]
mod tests;
