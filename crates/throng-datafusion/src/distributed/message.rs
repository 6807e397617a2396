//! What travels between tasks, and of tasks.

use datafusion_proto::protobuf;

/// A task of a plan.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TaskMessage {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) body: Vec<u8>,
}

/// A policy, and the columns that it is bound to.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AnonymizerMessage {
    #[prost(string, tag = "1")]
    pub(super) policy: String,
    /// The key of every random choice.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    #[prost(message, optional, tag = "2")]
    pub(super) input: Option<protobuf::Schema>,
}

/// The parameters of a task of ours.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BodyMessage {
    #[prost(message, optional, tag = "1")]
    pub(super) anonymizer: Option<AnonymizerMessage>,
    /// The folder of the outline.
    #[prost(string, tag = "2")]
    pub(super) place: String,
    /// The outline or the sketch, where it has been made.
    #[prost(string, tag = "3")]
    pub(super) outline: String,
    #[prost(uint64, tag = "4")]
    pub(super) rows_per_file: u64,
    /// A value for each partition that the engine puts there.
    #[prost(uint32, repeated, tag = "5")]
    pub(super) slots: Vec<u32>,
}

/// Why there is no release.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RefusalMessage {
    #[prost(bool, tag = "1")]
    pub(super) is_infeasible: bool,
    #[prost(string, tag = "2")]
    pub(super) text: String,
}

/// Values of a column.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ValuesMessage {
    /// A stream of Arrow IPC with one column.
    #[prost(bytes = "vec", tag = "1")]
    pub(super) values: Vec<u8>,
    #[prost(bool, tag = "2")]
    pub(super) has_null: bool,
    #[prost(bool, tag = "3")]
    pub(super) are_counted: bool,
    #[prost(uint64, repeated, tag = "4")]
    pub(super) rows: Vec<u64>,
}

/// The end of what one reader has seen.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct EndMessage {
    #[prost(uint64, tag = "1")]
    pub(super) rows: u64,
    #[prost(uint64, tag = "2")]
    pub(super) suppressed: u64,
    /// How many values and groups were sent before.
    #[prost(uint64, tag = "3")]
    pub(super) pieces: u64,
}

/// What is known of a table that is cut into parts.
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
    /// How many bytes it was made of.
    #[prost(uint64, tag = "5")]
    pub(super) received: u64,
}

/// The groups of a part, and its classes. Lists of numbers are bytes, the least first.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FormedMessage {
    /// Tuples, each followed by its rows.
    #[prost(bytes = "vec", tag = "1")]
    pub(super) groups: Vec<u8>,
    /// How many portions each class has.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) portion_counts: Vec<u8>,
    /// Group and rows.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) portions: Vec<u8>,
    /// One for each class that shows more than its rows need, and zero for the others.
    #[prost(bytes = "vec", tag = "7")]
    pub(super) is_covered: Vec<u8>,
    /// What those show: from and to in each column.
    #[prost(bytes = "vec", tag = "4")]
    pub(super) covers: Vec<u8>,
    #[prost(uint64, tag = "5")]
    pub(super) leaves: u64,
    #[prost(uint32, tag = "6")]
    pub(super) cycles: u32,
}

/// An outline. Lists of numbers are bytes, the least first.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct OutlineMessage {
    #[prost(message, repeated, tag = "1")]
    pub(super) columns: Vec<ValuesMessage>,
    #[prost(uint32, tag = "2")]
    pub(super) width: u32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) tuples: Vec<u8>,
    /// How many shares each group has.
    #[prost(bytes = "vec", tag = "4")]
    pub(super) share_counts: Vec<u8>,
    /// Class and rows.
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

/// What is shown of one quasi-identifier: a stream of Arrow IPC for each released column.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct LabelsMessage {
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub(super) columns: Vec<Vec<u8>>,
}

/// What is known of a release before its rows are written.
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
    /// Sizes of cells and how many have each, in turn.
    #[prost(uint64, repeated, tag = "7")]
    pub(super) cells: Vec<u64>,
    #[prost(message, optional, tag = "9")]
    pub(super) borrowed: Option<BorrowedMessage>,
}

/// Rows that classes have borrowed.
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

/// The measures of a release.
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

/// The measures of one quasi-identifier.
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
    /// Empty where there is none.
    #[prost(uint64, repeated, tag = "5")]
    pub(super) detail: Vec<u64>,
    #[prost(message, optional, tag = "6")]
    pub(super) change: Option<ChangeMessage>,
}

/// How a distribution changed.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ChangeMessage {
    #[prost(double, tag = "1")]
    pub(super) distance: f64,
    /// End, before and after of each slice.
    #[prost(double, repeated, tag = "2")]
    pub(super) slices: Vec<f64>,
}
