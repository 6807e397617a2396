//! The re-identification risk of a table as it is.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use throng_core::columns::{QuasiSpec, SensitiveSpec};
use throng_core::dictionary_encode::DictionaryEncoder;
use throng_core::risk::Risk;
use throng_core::survey::{Survey, SurveySpec};
use throng_datafusion::{AnonymizeError, catch_decode_panic, catch_decode_panics};
use throng_policy::{BoundColumn, Policy, highest_risk};

use crate::read::scan;
use crate::{IntoTable, ThrongError};

/// The part of the work that does not fit into the memory of a session.
const TUPLES: &str = "the distinct combinations of the quasi-identifiers and sensitive columns";

/// Measures the risk of a table in a session.
pub(crate) async fn risk(
    session: &SessionContext,
    table: impl IntoTable,
    policy: &Policy,
) -> Result<Risk, ThrongError> {
    let table = table.into_table()?;
    let binding = policy.bind(&table.schema())?;
    let quasi: Vec<BoundColumn> = binding.quasi.iter().map(|quasi| quasi.column.clone()).collect();
    let sensitive: Vec<BoundColumn> = binding.sensitive.iter().map(|sensitive| sensitive.column.clone()).collect();
    let names: Vec<&str> = quasi.iter().chain(&sensitive).map(|column| column.name.as_str()).collect();
    let plan = async { execute_stream(scan(session, table, &names).await?, session.task_ctx()) };
    let mut stream = catch_decode_panics(catch_decode_panic(plan).await.map_err(ThrongError::from_engine)?);
    let memory = MemoryConsumer::new("throng risk").register(&session.runtime_env().memory_pool);
    let reserve = |bytes| memory.try_resize(bytes).map_err(|_| ThrongError::Memory { part: TUPLES });
    let mut survey = Survey::new(Arc::new(values_as_they_are(&quasi, &sensitive)))?;
    let mut encoder = DictionaryEncoder::default();
    while let Some(batch) = stream.try_next().await.map_err(ThrongError::from_engine)? {
        survey.push(&encoded(&batch, &names, &mut encoder)?)?;
        reserve(survey.size())?;
        tokio::task::consume_budget().await;
    }
    let tuples = survey.take_groups();
    // Classes without one column are counted for one column per thread at a time.
    let copies = 1 + std::thread::available_parallelism().map_or(1, usize::from);
    reserve(survey.size() + copies * 3 * tuples.size())?;
    let names = |columns: &[BoundColumn]| columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    let (quasi, sensitive, threshold) = (names(&quasi), names(&sensitive), highest_risk(policy.privacy.k));
    let counted = tokio::task::spawn_blocking(move || Risk::of(&tuples, &quasi, &sensitive, threshold)).await;
    let risk = counted.map_err(|_| ThrongError::from(AnonymizeError::Task))??;
    Ok(risk.with_sampling_fraction(policy.privacy.sampling_fraction))
}

/// Quasi-identifiers that are compared by their values, regardless of how the policy generalizes them.
fn values_as_they_are(quasi: &[BoundColumn], sensitive: &[BoundColumn]) -> SurveySpec {
    let typed = |column: &BoundColumn| -> DataType { column.data_type.clone() };
    SurveySpec {
        quasi: quasi.iter().map(|column| (QuasiSpec::plain(&column.name), typed(column))).collect(),
        sensitive: sensitive.iter().map(|column| (SensitiveSpec::plain(&column.name), typed(column))).collect(),
    }
}

/// The columns of a batch in the order of the survey.
fn encoded(batch: &RecordBatch, names: &[&str], encoder: &mut DictionaryEncoder) -> Result<Vec<ArrayRef>, ThrongError> {
    let columns = names.iter().filter_map(|name| batch.column_by_name(name));
    let encoded = columns.map(|column| encoder.compact(column));
    encoded.collect::<Result<_, _>>().map_err(|error| AnonymizeError::Kernel("dictionary", error).into())
}
