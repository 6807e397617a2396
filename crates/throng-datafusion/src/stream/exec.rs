//! The anonymization of a stream, an [`ExecutionPlan`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements,
    Partitioning, PlanProperties,
};
use futures::StreamExt;
use throng_policy::{ArrivalSetting, StreamDelay};

use super::emitter::StreamEmitter;
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::catch_decode_panic::catch_decode_panics;
use crate::single_input_methods;

/// Anonymizes the rows of its input while others still arrive.
///
/// ```text
///      input (one partition, may never end)
///        │
///   ┌────▼────────────────────────────────┐
///   │ buffer    rows in order of arrival, at most `max_delay` of them
///   │ emission  when the oldest is due: cells, classes, labels, as of a table of its own
///   │ verify    all rows of the emission
///   └────┬────────────────────────────────┘
///        ▼ batches, in canonical order within an emission
/// ```
///
/// The classes of an emission satisfy the models on their own, or, where arrivals are unknown, together with earlier rows that have the
/// same labels; see [`throng_core::stream`]. The order of rows within an emission reveals nothing about their order of arrival.
///
/// # Barrier
///
/// As with [`AnonymizeExec`](crate::AnonymizeExec), nothing above this node is evaluated below it, and it enters a query
/// only through [`AnonymizedStreamTable`](super::AnonymizedStreamTable). A limit above it ends the stream early, which drops
/// rows of emissions that were released as a whole.
///
/// # Execution
///
/// A node, and every copy of it, is executed once. Rows that are read again may arrive in another order and with other
/// rows, and be released in other classes; two releases of a row disclose more than one.
///
/// Time is measured by the process, and delays are checked while the stream is polled: without polling nothing is emitted.
/// Dropping the stream cancels its work, also on other threads. Rows that are still waiting are not released.
///
/// # Errors
///
/// An error of the input, or a row that the policy does not allow, ends the stream. Emissions before it stay released. If more
/// rows are suppressed than `suppression_limit` allows of those that have arrived, the stream ends before the emission at
/// which that is found.
pub struct AnonymizeStreamExec {
    anonymizer: Arc<Anonymizer>,
    input: Arc<dyn ExecutionPlan>,
    is_read: Arc<AtomicBool>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl AnonymizeStreamExec {
    /// Creates an operator over a plan that yields at least [`Anonymizer::columns_read`], by name. Rows may wait as long as
    /// the policy of the anonymizer allows ([`Policy::stream`](throng_policy::Policy::stream)); without a limit all rows are
    /// held in memory until the input ends.
    pub fn new(anonymizer: Arc<Anonymizer>, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::sharing(anonymizer, input, Arc::default())
    }

    /// Creates an operator that shares its already-read flag with others.
    pub(super) fn sharing(
        anonymizer: Arc<Anonymizer>,
        input: Arc<dyn ExecutionPlan>,
        is_read: Arc<AtomicBool>,
    ) -> Self {
        let (emission, boundedness) = match (anonymizer.policy().stream, input.boundedness()) {
            (Some(_), boundedness) => (EmissionType::Incremental, boundedness),
            (None, Boundedness::Bounded) => (EmissionType::Final, Boundedness::Bounded),
            (None, Boundedness::Unbounded { .. }) => {
                (EmissionType::Final, Boundedness::Unbounded { requires_infinite_memory: true })
            }
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(anonymizer.schema())),
            Partitioning::UnknownPartitioning(1),
            emission,
            boundedness,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Self { anonymizer, input, is_read, properties: Arc::new(properties), metrics }
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::sharing(Arc::clone(&self.anonymizer), input, Arc::clone(&self.is_read))
    }

    /// Returns the bound policy.
    pub fn anonymizer(&self) -> &Arc<Anonymizer> {
        &self.anonymizer
    }

    /// Returns the input plan.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    fn describe(&self) -> Vec<String> {
        let policy = self.anonymizer.policy();
        let StreamDelay { rows, time, arrival } = policy.stream.unwrap_or_default();
        let mut parts = vec![format!("k={}", policy.privacy.k), format!("p={}", policy.privacy.p)];
        parts.extend(rows.map(|rows| format!("max_rows={rows}")));
        parts.extend(time.map(|time| format!("max_time={time:?}")));
        parts.extend((arrival == ArrivalSetting::Unknown).then(|| format!("arrival={}", arrival.as_str())));
        parts
    }
}

/// Prints the same as `Display`: DataFusion puts the debug text of plans into errors, and the input may hold rows.
impl fmt::Debug for AnonymizeStreamExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for AnonymizeStreamExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "AnonymizeStreamExec: {}", self.describe().join(", "))
            }
            DisplayFormatType::TreeRender => f.write_str(&self.describe().join("\n")),
        }
    }
}

impl ExecutionPlan for AnonymizeStreamExec {
    fn name(&self) -> &str {
        "AnonymizeStreamExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    /// Rows of two partitions have no order of arrival.
    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    single_input_methods!(input);

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partitions = self.input.output_partitioning().partition_count();
        if partition != 0 || partitions != 1 {
            return internal_err!(
                "AnonymizeStreamExec has one partition over one of its input, and partition {partition} over {partitions} was \
                 asked for"
            );
        }
        self.anonymizer.policy().check_unexamined().map_err(AnonymizeError::from)?;
        if self.is_read.swap(true, Ordering::Relaxed) {
            return Err(AnonymizeError::StreamReadAgain.into());
        }
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let input = catch_decode_panics(self.input.execute(0, Arc::clone(&context))?);
        let emitter = StreamEmitter::new(Arc::clone(&self.anonymizer), input, &context, &self.metrics);
        let batches = emitter.into_stream().map(move |batch| batch.record_output(&baseline));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
