//! Reads a release back from storage and recomputes its promises.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use throng_core::columns::Release;
use throng_core::content::{Checksum, ContentHasher};
use throng_core::verify::{Findings, Promise, Verifier};
use throng_datafusion::{plain, plain_field};
use throng_policy::{CsvOptions, Policy, Role};
use tokio::task::JoinSet;

use crate::engine::session;
use crate::error::{JobError, Kind};
use crate::job::JobOptions;
use crate::progress::{Observer, Stage};
use crate::source::Source;

/// Verifies a promise on any table: a file, a folder or a glob. A table with a column outside of `columns`, where they
/// are given, is refused.
pub async fn verify_release(
    locations: &[String],
    promise: Promise,
    columns: Option<&[String]>,
    options: &JobOptions,
) -> Result<Findings, JobError> {
    let session = session(options.threads);
    let csv = CsvOptions { delimiter: b',', header: true };
    let source = Source::open(&session, locations, None, csv).await?;
    if let Some(columns) = columns {
        let unknown = source.schema.fields().iter().map(|field| field.name()).filter(|name| !columns.contains(name));
        let unknown: Vec<String> = unknown.map(|name| format!("`{name}`")).collect();
        if !unknown.is_empty() {
            let text = format!("the release has columns that the policy does not release: {}", unknown.join(", "));
            return Err(JobError::new(Kind::Verification, text));
        }
    }
    options.observer.begin(Stage::Verify, None);
    Ok(examine(&session, &source, promise, None, Arc::clone(&options.observer)).await?.0)
}

/// What the release of a policy promises, and the columns that it may have.
pub fn promise_of(policy: &Policy) -> (Promise, Vec<String>) {
    let (mut quasi, mut sensitive, mut insensitive) = (Vec::new(), Vec::new(), Vec::new());
    for (name, role) in &policy.columns.by_name {
        match role {
            Role::Identifier => {}
            Role::Insensitive => insensitive.push(name.clone()),
            Role::Sensitive => sensitive.push(name.clone()),
            Role::Quasi(column) if column.release == Some(Release::Bounds) => {
                quasi.extend([format!("{name}_min"), format!("{name}_max")]);
            }
            Role::Quasi(_) => quasi.push(name.clone()),
        }
    }
    let columns = quasi.iter().chain(&sensitive).chain(&insensitive).cloned().collect();
    (Promise { quasi, sensitive, k: policy.privacy.k, p: policy.privacy.p }, columns)
}

/// The columns whose content must have come through unchanged, and the key of their hash.
#[derive(Clone, Debug)]
pub(crate) struct Unchanged {
    pub(crate) columns: Vec<String>,
    pub(crate) seed: u64,
}

/// Counts the classes of a table, and sums the content of the columns that must be unchanged.
pub(crate) async fn examine(
    session: &SessionContext,
    source: &Source,
    promise: Promise,
    unchanged: Option<Unchanged>,
    observer: Arc<dyn Observer>,
) -> Result<(Findings, Checksum), JobError> {
    let mut names: Vec<&str> = promise.quasi.iter().chain(&promise.sensitive).map(String::as_str).collect();
    names.extend(unchanged.iter().flat_map(|unchanged| unchanged.columns.iter().map(String::as_str)));
    // Finds missing and repeated columns before the engine words it in its own way.
    Verifier::new(promise.clone(), &source.schema)?;
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    let failed = |error| JobError::reading("the release", &error);
    let frame = source.frame(session)?.select_columns(&names).map_err(failed)?;
    let streams = frame.execute_stream_partitioned().await.map_err(failed)?;
    let mut tasks = JoinSet::new();
    for stream in streams {
        let (promise, unchanged, observer) = (promise.clone(), unchanged.clone(), Arc::clone(&observer));
        tasks.spawn(examine_stream(stream, promise, unchanged, observer));
    }
    let mut whole: Option<(Verifier, Checksum)> = None;
    while let Some(done) = tasks.join_next().await {
        let (verifier, checksum) = done.map_err(|_| JobError::internal("verification stopped"))??;
        whole = Some(match whole {
            None => (verifier, checksum),
            Some((mut known, mut sum)) => {
                known.merge(verifier);
                sum.merge(checksum);
                (known, sum)
            }
        });
    }
    match whole {
        Some((verifier, checksum)) => Ok((verifier.finish(), checksum)),
        None => Ok((Verifier::new(promise, &source.schema)?.finish(), Checksum::default())),
    }
}

async fn examine_stream(
    mut stream: SendableRecordBatchStream,
    promise: Promise,
    unchanged: Option<Unchanged>,
    observer: Arc<dyn Observer>,
) -> Result<(Verifier, Checksum), JobError> {
    let schema = stream.schema();
    let mut verifier = Verifier::new(promise, &schema)?;
    let mut checksum = Checksum::default();
    let hasher = match &unchanged {
        Some(unchanged) => Some(ContentHasher::new(&plain_types(&schema, &unchanged.columns), unchanged.seed)?),
        None => None,
    };
    while let Some(batch) = stream.try_next().await.map_err(|error| JobError::reading("the release", &error))? {
        verifier.push(&batch)?;
        if let (Some(hasher), Some(unchanged)) = (&hasher, &unchanged) {
            checksum.add(hasher.hash(&plain_columns(&batch, &unchanged.columns)?, batch.num_rows())?);
        }
        observer.advance(batch.num_rows() as u64);
    }
    Ok((verifier, checksum))
}

fn plain_types(schema: &Schema, names: &[String]) -> Vec<DataType> {
    let fields = names.iter().filter_map(|name| schema.field_with_name(name).ok());
    fields.map(|field| plain_field(field).data_type().clone()).collect()
}

fn plain_columns(batch: &RecordBatch, names: &[String]) -> Result<Vec<ArrayRef>, JobError> {
    let columns = names.iter().filter_map(|name| batch.column_by_name(name));
    columns.map(|column| Ok(plain(column)?)).collect()
}
