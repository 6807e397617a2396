//! Statistics, indexes and metadata of a Parquet file, which must not reveal more than its rows.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Type;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::statistics::Statistics;

use super::planted::{command, sandbox};
use crate::fixture_table::{COLUMNS, people};
use crate::release_files::data_files;
use crate::sandbox::{Ended, Sandbox};

/// Returns the metadata of a file that does not follow from its rows.
pub fn metadata_besides(path: &Path) -> Vec<String> {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = reader.parse_and_finish(&File::open(path).unwrap()).unwrap();
    let mut traces = Vec::new();
    let file = metadata.file_metadata();
    for pair in file.key_value_metadata().into_iter().flatten() {
        if pair.key != "ARROW:schema" {
            traces.push(format!("the metadata key {}", pair.key));
        }
    }
    if !file.created_by().is_some_and(|name| name.starts_with("throng ")) {
        traces.push("another creator".to_owned());
    }
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = reader.schema();
    if !schema.metadata().is_empty() || schema.fields().iter().any(|field| !is_role_alone(field)) {
        traces.push("metadata of the schema".to_owned());
    }
    traces.extend(of_chunks(path, &metadata));
    if metadata.column_index().is_some_and(|index| index.iter().flatten().any(|index| index.num_pages() > 0)) {
        traces.push("statistics of pages".to_owned());
    }
    traces
}

/// Returns whether the metadata of a field is its role and its form, in words of the policy file.
fn is_role_alone(field: &Field) -> bool {
    const FORMS: &str = " interval bounds ancestor set mean median mode value category pseudonym ";
    const ROLES: &str = " quasi sensitive insensitive identifier ";
    let is_one_of = |words: &str, word: &str| words.contains(&format!(" {word} "));
    field.metadata().iter().all(|(key, value)| match key.as_str() {
        "throng.role" => is_one_of(ROLES, value),
        "throng.form" => is_one_of(FORMS, value),
        "throng.column" => ["_min", "_max", "_category"].iter().any(|end| *field.name() == format!("{value}{end}")),
        _ => false,
    })
}

/// Checks that the extremes of each chunk are values of its rows, and that its null count is right.
fn of_chunks(path: &Path, metadata: &ParquetMetaData) -> Vec<String> {
    let mut traces = Vec::new();
    for (number, group) in metadata.row_groups().iter().enumerate() {
        let rows = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let batches: Vec<_> = rows.with_row_groups(vec![number]).build().unwrap().map(Result::unwrap).collect();
        for (place, chunk) in group.columns().iter().enumerate() {
            let name = chunk.column_path().string();
            if chunk.bloom_filter_offset().is_some() {
                traces.push(format!("a bloom filter of {name}"));
            }
            let Some(statistics) = chunk.statistics() else { continue };
            let columns: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(place)).collect();
            let nulls: usize = columns.iter().map(|column| column.logical_null_count()).sum();
            if statistics.null_count_opt().is_some_and(|traces| traces != nulls as u64) {
                traces.push(format!("nulls of {name} that are not there"));
            }
            let values: HashSet<Vec<u8>> =
                columns.iter().flat_map(|column| encoded(column, chunk.column_type())).collect();
            for extreme in [statistics.min_bytes_opt(), statistics.max_bytes_opt()].into_iter().flatten() {
                if !values.contains(extreme) && !is_zero(statistics) {
                    traces.push(format!("an extreme of {name} that is no value of it"));
                }
            }
        }
    }
    traces
}

/// Whether an extreme is zero, which writers record with either sign.
fn is_zero(statistics: &Statistics) -> bool {
    matches!(statistics, Statistics::Double(of) if of.min_opt() == Some(&0.0) || of.max_opt() == Some(&0.0))
}

/// Encodes values as in Parquet statistics, for the types of the tests: text, integers and floats.
fn encoded(column: &ArrayRef, kind: Type) -> Vec<Vec<u8>> {
    match kind {
        Type::BYTE_ARRAY => {
            let texts = cast(column, &DataType::Utf8).unwrap();
            texts.as_string::<i32>().iter().flatten().map(|text| text.as_bytes().to_vec()).collect()
        }
        Type::INT64 => {
            let numbers = cast(column, &DataType::Int64).unwrap();
            numbers.as_primitive::<Int64Type>().iter().flatten().map(|number| number.to_le_bytes().to_vec()).collect()
        }
        Type::DOUBLE => {
            let numbers = column.as_primitive::<Float64Type>();
            numbers.iter().flatten().map(|number| number.to_le_bytes().to_vec()).collect()
        }
        other => panic!("no test has a column of {other}"),
    }
}

#[test]
fn a_release_says_nothing_of_itself_that_its_rows_do_not_tell() {
    let planted = sandbox("parquet");
    let ended: Ended = command(&planted, &["run", "policy.toml"]).output().unwrap().into();
    ended.done();
    let ordinary = Sandbox::with(&people(3000), 5, 2, COLUMNS);
    ordinary.run(&[]);
    for sandbox in [planted, ordinary] {
        let files = data_files(&sandbox.release());
        assert!(!files.is_empty());
        for file in files {
            assert_eq!(metadata_besides(&file), Vec::<String>::new());
        }
    }
}
