//! What a policy says about the columns that take part: how a quasi-identifier is generalized and released.
//!
//! These types hold intentions and no data. A [`crate::survey::Survey`] turns them into domains once it has seen the values.

use std::sync::Arc;

use crate::hierarchy::HierarchySpec;

/// The weight of a column when the policy names none.
pub const DEFAULT_WEIGHT: f64 = 1.0;

/// How a generalized value is written into the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Release {
    /// A number or date as text: `25` when the class has one value, `[25-39]` otherwise.
    Interval,
    /// A number or date as two columns of its own type, `NAME_min` and `NAME_max`.
    Bounds,
    /// A category as the lowest common ancestor in its hierarchy.
    Ancestor,
    /// A category as the set of the values that occur in the class: `{A, B}`.
    Set,
}

/// What happens to a row whose quasi-identifier is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// Null is a value like any other, and is released as null when a class has nothing else.
    #[default]
    Value,
    /// The row is left out of the release and counted as suppressed.
    Suppress,
    /// The run stops.
    Error,
}

/// One quasi-identifier as the policy wants it.
#[derive(Clone, Debug)]
pub struct QuasiSpec {
    /// The name of the column in the input.
    pub name: String,
    /// How it is released. [`Release::Interval`] and [`Release::Bounds`] have no hierarchy.
    pub release: Release,
    /// Its weight in the loss that the search lowers; greater than zero.
    pub weight: f64,
    /// What happens to its nulls.
    pub nulls: Nulls,
    /// Its hierarchy; [`HierarchySpec::Flat`] when the policy gives none to a category.
    pub hierarchy: Arc<HierarchySpec>,
}

impl QuasiSpec {
    /// The names that the column has in the release.
    pub fn released_names(&self) -> Vec<String> {
        released_names(&self.name, self.release)
    }
}

/// The names that a column has in a release.
pub fn released_names(name: &str, release: Release) -> Vec<String> {
    match release {
        Release::Bounds => vec![format!("{name}_min"), format!("{name}_max")],
        Release::Interval | Release::Ancestor | Release::Set => vec![name.to_owned()],
    }
}
