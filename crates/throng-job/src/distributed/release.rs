//! Creates a staged release on a compute cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{UInt32Type, UInt64Type};
use datafusion::catalog::TableProvider;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig};
use futures::{FutureExt, TryFutureExt};
use object_store::ObjectStoreExt;
use throng_core::row_hash::Checksum;
use throng_datafusion::distributed::{
    ASSIGN_TASK, BYTES_ROW, CHECKSUM_ROW, CLUSTER_TASK, MERGE_PLAN_TASK, PLAN_TASK, PartitionedPlan, PlanAnswer,
    PlannedRelease, ROUTE_TASK, Refusal, SURVEY_TASK, StoreFolder, Task, TaskParams, TaskTable, VERIFY_TASK,
};
use throng_datafusion::{Anonymizer, Facts, Verification, VerifiedTable};
use throng_report::document::ClusterFacts;
use tracing::Instrument;

use super::write_task::WRITE_TASK;
use super::{Cluster, failed, retried};
use crate::error::{JobError, Kind};
use crate::input::JobInput;
use crate::manifest::FileEntry;
use crate::progress::Stage;
use crate::stage_timer::StageTimer;
use crate::staged_units::StagedUnits;
use crate::store_path::StorePath;

/// A staged release.
pub(crate) struct StagedFacts {
    pub(crate) facts: Facts,
    pub(crate) files: Vec<FileEntry>,
    /// Units of the rows, if the policy counts units.
    pub(crate) units: Option<StagedUnits>,
    pub(crate) cluster: Option<ClusterFacts>,
}

/// Creates a release of a table in `staging`, with one file name per attempt.
pub(crate) async fn release_on(
    cluster: &Cluster,
    table: Arc<dyn TableProvider>,
    anonymizer: &Arc<Anonymizer>,
    staging: &StorePath,
    rows_per_file: u64,
    clock: &StageTimer,
) -> Result<StagedFacts, JobError> {
    let folder = StoreFolder::new(format!("{}/", staging.table_url()?.as_str().trim_end_matches('/')));
    let params = TaskParams::new(Arc::clone(anonymizer), folder, cluster.partitions, rows_per_file);
    let span = clock.begin(Stage::Survey, None);
    let planned = plan(cluster, Arc::clone(&table), &params, staging).instrument(span).await?;
    tracing::info!(groups = planned.groups, bytes = planned.bytes, "release planned");

    let rows = planned.rows_read - planned.suppressed;
    let span = clock.begin(Stage::Write, Some(rows));
    let params = Arc::new(params.with_plan(&planned.name));
    let tasks: Vec<Task> = vec![
        Task::new(&ROUTE_TASK, Arc::clone(&params)),
        Task::new(&ASSIGN_TASK, Arc::clone(&params)),
        Task::new(&WRITE_TASK, params),
    ];
    let columns = anonymizer.columns_read();
    let answers = run(cluster, table, columns, tasks, "rows were written").instrument(span).await?;
    let written = WrittenFiles::of(&answers)?;
    if written.rows() != rows || written.sent != written.received {
        return Err(JobError::internal("rows were lost or duplicated between machines"));
    }
    // The release plan is no longer needed, and is as secret as the input.
    let plan = staging.child(&planned.name);
    if let Err(error) = plan.store.delete(&plan.path).await {
        tracing::warn!(error = %crate::error::store_reason(&error), "the release plan could not be removed yet");
    }
    let facts = planned.facts(anonymizer, Checksum::of(written.sent, rows));
    let facts_of_cluster = ClusterFacts {
        partitions: cluster.partitions,
        groups: planned.groups,
        outline_bytes: planned.bytes,
        shuffle_bytes: BTreeMap::from([
            ("survey".into(), planned.received),
            ("deal".into(), written.assigned_bytes),
            ("write".into(), written.written_bytes),
        ]),
    };
    let units = match anonymizer.binding().unit {
        Some(_) => Some(StagedUnits::fetch(staging, &written.files).await?),
        None => None,
    };
    Ok(StagedFacts { facts, files: written.files, units, cluster: Some(facts_of_cluster) })
}

/// Surveys the table and plans its release. A table that is divided into parts needs a second query, which forms the
/// classes of each part.
async fn plan(
    cluster: &Cluster,
    table: Arc<dyn TableProvider>,
    params: &TaskParams,
    staging: &StorePath,
) -> Result<PlannedRelease, JobError> {
    let binding = params.anonymizer.binding();
    let quasi = binding.quasi.iter().map(|quasi| quasi.column.index);
    let sensitive = binding.sensitive.iter().map(|sensitive| sensitive.column.index);
    let unit = binding.unit.iter().flat_map(|unit| unit.columns.iter().map(|column| column.index));
    let mut columns: Vec<usize> = quasi.chain(sensitive).chain(unit).collect();
    columns.sort_unstable();
    columns.dedup();
    let of_survey = Arc::new(params.clone());
    let tasks: Vec<Task> = vec![Task::new(&SURVEY_TASK, Arc::clone(&of_survey)), Task::new(&PLAN_TASK, of_survey)];
    let mut answer = PlanAnswer::of(&run(cluster, table, columns, tasks, "the input was surveyed").await?)?;
    if let PlanAnswer::Partitioned(plan) = &answer {
        tracing::info!(
            parts = plan.parts,
            "too many distinct quasi-identifier tuples for one pass; divided into parts"
        );
        let params = Arc::new(params.with_plan(&plan.name));
        let tasks: Vec<Task> = vec![Task::new(&CLUSTER_TASK, Arc::clone(&params)), Task::new(&MERGE_PLAN_TASK, params)];
        let files = group_files(plan, staging)?;
        let columns = (0..PartitionedPlan::schema().fields().len()).collect();
        answer = PlanAnswer::of(&run(cluster, files, columns, tasks, "classes were formed").await?)?;
    }
    match answer {
        PlanAnswer::Planned(planned) => Ok(*planned),
        PlanAnswer::Partitioned(_) => Err(JobError::internal("a merged plan was divided into parts again")),
        PlanAnswer::Refused(Refusal::Infeasible(text)) => Err(JobError::new(Kind::Infeasible, text)),
        PlanAnswer::Refused(Refusal::BadData(text)) => Err(JobError::new(Kind::BadData, text)),
    }
}

