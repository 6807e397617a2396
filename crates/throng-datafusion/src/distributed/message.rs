//! Protobuf messages of tasks and of the data that they exchange.

use datafusion_proto::protobuf;

/// A task of a plan, by name and encoded parameters.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TaskMessage {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) body: Vec<u8>,
}

/// A policy and the schema that it is bound to.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AnonymizerMessage {
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// Bytes of the release key.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub(super) input: Option<protobuf::Schema>,
}

/// Parameters of Throng's tasks.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BodyMessage {
    #[prost(message, optional, tag = "1")]
    pub(super) anonymizer: Option<AnonymizerMessage>,
    /// URL of the folder that holds the release plan.
    #[prost(string, tag = "2")]
    pub(super) place: String,
    /// Name of the release plan or the sketch; empty if there is none yet.
    #[prost(string, tag = "3")]
    pub(super) outline: String,
    #[prost(uint64, tag = "4")]
    pub(super) rows_per_file: u64,
    /// For each partition, a value that the engine's hash partitioning sends there.
    #[prost(uint32, repeated, tag = "5")]
    pub(super) slots: Vec<u32>,
}

/// Reason why there is no release.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RefusalMessage {
    #[prost(bool, tag = "1")]
    pub(super) is_infeasible: bool,
    #[prost(string, tag = "2")]
    pub(super) text: String,
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

/// End marker of the survey of one input partition.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct EndMessage {
    #[prost(uint64, tag = "1")]
    pub(super) rows: u64,
    #[prost(uint64, tag = "2")]
    pub(super) suppressed: u64,
    /// Number of pieces sent before, to detect missing ones.
    #[prost(uint64, tag = "3")]
    pub(super) pieces: u64,
}

/// Domains and totals of a table that is cut into parts.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SketchMessage {
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
pub(super) struct FormedMessage {
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
pub(super) struct OutlineMessage {
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

/// Metrics of a release that are known before its rows are written.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FactsMessage {
    #[prost(uint64, tag = "1")]
    pub(super) rows_read: u64,
    #[prost(uint64, tag = "2")]
    pub(super) suppressed: u64,
    #[prost(uint64, tag = "3")]
    pub(super) leaves: u64,
    #[prost(uint32, tag = "4")]
    pub(super) cycles: u32,
    #[prost(uint64, tag = "5")]
    pub(super) groups: u64,
    #[prost(uint64, tag = "8")]
    pub(super) received: u64,
    #[prost(message, optional, tag = "6")]
    pub(super) utility: Option<UtilityMessage>,
    /// Pairs of cell size and number of cells of this size.
    #[prost(uint64, repeated, tag = "7")]
    pub(super) cells: Vec<u64>,
    #[prost(message, optional, tag = "9")]
    pub(super) borrowed: Option<BorrowedMessage>,
}

/// Statistics of borrowed rows.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BorrowedMessage {
    #[prost(uint64, tag = "1")]
    pub(super) classes: u64,
    #[prost(uint64, tag = "2")]
    pub(super) own_rows: u64,
    #[prost(uint64, tag = "3")]
    pub(super) own_rows_without_diversity: u64,
    #[prost(uint64, optional, tag = "4")]
    pub(super) effective_k: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) effective_p: Option<u64>,
}

/// Utility metrics of a release.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct UtilityMessage {
    #[prost(uint64, tag = "1")]
    pub(super) classes: u64,
    #[prost(double, tag = "2")]
    pub(super) avg: f64,
    #[prost(uint64, tag = "3")]
    pub(super) dm: u64,
    #[prost(double, tag = "4")]
    pub(super) ncp: f64,
    #[prost(double, tag = "5")]
    pub(super) weighted_ncp: f64,
    #[prost(double, optional, tag = "6")]
    pub(super) sse_sst: Option<f64>,
    #[prost(double, tag = "7")]
    pub(super) information_loss: f64,
    #[prost(message, repeated, tag = "8")]
    pub(super) columns: Vec<ColumnUtilityMessage>,
}

/// Utility metrics of one quasi-identifier.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ColumnUtilityMessage {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(double, tag = "2")]
    pub(super) ncp: f64,
    #[prost(double, tag = "3")]
    pub(super) information_loss: f64,
    #[prost(double, optional, tag = "4")]
    pub(super) sse_sst: Option<f64>,
    /// Empty if absent.
    #[prost(uint64, repeated, tag = "5")]
    pub(super) detail: Vec<u64>,
    #[prost(message, optional, tag = "6")]
    pub(super) change: Option<ChangeMessage>,
}

/// Change of the distribution of a column.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ChangeMessage {
    #[prost(double, tag = "1")]
    pub(super) distance: f64,
    /// End, before and after of each slice, flattened.
    #[prost(double, repeated, tag = "2")]
    pub(super) slices: Vec<f64>,
}
