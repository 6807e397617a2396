use std::sync::Arc;

use datafusion::arrow::array::{DictionaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::file::reader::{FileReader, SerializedFileReader};

use super::super::{Buffer, append, encode_group, parquet_writer};
use super::*;

/// Returns a dictionary array.
fn column(keys: Vec<Option<u32>>, values: &[&str]) -> ArrayRef {
    let values: ArrayRef = Arc::new(StringArray::from(values.to_vec()));
    Arc::new(DictionaryArray::<UInt32Type>::new(UInt32Array::from(keys), values))
}

fn batch(column: &ArrayRef, is_nullable: bool) -> RecordBatch {
    let field = Field::new("text", column.data_type().clone(), is_nullable);
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::clone(column)]).unwrap()
}

/// Encodes batches as a file of a release.
fn file(batches: &[RecordBatch], is_nullable: bool) -> Bytes {
    let schema = Arc::new(Schema::new(vec![Field::new("text", DataType::Utf8, is_nullable)]));
    let buffer = Buffer::default();
    let (mut writer, factory) = parquet_writer(buffer.clone(), &schema).unwrap();
    let chunks = encode_group(batches, 0, &factory, writer.schema_descr().columns()).unwrap();
    append(&mut writer, chunks).unwrap();
    writer.finish().unwrap();
    buffer.take()
}

fn read(file: Bytes) -> Vec<Option<String>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(std::result::Result::unwrap).collect();
    let whole = concat_batches(&batches[0].schema(), &batches).unwrap();
    let texts = whole.column(0).as_string::<i32>();
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}

fn plain(columns: &[ArrayRef]) -> Vec<Option<String>> {
    let plain = columns.iter().map(|column| cast(column, &DataType::Utf8).unwrap());
    let texts: Vec<_> = plain
        .flat_map(|plain| plain.as_string::<i32>().iter().map(|t| t.map(str::to_owned)).collect::<Vec<_>>())
        .collect();
    texts
}

fn assert_comes_back(columns: &[ArrayRef], is_nullable: bool) -> Bytes {
    let batches: Vec<RecordBatch> = columns.iter().map(|column| batch(column, is_nullable)).collect();
    let file = file(&batches, is_nullable);
    assert_eq!(read(file.clone()), plain(columns));
    assert!(self::file(&plain_batches(columns, is_nullable), is_nullable) == file, "plain strings have other bytes");
    file
}

/// Returns the same rows as plain strings.
fn plain_batches(columns: &[ArrayRef], is_nullable: bool) -> Vec<RecordBatch> {
    columns.iter().map(|column| batch(&cast(column, &DataType::Utf8).unwrap(), is_nullable)).collect()
}

#[test]
fn strings_and_nulls_come_back() {
    let values = ["", "b", "a long string, longer than any of the others"];
    assert_comes_back(&[column(vec![Some(1), None, Some(0), Some(2), Some(1)], &values)], true);
    assert_comes_back(&[column(vec![Some(1), Some(0), Some(2)], &values)], false);
    assert_comes_back(&[column(vec![Some(1); 100_000], &values)], true);
    assert_comes_back(&[column(vec![None, None], &values), column(vec![Some(0)], &values)], true);
    // A column of nulls is left to the library.
    assert_comes_back(&[column(vec![None; 20], &values)], true);
}

#[test]
fn many_pages_come_back() {
    let values: Vec<String> = (0..3000).map(|number| format!("value {number}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let key = |row: u32| (!row.is_multiple_of(7)).then_some(row.wrapping_mul(2_654_435_761) % 3000);
    assert_comes_back(&[column((0..3 * PAGE_ROWS as u32 + 5).map(key).collect(), &values)], true);
}

#[test]
fn batches_with_dictionaries_of_their_own_are_one_chunk() {
    let columns = [column(vec![Some(0), Some(1)], &["a", "b"]), column(vec![Some(0), Some(1)], &["b", "c"])];
    let file = assert_comes_back(&columns, true);
    let reader = SerializedFileReader::new(file).unwrap();
    let group = reader.get_row_group(0).unwrap();
    let dictionary = group.get_column_page_reader(0).unwrap().get_next_page().unwrap().unwrap();
    assert!(matches!(dictionary, Page::DictionaryPage { num_values: 3, .. }));
}

#[test]
fn strings_that_no_row_has_are_not_written() {
    let file = assert_comes_back(&[column(vec![Some(1), Some(1)], &["nobody has this", "x"]).slice(1, 1)], true);
    assert!(!file.windows(6).any(|bytes| bytes == b"nobody"));
    let reader = SerializedFileReader::new(file).unwrap();
    let chunk = reader.metadata().row_group(0).column(0);
    let statistics = chunk.statistics().unwrap();
    assert_eq!((statistics.min_bytes_opt().unwrap(), statistics.max_bytes_opt().unwrap()), (&b"x"[..], &b"x"[..]));
    assert_eq!(statistics.null_count_opt(), Some(0));
}

#[test]
fn a_dictionary_that_is_too_large_is_left_to_the_library() {
    let values: Vec<String> = (0..2000).map(|number| format!("{number:01000}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let column = column((0..4000).map(|row| Some(row % 2000)).collect(), &values);
    let leaf =
        super::super::parquet_writer(Vec::new(), &Arc::new(Schema::new(vec![Field::new("t", DataType::Utf8, true)])));
    let descr = leaf.unwrap().0.schema_descr().column(0);
    assert!(encode(std::slice::from_ref(&column), &descr, 1).unwrap().is_none());
    assert_comes_back(&[column], true);
}
