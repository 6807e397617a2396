//! The stream of record batches, and its schema.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, Float64Builder, Int32Builder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;

use crate::demographics::{EDUCATIONS, MARITAL_STATUSES, SEXES};
use crate::identity::Identity;
use crate::nationality::{RACES, birth_places};
use crate::occupation::INDUSTRIES;
use crate::person::{Person, Population};
use crate::rng::Rng;

/// Rows per batch. Part of the definition of a seed: a different size would give different rows.
pub const BATCH_ROWS: u64 = 8192;

/// Estimated bytes per string, to preallocate buffers.
const STRING_BYTES: usize = 16;

/// The columns of the census extract, none of which holds nulls.
pub fn census_schema() -> SchemaRef {
    let columns = [
        ("person_id", DataType::Int64),
        ("name", DataType::Utf8),
        ("age", DataType::Int32),
        ("sex", DataType::Utf8),
        ("marital_status", DataType::Utf8),
        ("race", DataType::Utf8),
        ("birth_place", DataType::Utf8),
        ("region", DataType::Utf8),
        ("education", DataType::Utf8),
        ("occupation", DataType::Utf8),
        ("industry", DataType::Utf8),
        ("hours", DataType::Int32),
        ("income", DataType::Int32),
        ("household_size", DataType::Int32),
        ("weight", DataType::Float64),
    ];
    Arc::new(Schema::new(columns.map(|(name, data_type)| Field::new(name, data_type, false)).to_vec()))
}

/// Tables, built lazily and shared by all streams.
static POPULATION: LazyLock<Population> = LazyLock::new(Population::new);

/// A stream of census rows.
///
/// Batch `i` starts at row `i * BATCH_ROWS` and depends only on the seed and `i`, so rows do not depend on the
/// requested range or order.
///
/// ```
/// use throng_synthetic::{BATCH_ROWS, CensusBatches};
///
/// let rows: usize = CensusBatches::new(10_000, 42).map(|batch| batch.num_rows()).sum();
/// assert_eq!(rows, 10_000);
/// let first = CensusBatches::new(BATCH_ROWS, 42).next();
/// assert_eq!(first, CensusBatches::new(1_000_000, 42).next());
/// ```
#[derive(Debug)]
pub struct CensusBatches {
    schema: SchemaRef,
    identity: Identity,
    seed: u64,
    rows: Range<u64>,
}

impl CensusBatches {
    /// Creates a stream of the first `rows` rows of a seed.
    pub fn new(rows: u64, seed: u64) -> Self {
        Self::range(0..rows, seed)
    }

    /// Creates a stream of the rows `rows` of a seed.
    pub fn range(rows: Range<u64>, seed: u64) -> Self {
        Self { schema: census_schema(), identity: Identity::new(seed), seed, rows }
    }

    /// Generates the first `rows` rows of batch `index`.
    #[expect(clippy::expect_used, reason = "builders match the schema field by field and take one value per row")]
    fn batch(&self, index: u64, rows: u64) -> RecordBatch {
        let population: &Population = &POPULATION;
        let mut rng = Rng::new(self.seed, index);
        let mut columns = CensusBuilders::with_capacity(rows as usize);
        let first = index * BATCH_ROWS;
        for row in first..first + rows {
            columns.push(self.identity.of_row(row), &population.draw(&mut rng), population);
        }
        let columns = columns.finish();
        RecordBatch::try_new(self.schema.clone(), columns).expect("fifteen columns of one length in schema order")
    }
}

impl Iterator for CensusBatches {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        if self.rows.is_empty() {
            return None;
        }
        let index = self.rows.start / BATCH_ROWS;
        let first = index * BATCH_ROWS;
        let end = self.rows.end.min(first.saturating_add(BATCH_ROWS));
        let skipped = self.rows.start - first;
        let batch = self.batch(index, end - first);
        self.rows.start = end;
        Some(if skipped == 0 { batch } else { batch.slice(skipped as usize, batch.num_rows() - skipped as usize) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        if self.rows.is_empty() {
            return (0, Some(0));
        }
        let batches = (self.rows.end - 1) / BATCH_ROWS - self.rows.start / BATCH_ROWS + 1;
        (batches as usize, Some(batches as usize))
    }
}

/// Column builders of a batch.
struct CensusBuilders {
    person_id: Int64Builder,
    name: StringBuilder,
    age: Int32Builder,
    /// The categories in schema order, from `sex` to `industry`.
    categories: [StringBuilder; 8],
    hours: Int32Builder,
    income: Int32Builder,
    household_size: Int32Builder,
    weight: Float64Builder,
    birth_places: Vec<&'static str>,
    text: String,
}

impl CensusBuilders {
    fn with_capacity(rows: usize) -> Self {
        Self {
            person_id: Int64Builder::with_capacity(rows),
            name: StringBuilder::with_capacity(rows, rows * STRING_BYTES),
            age: Int32Builder::with_capacity(rows),
            categories: std::array::from_fn(|_| StringBuilder::with_capacity(rows, rows * STRING_BYTES)),
            hours: Int32Builder::with_capacity(rows),
            income: Int32Builder::with_capacity(rows),
            household_size: Int32Builder::with_capacity(rows),
            weight: Float64Builder::with_capacity(rows),
            birth_places: birth_places(),
            text: String::new(),
        }
    }

    fn push(&mut self, id: i64, person: &Person, population: &Population) {
        self.person_id.append_value(id);
        person.name.write_to(&mut self.text);
        self.name.append_value(&self.text);
        self.age.append_value(person.age as i32);
        let labels = [
            SEXES[person.sex],
            MARITAL_STATUSES[person.marital_status],
            RACES[person.race],
            self.birth_places[person.birth_place],
            &population.geography.codes()[person.region],
            EDUCATIONS[person.education],
            &population.work.codes()[person.occupation],
            INDUSTRIES[person.industry],
        ];
        for (column, label) in self.categories.iter_mut().zip(labels) {
            column.append_value(label);
        }
        self.hours.append_value(person.hours);
        self.income.append_value(person.income);
        self.household_size.append_value(person.household_size);
        self.weight.append_value(person.weight);
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(self.person_id.finish()), Arc::new(self.name.finish()), Arc::new(self.age.finish())];
        columns.extend(self.categories.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef));
        columns.push(Arc::new(self.hours.finish()));
        columns.push(Arc::new(self.income.finish()));
        columns.push(Arc::new(self.household_size.finish()));
        columns.push(Arc::new(self.weight.finish()));
        columns
    }
}

#[cfg(test)]
#[path = "census_tests.rs"]
mod tests;
