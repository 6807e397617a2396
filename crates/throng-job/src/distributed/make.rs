//! Creates a staged release on a compute cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{UInt32Type, UInt64Type};
use datafusion::catalog::TableProvider;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig};
use object_store::ObjectStoreExt;
use throng_core::row_hash::Checksum;
use throng_datafusion::distributed::{
    ACCOUNT, Answer, Deals, Forms, Joins, Outlined, Outliner, RECEIVED, Refusal, Routes, Sketched, Spread, StorePlace,
    Surveys, Task, TaskTable,
};
use throng_datafusion::{Anonymizer, Facts};
use throng_report::document::ClusterFacts;
use tracing::Instrument;

use super::writes::Writes;
use super::{Cluster, failed};
use crate::error::{JobError, Kind};
use crate::manifest::FileEntry;
use crate::progress::Stage;
use crate::stage_timer::StageTimer;
use crate::store_path::StorePath;

/// A staged release.
pub(crate) struct Made {
    pub(crate) facts: Facts,
    pub(crate) files: Vec<FileEntry>,
    pub(crate) cluster: Option<ClusterFacts>,
}

/// Creates a release of a table in `staging`, with one file name per attempt.
pub(crate) async fn make(
    cluster: &Cluster,
    table: Arc<dyn TableProvider>,
    anonymizer: &Arc<Anonymizer>,
    staging: &StorePath,
    rows_per_file: u64,
    clock: &StageTimer,
) -> Result<Made, JobError> {
    let place = StorePlace::new(format!("{}/", staging.table_url()?.as_str().trim_end_matches('/')));
    let spread = Spread::over(cluster.partitions);
    let span = clock.begin(Stage::Survey, None);
    let outlined = outline(cluster, Arc::clone(&table), anonymizer, &place, &spread, staging);
    let outlined = outlined.instrument(span).await?;
    tracing::info!(groups = outlined.groups, bytes = outlined.bytes, "outline drawn");

    let rows = outlined.facts.rows_read - outlined.facts.suppressed;
    let span = clock.begin(Stage::Write, Some(rows));
    let (anonymizer_of, name) = (|| Arc::clone(anonymizer), outlined.name.clone());
    let tasks: Vec<Arc<dyn Task>> = vec![
        Arc::new(Routes::new(anonymizer_of(), place.clone(), name.clone(), spread.clone())),
        Arc::new(Deals::new(anonymizer_of(), place.clone(), name.clone(), spread, rows_per_file)),
        Arc::new(Writes::new(anonymizer_of(), place, name.clone(), rows_per_file)),
    ];
    let columns = anonymizer.columns_read();
    let answers = run(cluster, table, columns, tasks, "rows were written").instrument(span).await?;
    let written = Written::of(&answers)?;
    if written.rows() != rows || written.sent != written.received {
        return Err(JobError::internal("rows were lost or doubled between machines"));
    }
    // The outline is no longer needed, and as secret as the input.
    let outline = staging.child(&name);
    if let Err(error) = outline.store.delete(&outline.path).await {
        tracing::warn!(error = %crate::error::store_reason(&error), "the outline could not be removed yet");
    }
    let facts = Facts { checksum: Checksum::of(written.sent, rows), ..outlined.facts };
    let facts_of_cluster = ClusterFacts {
        partitions: cluster.partitions,
        groups: outlined.groups,
        outline_bytes: outlined.bytes,
        shuffle_bytes: BTreeMap::from([
            ("survey".into(), outlined.received),
            ("deal".into(), written.dealt_bytes),
            ("write".into(), written.written_bytes),
        ]),
    };
    Ok(Made { facts, files: written.files, cluster: Some(facts_of_cluster) })
}

