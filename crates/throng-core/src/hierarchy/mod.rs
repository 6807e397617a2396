//! Hierarchies: how a category becomes less specific, step by step.

mod build;
mod mean_difference;
mod spec;
mod tree;

pub use build::{BuildError, build_counted_tree, build_tree};
pub use spec::{DatePart, HierarchySpec, MaskSide};
pub use tree::{Node, ROOT, Tree, TreeError};
