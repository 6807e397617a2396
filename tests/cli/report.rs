//! `throng report` and `report = true`: figures compared with the sidecar, and with independent counts on the released
//! file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;

use serde_json::Value;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains, names};

const K: u64 = 4;
const ROWS: usize = 2001;

/// Creates a release with its report.
fn released() -> Sandbox {
    let sandbox = Sandbox::with(&people(ROWS), K, 2, COLUMNS);
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write(
        "policy.toml",
        policy.replace("location = \"out/release\"", "location = \"out/release\"\nreport = true"),
    );
    sandbox.run(&[]);
    sandbox
}

fn metrics(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap()).unwrap()
}

fn page(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path("out/release/_throng/report.html")).unwrap()
}

/// Returns the figures of a page by their path in the source document.
pub fn figures(page: &str) -> HashMap<String, String> {
    let parts = page.split("data-key=\"").skip(1).map(|rest| rest.split('"').collect::<Vec<_>>());
    parts.map(|parts| (parts[0].to_owned(), parts[2].to_owned())).collect()
}

#[test]
fn every_figure_of_the_report_is_that_of_the_sidecar() {
    let sandbox = released();
    let (metrics, found) = (metrics(&sandbox), figures(&page(&sandbox)));
    assert!(found.len() > 80, "{} figures", found.len());
    for (key, value) in &found {
        let expected = metrics.pointer(&format!("/{}", key.replace('.', "/")));
        match expected.unwrap_or_else(|| panic!("{key} is not in the sidecar")) {
            Value::String(text) => assert_eq!(value, text, "{key}"),
            number => assert_eq!(value.parse::<f64>().unwrap(), number.as_f64().unwrap(), "{key}"),
        }
    }
}

/// Returns the rows of each class of some columns.
fn classes<'a>(rows: &'a Rows, columns: &[&str]) -> HashMap<Vec<&'a Option<String>>, Vec<usize>> {
    let mut classes: HashMap<_, Vec<usize>> = HashMap::new();
    for (row, class) in rows.tuples(columns).into_iter().enumerate() {
        classes.entry(class).or_default().push(row);
    }
    classes
}

fn bins(value: &Value) -> Vec<(u64, u64, u64, u64)> {
    let field = |bin: &Value, name: &str| bin[name].as_u64().unwrap();
    let bin = |bin: &Value| (field(bin, "from"), field(bin, "to"), field(bin, "classes"), field(bin, "rows"));
    value.as_array().unwrap().iter().map(bin).collect()
}

/// Asserts that bins match the counts: for each number, its classes and rows.
fn assert_binned(bins: &[(u64, u64, u64, u64)], counted: &BTreeMap<u64, (u64, u64)>) {
    for (from, to, classes, rows) in bins {
        let within = counted.range(from..=to).fold((0, 0), |sum, (_, found)| (sum.0 + found.0, sum.1 + found.1));
        assert_eq!((*classes, *rows), within, "from {from} to {to}");
    }
    let all = |sum: u64, found: &(u64, u64)| sum + found.0;
    assert_eq!(bins.iter().map(|bin| bin.2).sum::<u64>(), counted.values().fold(0, all), "a class is in no bin");
    assert!(bins.windows(2).all(|pair| pair[0].1 < pair[1].0), "bins overlap: {bins:?}");
}

#[test]
fn the_figures_are_those_that_a_reader_counts_in_the_released_file() {
    let sandbox = released();
    let metrics = metrics(&sandbox);
    let released = Rows::of(&read(&sandbox.release()));
    let classes_found = classes(&released, &QUASI);
    let (rows, count) = (ROWS as f64, classes_found.len() as f64);

    let after = &metrics["risk"]["after"];
    let smallest = classes_found.values().map(Vec::len).min().unwrap() as f64;
    let near = |value: &Value, expected: f64| {
        let found = value.as_f64().unwrap();
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    };
    for attacker in ["prosecutor", "journalist"] {
        near(&after[attacker]["highest"], 1.0 / smallest);
        near(&after[attacker]["average"], count / rows);
        for at_risk in after[attacker]["at_risk"].as_array().unwrap() {
            let above = at_risk["above"].as_f64().unwrap();
            let found: usize = classes_found.values().map(Vec::len).filter(|size| 1.0 / *size as f64 > above).sum();
            near(&at_risk["share"], found as f64 / rows);
        }
        let above: Vec<f64> =
            after[attacker]["at_risk"].as_array().unwrap().iter().map(|at| at["above"].as_f64().unwrap()).collect();
        assert_eq!(above, [0.25, 0.2, 0.09]);
        assert_eq!(after[attacker]["at_risk"][0]["share"], 0.0, "nothing is above 1 / k");
    }
    near(&after["marketer"]["average"], count / rows);
    assert_eq!(after["classes"], classes_found.len());
    assert_eq!(after["sample_uniques"], 0.0);

    let mut sizes = BTreeMap::new();
    let mut diversity = BTreeMap::new();
    for rows in classes_found.values() {
        let values: HashSet<_> = rows.iter().filter_map(|row| released.column("diagnosis")[*row].as_ref()).collect();
        for (counted, number) in [(&mut sizes, rows.len()), (&mut diversity, values.len())] {
            let (classes, sum) = counted.entry(number as u64).or_insert((0, 0));
            (*classes, *sum) = (*classes + 1, *sum + rows.len() as u64);
        }
    }
    assert_binned(&bins(&metrics["utility"]["class_sizes"]), &sizes);
    assert_binned(&bins(&metrics["privacy"]["sensitive"][0]["diversity"]), &diversity);

    // A released age is exact unless it is an interval.
    let exact = released.column("age").iter().flatten().filter(|age| !age.starts_with('[')).count();
    assert_eq!(metrics["utility"]["columns"]["age"]["detail"][0]["rows"], exact);
    let of = |column: &str, role: &str| serde_json::json!({ "column": column, "role": role });
    let quasi =
        |column: &str, release: &str| serde_json::json!({ "column": column, "role": "quasi", "release": release });
    let columns = serde_json::json!({
        "dropped": 1, "quasi": 4, "sensitive": 1, "unchanged": 2,
        "released": [
            of("row", "insensitive"),
            quasi("age", "interval"),
            quasi("sex", "set"),
            quasi("country", "ancestor"),
            quasi("zip", "ancestor"),
            of("diagnosis", "sensitive"),
            of("hours", "insensitive"),
        ],
    });
    assert_eq!(metrics["columns"], columns);
    let page = page(&sandbox);
    assert!(page.contains("age (interval), sex (set), country (ancestor) and zip (ancestor)"), "{page}");
    assert!(!page.contains("name</td>") && !page.contains("One value stands for all rows"));
}

