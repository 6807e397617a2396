//! Rows that pseudonyms link, in one table or in several.
//!
//! A pseudonym shows which rows belong to one person. So the information in all of them adds up: an intruder may look for the
//! person whose rows have exactly these classes, with these counts. The *profile* of a person is the multiset of the classes of
//! all of their rows in all tables of the release. The promise with pseudonyms is that every profile is shared by at least k
//! people, and that every model of the policy holds among the rows that the people of one profile have in one class.
//!
//! ```text
//!  every table ─► count the rows of each person ─► strata: people with the same numbers of rows  (strata)
//!                                                      │ where these are fewer than k, rows are left out
//!  first table ─► one row of each person ─► classes that do not cross strata: groups of people   (group)
//!                                                      │ who is in no group is left out everywhere
//!  every table ─► the first rows of a group are a class, the second ones another, ...            (prepare)
//!                                                      │ a class that breaks a model is left out as a whole
//!  staged files ─► the profiles, counted from the released rows alone                            (profiles)
//! ```
//!
//! Why this suffices: the people of a group have the same number of rows in every table. The rows of a person in a table are
//! numbered in the order of their quasi-identifiers, and the n-th rows of all people of a group are one class, or suppressed
//! together. So all people of a group have one profile, and a group has at least k people. [`profiles`] does not rely on
//! that: it reads the staged files, and refuses a release in which a profile has fewer than k people or breaks a model.

mod group;
mod prepare;
mod profiles;
mod pseudonym;
mod published;
mod row_function;
mod strata;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use throng_datafusion::Facts;
use throng_policy::Policy;

use crate::input::JobInput;

pub(crate) use group::link;
pub use profiles::LinkedFindings;
pub(crate) use profiles::{StagedTable, check_profiles, find_profiles};
pub(crate) use pseudonym::PseudonymKey;
pub use published::verify_linked;

/// A table whose rows are linked with those of the other tables.
#[derive(Clone)]
pub(crate) struct LinkedTable<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) input: Arc<dyn JobInput>,
}

/// People in groups, by which the rows of every table become classes.
pub(crate) struct LinkedRows {
    key: PseudonymKey,
    units: Arc<FxHashMap<UnitId, LinkedUnit>>,
    /// Facts about the classes of the grouping.
    pub(crate) grouping: Facts,
}

/// The pseudonym of a person as a number, or the number of a row without one.
type UnitId = u128;

/// A person who is released.
#[derive(Debug)]
struct LinkedUnit {
    group: u32,
    /// Number of released rows in each table.
    rows: Arc<[u32]>,
}
