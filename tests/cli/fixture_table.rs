//! The table of most tests: small, with one column of every role.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};

use crate::tables::{Draws, strings, table};

/// Regions of the countries, as in the policy.
pub const REGIONS: [(&str, &[&str]); 3] =
    [("Europe", &["France", "Italy", "Spain"]), ("Asia", &["China", "Japan"]), ("Africa", &["Kenya", "Ghana"])];

/// Quasi-identifiers.
pub const QUASI: [&str; 4] = ["age", "sex", "country", "zip"];

/// Columns that are released unchanged.
pub const KEPT: [&str; 3] = ["row", "diagnosis", "hours"];

/// The `[columns]` of the policy.
pub const COLUMNS: &str = r#"
[columns.row]
role = "insensitive"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
[columns.sex]
role = "quasi"
release = "set"
[columns.country]
role = "quasi"
hierarchy = { tree = { Europe = ["France", "Italy", "Spain"], Asia = ["China", "Japan"], Africa = ["Kenya", "Ghana"] } }
[columns.zip]
role = "quasi"
hierarchy = { mask = "right" }
[columns.diagnosis]
role = "sensitive"
[columns.hours]
role = "insensitive"
"#;

/// Returns `rows` rows. `row` is unique; types are those that CSV can represent.
pub fn people(rows: usize) -> RecordBatch {
    let mut draws = Draws::new(7);
    let countries = ["France", "France", "Italy", "Spain", "China", "Japan", "Kenya", "Ghana"];
    let diagnoses = ["flu", "flu", "flu", "asthma", "asthma", "cancer", "fracture", "hepatitis"];
    let mut ages = Vec::new();
    let (mut sexes, mut zips, mut lands, mut ills, mut hours) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..rows {
        ages.push((18 + draws.below(40) + draws.below(30)) as i64);
        sexes.push(["Female", "Male"][draws.below(2) as usize]);
        lands.push(countries[draws.below(8) as usize]);
        zips.push(format!("A{}0{}", draws.below(3), draws.below(6)));
        ills.push(diagnoses[draws.below(8) as usize]);
        hours.push(draws.below(121) as f64 / 2.0);
    }
    // In the order of the policy, which differs from the order of roles.
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| 1_000_000 + row as i64)));
    table(vec![
        ("row", ids),
        ("name", strings((0..rows).map(|row| format!("person {row:05}")))),
        ("age", Arc::new(Int64Array::from(ages))),
        ("sex", strings(sexes)),
        ("country", strings(lands)),
        ("zip", strings(zips)),
        ("diagnosis", strings(ills)),
        ("hours", Arc::new(Float64Array::from(hours))),
    ])
}
