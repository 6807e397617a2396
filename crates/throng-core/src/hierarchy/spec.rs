//! Hierarchies as a policy describes them: a finished tree, or a rule that builds one from the values of a column.

use std::sync::Arc;

use super::Tree;

/// A hierarchy, before the values of its column are known.
#[derive(Clone, Debug)]
pub enum HierarchySpec {
    /// Every value has its place in a tree (an ARX file, or a tree written in the policy).
    Tree(Arc<Tree>),
    /// Numbers in intervals; `widths[0]` is the finest level, and each width is a multiple of the one before it.
    Intervals {
        /// A border of every level.
        origin: f64,
        /// The widths of the levels from fine to coarse, each greater than zero.
        widths: Vec<f64>,
    },
    /// Dates and timestamps by calendar parts, from fine to coarse.
    DateParts(Vec<DatePart>),
    /// Codes such as ZIP, one more character hidden at each level.
    Mask(MaskSide),
    /// Every value directly below the root.
    Flat,
    /// Numbers in the regular intervals of a mean difference recommending tree [Liu 2018].
    MeanDifference,
}

/// A part of the calendar, as a level of a hierarchy of dates. Ordered from fine to coarse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// The end of a code from which a mask grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskSide {
    /// `41099`, `4109*`, `410**`: for codes whose first characters say most.
    Right,
    /// `41099`, `*1099`, `**099`.
    Left,
}
