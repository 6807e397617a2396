//! Protobuf messages of tasks and of the data that they exchange.

use crate::codec::AnonymizerMessage;

/// A task of a plan, by name and encoded parameters.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TaskMessage {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) params: Vec<u8>,
}

/// Parameters of tasks as they are sent to other processes.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TaskParamsMessage {
    #[prost(message, optional, tag = "1")]
    pub(super) anonymizer: Option<AnonymizerMessage>,
    /// URL of the folder that holds the release plan.
    #[prost(string, tag = "2")]
    pub(super) folder: String,
    /// Name of the release plan or the partitioned plan; empty if there is none yet.
    #[prost(string, tag = "3")]
    pub(super) plan: String,
    #[prost(uint64, tag = "4")]
    pub(super) rows_per_file: u64,
    /// For each partition, a value that the engine's hash partitioning sends there.
    #[prost(uint32, repeated, tag = "5")]
    pub(super) keys: Vec<u32>,
}

/// Distinct values of a column.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ValuesMessage {
    /// Arrow IPC stream with one column.
    #[prost(bytes = "vec", tag = "1")]
    pub(super) values: Vec<u8>,
    #[prost(bool, tag = "2")]
    pub(super) has_null: bool,
    #[prost(bool, tag = "3")]
    pub(super) are_counted: bool,
    #[prost(uint64, repeated, tag = "4")]
    pub(super) rows: Vec<u64>,
}

/// Domains and totals of a table that is cut into parts.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PartitionedPlanMessage {
    #[prost(message, repeated, tag = "1")]
    pub(super) columns: Vec<ValuesMessage>,
    #[prost(uint64, tag = "2")]
    pub(super) rows: u64,
    #[prost(uint64, tag = "3")]
    pub(super) suppressed: u64,
    #[prost(uint32, tag = "4")]
    pub(super) parts: u32,
    /// Number of survey bytes received.
    #[prost(uint64, tag = "5")]
    pub(super) received: u64,
}

/// Groups and classes of a part. Lists of numbers are little-endian bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ClusteredPartMessage {
    /// Tuples, each followed by its number of rows.
    #[prost(bytes = "vec", tag = "1")]
    pub(super) groups: Vec<u8>,
    /// Number of portions per class.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) portion_counts: Vec<u8>,
    /// Pairs of group and number of rows.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) portions: Vec<u8>,
    /// Per class: 1 if it has an explicit cover, which may exceed its rows, 0 otherwise.
    #[prost(bytes = "vec", tag = "7")]
    pub(super) is_covered: Vec<u8>,
    /// Covers of those classes: pairs of first and last position per quasi-identifier.
    #[prost(bytes = "vec", tag = "4")]
    pub(super) covers: Vec<u8>,
    #[prost(uint64, tag = "5")]
    pub(super) leaves: u64,
    #[prost(uint32, tag = "6")]
    pub(super) cycles: u32,
}

/// The release plan. Lists of numbers are little-endian bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReleasePlanMessage {
    #[prost(message, repeated, tag = "1")]
    pub(super) columns: Vec<ValuesMessage>,
    #[prost(uint32, tag = "2")]
    pub(super) width: u32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) tuples: Vec<u8>,
    /// Number of shares per group.
    #[prost(bytes = "vec", tag = "4")]
    pub(super) share_counts: Vec<u8>,
    /// Pairs of class and number of rows.
    #[prost(bytes = "vec", tag = "5")]
    pub(super) shares: Vec<u8>,
    #[prost(bytes = "vec", tag = "6")]
    pub(super) class_rows: Vec<u8>,
    #[prost(message, repeated, tag = "7")]
    pub(super) labels: Vec<LabelsMessage>,
    #[prost(bytes = "vec", tag = "8")]
    pub(super) label_of: Vec<u8>,
    #[prost(bytes = "vec", tag = "9")]
    pub(super) key: Vec<u8>,
}

/// Labels of one quasi-identifier: an Arrow IPC stream per released column.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LabelsMessage {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(super) columns: Vec<Vec<u8>>,
}
