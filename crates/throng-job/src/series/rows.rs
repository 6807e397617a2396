//! Tonight's rows: their content, keyed pseudonyms and codes.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array, UInt64Array};
use datafusion::arrow::compute::{cast, take_record_batch};
use datafusion::arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Schema, UInt64Type};
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use futures::{FutureExt, TryFutureExt, TryStreamExt};
use rayon::prelude::*;
use throng_core::key::ReleaseKey;
use throng_core::look_alikes::LookAlikeRule;
use throng_core::row_hash::RowHasher;
use throng_core::series::{RowKey, UNCOUNTED};
use throng_datafusion::distributed::batch_bytes;
use throng_datafusion::{Anonymizer, catch_decode_panic, catch_decode_panics, to_canonical_array, to_canonical_field};
use throng_policy::describe_type;

use crate::distributed::{Cluster, failed, retried};
use crate::error::{JobError, Kind};
use crate::input::JobInput;

use super::buckets::{BUCKETS, BucketWriter, StoredBuckets};
use super::kernel;
use super::match_rows::number_equal_rows;

/// Names of the columns that hold the key of a row: the halves of its unit, and those of its content.
pub(super) const KEY_COLUMNS: [&str; 4] = ["series key 1", "series key 2", "series key 3", "series key 4"];

/// The rows of an input, on disk, in buckets of units.
#[derive(Debug)]
pub(super) struct TonightRows {
    /// Key, codes and content of each row.
    buckets: StoredBuckets,
    /// Number of rows.
    pub(super) rows: u64,
    /// Size of the rows as received.
    pub(super) bytes: u64,
    /// Length of the longest code of each column that the policy masks.
    pub(super) mask_lengths: BTreeMap<String, usize>,
    /// Number of codes of a row.
    width: usize,
}

/// Rows of some units, in ascending order of their keys.
#[derive(Debug)]
pub(super) struct KeyedRows {
    /// Key of each row; distinct.
    pub(super) keys: Vec<RowKey>,
    /// Codes of the sensitive values of each row.
    pub(super) codes: Vec<u64>,
    /// The columns that a release needs, in plain types; no identifiers.
    pub(super) content: RecordBatch,
}

impl TonightRows {
    /// Returns the columns that a release needs.
    pub(super) fn content_schema(&self) -> Schema {
        Schema::new(self.buckets.schema().fields()[KEY_COLUMNS.len() + self.width..].to_vec())
    }

    /// Returns the memory to work on a bucket.
    pub(super) fn room(&self, bucket: usize) -> usize {
        self.buckets.room(bucket)
    }

    /// Reads a bucket.
    pub(super) fn read(&self, bucket: usize) -> Result<KeyedRows, JobError> {
        let batch = self.buckets.read(bucket)?;
        let (width, first) = (self.width, KEY_COLUMNS.len() + self.width);
        let content: Vec<usize> = (first..batch.num_columns()).collect();
        let content = batch.project(&content).map_err(kernel)?;
        let mut keys = keys_of(&batch);
        let order = number_equal_rows(&mut keys);
        let codes = codes_of(&batch, KEY_COLUMNS.len(), width, &order);
        let content = take_record_batch(&content, &UInt32Array::from(order.clone())).map_err(kernel)?;
        Ok(KeyedRows { keys: order.iter().map(|row| keys[*row as usize]).collect(), codes, content })
    }

