//! Generalization hierarchies of quasi-identifiers and sensitive columns.

mod build;
mod code_tree;
mod label_range;
mod mean_difference;
mod spec;
mod tree;

pub use build::{BuildError, build_counted_tree, build_tree};
pub(crate) use build::{EXACT, precision, step, tidy};
pub use code_tree::CodeTree;
pub use label_range::{label_range, mask_affix};
pub use spec::{DatePart, HierarchySpec, MaskSide};
pub use tree::{Node, ROOT, Tree, TreeError};
