//! One table with pseudonyms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::{Linked, assert_linked_promise, profiles};
use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, strings, table};

/// Visits of patients: a few for most, very many for some, and some without a patient.
fn visits(patients: u64, of_nobody: u64) -> RecordBatch {
    let mut draws = Draws::new(11);
    let codes = ["flu", "asthma", "fracture", "diabetes", "cancer", "migraine"];
    let (mut row, mut patient, mut year, mut zip, mut day, mut code) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in 0..patients + of_nobody {
        let visits = match number {
            nobody if nobody >= patients => 1,
            many if many % 40 == 0 => 10 + draws.below(20),
            _ => 1 + draws.below(4),
        };
        let (of_year, of_zip) = (1930 + draws.below(80) as i64, format!("{:03}", draws.below(200)));
        for _ in 0..visits {
            row.push(row.len() as i64);
            patient.push((number < patients).then(|| format!("patient {number}")));
            year.push(of_year);
            zip.push(of_zip.clone());
            day.push(draws.below(365) as i64);
            code.push(codes[draws.below(codes.len() as u64) as usize]);
        }
    }
    let ints = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    table(vec![
        ("row", ints(row)),
        ("patient_id", Arc::new(StringArray::from(patient))),
        ("year", ints(year)),
        ("zip", strings(zip)),
        ("day", ints(day)),
        ("code", strings(code)),
    ])
}

const COLUMNS: &str = r#"
[columns.row]
role = "insensitive"
[columns.patient_id]
role = "identifier"
release = "pseudonym"
[columns.year]
role = "quasi"
[columns.zip]
role = "quasi"
hierarchy = { mask = "right" }
[columns.day]
role = "quasi"
[columns.code]
role = "sensitive"
"#;

const QUASI: [&str; 3] = ["year", "zip", "day"];

fn with_unit(more: &str) -> String {
    format!("unit = \"patient_id\"\n{more}\n{COLUMNS}")
}

/// Returns the patient of each pseudonym, by the released numbers of rows.
fn patients(original: &Rows, released: &Rows) -> BTreeMap<Option<String>, BTreeSet<Option<String>>> {
    let mut patients: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (pseudonym, row) in released.column("patient_id").iter().zip(released.column("row")) {
        let row: usize = row.as_deref().unwrap().parse().unwrap();
        patients.entry(pseudonym.clone()).or_default().insert(original.column("patient_id")[row].clone());
    }
    patients
}

#[test]
fn people_whose_rows_are_linked_share_all_of_their_classes_with_k_others() {
    let (k, p) = (5, 2);
    let input = visits(800, 12);
    let original = Rows::of(&input);
    let sandbox = Sandbox::with(&input, k, p, &with_unit(""));
    let outcome = sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    assert_eq!(released.names(), ["row", "patient_id", "year", "zip", "day", "code"]);

    // A pseudonym stands for one patient, and rows without a patient have none.
    let known = patients(&original, &released);
    assert!(known.values().all(|patients| patients.len() == 1));
    assert_eq!(known[&None], BTreeSet::from([None]));
    let distinct: BTreeSet<_> = known.values().collect();
    assert_eq!(distinct.len(), known.len());
    assert!(known.keys().flatten().all(|pseudonym| !pseudonym.contains("patient")));

    let linked = Linked { rows: &released, pseudonym: "patient_id", quasi: &QUASI, sensitive: Some("code") };
    let profiles = profiles(&[linked]);
    assert_linked_promise(&profiles, k as usize, p as usize);
    assert!(profiles.len() > 40, "{} profiles", profiles.len());

    // Rows without a patient are hidden among each other, since the missing pseudonym is visible.
    let mut of_nobody: BTreeMap<Vec<_>, u64> = BTreeMap::new();
    for (pseudonym, class) in released.column("patient_id").iter().zip(released.tuples(&QUASI)) {
        if pseudonym.is_none() {
            *of_nobody.entry(class).or_default() += 1;
        }
    }
    assert!(!of_nobody.is_empty() && of_nobody.values().all(|rows| *rows >= k), "{of_nobody:?}");

    // Most rows are released, all of them true.
    assert!(released.len() * 10 > original.len() * 8, "{} of {} rows", released.len(), original.len());
    assert_eq!(outcome["suppressed_rows"], original.len() - released.len());
    for (row, year) in released.column("row").iter().zip(released.column("year")) {
        let row: usize = row.as_deref().unwrap().parse().unwrap();
        let of_input: i64 = original.column("year")[row].as_deref().unwrap().parse().unwrap();
        let shown = year.as_deref().unwrap().trim_matches(['[', ']']);
        let (low, high) = shown.split_once('-').unwrap_or((shown, shown));
        assert!(low.parse::<i64>().unwrap() <= of_input && of_input <= high.parse().unwrap());
    }

    let metrics = std::fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_slice(&metrics).unwrap();
    let reported = &metrics["privacy"]["pseudonyms"];
    assert_eq!((&reported["column"], &reported["scope"]), (&"patient_id".into(), &"per-run".into()));
    let people: usize = profiles.iter().map(|profile| profile.people.len()).sum();
    let smallest = profiles.iter().map(|profile| profile.people.len()).min().unwrap();
    assert_eq!(reported["people"], people);
    assert_eq!((&reported["profiles"], &reported["smallest_profile"]), (&profiles.len().into(), &smallest.into()));
    assert!(!metrics.to_string().contains("__throng"), "{metrics}");
    assert_contains(&outcome["warnings"].to_string(), &["patient_id", "not anonymity"]);
    assert_eq!(sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()["satisfied"], true);
}

