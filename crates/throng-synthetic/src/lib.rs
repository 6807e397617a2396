//! Synthetic data for trials: a census extract of any size, with realistic skew and dependencies.
//!
//! No person in it exists. A row is drawn from conditional tables, so anonymization faces the same conditions as in
//! practice: a few regions hold most people, some origins are rare, age correlates with marriage and education, and
//! occupation depends on education and sex.
//!
//! ```text
//!   region ──> race ──> birth_place          age ──> sex ──> marital_status ──> household_size
//!      └────────────────────^   ^─────────────┤                    (age too)          │
//!                                             ├──> education ──┐                      v
//!   race, birth_place, sex ──> name           └──────────────> occupation          weight <── region
//!                                                (sex too)         ├──> industry
//!                                                                  └──> hours ──> income <── education, age, sex
//! ```
//!
//! The stream is divided into batches, and batch `i` depends only on the seed and `i`. Any part of the data can
//! therefore be generated independently and in parallel, and a longer extract starts with the rows of a shorter one.
//!
//! With the six quasi-identifiers of `configs/census.toml` about half of one million rows are in cells (equal in all
//! six) of fewer than ten rows.
//!
//! | file | idea |
//! |---|---|
//! | `census` | the stream of batches and its schema |
//! | `person` | how one person is drawn, column after column |
//! | `geography`, `nationality`, `demographics`, `occupation`, `earnings`, `household`, `names` | one group of columns each |
//! | `alias`, `rng`, `age_profile`, `identity` | skewed choices, random numbers, curves over age, identifiers |
//! | `write` | part files in a folder |

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod age_profile;
mod alias;
mod census;
mod demographics;
mod earnings;
mod geography;
mod household;
mod identity;
mod names;
mod nationality;
mod occupation;
mod person;
mod rng;
mod write;

pub use census::{BATCH_ROWS, CensusBatches, census_schema};
pub use write::{
    CensusOptions, DEFAULT_FILE_ROWS, DEFAULT_SEED, GenerateError, GenerateSummary, write_census, write_census_until,
};
