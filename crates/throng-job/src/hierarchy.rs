//! `throng hierarchy`: hierarchies for the columns of a table.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::prelude::{DataFrame, SessionContext};
use futures::TryStreamExt;
use rustc_hash::FxHashSet;
use throng_core::hierarchy::{BuildError, HierarchySpec, Tree, build_tree};
use throng_datafusion::{EngineFailure, classify};
use throng_policy::Store;

use crate::error::{JobError, Kind};
use crate::input::open_table;
use crate::job::JobOptions;
use crate::memory::too_little;
use crate::progress::Stage;
use crate::session::session;

/// Coverage of a column by a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HierarchyFit {
    /// Number of distinct values of the column, without null.
    pub distinct: usize,
    /// Number of these values that the hierarchy lacks.
    pub missing: usize,
}

/// Builds the hierarchy of a column with a builder.
pub async fn make_hierarchy(
    locations: &[String],
    column: &str,
    spec: &HierarchySpec,
    options: &JobOptions,
) -> Result<Tree, JobError> {
    let values = distinct_values(locations, column, options).await?;
    if values.is_empty() {
        return Err(JobError::new(
            Kind::BadData,
            format!("column `{column}` has no value; nothing can be built of it"),
        ));
    }
    match build_tree(spec, &values) {
        Ok((tree, _)) => Ok(tree),
        Err(error) => Err(JobError::new(Kind::BadData, format!("column `{column}`: {error}"))),
    }
}

/// Looks up every value of a column in a hierarchy.
pub async fn check_hierarchy(
    spec: &HierarchySpec,
    locations: &[String],
    column: &str,
    options: &JobOptions,
) -> Result<HierarchyFit, JobError> {
    let values = distinct_values(locations, column, options).await?;
    let distinct = values.len();
    match build_tree(spec, &values) {
        Ok(_) => Ok(HierarchyFit { distinct, missing: 0 }),
        Err(BuildError::Missing { count }) => Ok(HierarchyFit { distinct, missing: count }),
        Err(error) => Err(JobError::new(Kind::BadData, format!("column `{column}`: {error}"))),
    }
}

/// Returns the distinct values of a column in ascending order, without null.
async fn distinct_values(locations: &[String], column: &str, options: &JobOptions) -> Result<ArrayRef, JobError> {
    let session = session(options)?;
    let input = open_table(&session, locations, &Store::default(), options).await?;
    let Ok(field) = input.schema().field_with_name(column) else {
        let known: Vec<String> = input.schema().fields().iter().map(|field| format!("`{}`", field.name())).collect();
        let text = format!("the table has no column `{column}`; it has {}", known.join(", "));
        return Err(JobError::new(Kind::BadQuery, text));
    };
    if field.data_type().is_nested() {
        let text = format!("column `{column}` is {}, which has no hierarchy", field.data_type());
        return Err(JobError::new(Kind::BadData, text));
    }
    options.observer.begin(Stage::Survey, None);
    let failed = |error| JobError::reading("the input", &error);
    input.read_plan(Some(&[column])).apply(&session)?;
    let frame = input.rows(&session)?.select_columns(&[column]).map_err(failed)?;
    let values = match collect_distinct(frame, &session).await {
        Ok(values) => values,
        Err(error) => {
            return Err(match classify(&error) {
                EngineFailure::Memory(least) => too_little(VALUES, least),
                _ => input.locate(&session, &[column], &error).await,
            });
        }
    };
    check_finite(&values, column)?;
    Ok(values)
}

/// Name of the resource in the out-of-memory error.
const VALUES: &str = "the distinct values of the column";

/// Memory per value besides the value itself, in the set of values and while they are sorted.
const VALUE_BYTES: usize = 64;

/// Returns the distinct values of the only column of a frame in ascending order, without null, within the memory of a session.
///
/// They are collected as they arrive: an aggregate of the engine would hold several copies of long ones.
async fn collect_distinct(frame: DataFrame, session: &SessionContext) -> Result<ArrayRef, DataFusionError> {
    let plain_type = match frame.schema().field(0).data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    };
    let converter = RowConverter::new(vec![SortField::new(plain_type.clone())])?;
    let memory = MemoryConsumer::new("throng hierarchy").register(&session.runtime_env().memory_pool);
    let (mut stream, mut bytes) = (frame.execute_stream().await?, 0);
    let mut known: FxHashSet<Box<[u8]>> = FxHashSet::default();
    while let Some(batch) = stream.try_next().await? {
        let values = cast(batch.column(0), &plain_type)?;
        let rows = converter.convert_columns(std::slice::from_ref(&values))?;
        let nulls = values.logical_nulls();
        for (place, row) in rows.iter().enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(place)) || known.contains(row.as_ref()) {
                continue;
            }
            let row: Box<[u8]> = row.as_ref().into();
            bytes += row.len() + VALUE_BYTES;
            known.insert(row);
        }
        // For the values, and for the array built from them.
        memory.try_resize(2 * bytes)?;
    }
    let mut known: Vec<Box<[u8]>> = known.into_iter().collect();
    known.sort_unstable();
    let parser = converter.parser();
    let mut columns = converter.convert_rows(known.iter().map(|row| parser.parse(row)))?;
    columns.pop().ok_or_else(|| DataFusionError::Internal("a row without a column".to_owned()))
}

fn check_finite(values: &ArrayRef, column: &str) -> Result<(), JobError> {
    if !values.data_type().is_floating() {
        return Ok(());
    }
    let numbers = cast(values, &DataType::Float64).map_err(|_| JobError::internal("numbers could not be read"))?;
    let bad = numbers.as_primitive::<Float64Type>().iter().flatten().filter(|number| !number.is_finite()).count();
    if bad > 0 {
        let text =
            format!("column `{column}` has NaN or infinite values; a hierarchy is for finite ones: replace them");
        return Err(JobError::new(Kind::BadData, text));
    }
    Ok(())
}