    /// Returns whether some unit has several rows.
    pub(super) fn has_repeated_units(&self) -> Result<bool, JobError> {
        for bucket in 0..BUCKETS {
            let mut units: Vec<u128> = keys_of(&self.buckets.read(bucket)?).into_iter().map(|key| key.unit).collect();
            units.par_sort_unstable();
            if units.windows(2).any(|pair| pair[0] == pair[1]) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the bucket of a unit.
pub(super) fn bucket_of(unit: u128) -> u32 {
    (unit >> (u128::BITS - BUCKETS.ilog2())) as u32
}

/// Returns the fields of [`key_columns`].
pub(super) fn key_fields() -> impl Iterator<Item = Field> {
    KEY_COLUMNS.into_iter().map(|name| Field::new(name, DataType::UInt64, false))
}

/// Returns the fields of the codes.
pub(super) fn code_fields(width: usize) -> impl Iterator<Item = Field> {
    (0..width).map(|column| Field::new(format!("__throng_code_{column}"), DataType::UInt64, false))
}

/// Returns keys as columns.
pub(super) fn key_columns(keys: &[RowKey]) -> Vec<ArrayRef> {
    let column = |half: fn(&RowKey) -> u64| Arc::new(keys.iter().map(half).collect::<UInt64Array>()) as ArrayRef;
    vec![
        column(|key| (key.unit >> 64) as u64),
        column(|key| key.unit as u64),
        column(|key| (key.content >> 64) as u64),
        column(|key| key.content as u64),
    ]
}

/// Returns codes as columns.
pub(super) fn code_columns(codes: &[u64], width: usize) -> impl Iterator<Item = ArrayRef> {
    let column = move |at| Arc::new(codes.iter().skip(at).step_by(width).copied().collect::<UInt64Array>()) as ArrayRef;
    (0..width).map(column)
}

/// Returns the keys in the first columns of a batch.
pub(super) fn keys_of(batch: &RecordBatch) -> Vec<RowKey> {
    let half = |column: usize, row: usize| u128::from(batch.column(column).as_primitive::<UInt64Type>().value(row));
    let whole = |column: usize, row: usize| half(column, row) << 64 | half(column + 1, row);
    (0..batch.num_rows()).map(|row| RowKey { unit: whole(0, row), content: whole(2, row) }).collect()
}

/// Returns the codes in `width` columns of a batch, row by row in this order.
pub(super) fn codes_of(batch: &RecordBatch, first: usize, width: usize, order: &[u32]) -> Vec<u64> {
    let columns: Vec<&[u64]> =
        (first..first + width).map(|at| batch.column(at).as_primitive::<UInt64Type>().values().as_ref()).collect();
    order.iter().flat_map(|row| columns.iter().map(|column| column[*row as usize])).collect()
}

/// Returns the type of each column of the unit, as far as pseudonyms depend on it: all widths of integers are one type, as are all encodings
/// of text.
pub(super) fn unit_types(schema: &Schema, unit: &[String]) -> Vec<String> {
    let described = |name: &String| {
        // A missing column is reported when rows are read.
        let Ok(field) = schema.field_with_name(name) else { return String::new() };
        let field = to_canonical_field(field);
        match describe_type(field.data_type()) {
            known @ ("integer" | "text" | "boolean") => known.to_owned(),
            // Equal numbers and times of other types have other pseudonyms.
            other => format!("{other} ({})", field.data_type()),
        }
    };
    unit.iter().map(described).collect()
}

/// Returns a column of the unit in a type that equal values share.
fn unit_values(column: ArrayRef) -> Result<ArrayRef, JobError> {
    match column.data_type() {
        // Those of up to 32 bits would be hashed as signed numbers of their width.
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => cast(&column, &DataType::Int64).map_err(kernel),
        _ => Ok(column),
    }
}

/// Reads all rows of an input, and replaces the columns of the unit by a pseudonym. On a compute cluster, its executors read
/// files and send the columns that are needed; keys and pseudonyms are made in this process.
pub(super) async fn read_rows(
    session: &SessionContext,
    cluster: Option<&Cluster>,
    input: &dyn JobInput,
    anonymizer: &Anonymizer,
    unit: &[String],
    key: ReleaseKey,
) -> Result<TonightRows, JobError> {
    let schema = input.schema();
    let missing: Vec<String> =
        unit.iter().filter(|name| schema.field_with_name(name).is_err()).map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let text = format!("the input has no column {} for the `unit` of the policy", missing.join(", "));
        return Err(JobError::new(Kind::BadPolicy, text));
    }
    let kept: Vec<&str> = anonymizer.columns_read().into_iter().map(|at| schema.field(at).name().as_str()).collect();
    if let Some(name) = kept.iter().find(|name| KEY_COLUMNS.contains(name)) {
        let text = format!("the input has a column `{name}`, a name that is needed here; rename the column");
        return Err(JobError::new(Kind::BadData, text));
    }
    let mut read = kept.clone();
    read.extend(unit.iter().map(String::as_str).filter(|name| !kept.contains(name)));
    let keyed = RowsToKey { anonymizer, kept: &kept, unit, key };
    let received = match cluster {
        None => match keyed.read(input, &read, session, session).await {
            Err(ReadFailure::Engine(error)) => return Err(input.locate(session, &read, &error).await),
            Err(ReadFailure::Other(error)) => return Err(error),
            Ok(received) => received,
        },
        Some(cluster) => {
            let query = || {
                let received = keyed.read(input, &read, &cluster.session, session);
                received.map_err(ReadFailure::on_cluster).boxed()
            };
            let received = retried(query).await;
            // If the input changed while it was read, that is reported first.
            input.check_unchanged().await?;
            received?
        }
    };
    input.check_unchanged().await?;
    let ReceivedRows { writer, rows, nulls, bytes, mask_lengths } = received;
    let Some(writer) = writer else { return Err(JobError::new(Kind::NoInput, "the input has no rows")) };
    input.check_rows(rows)?;
    if nulls > 0 {
        let text = format!("the columns of the `unit` have {nulls} nulls, and a series must know whose row is whose");
        return Err(JobError::new(Kind::BadData, text));
    }
    let width = anonymizer.binding().sensitive.len();
    Ok(TonightRows { buckets: writer.finish()?, rows, bytes, mask_lengths, width })
}

/// Rows that are being read.
#[derive(Default)]
struct ReceivedRows {
    writer: Option<BucketWriter>,
    rows: u64,
    /// Nulls in the columns of the unit.
    nulls: usize,
    bytes: u64,
    mask_lengths: BTreeMap<String, usize>,
}

/// The reason why rows could not be read.
enum ReadFailure {
    /// The engine failed; its error may quote values.
    Engine(DataFusionError),
    Other(JobError),
}

impl ReadFailure {
    fn on_cluster(self) -> JobError {
        match self {
            Self::Engine(error) => failed("the input was read", &error),
            Self::Other(error) => error,
        }
    }
}

impl From<DataFusionError> for ReadFailure {
    fn from(error: DataFusionError) -> Self {
        Self::Engine(error)
    }
}

impl From<JobError> for ReadFailure {
    fn from(error: JobError) -> Self {
        Self::Other(error)
    }
}

/// Assigns keys to the rows of the input.
struct RowsToKey<'a> {
    anonymizer: &'a Anonymizer,
    kept: &'a [&'a str],
    unit: &'a [String],
    key: ReleaseKey,
}

