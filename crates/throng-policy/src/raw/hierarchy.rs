//! The hierarchies of a policy as they are written.

use schemars::JsonSchema;
use serde::Deserialize;
use throng_core::hierarchy::{DatePart, MaskSide};

use super::Ordered;

/// What separates the levels in a hierarchy file.
pub const DEFAULT_FILE_DELIMITER: &str = ";";
/// The border of intervals that name none.
pub const DEFAULT_ORIGIN: f64 = 0.0;
/// How many intervals of one level make one of the next, unless `growth` says so.
pub const DEFAULT_GROWTH: u64 = 2;
/// How many levels `width` has, unless `levels` says so.
pub const DEFAULT_LEVELS: u64 = 1;
/// More levels than any hierarchy needs.
pub const MAX_LEVELS: u64 = 32;

/// How the values of a column become less specific.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Hierarchy")]
pub enum RawHierarchy {
    /// The path of a hierarchy file, relative to the folder of the policy file. One line per value, from the value to
    /// the root, separated by semicolons and without a header: the convention of ARX.
    File(String),
    /// A table with exactly one of `file`, `lines`, `tree`, `intervals`, `width`, `date` and `mask`.
    Rule(Box<HierarchyRule>),
}

/// A hierarchy in one of its forms.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HierarchyRule {
    /// The path of a hierarchy file, relative to the folder of the policy file.
    pub file: Option<String>,
    /// The lines of a hierarchy file, written in the policy itself, so that it needs no file beside it.
    pub lines: Option<String>,
    /// With `file` or `lines`: the one character between two levels. By default a semicolon.
    #[schemars(length(min = 1, max = 1), extend("default" = DEFAULT_FILE_DELIMITER))]
    pub delimiter: Option<String>,
    /// A tree of groups, such as `{ Europe = ["France", "Spain"], Asia = { East = ["Japan"] } }`. The root `*` above
    /// all of them is implied.
    pub tree: Option<Branch>,
    /// For numbers: the widths of the levels from fine to coarse, each a multiple of the one before, such as
    /// `[5, 10, 20]`.
    #[schemars(length(min = 1))]
    pub intervals: Option<Vec<f64>>,
    /// With `intervals` or `width`: a number at which an interval of every level begins. By default 0.
    #[schemars(extend("default" = DEFAULT_ORIGIN))]
    pub origin: Option<f64>,
    /// For numbers: the width of the finest level; `growth` and `levels` give the others.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub width: Option<f64>,
    /// With `width`: how many times wider each level is than the one before. By default 2.
    #[schemars(range(min = 2), extend("default" = DEFAULT_GROWTH))]
    pub growth: Option<u64>,
    /// With `width`: the number of levels. By default 1.
    #[schemars(range(min = 1, max = MAX_LEVELS), extend("default" = DEFAULT_LEVELS))]
    pub levels: Option<u64>,
    /// For dates and timestamps: parts of the calendar from fine to coarse, such as `["month", "year"]`.
    #[schemars(length(min = 1))]
    pub date: Option<Vec<DatePart>>,
    /// For codes such as ZIP: the side from which one character more is hidden at each level.
    pub mask: Option<MaskSide>,
}

/// A part of a tree that is written in the policy.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Branch {
    /// The values of a group.
    Values(Vec<String>),
    /// Groups inside a group, by name.
    Groups(Ordered<Branch>),
}
