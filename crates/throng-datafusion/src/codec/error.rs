//! Errors of decoding plan nodes.

use datafusion::error::DataFusionError;
use thiserror::Error;

/// An encoded node could not be decoded. Messages contain no bytes of the node except names of columns.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CodecError {
    /// The bytes end within the envelope.
    #[error("the bytes of {0} are cut short")]
    CutShort(&'static str),
    /// The bytes hold a different kind of node.
    #[error("the bytes hold a different node of Throng from {0}")]
    Kind(&'static str),
    /// The node was encoded with another format version.
    #[error("{node} was written in format {found}, and only format {known} is known here; use one version of Throng")]
    Version {
        /// Kind of the node.
        node: &'static str,
        /// Version found.
        found: u8,
        /// Supported version.
        known: u8,
    },
    /// The checksum does not match.
    #[error("the bytes of {0} were damaged on their way")]
    Damaged(&'static str),
    /// The checksum matches, but the message can't be decoded.
    #[error("the bytes of {0} can't be understood")]
    Malformed(&'static str),
    /// The operator was decoded with a number of inputs other than one.
    #[error("AnonymizeExec has one input, and came with {0}")]
    Inputs(usize),
    /// The input plan lacks a column that the operator reads.
    #[error("the plan below AnonymizeExec has no column `{0}` of the type that the policy was bound to")]
    Column(String),
    /// Policy and input yield a different release schema from the one that the plan was made for.
    #[error("the anonymized table has other columns here than where the plan was made")]
    Schema,
}

impl From<CodecError> for DataFusionError {
    fn from(error: CodecError) -> Self {
        Self::External(Box::new(error))
    }
}
