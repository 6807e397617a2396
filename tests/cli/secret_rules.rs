//! Rule-based hierarchies of sensitive columns, and categories by prefix and band: counted with plain maps.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array, RecordBatch};

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, strings, table};

/// The fixture table with codes, salaries and days of admission.
fn patients(rows: usize) -> RecordBatch {
    let people = people(rows);
    let mut draws = Draws::new(23);
    let codes = ["C50", "C509", "c51", "C6", "D10", "D2", "E1", "E110"];
    let code = strings((0..rows).map(|_| codes[draws.below(8) as usize]));
    let salary: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| 10 * draws.below(40) as i64)));
    let day: ArrayRef = Arc::new(Date32Array::from_iter_values((0..rows).map(|_| 18_262 + draws.below(800) as i32)));
    let schema = people.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let more = [("code", code), ("salary", salary), ("day", day)];
    table(names.zip(people.columns().iter().cloned()).chain(more).collect())
}

/// Returns the released values of a column, class by class.
fn classes<'a>(rows: &'a Rows, column: &str) -> Vec<Vec<&'a str>> {
    let mut classes: HashMap<_, Vec<&str>> = HashMap::new();
    for (tuple, cell) in rows.tuples(&QUASI).into_iter().zip(rows.column(column)) {
        classes.entry(tuple).or_default().push(cell.as_deref().unwrap());
    }
    classes.into_values().collect()
}

const PROTECTED: &str = r#"
[columns.code]
role = "sensitive"
hierarchy = { mask = "right" }
protected = ["C5*"]
t = 0.6
distance = "hierarchical"
[columns.salary]
role = "sensitive"
hierarchy = { intervals = [100] }
protected = ["[0-99]", "[100-199]", "[200-300)"]
[columns.day]
role = "sensitive"
hierarchy = { date = ["month", "year"] }
protected = ["2020", "2021-02"]
t = 0.5
distance = "hierarchical"
"#;

#[test]
fn protected_labels_of_a_rule_count_once() {
    let sandbox = Sandbox::with(&patients(500), 5, 3, &format!("{COLUMNS}{PROTECTED}"));
    sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    let strong = |column: &str, strong: &dyn Fn(&str) -> String| {
        let distinct = |values: Vec<&str>| values.into_iter().map(strong).collect::<HashSet<_>>().len();
        classes(&released, column).into_iter().map(distinct).min().unwrap()
    };
    let code = |text: &str| if text.to_lowercase().starts_with("c5") { "C5*".to_owned() } else { text.to_owned() };
    let salary = |text: &str| match text.parse::<i64>().unwrap() {
        300.. => text.to_owned(),
        number => (number / 100).to_string(),
    };
    let day = |text: &str| {
        let protected = ["2020", "2021-02"].into_iter().find(|label| text.starts_with(label));
        protected.unwrap_or(text).to_owned()
    };
    assert!(strong("code", &code) >= 3 && strong("salary", &salary) >= 3 && strong("day", &day) >= 3);
    // Values are released as they are.
    assert!(released.column("code").iter().any(|cell| cell.as_deref() == Some("C509")));
    sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();

    // The same release under labels that protect more, and under smaller distances.
    for (promised, stricter) in [
        ("protected = [\"C5*\"]", "p = 4\nprotected = [\"C*\", \"D*\", \"E*\"]"),
        ("protected = [\"2020\", \"2021-02\"]", "p = 4\nprotected = [\"2020\", \"2021\", \"2022\"]"),
        ("t = 0.5", "t = 0.0"),
        ("t = 0.6", "t = 0.05"),
    ] {
        assert!(PROTECTED.contains(promised));
        sandbox.policy(5, 3, &format!("{COLUMNS}{}", PROTECTED.replace(promised, stricter)));
        let refused = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
    }
}

