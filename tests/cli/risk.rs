//! `throng risk`: every figure compared with plain counting, and no value of the table in its output.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::Int64Array;
use serde_json::json;

use crate::fixture_table::{QUASI, people};
use crate::release_files::{Rows, multiset};
use crate::report::figures;
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{strings, table, write_parquet};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    write_parquet(&sandbox.path("input/people.parquet"), &people(500));
    sandbox
}

/// Returns the sizes of the classes by some columns.
fn sizes(rows: &Rows, columns: &[&str]) -> Vec<u64> {
    multiset(rows.tuples(columns)).into_values().map(|count| count as u64).collect()
}

fn uniques(sizes: &[u64]) -> u64 {
    sizes.iter().filter(|size| **size == 1).count() as u64
}

#[test]
fn a_sample_has_less_risk_than_its_rows_alone() {
    let rows = Rows::of(&people(500));
    let classes = sizes(&rows, &QUASI);
    let quasi = QUASI.join(",");
    let ended = sandbox().throng(&["risk", "input/", "--quasi", &quasi, "--fraction", "0.1"]);
    let found = ended.done();
    // The expected value of 1/F, where F is negative binomial, term by term.
    let expected = |size: u64| {
        let (mut probability, mut sum) = (0.1_f64.powi(size as i32), 0.0);
        for people in size..size + 5000 {
            sum += probability / people as f64;
            probability *= 0.9 * people as f64 / (people + 1 - size) as f64;
        }
        sum
    };
    let close = |found: &serde_json::Value, wanted: f64| (found.as_f64().unwrap() - wanted).abs() < 2e-6;
    let found_rows: f64 = classes.iter().map(|size| *size as f64 * expected(*size)).sum();
    assert!(close(&found["journalist"]["highest"], expected(1)), "{found}");
    assert!(close(&found["journalist"]["average"], found_rows / 500.0), "{found}");
    assert!(close(&found["marketer"]["average"], found_rows / 500.0), "{found}");
    assert!((found["population"]["reidentified"].as_f64().unwrap() - found_rows).abs() < 1e-3, "{found}");
    assert_eq!(found["population"]["people"], 5000.0);
    let once: f64 = classes.iter().map(|size| *size as f64 * 0.9_f64.powi(*size as i32 - 1)).sum();
    let unique = uniques(&classes) as f64 / once;
    assert!(close(&found["population"]["unique_if_sample_unique"], unique), "{found}");
    assert!((found["population"]["uniques"].as_f64().unwrap() - 10.0 * uniques(&classes) as f64 * unique).abs() < 1e-3);
    assert_eq!(found["prosecutor"]["highest"], 1.0, "the prosecutor knows that the person is in the table");
    let plain = sandbox().throng(&["risk", "input/", "--quasi", &quasi]).done();
    assert!(plain.get("population").is_none());
    for wrong in ["0", "1.5", "nan", "x"] {
        assert_contains(
            &sandbox().throng(&["risk", "input/", "--quasi", &quasi, "--fraction", wrong]).refused(2),
            &["--fraction"],
        );
    }
}

#[test]
fn weights_stand_for_the_people_of_the_population() {
    let sandbox = Sandbox::new();
    let ints = |values: [i64; 4]| Arc::new(Int64Array::from(values.to_vec())) as arrow::array::ArrayRef;
    let batch = table(vec![("age", ints([30, 30, 40, 50])), ("people", ints([10, 30, 20, 1]))]);
    write_parquet(&sandbox.path("input/sample.parquet"), &batch);
    let found = sandbox.throng(&["risk", "input/", "--quasi", "age", "--weight", "people"]).done();
    assert_eq!(found["population"]["people"], 61.0);
    // A person whose class has one row and a weight of one is certainly found, the others hardly ever.
    assert_eq!(found["journalist"]["highest"], 1.0);
    let of_one = |people: f64| 1.0 / (people - 1.0) * people.ln();
    let of_two = |odds: f64| odds - odds * odds * (1.0 + 1.0 / odds).ln();
    let expected = 2.0 * of_two(2.0 / 38.0) + of_one(20.0) + 1.0;
    assert!((found["population"]["reidentified"].as_f64().unwrap() - expected).abs() < 1e-5, "{found} {expected}");
    let refused = |arguments: &[&str], code| {
        sandbox.throng(&[&["risk", "input/", "--quasi", "age"], arguments].concat()).refused(code)
    };
    refused(&["--weight", "people", "--fraction", "0.1"], 2);
    assert_contains(&refused(&["--weight", "none"], 2), &["`none`"]);
    let batch = table(vec![("age", ints([30, 30, 40, 50])), ("people", ints([10, 30, 0, 1]))]);
    write_parquet(&sandbox.path("input/sample.parquet"), &batch);
    assert_contains(&refused(&["--weight", "people"], 65), &["`people`", "1 row without a weight above 0"]);
}

