//! The anonymization operator, an [`ExecutionPlan`].

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, RecordOutput, Time,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::{StreamExt, TryStreamExt};
use throng_core::progress::{Progress, Stage};
use tokio::sync::OnceCell;

use crate::anonymizer::Anonymizer;
use crate::examine::ReleaseExaminer;
use crate::release::{Facts, Release};
use crate::single_input_methods;

/// The release of a table, computed at most once and shared by all plans over the table.
pub(crate) type SharedRelease = Arc<OnceCell<Arc<Release>>>;

/// Anonymizes all rows of its input, and emits them in the canonical order of the release.
///
/// ```text
///               input (any number of partitions, read once, in parallel)
///                 │
///   ┌─────────────▼────────────────┐
///   │ survey      cells, kept rows │
///   │ partition   leaves           │
///   │ cluster     classes          │  made once, shared by all plans over one table
///   │ recode      labels, order    │
///   │ verify      all rows, once   │
///   │ examine     by the host      │  if the policy limits what attacks gain, or how people hide
///   └─────────────┬────────────────┘
///                 │ release
///                 ▼
///        one stream in canonical order
/// ```
///
/// # Barrier
///
/// Nothing above this node is ever evaluated below it: a filter on the input would anonymize a chosen subset, and the
/// difference of two such releases discloses rows. The node therefore accepts no filters, limits, projections or
/// dynamic filters from its parents (the defaults of [`ExecutionPlan`]), declares no ordering, partitioning or
/// statistics that an optimizer could use, and enters a query only through [`crate::AnonymizedTable`], which is opaque
/// to the logical optimizer.
///
/// # Execution
///
/// The first stream that is polled computes the release; others wait for it. Before a row is emitted, all rows are
/// checked by the verifier (unless the caller verifies them), which shares no code with the clustering. A release
/// depends on the content of the input, the policy and its seed alone: neither partitions nor batch sizes nor row order
/// change a byte of it.
///
/// # Errors
///
/// If no release is possible (see `throng check`), the query fails with an error that contains no value of the data. A
/// failed or cancelled release is not cached; the next query computes it again.
pub struct AnonymizeExec {
    anonymizer: Arc<Anonymizer>,
    input: Arc<dyn ExecutionPlan>,
    release: SharedRelease,
    options: ExecOptions,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// Progress listener, whether the caller verifies the release, and the table that an examiner reads again.
#[derive(Clone, Default)]
pub(crate) struct ExecOptions {
    pub(crate) progress: Option<Arc<dyn Progress>>,
    pub(crate) has_external_verification: bool,
    pub(crate) table: Option<Arc<dyn TableProvider>>,
}

impl AnonymizeExec {
    /// Creates an operator over a plan that yields at least [`Anonymizer::columns_read`], by name.
    pub fn new(anonymizer: Arc<Anonymizer>, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::sharing(anonymizer, input, SharedRelease::default(), ExecOptions::default())
    }

    pub(crate) fn sharing(
        anonymizer: Arc<Anonymizer>,
        input: Arc<dyn ExecutionPlan>,
        release: SharedRelease,
        options: ExecOptions,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(anonymizer.schema())),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Self { anonymizer, input, release, options, properties: Arc::new(properties), metrics }
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::sharing(Arc::clone(&self.anonymizer), input, Arc::clone(&self.release), self.options.clone())
    }

    /// Returns the bound policy.
    pub fn anonymizer(&self) -> &Arc<Anonymizer> {
        &self.anonymizer
    }

    /// Returns the input plan.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// Returns the release, which is computed now unless it is cached.
    pub fn release(
        &self,
        context: Arc<TaskContext>,
    ) -> impl Future<Output = std::result::Result<Arc<Release>, crate::AnonymizeError>> + Send + use<> {
        let timed = Arc::new(TimedProgress::new(&self.metrics, self.options.progress.clone()));
        let (anonymizer, input) = (Arc::clone(&self.anonymizer), Arc::clone(&self.input));
        let (release, metrics) = (Arc::clone(&self.release), self.metrics.clone());
        let has_external_verification = self.options.has_external_verification;
        // The caller that verifies the release examines it too.
        let is_limited = !has_external_verification && anonymizer.policy().limits_finished_release();
        let examiner = context.session_config().get_extension::<ReleaseExaminer>();
        let examiner = self.options.table.clone().zip(examiner).filter(|_| is_limited);
        let (size, ahead) = (context.session_config().batch_size(), context.session_config().target_partitions());
        async move {
            let make = || async {
                if is_limited && examiner.is_none() {
                    anonymizer.policy().check_unexamined()?;
                }
                let progress: Arc<dyn Progress> = timed.clone();
                let made = anonymizer.anonymize(&input, &context, &metrics, &progress).await?;
                timed.end();
                count(&metrics, made.facts());
                let made = Arc::new(made);
                if !has_external_verification {
                    made.verify(&anonymizer, size, ahead).await?;
                }
                if let Some((table, examiner)) = &examiner {
                    let examined = examiner.inner().examine(anonymizer.policy(), table, &made).await;
                    examined.map_err(crate::AnonymizeError::Examined)?;
                }
                Ok::<_, crate::AnonymizeError>(made)
            };
            release.get_or_try_init(make).await.cloned()
        }
    }

