//! The columns of a policy as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use throng_core::columns::DEFAULT_WEIGHT;

use super::{Hierarchy, Ordered};

/// The roles of the columns, by name.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Columns {
    /// `default = "drop"` leaves columns that the policy does not name out of the release; without it they are an
    /// error. A column that is itself called `default` is written as a table, `[columns.default]`.
    pub default: Option<DefaultEntry>,
    /// One table per column, under its exact name.
    #[serde(flatten)]
    pub named: Ordered<Column>,
}

/// What `default` stands for under `[columns]`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DefaultEntry {
    /// The option.
    Unlisted(Unlisted),
    /// A column of that name.
    Column(Column),
}

/// What happens to columns that the policy does not name.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unlisted {
    /// They are left out of the release.
    Drop,
}

/// One column.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// What the column says about a person.
    pub role: Role,
    /// For quasi-identifiers: how a generalized value is written. By default `interval` for numbers, dates and times
    /// without a hierarchy, and `ancestor` for all others.
    pub release: Option<Release>,
    /// For quasi-identifiers: how much the detail of this column counts against that of others. Greater than zero, by
    /// default 1.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = DEFAULT_WEIGHT))]
    pub weight: Option<f64>,
    /// For quasi-identifiers: how values become less specific, step by step. A file in the convention of ARX, or a
    /// table with exactly one of `file`, `tree`, `intervals`, `width`, `date` and `mask`.
    pub hierarchy: Option<Hierarchy>,
    /// For quasi-identifiers: what happens to a row without a value. By default `value`.
    #[schemars(extend("default" = "value"))]
    pub nulls: Option<Nulls>,
}

/// What a column says about a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Names the person, such as a number or an address. Left out of the release.
    Identifier,
    /// Known to others, and together with other columns enough to find the person. Released in generalized form.
    Quasi,
    /// What must not be learned about the person. Released as it is, and counted by `p`.
    Sensitive,
    /// Says nothing that needs protection. Released as it is.
    Insensitive,
}

impl Role {
    /// The name of the role in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Identifier => "identifier",
            Role::Quasi => "quasi",
            Role::Sensitive => "sensitive",
            Role::Insensitive => "insensitive",
        }
    }
}

/// How a generalized value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Release {
    /// Numbers, dates and times as text: `25`, or `[25-39]`.
    Interval,
    /// Numbers, dates and times as two columns of their own type, `NAME_min` and `NAME_max`.
    Bounds,
    /// The lowest common ancestor in the hierarchy.
    Ancestor,
    /// The set of the values that occur: `{A, B}`.
    Set,
}

impl From<Release> for throng_core::columns::Release {
    fn from(release: Release) -> Self {
        match release {
            Release::Interval => Self::Interval,
            Release::Bounds => Self::Bounds,
            Release::Ancestor => Self::Ancestor,
            Release::Set => Self::Set,
        }
    }
}

/// What happens to a row whose quasi-identifier has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Nulls {
    /// The missing value is a value like any other.
    Value,
    /// The row is left out of the release, and counted.
    Suppress,
    /// The run stops.
    Error,
}

impl From<Nulls> for throng_core::columns::Nulls {
    fn from(nulls: Nulls) -> Self {
        match nulls {
            Nulls::Value => Self::Value,
            Nulls::Suppress => Self::Suppress,
            Nulls::Error => Self::Error,
        }
    }
}
