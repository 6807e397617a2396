//! What travels of our nodes.

use datafusion_proto::protobuf;

use crate::distributed::TaskMessage;

/// An [`crate::AnonymizedTable`].
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TableMessage {
    /// The policy in portable form.
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// The key of every random choice.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    /// The plan that reads the input, as bytes of DataFusion.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) input: Vec<u8>,
}

/// A [`crate::distributed::TaskTable`].
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TasksMessage {
    /// The plan that reads the input, as bytes of DataFusion.
    #[prost(bytes = "vec", tag = "1")]
    pub(super) input: Vec<u8>,
    /// The columns of the input that are read.
    #[prost(uint32, repeated, tag = "2")]
    pub(super) columns: Vec<u32>,
    /// The tasks in their order.
    #[prost(message, repeated, tag = "3")]
    pub(super) tasks: Vec<TaskMessage>,
}

/// An [`crate::AnonymizeExec`]. Its child is a child of the plan.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExecMessage {
    /// The policy in portable form.
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// The key of every random choice.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    /// The columns that the policy is bound to: also those that are not read, and that the child does not have.
    #[prost(message, optional, tag = "2")]
    pub(super) input: Option<protobuf::Schema>,
}
