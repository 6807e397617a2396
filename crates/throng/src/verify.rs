//! Verification of any table: whether the released values keep the promise of a policy.

use datafusion::physical_plan::execute_stream_partitioned;
use datafusion::prelude::SessionContext;
use throng_core::verify::Findings;
use throng_datafusion::{AnonymizeError, Verification, catch_decode_panic, catch_decode_panics};
use throng_policy::Policy;

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
    let verification = Verification::new(promise);
    verification.check_schema(&schema)?;
    let names = schema.fields().iter().map(|field| field.name());
    let unexpected: Vec<String> = names.filter(|name| !released.contains(name)).cloned().collect();
    if !unexpected.is_empty() {
        return Err(ThrongError::UnexpectedColumns { columns: unexpected });
    }
    let names = verification.columns();
    let plan = async { execute_stream_partitioned(scan(session, table, &names).await?, session.task_ctx()) };
    let streams = catch_decode_panic(plan).await.map_err(ThrongError::from_engine)?;
    let streams = streams.into_iter().map(catch_decode_panics).collect();
    let verified = verification.run(&schema, streams).await?;
    Ok(verified.ok_or(AnonymizeError::Task)?.findings)
}