#[test]
fn a_hierarchy_must_fit_the_type_of_a_sensitive_column() {
    let masked = PROTECTED.replace("{ intervals = [100] }", "{ mask = \"right\" }");
    let masked = masked.replace("[\"[0-99]\", \"[100-199]\", \"[200-300)\"]", "[\"1*\"]");
    let sandbox = Sandbox::with(&patients(200), 5, 2, &format!("{COLUMNS}{masked}"));
    sandbox.run(&[]);
    let dated =
        masked.replace("{ mask = \"right\" }\nprotected = [\"1*\"]", "{ date = [\"year\"] }\nprotected = [\"2020\"]");
    sandbox.policy(5, 2, &format!("{COLUMNS}{dated}"));
    assert_contains(
        &sandbox.throng(&["check", "policy.toml"]).refused(78),
        &["columns.salary.hierarchy", "calendar parts are for dates and timestamps"],
    );
}

const CATEGORIES: &str = r#"
alpha = 1.0
[columns.code]
role = "sensitive"
release = "both"
categories = [{ name = "severe", prefixes = ["C"], values = ["E110"] }, { name = "other", prefixes = ["D", "c5"] }, { name = "mild", prefixes = ["C6", "E"] }]
[columns.salary]
role = "sensitive"
categories = [{ name = "extreme", bands = [{ below = 50 }, { from = 350 }], values = ["200"] }, { name = "usual", bands = [{ from = 50, below = 350 }] }]
[columns.day]
role = "sensitive"
release = "value"
categories = [{ name = "late", bands = [{ from = "2021-06-01" }] }, { name = "early", bands = [{ below = "2021-06-01" }] }]
"#;

fn code_category(text: &str) -> &'static str {
    match text {
        "C50" | "C509" | "E110" => "severe",
        "c51" | "D10" | "D2" => "other",
        _ => "mild",
    }
}

#[test]
fn categories_are_given_by_prefix_and_band() {
    let input = patients(500);
    let policy = |columns: &str| {
        let (head, rest) = columns.split_once("[columns.code]").unwrap();
        format!("{head}{COLUMNS}[columns.code]{rest}")
    };
    let sandbox = Sandbox::with(&input, 5, 2, &policy(CATEGORIES));
    sandbox.run(&[]);
    let (original, released) = (Rows::of(&input), Rows::of(&read(&sandbox.release())));
    let (codes, shown) = (released.column("code"), released.column("code_category"));
    for (code, shown) in codes.iter().zip(shown) {
        assert_eq!(code_category(code.as_deref().unwrap()), shown.as_deref().unwrap());
    }
    let places = released.by("row");
    for (row, id) in original.column("row").iter().enumerate() {
        let salary: i64 = original.column("salary")[row].as_deref().unwrap().parse().unwrap();
        let expected = if !(50..350).contains(&salary) || salary == 200 { "extreme" } else { "usual" };
        let place = places[id.as_deref().unwrap()];
        assert_eq!(released.column("salary")[place].as_deref(), Some(expected));
    }
    let distinct = |column: &str| {
        let count = |values: Vec<&str>| values.into_iter().collect::<HashSet<_>>().len();
        classes(&released, column).into_iter().map(count).min().unwrap()
    };
    assert!(distinct("code_category") >= 2 && distinct("salary") >= 2);
    for days in classes(&released, "day") {
        assert_eq!(days.into_iter().map(|day| day >= "2021-06-01").collect::<HashSet<_>>().len(), 2);
    }
    sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();

    // The same release with a wrong category next to a value, and with bands that leave only one category in a class.
    for (promised, other) in [("\"c5\"", "\"c7\", \"c\""), ("\"C6\", \"E\"", "\"E\""), ("2021-06-01", "2023-01-01")] {
        sandbox.policy(5, 2, &policy(&CATEGORIES.replace(promised, other)));
        let verified = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]);
        let is_same = promised == "\"c5\"";
        assert_eq!(verified.code, Some(if is_same { 0 } else { 4 }), "{verified:?}");
    }
    // A value that no prefix has is an error that does not quote it.
    sandbox.policy(5, 2, &policy(&CATEGORIES.replace("\"D\", ", "")));
    let message = sandbox.run_refused(65, &["--overwrite"]);
    assert_contains(&message, &["`code`", "2 distinct values"]);
    assert!(!message.contains("D10"));
}