#[test]
fn pseudonyms_of_two_runs_are_the_same_only_if_the_policy_says_so() {
    let input = visits(60, 0);
    let pseudonyms = |more: &str| {
        let sandbox = Sandbox::with(&input, 3, 1, &with_unit(more));
        sandbox.run(&[]);
        let released = Rows::of(&read(&sandbox.release()));
        released.column("patient_id").iter().flatten().cloned().collect::<BTreeSet<String>>()
    };
    assert!(pseudonyms("").is_disjoint(&pseudonyms("")));
    assert_eq!(pseudonyms("pseudonyms = \"stable\""), pseudonyms("pseudonyms = \"stable\""));
}

#[test]
fn people_with_one_row_each_lose_none_of_them() {
    let whole = visits(300, 0);
    let mut seen = BTreeSet::new();
    let keep: Vec<bool> =
        Rows::of(&whole).column("patient_id").iter().map(|patient| seen.insert(patient.clone())).collect();
    let input = arrow::compute::filter_record_batch(&whole, &keep.into()).unwrap();
    let sandbox = Sandbox::with(&input, 5, 2, &with_unit(""));
    assert_eq!(sandbox.run(&[])["suppressed_rows"], 0);
    let released = Rows::of(&read(&sandbox.release()));
    let linked = Linked { rows: &released, pseudonym: "patient_id", quasi: &QUASI, sensitive: Some("code") };
    assert_linked_promise(&profiles(&[linked]), 5, 2);
}

#[test]
fn pseudonyms_are_refused_where_rows_could_be_linked_otherwise() {
    let input = visits(60, 0);
    let sandbox = Sandbox::with(&input, 3, 1, COLUMNS);
    assert_contains(&sandbox.run_refused(78, &[]), &["columns.patient_id.release", "set `unit = \"patient_id\"`"]);
    let sandbox = Sandbox::with(&input, 3, 1, &with_unit("unit_nulls = \"error\""));
    sandbox.run(&[]);
    let limited =
        with_unit("").replace("[columns.day]\nrole = \"quasi\"", "[columns.day]\nrole = \"quasi\"\nlimit = [100]");
    let sandbox = Sandbox::with(&input, 3, 1, &limited);
    assert_contains(&sandbox.run_refused(78, &[]), &["`day`", "limit"]);
    let query = "CREATE VIEW visits AS SELECT * FROM 'input/people.parquet'; \
                 SELECT * FROM anonymize('visits', 'policy.toml')";
    let sandbox = Sandbox::with(&input, 3, 1, &with_unit(""));
    let refused = sandbox.throng(&["sql", "-c", query]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert_contains(&refused.said(), &["throng run"]);
}

#[test]
fn a_check_tells_that_pseudonyms_are_no_anonymity() {
    let sandbox = Sandbox::with(&visits(60, 0), 3, 1, &with_unit(""));
    assert_contains(&sandbox.throng(&["check", "policy.toml"]).said(), &["pseudonym", "not anonymity"]);
    assert!(sandbox.out().is_empty());
}
