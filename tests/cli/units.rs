//! Promises about people with several rows, counted from outside: row numbers are released, and join with the patients of
//! the original.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};

use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, strings, table};

/// Visits of patients, of whom a few have very many.
fn visits(patients: u64) -> RecordBatch {
    let mut draws = Draws::new(5);
    let codes = ["flu", "asthma", "fracture", "diabetes", "cancer", "migraine"];
    let (mut row, mut patient, mut year, mut zip, mut sex, mut code) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in 0..patients {
        let visits = if number % 50 == 0 { 20 + draws.below(30) } else { 1 + draws.below(4) };
        let (of_year, of_zip) = (1930 + draws.below(80) as i64, format!("{:03}", draws.below(200)));
        let of_sex = if draws.below(2) == 0 { "f" } else { "m" };
        for _ in 0..visits {
            row.push(row.len() as i64);
            patient.push(format!("patient {number}"));
            year.push(of_year);
            zip.push(of_zip.clone());
            sex.push(of_sex);
            code.push(codes[draws.below(codes.len() as u64) as usize]);
        }
    }
    let ints = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    table(vec![
        ("row", ints(row)),
        ("patient_id", strings(patient)),
        ("year", ints(year)),
        ("zip", strings(zip)),
        ("sex", strings(sex)),
        ("code", strings(code)),
    ])
}

const COLUMNS: &str = r#"
[columns.row]
role = "insensitive"
[columns.patient_id]
role = "identifier"
[columns.year]
role = "quasi"
[columns.zip]
role = "quasi"
hierarchy = { mask = "right" }
[columns.sex]
role = "quasi"
[columns.code]
role = "sensitive"
"#;

/// Patients and their codes, by class.
fn classes(original: &Rows, released: &Rows) -> Vec<Vec<(String, String)>> {
    let mut classes: HashMap<Vec<Option<String>>, Vec<(String, String)>> = HashMap::new();
    let (patients, codes) = (original.column("patient_id"), released.column("code"));
    for (at, tuple) in released.tuples(&["year", "zip", "sex"]).into_iter().enumerate() {
        let row: usize = released.column("row")[at].as_deref().unwrap().parse().unwrap();
        let member = (patients[row].clone().unwrap(), codes[at].clone().unwrap());
        classes.entry(tuple.into_iter().cloned().collect()).or_default().push(member);
    }
    classes.into_values().collect()
}

/// Returns how many values as many different patients carry, by trying patients for each value in turn.
fn carried(class: &[(String, String)]) -> usize {
    let mut of_value: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (patient, code) in class {
        of_value.entry(code).or_default().insert(patient);
    }
    fn most(values: &[&BTreeSet<&str>], used: &mut Vec<String>) -> usize {
        let Some((first, rest)) = values.split_first() else { return 0 };
        let mut best = most(rest, used);
        // A value with as many patients as there are values always finds a free one.
        for patient in first.iter().take(rest.len() + used.len() + 1) {
            if !used.iter().any(|known| known == patient) {
                used.push((*patient).to_owned());
                best = best.max(1 + most(rest, used));
                used.pop();
            }
        }
        best
    }
    most(&of_value.values().collect::<Vec<_>>(), &mut Vec::new())
}

fn people(class: &[(String, String)]) -> usize {
    class.iter().map(|(patient, _)| patient).collect::<BTreeSet<_>>().len()
}

#[test]
fn classes_have_k_patients_and_p_values_that_p_patients_carry() {
    let (k, p) = (8, 3);
    let input = visits(900);
    let original = Rows::of(&input);
    // Without a unit, rows are counted, and some class has fewer people.
    let sandbox = Sandbox::with(&input, k, p, COLUMNS);
    sandbox.run(&[]);
    let counted = classes(&original, &Rows::of(&read(&sandbox.release())));
    assert!(counted.iter().any(|class| people(class) < k as usize), "the table does not need units");

    let sandbox = Sandbox::with(&input, k, p, &format!("unit = \"patient_id\"\n{COLUMNS}"));
    sandbox.run(&[]);
    let release = read(&sandbox.release());
    assert_eq!(release.schema().fields().len(), 5, "{:?}", release.schema());
    let counted = classes(&original, &Rows::of(&release));
    assert_eq!(counted.iter().map(Vec::len).sum::<usize>(), original.len());
    assert!(counted.len() > 20, "{} classes", counted.len());
    for class in &counted {
        assert!(people(class) >= k as usize, "{} patients in {} rows", people(class), class.len());
        assert!(carried(class) >= p as usize, "{class:?}");
    }
    let metrics = std::fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_slice(&metrics).unwrap();
    let fewest = counted.iter().map(|class| people(class)).min().unwrap();
    assert_eq!(metrics["privacy"]["requirements"][0]["achieved"], fewest);
    assert_eq!(sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()["satisfied"], true);
}

#[test]
fn a_table_with_fewer_people_than_k_is_refused() {
    let input = visits(5);
    let sandbox = Sandbox::with(&input, 8, 2, &format!("unit = \"patient_id\"\n{COLUMNS}"));
    assert_contains(&sandbox.run_refused(3, &[]), &["5 units", "k = 8"]);
}

#[test]
fn rows_without_a_unit_are_units_of_their_own_or_an_error() {
    let input = visits(40);
    let mut columns = input.columns().to_vec();
    columns[1] = arrow::array::new_null_array(columns[1].data_type(), input.num_rows());
    let input = RecordBatch::try_new(input.schema(), columns).unwrap();
    let sandbox = Sandbox::with(&input, 8, 2, &format!("unit = \"patient_id\"\n{COLUMNS}"));
    sandbox.run(&[]);
    let error = format!("unit = [\"patient_id\"]\nunit_nulls = \"error\"\n{COLUMNS}");
    let sandbox = Sandbox::with(&input, 8, 2, &error);
    assert_contains(&sandbox.run_refused(65, &[]), &["patient_id"]);
}

#[test]
fn verify_counts_the_units_of_any_table() {
    let input = visits(60);
    let sandbox = Sandbox::with(&input, 2, 1, COLUMNS);
    let check = |more: &[&str]| {
        let arguments = ["verify", "input/people.parquet", "--quasi", "sex", "-k", "70"];
        sandbox.throng(&[&arguments[..], more].concat()).code
    };
    assert_eq!((check(&[]), check(&["--unit", "patient_id"])), (Some(0), Some(4)));
}
