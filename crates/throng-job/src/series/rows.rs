//! Tonight's rows: their content, keyed pseudonyms and codes.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::prelude::SessionContext;
use rayon::prelude::*;
use throng_core::key::ReleaseKey;
use throng_core::row_hash::RowHasher;
use throng_core::series::{RowKey, UNCOUNTED};
use throng_datafusion::{Anonymizer, catch_decode_panic, to_canonical_array, to_canonical_field};
use throng_policy::BoundSensitive;

use crate::error::{JobError, Kind};
use crate::input::JobInput;

/// The rows of an input.
#[derive(Debug)]
pub(super) struct NightRows {
    /// The columns that a release needs, in plain types; no identifiers.
    pub(super) content: RecordBatch,
    /// Key of each row; distinct.
    pub(super) keys: Vec<RowKey>,
    /// Codes of the sensitive values of each row.
    pub(super) codes: Vec<u64>,
}

/// Reads all rows of an input, and replaces the columns of the unit by a pseudonym.
pub(super) async fn read_rows(
    session: &SessionContext,
    input: &dyn JobInput,
    anonymizer: &Anonymizer,
    unit: &[String],
    key: ReleaseKey,
) -> Result<NightRows, JobError> {
    let schema = input.schema();
    let missing: Vec<String> =
        unit.iter().filter(|name| schema.field_with_name(name).is_err()).map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let text = format!("the input has no column {} for the `unit` of the policy", missing.join(", "));
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    let kept: Vec<&str> = anonymizer.columns_read().into_iter().map(|at| schema.field(at).name().as_str()).collect();
    let mut read = kept.clone();
    read.extend(unit.iter().map(String::as_str).filter(|name| !kept.contains(name)));
    let failed = |error| JobError::reading("the input", &error);
    let frame = input.rows(session)?.select_columns(&read).map_err(failed)?;
    let batches = match catch_decode_panic(frame.collect()).await {
        Ok(batches) => batches,
        Err(error) => return Err(input.locate(session, &read, &error).await),
    };
    input.check_unchanged().await?;
    let batches = batches.iter().map(plain).collect::<Result<Vec<_>, _>>()?;
    let schema = match batches.first() {
        Some(batch) => batch.schema(),
        None => return Err(JobError::new(Kind::NoInput, "the input has no rows")),
    };
    let all = concat_batches(&schema, &batches).map_err(|_| JobError::internal("batches differ in their columns"))?;
    input.check_rows(all.num_rows() as u64)?;
    let column =
        |name: &str| all.column_by_name(name).cloned().ok_or_else(|| JobError::internal("a column was not read"));
    let columns = |names: &[&str]| names.iter().map(|name| column(name)).collect::<Result<Vec<ArrayRef>, JobError>>();

    let unit_columns = columns(&unit.iter().map(String::as_str).collect::<Vec<_>>())?;
    let nulls: usize = unit_columns.iter().map(|column| column.logical_null_count()).sum();
    if nulls > 0 {
        let text = format!("the columns of the `unit` have {nulls} nulls, and a series must know whose row is whose");
        return Err(JobError::new(Kind::BadData, text));
    }
    let binding = anonymizer.binding();
    let quasi: Vec<&str> = binding.quasi.iter().map(|quasi| quasi.column.name.as_str()).collect();
    let secret: Vec<&str> = binding.sensitive.iter().map(|secret| secret.column.name.as_str()).collect();
    let units = hashes(&unit_columns, key.derive("series unit", &[]))?;
    let known = columns(&[quasi.as_slice(), &secret].concat())?;
    let content = hashes(&known, key.derive("series content", &[]))?;
    let keys = distinct(&units, &content, key);
    let codes = codes(&counted_columns(&columns(&secret)?, &binding.sensitive)?, key)?;
    let fields: Vec<Field> = kept.iter().filter_map(|name| schema.field_with_name(name).ok().cloned()).collect();
    let content = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns(&kept)?)
        .map_err(|_| JobError::internal("columns of another length"))?;
    Ok(NightRows { content, keys, codes })
}

/// Returns a batch in the types that a release has, so that a change of encoding is no change of a row.
fn plain(batch: &RecordBatch) -> Result<RecordBatch, JobError> {
    let fields: Vec<Field> =
        batch.schema().fields().iter().map(|field| to_canonical_field(field).with_nullable(true)).collect();
    let columns = batch.columns().iter().map(to_canonical_array).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|_| JobError::internal("columns of another type"))
}

/// Returns the keyed hash of each row.
pub(super) fn hashes(columns: &[ArrayRef], key: ReleaseKey) -> Result<Vec<u128>, JobError> {
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let rows = columns.first().map_or(0, |column| column.len());
    let hashes = RowHasher::new(&types, key.seed("rows"))?.hash(columns, rows)?;
    Ok(hashes.into_iter().map(|hash| key.hash(hash)).collect())
}

/// Returns sensitive columns as p counts them: look-alikes are equal, and values that count for nothing are null.
pub(super) fn counted_columns(columns: &[ArrayRef], sensitive: &[BoundSensitive]) -> Result<Vec<ArrayRef>, JobError> {
    let counted = columns.iter().zip(sensitive).map(|(column, bound)| match bound.categories {
        Some(_) => Ok(Arc::clone(column)),
        None => Ok(bound.spec.look_alikes.keys_of(column)?),
    });
    counted.collect()
}

/// Returns the codes of sensitive values, row by row. Nulls count for nothing.
pub(super) fn codes(columns: &[ArrayRef], key: ReleaseKey) -> Result<Vec<u64>, JobError> {
    let of_column = columns.iter().map(|column| {
        let hashes = hashes(std::slice::from_ref(column), key.derive("series value", &[]))?;
        let nulls = column.logical_nulls();
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let code = |(row, hash): (usize, u128)| if is_null(row) { UNCOUNTED } else { (hash as u64).max(1) };
        Ok(hashes.into_iter().enumerate().map(code).collect())
    });
    let of_column: Vec<Vec<u64>> = of_column.collect::<Result<_, JobError>>()?;
    let rows = columns.first().map_or(0, |column| column.len());
    Ok((0..rows).flat_map(|row| of_column.iter().map(move |codes| codes[row])).collect())
}

/// Returns the fingerprints of released labels, row by row.
pub(super) fn fingerprints(labels: &[ArrayRef], key: ReleaseKey) -> Result<Vec<u64>, JobError> {
    Ok(hashes(labels, key.derive("series class", &[]))?.into_iter().map(|hash| (hash as u64).max(1)).collect())
}

/// Returns keys in which equal rows of one unit are numbered.
fn distinct(units: &[u128], content: &[u128], key: ReleaseKey) -> Vec<RowKey> {
    let key = key.derive("series repeated row", &[]);
    let mut keys: Vec<RowKey> =
        units.iter().zip(content).map(|(unit, content)| RowKey { unit: *unit, content: *content }).collect();
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.par_sort_unstable_by_key(|row| (keys[*row as usize], *row));
    let mut repeated = Vec::new();
    for equal in order.chunk_by(|a, b| keys[*a as usize] == keys[*b as usize]) {
        repeated.extend(equal.iter().zip(0_u32..).skip(1));
    }
    for (row, number) in repeated {
        let content = &mut keys[*row as usize].content;
        *content = key.hash(content.wrapping_add(u128::from(number)));
    }
    keys
}
