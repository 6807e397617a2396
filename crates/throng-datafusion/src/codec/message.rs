//! Protobuf messages of encoded nodes.

use datafusion_proto::protobuf;

use crate::distributed::TaskMessage;

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

/// An [`crate::AnonymizeExec`]. Its input is encoded as a child of the plan.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExecMessage {
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// Bytes of the release key.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    /// Schema that the policy is bound to. Includes columns that are not read and that the child does not have.
    #[prost(message, optional, tag = "2")]
    pub(super) input: Option<protobuf::Schema>,
}
