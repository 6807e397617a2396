//! Recomputes the promise of a policy on a table that claims to keep it.

use datafusion::physical_plan::{SendableRecordBatchStream, execute_stream_partitioned};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use throng_core::verify::{Findings, Promise, Verifier};
use throng_datafusion::{AnonymizeError, catch_decode_panic, catch_decode_panics};
use throng_policy::Policy;
use tokio::task::JoinSet;

use crate::read::scan;
use crate::{IntoTable, ThrongError};

/// Verifies a table in a session.
pub(crate) async fn verify(
    session: &SessionContext,
    table: impl IntoTable,
    policy: &Policy,
) -> Result<Findings, ThrongError> {
    let table = table.into_table()?;
    let schema = table.schema();
    let (promise, released) = policy.promise();
    // Finds columns that are missing, or there twice.
    let empty = Verifier::new(promise.clone(), &schema)?;
    let names = schema.fields().iter().map(|field| field.name());
    let unexpected: Vec<String> = names.filter(|name| !released.contains(name)).cloned().collect();
    if !unexpected.is_empty() {
        return Err(ThrongError::UnexpectedColumns { columns: unexpected });
    }
    let names = promise.columns();
    let plan = async { execute_stream_partitioned(scan(session, table, &names).await?, session.task_ctx()) };
    let streams = catch_decode_panic(plan).await.map_err(ThrongError::from_engine)?;
    let mut tasks = JoinSet::new();
    for stream in streams {
        tasks.spawn(count(catch_decode_panics(stream), promise.clone()));
    }
    let mut whole: Option<Verifier> = None;
    while let Some(counted) = tasks.join_next().await {
        let counted = counted.map_err(|_| ThrongError::from(AnonymizeError::Task))??;
        match &mut whole {
            None => whole = Some(counted),
            Some(whole) => whole.merge(counted),
        }
    }
    Ok(whole.unwrap_or(empty).finish())
}

async fn count(mut stream: SendableRecordBatchStream, promise: Promise) -> Result<Verifier, ThrongError> {
    let mut verifier = Verifier::new(promise, &stream.schema())?;
    while let Some(batch) = stream.try_next().await.map_err(ThrongError::from_engine)? {
        verifier.push(&batch)?;
        tokio::task::consume_budget().await;
    }
    Ok(verifier)
}
