//! Protobuf messages of encoded nodes.

use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion_proto::protobuf;
use throng_core::key::ReleaseKey;
use throng_policy::Policy;

use super::error::CodecError;
use crate::distributed::TaskMessage;
use crate::{AnonymizeError, Anonymizer};

/// An [`crate::AnonymizedTable`].
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TableMessage {
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// Bytes of the release key.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    /// Encoded logical plan of the input.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) input: Vec<u8>,
}

/// A [`crate::distributed::TaskTable`].
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TasksMessage {
    /// Encoded logical plan of the input.
    #[prost(bytes = "vec", tag = "1")]
    pub(super) input: Vec<u8>,
    /// Indices of the input columns that are read.
    #[prost(uint32, repeated, tag = "2")]
    pub(super) columns: Vec<u32>,
    #[prost(message, repeated, tag = "3")]
    pub(super) tasks: Vec<TaskMessage>,
}

/// A [`crate::functions::PrivacyCheck`].
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CheckMessage {
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// Encoded logical plan of the table that is checked.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) release: Vec<u8>,
}

/// A [`crate::functions::PrivacyCheckExec`], whose input is encoded as a child of the plan.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CheckExecMessage {
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// Columns of the table that the policy does not release; the child may not have them.
    #[prost(string, repeated, tag = "2")]
    pub(super) foreign: Vec<String>,
}

/// A bound policy: the message of an [`crate::AnonymizeExec`], whose input is encoded as a child of the plan, and part of
/// the parameters of tasks.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AnonymizerMessage {
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// Bytes of the release key.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    /// Schema that the policy is bound to. Includes columns that are not read and that a child does not have.
    #[prost(message, optional, tag = "2")]
    pub(super) input: Option<protobuf::Schema>,
}

impl AnonymizerMessage {
    pub(crate) fn of(anonymizer: &Anonymizer) -> Self {
        Self {
            policy: anonymizer.policy().to_portable(),
            key: anonymizer.key().to_bytes().to_vec(),
            input: protobuf::Schema::try_from(anonymizer.input_schema().as_ref()).ok(),
        }
    }

    /// Decodes the policy and binds it to the schema.
    pub(crate) fn anonymizer(&self) -> Result<Anonymizer, AnonymizeError> {
        let malformed = || AnonymizeError::Codec(CodecError::Malformed("a bound policy"));
        let input = self.input.as_ref().and_then(|input| Schema::try_from(input).ok()).ok_or_else(malformed)?;
        Anonymizer::new(Arc::new(policy_of(&self.policy, &self.key)?), Arc::new(input))
    }
}

/// Decodes a policy from its portable text and the release key.
pub(super) fn policy_of(policy: &str, key: &[u8]) -> Result<Policy, AnonymizeError> {
    let malformed = |_| AnonymizeError::Codec(CodecError::Malformed("a release key"));
    let key = ReleaseKey::from_bytes(key.try_into().map_err(malformed)?);
    Ok(Policy::from_portable(policy)?.with_release_key(key))
}