/// Verifies staged files on a compute cluster.
pub(crate) async fn verify_on(
    cluster: &Cluster,
    input: &dyn JobInput,
    anonymizer: &Arc<Anonymizer>,
    verification: &Verification,
) -> Result<VerifiedTable, JobError> {
    let missing = |_| JobError::internal("a column of the release is missing");
    let columns = verification.columns().into_iter().map(|name| input.schema().index_of(name));
    let mut columns = columns.collect::<Result<Vec<_>, _>>().map_err(missing)?;
    columns.sort_unstable();
    let params = TaskParams::new(Arc::clone(anonymizer), StoreFolder::new(""), cluster.partitions, 0);
    let table = input.rows(&cluster.session)?.into_view();
    let task = Task::new(&VERIFY_TASK, Arc::new(params));
    let counts = run(cluster, table, columns, vec![task], "the release was read back").await?;
    Ok(verification.conclude(input.schema(), &counts)?)
}

/// Returns the groups of all parts as a table.
fn group_files(plan: &PartitionedPlan, staging: &StorePath) -> Result<Arc<dyn TableProvider>, JobError> {
    let urls = plan.files().iter().map(|file| staging.child(file).table_url()).collect::<Result<Vec<_>, _>>()?;
    let config = ListingTableConfig::new_with_multi_paths(urls)
        .with_listing_options(ListingOptions::new(Arc::new(ParquetFormat::default())))
        .with_schema(PartitionedPlan::schema());
    let table = ListingTable::try_new(config).map_err(|_| JobError::internal("groups could not be listed"))?;
    Ok(Arc::new(table))
}

/// Runs tasks over a table and collects their output.
async fn run(
    cluster: &Cluster,
    table: Arc<dyn TableProvider>,
    columns: Vec<usize>,
    tasks: Vec<Task>,
    doing: &str,
) -> Result<Vec<RecordBatch>, JobError> {
    let table: Arc<dyn TableProvider> =
        Arc::new(TaskTable::new(table, columns, tasks).map_err(|error| failed(doing, &error))?);
    // Files of an attempt that failed have other names and are not referenced.
    let table = &table;
    let query = || {
        let answers = async move { cluster.session.read_table(Arc::clone(table))?.collect().await };
        answers.map_err(|error| failed(doing, &error)).boxed()
    };
    retried(query).await
}

/// Combined answers of the writers.
#[derive(Default)]
struct WrittenFiles {
    files: Vec<FileEntry>,
    /// Sums of the hashes of all rows, as sent by readers and as received by writers.
    sent: u128,
    received: u128,
    assigned_bytes: u64,
    written_bytes: u64,
}

impl WrittenFiles {
    fn of(answers: &[RecordBatch]) -> Result<Self, JobError> {
        let mut written = Self::default();
        let mut files: BTreeMap<u32, FileEntry> = BTreeMap::new();
        for batch in answers {
            let number = |column: usize, row: usize| batch.column(column).as_primitive::<UInt64Type>().value(row);
            let text = |column: usize, row: usize| batch.column(column).as_string::<i32>().value(row).to_owned();
            for row in 0..batch.num_rows() {
                let file = batch.column(0).as_primitive::<UInt32Type>().value(row);
                let sum = batch.column(5).as_fixed_size_binary().value(row);
                let sum = sum.try_into().map_or(0, u128::from_be_bytes);
                match file {
                    CHECKSUM_ROW => written.sent = written.sent.wrapping_add(sum),
                    BYTES_ROW => written.assigned_bytes += sum as u64,
                    file => {
                        written.received = written.received.wrapping_add(sum);
                        written.written_bytes += number(6, row);
                        let entry = FileEntry {
                            path: text(1, row),
                            rows: number(2, row),
                            bytes: number(3, row),
                            sha256: text(4, row),
                        };
                        if files.insert(file, entry).is_some() {
                            return Err(JobError::internal("a file was written twice"));
                        }
                    }
                }
            }
        }
        if files.keys().zip(0..).any(|(file, expected)| *file != expected) {
            return Err(JobError::internal("a file was not written"));
        }
        written.files = files.into_values().collect();
        Ok(written)
    }

    fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }
}