#[test]
fn every_figure_is_what_plain_counting_finds() {
    let rows = Rows::of(&people(500));
    let ended = sandbox().throng(&["risk", "input/", "--quasi", &QUASI.join(","), "--sensitive", "diagnosis"]);
    let found = ended.done();
    let classes = sizes(&rows, &QUASI);
    let at_risk: u64 = classes.iter().filter(|size| **size < 5).sum();
    assert_eq!(found["outcome"], "measured");
    assert_eq!((&found["rows"], &found["classes"]), (&json!(500), &json!(classes.len())));
    assert_eq!(found["uniques"], uniques(&classes));
    assert!(uniques(&classes) > 50, "the test has nothing to find");
    assert_eq!(found["smallest_class"], *classes.iter().min().unwrap());
    assert_eq!(found["largest_class"], *classes.iter().max().unwrap());
    let close = |found: &serde_json::Value, wanted: f64| (found.as_f64().unwrap() - wanted).abs() < 1e-6;
    let of_rows = rows.tuples(&QUASI);
    let counts = multiset(of_rows.clone());
    let mean = of_rows.iter().map(|row| 1.0 / counts[row] as f64).sum::<f64>() / 500.0;
    for intruder in ["prosecutor", "journalist"] {
        assert!(close(&found[intruder]["highest"], 1.0) && close(&found[intruder]["average"], mean), "{found}");
        assert_eq!(found[intruder]["rows_at_risk"], at_risk);
        assert!(close(&found[intruder]["share_at_risk"], at_risk as f64 / 500.0));
    }
    assert!(close(&found["marketer"]["average"], mean));
    let bands = found["class_sizes"].as_array().unwrap();
    for band in bands {
        let (from, to) = (band["from"].as_u64().unwrap(), band["to"].as_u64().unwrap_or(u64::MAX));
        let inside: Vec<u64> = classes.iter().copied().filter(|size| (from..=to).contains(size)).collect();
        assert_eq!((&band["classes"], &band["rows"]), (&json!(inside.len()), &json!(inside.iter().sum::<u64>())));
    }
    assert_eq!(found["columns"].as_array().unwrap().len(), QUASI.len());
    for (name, column) in QUASI.iter().zip(found["columns"].as_array().unwrap()) {
        let others: Vec<&str> = QUASI.iter().copied().filter(|other| other != name).collect();
        let (alone, without) = (sizes(&rows, &[name]), sizes(&rows, &others));
        assert_eq!(column["column"], *name);
        assert_eq!((&column["distinct"], &column["uniques_alone"]), (&json!(alone.len()), &json!(uniques(&alone))));
        assert_eq!(column["uniques_without"], uniques(&without));
        assert!(close(&column["share"], 1.0 - without.len() as f64 / classes.len() as f64), "{column}");
    }
    let mut ills: HashMap<_, Vec<_>> = HashMap::new();
    for (class, ill) in of_rows.into_iter().zip(rows.column("diagnosis")) {
        ills.entry(class).or_default().push(ill);
    }
    let uniform: Vec<usize> =
        ills.values().filter(|ills| ills.iter().all(|ill| *ill == ills[0])).map(Vec::len).collect();
    let sensitive = json!({
        "column": "diagnosis", "distinct": 5, "fewest": 1, "uniform_classes": uniform.len(),
        "uniform_rows": uniform.iter().sum::<usize>(),
    });
    assert_eq!(found["sensitive"], json!([sensitive]));
}

#[test]
fn a_policy_names_the_columns() {
    let sandbox = sandbox();
    sandbox.policy(3, 1, crate::fixture_table::COLUMNS);
    let by_policy = sandbox.throng(&["risk", "input/", "--policy", "policy.toml"]).done();
    let named = |kind: &str| -> Vec<String> {
        by_policy[kind].as_array().unwrap().iter().map(|column| column["column"].as_str().unwrap().to_owned()).collect()
    };
    let (quasi, sensitive) = (named("columns").join(","), named("sensitive").join(","));
    assert!(QUASI.iter().all(|name| named("columns").contains(&(*name).to_owned())), "{quasi}");
    assert_eq!(sensitive, "diagnosis");
    let by_name = ["risk", "input/", "--quasi", &quasi, "--sensitive", &sensitive];
    assert_eq!(sandbox.throng(&by_name).done(), by_policy);
    sandbox.throng(&["risk", "input/", "--policy", "policy.toml", "--quasi", "age"]).refused(2);
    sandbox.throng(&["risk", "input/"]).refused(2);
}

#[test]
fn people_get_a_table_and_scripts_only_json() {
    let sandbox = sandbox();
    let risk = ["risk", "input/people.parquet", "--quasi", "age,sex,zip"];
    let ended = sandbox.throng(&risk);
    assert_contains(
        &ended.stdout,
        &["prosecutor", "journalist", "marketer", "rows in the class", "uniques without it"],
    );
    let only = sandbox.throng(&[&risk[..], &["--format", "json"]].concat());
    assert_eq!(only.stdout.lines().count(), 1);
    assert_eq!(only.json(), ended.json());
    // The column that singles out the most rows comes first.
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("column ")).unwrap() + 2;
    assert!(lines[first].starts_with("age"), "{}", ended.stdout);
}

