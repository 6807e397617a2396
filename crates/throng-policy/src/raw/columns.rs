//! The columns of a policy as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use throng_core::columns::{DEFAULT_WEIGHT, MAX_WEIGHT, Nulls};

use crate::declared_type::DeclaredType;
use crate::settings::LookAlikes;

use super::{MIN_CATEGORIES, MIN_P, Ordered, RawCategory, RawCover, RawHierarchy, RawLimit, RawRelease};

/// The roles of the columns, by name.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Columns")]
pub struct RawColumns {
    /// `default = "drop"` leaves columns that the policy does not name out of the release; without it they are an
    /// error. A column that is itself called `default` is written as a table, `[columns.default]`.
    pub default: Option<DefaultEntry>,
    /// One table per column, under its exact name.
    #[serde(flatten)]
    pub named: Ordered<RawColumn>,
}

/// What `default` stands for under `[columns]`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum DefaultEntry {
    /// The option.
    Unlisted(Unlisted),
    /// A column of that name.
    Column(Box<RawColumn>),
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
#[schemars(rename = "Column")]
pub struct RawColumn {
    /// What the column says about a person.
    pub role: RawRole,
    /// The type that the column has in every delivery. An input in which it has another one is refused. By default any type
    /// that suits the role is accepted.
    #[serde(rename = "type")]
    pub declared_type: Option<DeclaredType>,
    /// How the column is written into the release. For quasi-identifiers by default `interval` for numbers, dates and
    /// times without a hierarchy, and `ancestor` for all others; for sensitive columns with `categories` by default
    /// `category`.
    pub release: Option<RawRelease>,
    /// For quasi-identifiers: how much the detail of this column counts against that of others. For sensitive columns: how
    /// much their diversity counts against that of others in the cluster methods `greedy-pk` and `enhanced-pk`. Greater
    /// than zero, at most 1,000,000, by default 1.
    #[schemars(extend("exclusiveMinimum" = 0, "default" = DEFAULT_WEIGHT), range(max = MAX_WEIGHT))]
    pub weight: Option<f64>,
    /// For quasi-identifiers: how values become less specific, step by step. A file in the convention of ARX, or a
    /// table with exactly one of `file`, `lines`, `tree`, `intervals`, `width`, `date` and `mask`. For sensitive columns:
    /// the hierarchy of which `protected` names values, or by which `distance` compares them.
    pub hierarchy: Option<RawHierarchy>,
    /// For quasi-identifiers: what happens to a row without a value. By default `value`.
    #[schemars(extend("default" = "value"))]
    pub nulls: Option<Nulls>,
    /// For quasi-identifiers: how far values may be generalized, as a level, a list of values of the hierarchy, or a
    /// list of ascending numbers at which bands begin. Rows that can't be released within the limits are suppressed.
    pub limit: Option<RawLimit>,
    /// For quasi-identifiers that are released as `interval` or `bounds`: a grid to which the ends of intervals are rounded
    /// outwards, so that they are no values of the table. The width of its cells, a part of the calendar, or a table such
    /// as `{ grid = 5, origin = 18 }`.
    pub cover: Option<RawCover>,
    /// For sensitive columns: the `p` of this column, in place of that of `[privacy]`. From 1 to k.
    #[schemars(range(min = MIN_P))]
    pub p: Option<u64>,
    /// For sensitive columns with a hierarchy: values of the hierarchy that must not be learned either. All values below
    /// one of them count as one value. In a mask, `"C5*"` stands for all codes that begin with `C5`.
    #[schemars(length(min = 1))]
    pub protected: Option<Vec<String>>,
    /// For sensitive columns: the values in categories, the most sensitive first. Each category is a list of values, or
    /// a table such as `{ name = "Top Secret", values = ["HIV"] }`, in which `prefixes` or `bands` may stand for values. Then
    /// `p` counts categories in place of values, and `alpha` weighs them.
    #[schemars(length(min = MIN_CATEGORIES))]
    pub categories: Option<Vec<RawCategory>>,
    /// For sensitive columns: values that stand for no value, such as `"?"`, and never count. They are released as they are.
    #[schemars(length(min = 1))]
    pub missing: Option<Vec<String>>,
    /// For sensitive columns: how texts count that differ only in case, in spaces around them, in invisible characters or in
    /// their Unicode form. By default `merged`.
    #[schemars(extend("default" = LookAlikes::Merged.as_str()))]
    pub look_alikes: Option<LookAlikes>,
    /// For sensitive columns with numbers or dates: ascending numbers at which bands begin. Values of one band count as
    /// one. Dates are days since 1970.
    #[schemars(length(min = 1))]
    pub bands: Option<Vec<f64>>,
    /// For sensitive columns with numbers or dates: the largest and the smallest value of every class differ by at least
    /// this much, in days for dates.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub range: Option<f64>,
    /// For sensitive columns: no value has more than this share of the rows of a class that have a value ((alpha,
    /// k)-anonymity).
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1))]
    pub max_share: Option<f64>,
    /// For sensitive columns: the values of every class are at least as diverse as this many equally frequent values
    /// (entropy l-diversity).
    #[schemars(range(min = 1))]
    pub entropy_l: Option<f64>,
    /// For sensitive columns: in every class the most frequent value has fewer than `c` times the rows of all values from
    /// the `l`-th most frequent on (recursive (c, l)-diversity).
    pub recursive: Option<RawRecursive>,
    /// For sensitive columns: the distribution of the values of every class is at most this far from that of the whole
    /// release (t-closeness).
    #[schemars(range(min = 0, max = 1))]
    pub t: Option<f64>,
    /// For sensitive columns with `t`: how far two values are from each other. By default `equal`.
    #[schemars(extend("default" = "equal"))]
    pub distance: Option<RawDistance>,
    /// For sensitive columns: no value is more than `1 + beta` times as frequent in a class as in the whole release (basic
    /// beta-likeness).
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub beta: Option<f64>,
    /// For sensitive columns: the share of every value in a class differs from that in the whole release by a factor of less
    /// than `exp(delta_disclosure)`, upwards and downwards (delta-disclosure privacy). Every class has all values then.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub delta_disclosure: Option<f64>,
}

/// Parameters of recursive (c, l)-diversity.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Recursive")]
pub struct RawRecursive {
    /// The factor c, above 0.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub c: f64,
    /// The l, at least 1.
    #[schemars(range(min = 1))]
    pub l: u32,
}

/// Distance between two sensitive values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Distance")]
pub enum RawDistance {
    /// All values are equally far from each other.
    Equal,
    /// By rank, for numbers and dates.
    Ordered,
    /// By the height of the lowest common ancestor in the hierarchy of the column.
    Hierarchical,
}

/// What a column says about a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Role")]
pub enum RawRole {
    /// Names the person, such as a number or an address. Left out of the release.
    Identifier,
    /// Known to others, and together with other columns enough to find the person. Released in generalized form.
    Quasi,
    /// What must not be learned about the person. Counted by `p`, and released as it is or as its category.
    Sensitive,
    /// Says nothing that needs protection. Released as it is.
    Insensitive,
}

impl RawRole {
    /// The name of the role in the policy file.
    pub fn as_str(self) -> &'static str {
        match self {
            RawRole::Identifier => "identifier",
            RawRole::Quasi => "quasi",
            RawRole::Sensitive => "sensitive",
            RawRole::Insensitive => "insensitive",
        }
    }
}
