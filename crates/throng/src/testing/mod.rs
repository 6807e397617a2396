//! The conformance kit: checks that a clustering or a privacy model from outside Throng keeps its contract. Needs the feature
//! `testing`.
//!
//! Throng's own suite applies the same rules to every combination of method and model.
//!
//! ```
//! use throng::testing::{check_clustering, check_model, rows_of_codes};
//! use throng::throng_core::cluster::Greedy;
//! use throng::throng_core::model::KAnonymity;
//!
//! check_clustering(&Greedy { seed: 1 })?;
//! check_model(&KAnonymity::new(3), &rows_of_codes(1, 4, 40))?;
//! # Ok::<(), throng::testing::ContractViolation>(())
//! ```

mod clustering;
mod model;
mod recoding;
mod tables;

use thiserror::Error;

pub use clustering::{check_clustering, check_clustering_on};
pub use model::{check_model, rows_of_codes};
pub use recoding::{check_recoding, most_general};
pub use tables::{encode, tables};

/// The rule of a contract that an implementation has broken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{rule} ({context})")]
pub struct ContractViolation {
    /// What the contract requires, in words.
    pub rule: &'static str,
    /// Where it was broken: the table, the model, the class. Holds counts but no values.
    pub context: String,
}

impl ContractViolation {
    fn new(rule: &'static str, context: impl Into<String>) -> Self {
        Self { rule, context: context.into() }
    }

    /// Adds the case in which it was found.
    fn within(self, case: &str) -> Self {
        Self { context: format!("{case}; {}", self.context), ..self }
    }
}

/// Returns an error unless a rule holds.
fn rule(holds: bool, rule: &'static str, context: impl FnOnce() -> String) -> Result<(), ContractViolation> {
    if holds { Ok(()) } else { Err(ContractViolation::new(rule, context())) }
}

/// Returns the next pseudorandom number of a sequence (splitmix64).
fn next_number(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
#[path = "kit_tests.rs"]
mod tests;