impl RowsToKey<'_> {
    /// Reads these columns of all rows by queries of `reader`, to buckets in the memory of `session`.
    async fn read(
        &self,
        input: &dyn JobInput,
        columns: &[&str],
        reader: &SessionContext,
        session: &SessionContext,
    ) -> Result<ReceivedRows, ReadFailure> {
        let frame = input.rows(reader)?.select_columns(columns)?;
        let stream = catch_decode_panic(frame.execute_stream()).await?;
        let mut stream = catch_decode_panics(stream);
        let mut received = ReceivedRows::default();
        while let Some(batch) = stream.try_next().await? {
            received.rows += batch.num_rows() as u64;
            received.bytes += batch_bytes(&batch);
            let batch = plain(&batch)?;
            for name in self.anonymizer.policy().masked_columns() {
                let longest = batch.column_by_name(name).map_or(Ok(0), longest_text)?;
                let known = received.mask_lengths.entry(name.to_owned()).or_default();
                *known = longest.max(*known);
            }
            let (batch, units, nulls) = self.of(&batch)?;
            received.nulls += nulls;
            let writer = match &mut received.writer {
                Some(writer) => writer,
                None => received.writer.insert(BucketWriter::new(batch.schema(), session)?),
            };
            writer.push(batch, units.into_iter().map(bucket_of))?;
        }
        Ok(received)
    }

    /// Returns key, codes and content of rows, their units, and the number of nulls in the columns of the unit.
    fn of(&self, rows: &RecordBatch) -> Result<(RecordBatch, Vec<u128>, usize), JobError> {
        let Self { anonymizer, kept, unit, key } = self;
        let column =
            |name: &str| rows.column_by_name(name).cloned().ok_or_else(|| JobError::internal("a column was not read"));
        let columns =
            |names: &[&str]| names.iter().map(|name| column(name)).collect::<Result<Vec<ArrayRef>, JobError>>();
        let unit_columns = columns(&unit.iter().map(String::as_str).collect::<Vec<_>>())?;
        let nulls = unit_columns.iter().map(|column| column.logical_null_count()).sum();
        let binding = anonymizer.binding();
        let quasi: Vec<&str> = binding.quasi.iter().map(|quasi| quasi.column.name.as_str()).collect();
        let secret: Vec<&str> = binding.sensitive.iter().map(|secret| secret.column.name.as_str()).collect();
        let unit_columns = unit_columns.into_iter().map(unit_values).collect::<Result<Vec<_>, _>>()?;
        let units = hashes(&unit_columns, key.derive("series unit", &[]))?;
        let of_quasi = hashes(&columns(&quasi)?, key.derive("series quasi-identifiers", &[]))?;
        let of_secret = hashes(&columns(&secret)?, key.derive("series sensitive values", &[]))?;
        let released = hashes(&columns(kept)?, key.derive("series released values", &[]))?;
        let key_of = |row: usize| {
            RowKey::new(units[row], of_quasi[row], of_secret.get(row).copied().unwrap_or_default(), released[row])
        };
        let keys: Vec<RowKey> = (0..units.len()).map(key_of).collect();
        let rules = binding.sensitive.iter().map(|bound| &bound.spec.look_alikes);
        let codes = codes(&counted_columns(&columns(&secret)?, rules)?, *key)?;
        let width = secret.len();
        let schema = rows.schema();
        let of_content = kept.iter().filter_map(|name| schema.field_with_name(name).ok().cloned());
        let fields: Vec<Field> = key_fields().chain(code_fields(width)).chain(of_content).collect();
        let mut all = key_columns(&keys);
        all.extend(code_columns(&codes, width));
        all.extend(columns(kept)?);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), all).map_err(kernel)?;
        Ok((batch, units, nulls))
    }
}

