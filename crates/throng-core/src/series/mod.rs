//! Releases that stay safe together.
//!
//! Someone who keeps several releases of a table can intersect and subtract their classes. The finest sets that come of it
//! are the *blocks*: rows that were shown in the same class in every release, and absent from the same releases. Every
//! other set is a union of blocks. So a series is safe if every block satisfies the privacy models, as every class does:
//! what stayed together, what has left a class and what has come to one are unions of blocks.
//!
//! A consequence decides the design: of a class with fewer than 2k units, a later release shows all rows or none, as
//! otherwise the rows that stayed or the rows that left would be fewer than k. So blocks are frozen, rows that have left
//! the input are shown on until enough of them have left one block, where m-invariance would add counterfeit rows
//! [Xiao 2007], and newcomers form classes of their own, since what arrives together can be subtracted [Fung 2008].
//!
//! | file | idea |
//! |---|---|
//! | `crowd` | what every block must satisfy |
//! | `state` | the memory: rows, blocks and trails |
//! | `night` | one release after the other |
//! | `audit` | the same question asked again, of a finished release |

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
