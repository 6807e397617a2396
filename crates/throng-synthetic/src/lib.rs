//! Synthetic data for trials: a census extract of any size, with the skew and the dependencies of a real one.
//!
//! No person in it exists. A row is drawn from tables that depend on each other, so that anonymization meets what it meets
//! in practice: a few places hold most people, some origins are rare, an age says much about marriage and schooling, and
//! an occupation follows from schooling and sex.
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
//! The stream is cut into batches, and batch `i` depends on the seed and on `i` alone. So any part of the data can be
//! made by itself, parts can be made side by side, and a longer extract begins with the rows of a shorter one.
//!
//! With the six quasi-identifiers of `configs/census.toml` about half of one million rows sit in cells (rows that
//! agree in all six) of fewer than ten rows.
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
pub use write::{CensusOptions, DEFAULT_FILE_ROWS, DEFAULT_SEED, GenerateError, GenerateSummary, write_census};
