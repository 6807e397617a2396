//! Small deterministic tables.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{DataType, Field};
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use throng_policy::Secret;

/// Policy for the table `people`.
pub const POLICY: &str = "sql/policies/people.toml";

const COUNTRIES: [&str; 4] = ["France", "Spain", "Japan", "China"];
const ZIPS: [&str; 4] = ["41076", "41099", "10115", "10117"];
const DIAGNOSES: [&str; 5] = ["flu", "gout", "asthma", "cancer", "hiv"];

/// Returns the rows `first..end`. Two of every sixty have no diagnosis.
pub fn people(first: i64, end: i64) -> RecordBatch {
    let numbers = || first..end;
    let texts = |of: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(numbers().map(|number| of(number as usize))))
    };
    let integers = |of: &dyn Fn(i64) -> i64| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(numbers().map(|number| of(number) as i32)))
    };
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers().map(|number| number % 5)));
    let b = texts(&|number| ["x", "y"][number % 2].to_owned());
    let nested = StructArray::from(vec![
        (Arc::new(Field::new("a", DataType::Int64, false)), a),
        (Arc::new(Field::new("b", DataType::Utf8, false)), b),
    ]);
    let diagnosis = |number: i64| {
        let known = number % 60 != 17 && number % 60 != 41;
        known.then(|| DIAGNOSES[(number * 3 + number / 7) as usize % 5])
    };
    RecordBatch::try_from_iter([
        ("person_id", Arc::new(Int64Array::from_iter_values(numbers().map(|number| 1000 + number))) as ArrayRef),
        ("name", texts(&|number| format!("person {number}"))),
        ("age", integers(&|number| 20 + number * 7 % 50)),
        ("zip", texts(&|number| ZIPS[number % 4].to_owned())),
        ("country", texts(&|number| COUNTRIES[number / 3 % 4].to_owned())),
        ("sex", texts(&|number| ["F", "M"][number % 2].to_owned())),
        ("st", Arc::new(nested)),
        ("diagnosis", Arc::new(numbers().map(diagnosis).collect::<StringArray>())),
        ("hours", integers(&|number| 10 + number * 13 % 40)),
    ])
    .unwrap()
}

/// Returns sixty rows in two partitions.
pub fn sixty() -> MemTable {
    let (first, second) = (people(0, 25), people(25, 60));
    MemTable::try_new(first.schema(), vec![vec![first], vec![second]]).unwrap()
}

/// Returns a session with Throng's functions and the tables `people`, `nobody` (without rows) and `regions`.
pub fn session() -> SessionContext {
    let secret = Secret::new("the same secret in every test").unwrap();
    let config = SessionConfig::new().with_target_partitions(2).with_information_schema(true);
    let config = config.with_extension(Arc::new(secret));
    let ctx = SessionContext::new_with_config(config);
    throng_datafusion::register_all(&ctx);
    ctx.register_table("people", Arc::new(sixty())).unwrap();
    let nobody = people(0, 0);
    ctx.register_table("nobody", Arc::new(MemTable::try_new(nobody.schema(), vec![vec![nobody]]).unwrap())).unwrap();
    let regions = RecordBatch::try_from_iter([
        ("region", Arc::new(StringArray::from(vec!["Europe", "Asia", "Europe", "Asia"])) as ArrayRef),
        ("land", Arc::new(StringArray::from(COUNTRIES.to_vec())) as ArrayRef),
    ]);
    ctx.register_batch("regions", regions.unwrap()).unwrap();
    ctx
}