/// Surveys the table and computes the outline of its release. A table that is divided into parts needs a second query,
/// which forms the classes of each part.
async fn outline(
    cluster: &Cluster,
    table: Arc<dyn TableProvider>,
    anonymizer: &Arc<Anonymizer>,
    place: &StorePlace,
    spread: &Spread,
    staging: &StorePath,
) -> Result<Outlined, JobError> {
    let binding = anonymizer.binding();
    let quasi = binding.quasi.iter().map(|quasi| quasi.column.index);
    let mut columns: Vec<usize> = quasi.chain(binding.sensitive.iter().map(|column| column.column.index)).collect();
    columns.sort_unstable();
    let tasks: Vec<Arc<dyn Task>> = vec![
        Arc::new(Surveys::new(Arc::clone(anonymizer))),
        Arc::new(Outliner::new(Arc::clone(anonymizer), place.clone(), spread.clone())),
    ];
    let answers = run(cluster, table, columns, tasks, "the input was surveyed").await?;
    let mut answer = Answer::of(&answers, anonymizer)?;
    if let Answer::Sketched(sketch) = &answer {
        tracing::info!(parts = sketch.parts, "too many combinations to be looked at as a whole; cut into parts");
        let of_sketch = || (Arc::clone(anonymizer), place.clone(), sketch.name.clone());
        let (forms, joins) = (of_sketch(), of_sketch());
        let tasks: Vec<Arc<dyn Task>> =
            vec![Arc::new(Forms::new(forms.0, forms.1, forms.2)), Arc::new(Joins::new(joins.0, joins.1, joins.2))];
        let files = group_files(sketch, staging)?;
        let columns = (0..Sketched::schema().fields().len()).collect();
        let answers = run(cluster, files, columns, tasks, "classes were formed").await?;
        answer = Answer::of(&answers, anonymizer)?;
    }
    match answer {
        Answer::Outlined(outlined) => Ok(*outlined),
        Answer::Sketched(_) => Err(JobError::internal("a sketch of a sketch")),
        Answer::Refused(Refusal::Infeasible(text)) => Err(JobError::new(Kind::Infeasible, text)),
        Answer::Refused(Refusal::BadData(text)) => Err(JobError::new(Kind::BadData, text)),
    }
}

/// Returns the groups of all parts as a table.
fn group_files(sketch: &Sketched, staging: &StorePath) -> Result<Arc<dyn TableProvider>, JobError> {
    let urls = sketch.files().iter().map(|file| staging.child(file).table_url()).collect::<Result<Vec<_>, _>>()?;
    let config = ListingTableConfig::new_with_multi_paths(urls)
        .with_listing_options(ListingOptions::new(Arc::new(ParquetFormat::default())))
        .with_schema(Sketched::schema());
    let table = ListingTable::try_new(config).map_err(|_| JobError::internal("groups could not be listed"))?;
    Ok(Arc::new(table))
}

/// Runs tasks over a table and collects their output.
pub(super) async fn run(
    cluster: &Cluster,
    table: Arc<dyn TableProvider>,
    columns: Vec<usize>,
    tasks: Vec<Arc<dyn Task>>,
    doing: &str,
) -> Result<Vec<RecordBatch>, JobError> {
    let table: Arc<dyn TableProvider> =
        Arc::new(TaskTable::new(table, columns, tasks).map_err(|error| failed(doing, &error))?);
    let answers = async || {
        let answers = cluster.session.read_table(Arc::clone(&table))?.collect();
        answers.await
    };
    match answers().await.map_err(|error| failed(doing, &error)) {
        // A compute cluster that has lost an executor may fail a query that succeeds on retry. Files of the first
        // attempt have other names and are not referenced.
        Err(error) if error.kind() == Kind::TemporaryIo => {
            tracing::warn!("{error}; the query is tried once more");
            answers().await.map_err(|error| failed(doing, &error))
        }
        answered => answered,
    }
}

/// Combined answers of the writers.
#[derive(Default)]
struct Written {
    files: Vec<FileEntry>,
    /// Sums of the hashes of all rows, as sent by readers and as received by writers.
    sent: u128,
    received: u128,
    dealt_bytes: u64,
    written_bytes: u64,
}

impl Written {
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
                    ACCOUNT => written.sent = written.sent.wrapping_add(sum),
                    RECEIVED => written.dealt_bytes += sum as u64,
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