/// Returns a batch in the types of a release, so that a change of encoding does not count as a change of a row.
fn plain(batch: &RecordBatch) -> Result<RecordBatch, JobError> {
    let fields: Vec<Field> =
        batch.schema().fields().iter().map(|field| to_canonical_field(field).with_nullable(true)).collect();
    let columns = batch.columns().iter().map(to_canonical_array).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|_| JobError::internal("columns of another type"))
}

/// Returns the number of characters of the longest value.
fn longest_text(column: &ArrayRef) -> Result<usize, JobError> {
    let texts = cast(column, &DataType::Utf8).map_err(kernel)?;
    Ok(texts.as_string::<i32>().iter().flatten().map(|text| text.chars().count()).max().unwrap_or(0))
}

/// Returns the keyed hash of each row. Both zeros of floating-point numbers are one value.
pub(super) fn hashes(columns: &[ArrayRef], key: ReleaseKey) -> Result<Vec<u128>, JobError> {
    let columns: &[ArrayRef] = &columns.iter().map(with_one_zero).collect::<Vec<_>>();
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let rows = columns.first().map_or(0, |column| column.len());
    let hashes = RowHasher::new(&types, key.seed("rows"))?.hash(columns, rows)?;
    Ok(hashes.into_iter().map(|hash| key.hash(hash)).collect())
}

/// Returns a column in which no zero has a sign.
fn with_one_zero(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float32 => {
            Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float32Type>(|value| value + 0.0))
        }
        DataType::Float64 => {
            Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(|value| value + 0.0))
        }
        _ => Arc::clone(column),
    }
}

/// Returns sensitive columns as p counts them: look-alikes are equal, and values that are not counted are null.
pub(super) fn counted_columns<'a>(
    columns: &[ArrayRef],
    rules: impl IntoIterator<Item = &'a LookAlikeRule>,
) -> Result<Vec<ArrayRef>, JobError> {
    columns.iter().zip(rules).map(|(column, rule)| Ok(rule.keys_of(column)?)).collect()
}

/// Returns the codes of sensitive values, row by row. Nulls are not counted.
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

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Float64Array, Int32Array, Int64Array, UInt8Array, UInt32Array};

    use super::*;

    #[test]
    fn zeros_have_one_code() {
        let column: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.0), Some(-0.0), Some(1.0), None]));
        let codes = codes(&[column], ReleaseKey::PUBLIC).unwrap();
        assert!(codes[0] == codes[1] && codes[0] != codes[2] && codes[3] == UNCOUNTED, "{codes:?}");
    }

    #[test]
    fn integers_of_every_width_have_one_pseudonym_and_one_type() {
        let columns: [ArrayRef; 4] = [
            Arc::new(Int64Array::from(vec![200, 7])),
            Arc::new(Int32Array::from(vec![200, 7])),
            Arc::new(UInt8Array::from(vec![200, 7])),
            Arc::new(UInt32Array::from(vec![200, 7])),
        ];
        let schema = |column: &ArrayRef| Schema::new(vec![Field::new("id", column.data_type().clone(), true)]);
        let unit = ["id".to_owned()];
        for column in &columns {
            assert_eq!(unit_types(&schema(column), &unit), ["integer"]);
            let pseudonyms =
                |column: &ArrayRef| hashes(&[unit_values(Arc::clone(column)).unwrap()], ReleaseKey::PUBLIC).unwrap();
            assert_eq!(pseudonyms(column), pseudonyms(&columns[0]), "{}", column.data_type());
        }
        let of = |data_type: DataType| unit_types(&Schema::new(vec![Field::new("id", data_type, true)]), &unit);
        assert_eq!(of(DataType::Utf8View), ["text"]);
        assert_eq!(of(DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8))), ["text"]);
        assert_ne!(of(DataType::Float32), of(DataType::Float64));
    }
}
