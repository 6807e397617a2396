//! Tables on disk: written in every format, shuffled and split into files.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::{Field, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::ArrowWriter;

/// Deterministic pseudo-random numbers.
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Returns a table of nullable columns.
pub fn table(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, column)| column).collect()).unwrap()
}

pub fn strings<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Returns the rows in another order.
pub fn shuffled(batch: &RecordBatch, seed: u64) -> RecordBatch {
    let mut draws = Draws::new(seed);
    let mut order: Vec<u32> = (0..batch.num_rows() as u32).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, draws.below(last as u64 + 1) as usize);
    }
    take_record_batch(batch, &UInt32Array::from(order)).unwrap()
}

/// Splits the rows into `count` pieces of about equal size.
pub fn pieces(batch: &RecordBatch, count: usize) -> Vec<RecordBatch> {
    let border = |index: usize| batch.num_rows() * index / count;
    (0..count).map(|index| batch.slice(border(index), border(index + 1) - border(index))).collect()
}

pub fn write_parquet(path: &Path, batch: &RecordBatch) {
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

pub fn write_ipc(path: &Path, batch: &RecordBatch) {
    let mut writer = arrow::ipc::writer::FileWriter::try_new(File::create(path).unwrap(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// Writes CSV with a header; a null is an empty field.
pub fn write_csv(path: &Path, batch: &RecordBatch) {
    let mut file = std::io::BufWriter::new(File::create(path).unwrap());
    let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
    writeln!(file, "{}", names.join(",")).unwrap();
    let columns: Vec<Vec<Option<String>>> = batch.columns().iter().map(|column| texts(column)).collect();
    for row in 0..batch.num_rows() {
        let cells: Vec<&str> = columns.iter().map(|column| column[row].as_deref().unwrap_or("")).collect();
        writeln!(file, "{}", cells.join(",")).unwrap();
    }
}

/// Returns every value as text, in Arrow's format.
pub fn texts(column: &dyn Array) -> Vec<Option<String>> {
    let formatter = ArrayFormatter::try_new(column, &FormatOptions::default()).unwrap();
    let valid = column.logical_nulls();
    let is_valid = |row: usize| valid.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    (0..column.len()).map(|row| is_valid(row).then(|| formatter.value(row).to_string())).collect()
}