    fn describe(&self) -> [(&'static str, String); 5] {
        let (policy, binding) = (self.anonymizer.policy(), self.anonymizer.binding());
        let quasi: Vec<&str> = binding.quasi.iter().map(|quasi| quasi.column.name.as_str()).collect();
        let sensitive: Vec<&str> = binding.sensitive.iter().map(|column| column.column.name.as_str()).collect();
        let (partition, cluster) = (policy.algorithm.partition.as_str(), self.anonymizer.method().0.cluster.as_str());
        [
            ("k", policy.privacy.k.to_string()),
            ("p", policy.privacy.p.to_string()),
            ("quasi", format!("[{}]", quasi.join(", "))),
            ("sensitive", format!("[{}]", sensitive.join(", "))),
            ("method", format!("{partition}/{cluster}")),
        ]
    }
}

/// Prints the same as `Display`. A derived implementation would include rows of the release, and DataFusion puts the
/// debug text of plans into errors.
impl fmt::Debug for AnonymizeExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for AnonymizeExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.describe().map(|(name, value)| format!("{name}={value}"));
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "AnonymizeExec: {}", parts.join(", "))
            }
            DisplayFormatType::TreeRender => f.write_str(&parts.join("\n")),
        }
    }
}

impl ExecutionPlan for AnonymizeExec {
    fn name(&self) -> &str {
        "AnonymizeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    single_input_methods!(input);

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("AnonymizeExec has one partition, and partition {partition} was asked for");
        }
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let (size, ahead) = (context.session_config().batch_size(), context.session_config().target_partitions());
        let release = self.release(context);
        let batches = async move { Ok::<_, crate::AnonymizeError>(release.await?.stream(size, ahead)) };
        let batches = futures::stream::once(batches).map_err(datafusion::error::DataFusionError::from).try_flatten();
        let batches = batches.map(move |batch| batch.record_output(&baseline));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Records the metrics of a release for `EXPLAIN ANALYZE`.
fn count(metrics: &ExecutionPlanMetricsSet, facts: &Facts) {
    let counted = [
        ("rows_read", facts.rows_read),
        ("suppressed_rows", facts.suppressed),
        ("leaves", facts.leaves),
        ("classes", facts.utility.classes),
    ];
    for (name, value) in counted {
        MetricBuilder::new(metrics).global_counter(name).add(value as usize);
    }
}

/// Measures the time of each stage, and forwards progress.
struct TimedProgress {
    /// Indexed by stage, up to `Recode`.
    times: [Time; 4],
    current: Mutex<Option<ScopedTimer>>,
    listener: Option<Arc<dyn Progress>>,
}

/// Adds its lifetime to a metric when dropped.
struct ScopedTimer {
    time: Time,
    start: std::time::Instant,
}

impl Drop for ScopedTimer {
    fn drop(&mut self) {
        self.time.add_elapsed(self.start);
    }
}

impl TimedProgress {
    fn new(metrics: &ExecutionPlanMetricsSet, listener: Option<Arc<dyn Progress>>) -> Self {
        let time = |name: &'static str| MetricBuilder::new(metrics).subset_time(name, 0);
        let times = [time("survey_time"), time("partition_time"), time("cluster_time"), time("recode_time")];
        Self { times, current: Mutex::new(None), listener }
    }

    fn end(&self) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Progress for TimedProgress {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        let time = self.times.get(stage as usize).cloned();
        let timer = time.map(|time| ScopedTimer { time, start: std::time::Instant::now() });
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = timer;
        if let Some(listener) = &self.listener {
            listener.begin(stage, total);
        }
    }

    fn advance(&self, units: u64) {
        if let Some(listener) = &self.listener {
            listener.advance(units);
        }
    }
}
