//! Hierarchies as specified by a policy: a tree, or a rule that builds one from the values of a column.

use std::sync::Arc;

use super::Tree;

/// Specification of a hierarchy, independent of the values of its column.
#[derive(Clone, Debug)]
pub enum HierarchySpec {
    /// A tree that contains every value (an ARX file, or a tree in the policy).
    Tree(Arc<Tree>),
    /// Intervals of numbers; `widths[0]` is the finest level, and each width is a multiple of the previous one.
    Intervals {
        /// A border of every level.
        origin: f64,
        /// Widths of the levels from fine to coarse, each greater than zero.
        widths: Vec<f64>,
    },
    /// Calendar parts of dates and timestamps, from fine to coarse.
    DateParts(Vec<DatePart>),
    /// Codes such as ZIP, with one more character masked at each level.
    Mask(MaskSide),
    /// The same for codes of at most `length` characters, whichever are present: a label has as many stars in every table. Of longer codes,
    /// labels show at most `length - 1` characters.
    MaskOfLength {
        /// The side.
        side: MaskSide,
        /// Length of the longest code.
        length: usize,
    },
    /// Every value directly below the root.
    Flat,
    /// Regular intervals of a mean difference recommending tree [Liu 2018].
    MeanDifference,
}

/// A part of the calendar.
// Ordered from fine to coarse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum DatePart {
    /// `2024-02-29`
    Day,
    /// `2024-02`
    Month,
    /// `2024-Q1`
    Quarter,
    /// `2024`
    Year,
    /// `2020s`
    Decade,
}

/// The side of a code from which it is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MaskSide {
    /// `41099`, `4109*`, `410**`: for codes whose first characters say most.
    Right,
    /// `41099`, `*1099`, `**099`.
    Left,
}
