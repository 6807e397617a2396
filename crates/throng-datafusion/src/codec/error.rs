//! What can be wrong with bytes that claim to be ours.

use datafusion::error::DataFusionError;
use thiserror::Error;

/// Why bytes are not a node of ours. Nothing of the bytes is in the message but names of columns.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CodecError {
    /// Fewer bytes than any node has.
    #[error("the bytes of {0} are cut short")]
    CutShort(&'static str),
    /// A node stands where another kind of node belongs.
    #[error("the bytes hold another node of Throng than {0}")]
    Kind(&'static str),
    /// Written by another version.
    #[error("{node} was written in format {found}, and only format {known} is known here; use one version of Throng")]
    Version {
        /// What it is.
        node: &'static str,
        /// The format it was written in.
        found: u8,
        /// The only format that is known.
        known: u8,
    },
    /// The checksum is wrong.
    #[error("the bytes of {0} were damaged on their way")]
    Damaged(&'static str),
    /// The checksum is right, and still there is no such message.
    #[error("the bytes of {0} can't be understood")]
    Malformed(&'static str),
    /// The operator has another number of inputs than one.
    #[error("AnonymizeExec has one input, and came with {0}")]
    Inputs(usize),
    /// The plan below lacks a column that the operator reads.
    #[error("the plan below AnonymizeExec has no column `{0}` of the type that the policy was bound to")]
    Column(String),
    /// Policy and input give another release than the plan was made for.
    #[error("the anonymized table has other columns here than where the plan was made")]
    Schema,
}

impl From<CodecError> for DataFusionError {
    fn from(error: CodecError) -> Self {
        Self::External(Box::new(error))
    }
}
