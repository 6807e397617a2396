//! Tables to check a clustering on.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use throng_core::survey::{Survey, SurveySpec};
use throng_core::table::Table;
use throng_policy::Policy;

use super::next_number;
use crate::ThrongError;

/// Number of rows and of distinct ages of each table: from fewer rows than a class needs to more than fit one leaf.
const SHAPES: [(usize, u64); 8] = [(1, 3), (5, 2), (12, 40), (40, 5), (80, 60), (150, 1), (300, 30), (500, 400)];

/// Encodes the rows of a batch under a policy, for checks on your own tables. Rows with nulls that the policy suppresses are left
/// out.
pub fn encode(batch: &RecordBatch, policy: &Policy) -> Result<Table, ThrongError> {
    let binding = policy.bind(batch.schema_ref())?;
    let quasi = binding.quasi.iter().map(|quasi| (quasi.spec.clone(), quasi.column.data_type.clone()));
    let sensitive = binding.sensitive.iter().map(|bound| (bound.spec.clone(), bound.column.data_type.clone()));
    let spec = SurveySpec { quasi: quasi.collect(), sensitive: sensitive.collect() };
    let indexes = binding.quasi.iter().map(|quasi| quasi.column.index);
    let indexes = indexes.chain(binding.sensitive.iter().map(|bound| bound.column.index));
    let columns: Vec<ArrayRef> = indexes.map(|index| Arc::clone(batch.column(index))).collect();
    let mut survey = Survey::new(Arc::new(spec))?;
    survey.push(&columns)?;
    Ok(Survey::merge(vec![survey])?.table)
}

/// Returns tables of 1 to 500 rows with a number, a code, a fraction with nulls, and a sensitive column. They are the same in every
/// run.
pub fn tables() -> Vec<Table> {
    let policy = Policy::builder()
        .with_k(2)
        .quasi("age", |age| age)
        .quasi("zip", |zip| zip.with_mask(throng_core::hierarchy::MaskSide::Right))
        .quasi("share", |share| share.with_weight(0.5))
        .sensitive("illness", |illness| illness)
        .build();
    let policy = policy.ok();
    let encoded = SHAPES.iter().zip(0..).filter_map(|((rows, ages), seed)| {
        let batch = random_batch(*rows, *ages, seed)?;
        encode(&batch, policy.as_ref()?).ok()
    });
    encoded.collect()
}

fn random_batch(rows: usize, ages: u64, seed: u64) -> Option<RecordBatch> {
    let mut state = seed;
    let mut below = |limit: u64| next_number(&mut state) % limit;
    let age: Vec<i32> = (0..rows).map(|_| 18 + below(ages) as i32).collect();
    let zip: Vec<String> = (0..rows).map(|_| format!("10{}", 100 + below(30) * below(30))).collect();
    let share: Vec<Option<f64>> = (0..rows).map(|_| (below(9) > 0).then(|| below(50) as f64 / 8.0)).collect();
    let illness: Vec<Option<String>> =
        (0..rows).map(|_| (below(12) > 0).then(|| format!("illness {}", below(3) * below(3)))).collect();
    let columns: [(&str, ArrayRef); 4] = [
        ("age", Arc::new(Int32Array::from(age))),
        ("zip", Arc::new(StringArray::from(zip))),
        ("share", Arc::new(Float64Array::from(share))),
        ("illness", Arc::new(StringArray::from(illness))),
    ];
    RecordBatch::try_from_iter(columns).ok()
}