#[test]
fn a_page_fetches_nothing_and_holds_no_value() {
    let sandbox = sandbox();
    let risk = ["risk", "input/", "--quasi", "age,sex,country,zip", "--sensitive", "diagnosis", "-o", "risk.html"];
    for _ in 0..2 {
        // A second run replaces the page.
        assert_eq!(sandbox.throng(&risk).done()["output"], "risk.html");
    }
    let page = std::fs::read_to_string(sandbox.path("risk.html")).unwrap();
    assert_contains(
        &page,
        &["<!doctype html>", "<svg", "<title id=", "<desc id=", "<th scope=\"col\"", "prefers-color-scheme"],
    );
    for fetched in ["src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    let said = sandbox.throng(&risk).said();
    for value in ["France", "Ghana", "Female", "flu", "hepatitis", "A00", "A105"] {
        assert!(!page.contains(value) && !said.contains(value), "{value}");
    }
    sandbox.throng(&["risk", "input/", "--quasi", "age", "-o", "risk.parquet"]).refused(2);
}

#[test]
fn every_figure_of_the_page_is_that_of_the_outcome() {
    let sandbox = sandbox();
    let risk = ["risk", "input/", "--quasi", &QUASI.join(","), "--sensitive", "diagnosis", "-o", "risk.html"];
    let outcome = sandbox.throng(&risk).done();
    let found = figures(&std::fs::read_to_string(sandbox.path("risk.html")).unwrap());
    assert!(found.len() > 25, "{} figures", found.len());
    for (key, value) in &found {
        let expected = outcome.pointer(&format!("/{}", key.replace('.', "/")));
        let expected = expected.unwrap_or_else(|| panic!("{key} is not in the outcome")).as_f64().unwrap();
        assert!((value.parse::<f64>().unwrap() - expected).abs() < 1e-6, "{key}: {value} is not {expected}");
    }
}

#[test]
fn columns_that_are_not_there_or_named_twice_are_refused() {
    let sandbox = sandbox();
    let message = sandbox.throng(&["risk", "input/", "--quasi", "age,zpi"]).refused(2);
    assert_contains(&message, &["no column `zpi`", "`zip`"]);
    let message = sandbox.throng(&["risk", "input/", "--quasi", "age", "--sensitive", "age"]).refused(2);
    assert_contains(&message, &["`age` is named twice"]);
    sandbox.throng(&["risk", "input/"]).refused(2);
    sandbox.throng(&["risk", "nowhere/", "--quasi", "age"]).refused(66);
    sandbox.throng(&["risk", "input/", "--quasi", "age", "--threshold", "2"]).refused(2);
}

#[test]
fn null_is_a_value_and_a_threshold_is_not_reached_but_exceeded() {
    let sandbox = Sandbox::new();
    let ages = Int64Array::from(vec![Some(1), Some(1), None, None, Some(2)]);
    let batch = table(vec![("age", Arc::new(ages)), ("sex", strings(["f", "f", "f", "f", "f"]))]);
    write_parquet(&sandbox.path("input/people.parquet"), &batch);
    let at_risk = |threshold: &str| {
        let risk = ["risk", "input/", "--quasi", "age,sex", "--threshold", threshold];
        let found = sandbox.throng(&risk).done();
        assert_eq!((&found["classes"], &found["uniques"]), (&json!(3), &json!(1)));
        found["prosecutor"]["rows_at_risk"].as_u64().unwrap()
    };
    assert_eq!([at_risk("0.5"), at_risk("0.49"), at_risk("1")], [1, 5, 0]);
}

#[test]
fn a_table_without_rows_has_no_risk_to_tell() {
    let sandbox = Sandbox::new();
    sandbox.write("people.csv", "age,sex\n");
    assert_contains(&sandbox.throng(&["risk", "people.csv", "--quasi", "age,sex"]).refused(65), &["no rows"]);
    sandbox.write("people.csv", "age,sex\n34,f\n");
    let ended = sandbox.throng(&["risk", "people.csv", "--quasi", "age,sex", "-o", "risk.html"]);
    assert_contains(&ended.stdout, &["1 row in 1 class; 1 row is unique (100.0 %)"]);
    assert_contains(&std::fs::read_to_string(sandbox.path("risk.html")).unwrap(), &["1 of 1 row (100%) is alone"]);
    assert_contains(&ended.stderr, &["wrote risk.html"]);
}

#[test]
fn a_table_that_does_not_fit_says_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.throng(&["generate", "census", "--rows", "300000", "-o", "census"]).done();
    let quasi = "person_id,name,age,sex,marital_status,race,birth_place,region";
    let risk = ["risk", "census", "--quasi", quasi, "--memory-limit", "160MiB"];
    let message = sandbox.throng(&risk).refused(78);
    assert_contains(&message, &["distinct combinations", "--memory-limit", "to at least "]);
}
