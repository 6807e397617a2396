//! Hierarchies: how a category becomes less specific, step by step.

mod build;
mod spec;
mod tree;

pub use build::{BuildError, build_tree};
pub use spec::{DatePart, HierarchySpec, MaskSide};
pub use tree::{Node, ROOT, Tree, TreeError};