#[test]
fn of_the_original_only_bounds_in_steps_of_k_are_reported() {
    let sandbox = released();
    let metrics = metrics(&sandbox);
    let original = Rows::of(&people(ROWS));
    let cells = classes(&original, &QUASI);
    let before = &metrics["risk"]["before"];
    let bound = (cells.len() as u64).next_multiple_of(K).min(ROWS as u64);
    assert_eq!(before["classes"], bound);
    let average = before["prosecutor"]["average"].as_f64().unwrap();
    assert!((average - bound as f64 / ROWS as f64).abs() < 1e-6, "{average} is not that of {bound} classes");
    let alone = cells.values().filter(|rows| rows.len() == 1).count() as u64;
    assert!(alone > 0 && !alone.is_multiple_of(K), "the table does not try the bound: {alone}");
    let reported = before["sample_uniques"].as_f64().unwrap() * ROWS as f64;
    assert!((reported - alone.next_multiple_of(K) as f64).abs() < 0.01, "{reported} for {alone}");
    assert_eq!(before["prosecutor"]["highest"], 1.0);
    for at_risk in before["prosecutor"]["at_risk"].as_array().unwrap() {
        let above = at_risk["above"].as_f64().unwrap();
        let found: usize = cells.values().map(Vec::len).filter(|size| 1.0 / *size as f64 > above).sum();
        let reported = at_risk["share"].as_f64().unwrap() * ROWS as f64;
        assert!(
            (reported - (found as u64).next_multiple_of(K).min(ROWS as u64) as f64).abs() < 0.01,
            "{reported} for {found}"
        );
    }
    // Distributions are rounded to steps of at least 1%.
    let step = (ROWS.div_ceil(100) as f64).max(K as f64);
    let mut slices = 0;
    for column in metrics["utility"]["columns"].as_object().unwrap().values() {
        for slice in column["distribution"]["slices"].as_array().unwrap() {
            for field in ["before", "after"] {
                let steps = slice[field].as_f64().unwrap() * ROWS as f64 / step;
                assert!((steps - steps.round()).abs() < 0.01, "{slice}");
            }
            slices += 1;
        }
    }
    assert!(slices > 20);
}

#[test]
fn the_command_writes_the_page_that_a_run_publishes() {
    let sandbox = released();
    assert_eq!(names(&sandbox.path("out/release/_throng")), ["manifest.json", "metrics.json", "report.html"]);
    for metrics in ["out/release/_throng/metrics.json", "out/release", "out/release/"] {
        let outcome = sandbox.throng(&["report", metrics, "-o", "page.html"]).done();
        assert_eq!(outcome["outcome"], "reported");
        assert_eq!(fs::read_to_string(sandbox.path("page.html")).unwrap(), page(&sandbox), "{metrics}");
    }
    // Without `report = true` there is no report, and an old one is removed.
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", policy.replace("report = true", ""));
    sandbox.run(&["--overwrite"]);
    assert_eq!(names(&sandbox.path("out/release/_throng")), ["manifest.json", "metrics.json"]);
    sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();
}

#[test]
fn what_is_no_sidecar_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("damaged.json", "{\"schema_version\": 1");
    let message = sandbox.throng(&["report", "damaged.json"]).refused(65);
    assert_contains(&message, &["damaged.json", "damaged, or is not a metrics.json"]);
    sandbox.throng(&["report", "policy.toml"]).refused(66);
    let message = sandbox.throng(&["report", "out"]).refused(66);
    assert_contains(&message, &["_throng/metrics.json", "name the metrics.json of a release"]);
    assert_eq!(names(&sandbox.path("")), ["damaged.json", "input", "out"], "no page is written");
}
