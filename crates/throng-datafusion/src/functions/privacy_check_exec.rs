//! The verifier as an [`ExecutionPlan`].

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, Float64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream_partitioned,
};
use throng_core::verify::{Amount, Findings};

use super::privacy_check::CheckedPolicy;
use crate::AnonymizeError;
use crate::single_input_methods;
use crate::verification::Verification;

/// `model` of a column that the policy does not release.
const NOT_RELEASED: &str = "not released";
/// `model` of category labels that are released next to values.
const LABELS: &str = "category labels";

/// Returns the schema of the findings.
pub(super) fn checked_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("model", DataType::Utf8, false),
        Field::new("column", DataType::Utf8, true),
        Field::new("required", DataType::Float64, false),
        Field::new("achieved", DataType::Float64, false),
        Field::new("satisfied", DataType::Boolean, false),
    ]))
}

/// Counts the classes of a release, scanning its partitions in parallel, and emits the findings.
///
/// Holds one entry per class and distinct sensitive value in memory, and no rows. Like `AnonymizeExec`, it accepts no
/// filters, limits or projections from its parents: filtering the findings must not filter the release.
#[derive(Debug)]
pub(crate) struct PrivacyCheckExec {
    release: Arc<dyn ExecutionPlan>,
    policy: Arc<CheckedPolicy>,
    foreign: Arc<[String]>,
    properties: Arc<PlanProperties>,
}

impl PrivacyCheckExec {
    /// Creates a node over a plan that yields the columns of the promise. `foreign` columns are reported as not
    /// released.
    pub(crate) fn new(release: Arc<dyn ExecutionPlan>, policy: Arc<CheckedPolicy>, foreign: Arc<[String]>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(checked_schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { release, policy, foreign, properties: Arc::new(properties) }
    }

    pub(crate) fn policy(&self) -> &CheckedPolicy {
        &self.policy
    }

    /// Returns the columns that the policy does not release.
    pub(crate) fn foreign(&self) -> &[String] {
        &self.foreign
    }

    fn with_input(&self, release: Arc<dyn ExecutionPlan>) -> Self {
        Self::new(release, Arc::clone(&self.policy), Arc::clone(&self.foreign))
    }
}

impl DisplayAs for PrivacyCheckExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let promise = self.policy.promise();
        let mut sensitive: Vec<&str> = promise.sensitive.iter().map(|promise| promise.column.as_str()).collect();
        sensitive.dedup();
        let parts = [
            format!("k={}", promise.k),
            format!("quasi=[{}]", promise.quasi.join(", ")),
            format!("sensitive=[{}]", sensitive.join(", ")),
        ];
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "PrivacyCheckExec: {}", parts.join(", "))
            }
            DisplayFormatType::TreeRender => f.write_str(&parts.join("\n")),
        }
    }
}

impl ExecutionPlan for PrivacyCheckExec {
    fn name(&self) -> &str {
        "PrivacyCheckExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    single_input_methods!(release);

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("PrivacyCheckExec has one partition, and partition {partition} was asked for");
        }
        let (release, promise) = (Arc::clone(&self.release), self.policy.promise().clone());
        let foreign = Arc::clone(&self.foreign);
        let found = async move {
            let streams = execute_stream_partitioned(Arc::clone(&release), context)?;
            let verified = Verification::new(promise).run(&release.schema(), streams).await?;
            let verified = verified.ok_or(AnonymizeError::Task)?;
            table_of(&verified.findings, &foreign)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), futures::stream::once(found))))
    }
}

/// One requirement and its outcome.
struct Row {
    model: &'static str,
    column: Option<String>,
    required: f64,
    achieved: f64,
    satisfied: bool,
}

fn table_of(findings: &Findings, foreign: &[String]) -> Result<RecordBatch> {
    let requirements = findings.requirements.iter().map(|found| Row {
        model: found.model,
        column: found.column.clone(),
        required: number(found.required),
        achieved: number(found.achieved),
        satisfied: findings.rows > 0 && found.holds(),
    });
    let labels = findings.labels.iter().map(|found| Row {
        model: LABELS,
        column: Some(found.column.clone()),
        required: 0.0,
        achieved: found.mismatches as f64,
        satisfied: findings.rows > 0 && found.mismatches == 0,
    });
    let foreign = foreign.iter().map(|column| Row {
        model: NOT_RELEASED,
        column: Some(column.clone()),
        required: 0.0,
        achieved: 1.0,
        satisfied: false,
    });
    let rows: Vec<Row> = requirements.chain(labels).chain(foreign).collect();
    let columns: Vec<datafusion::arrow::array::ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| Some(row.model)).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| row.column.as_deref()).collect::<StringArray>()),
        Arc::new(rows.iter().map(|row| row.required).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| row.achieved).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| Some(row.satisfied)).collect::<BooleanArray>()),
    ];
    Ok(RecordBatch::try_new(checked_schema(), columns)?)
}

fn number(amount: Amount) -> f64 {
    match amount {
        Amount::Count(count) => count as f64,
        Amount::Weight(weight) => weight,
    }
}
