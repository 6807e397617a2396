//! Frequency models, checked with plain maps.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};

use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, strings, table};

/// People of whom three in four have one of two common illnesses, with salaries that differ by little.
fn people(rows: usize) -> RecordBatch {
    let mut draws = Draws::new(3);
    let illness = |number: u64| match number {
        0..=49 => "flu",
        50..=74 => "cold",
        75..=86 => "asthma",
        87..=95 => "gout",
        _ => "cancer",
    };
    let ages = (0..rows).map(|_| 20 + draws.below(60) as i64).collect::<Vec<i64>>();
    let illnesses: Vec<&str> = (0..rows).map(|_| illness(draws.below(100))).collect();
    let salaries: Vec<i64> = (0..rows).map(|_| 30_000 + draws.below(40) as i64 * 500).collect();
    let cities: Vec<&str> = (0..rows).map(|_| ["Bern", "Rome", "Oslo"][draws.below(3) as usize]).collect();
    let ints = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    table(vec![
        ("age", ints(ages)),
        ("city", strings(cities)),
        ("illness", strings(illnesses)),
        ("salary", ints(salaries)),
    ])
}

fn columns(illness: &str, salary: &str) -> String {
    format!(
        "[columns.age]\nrole = \"quasi\"\n[columns.city]\nrole = \"quasi\"\n\
         [columns.illness]\nrole = \"sensitive\"\n{illness}\n[columns.salary]\nrole = \"sensitive\"\n{salary}\n"
    )
}

fn by_class(rows: &Rows, column: &str) -> Vec<Vec<String>> {
    let mut classes: HashMap<Vec<Option<String>>, Vec<String>> = HashMap::new();
    for (at, tuple) in rows.tuples(&["age", "city"]).into_iter().enumerate() {
        let value = rows.column(column)[at].clone().unwrap();
        classes.entry(tuple.into_iter().cloned().collect()).or_default().push(value);
    }
    classes.into_values().collect()
}

fn shares(values: &[String]) -> HashMap<&str, f64> {
    let mut shares: HashMap<&str, f64> = HashMap::new();
    values.iter().for_each(|value| *shares.entry(value).or_default() += 1.0 / values.len() as f64);
    shares
}

/// Returns the released classes of a column under a policy.
fn released(illness: &str, salary: &str, column: &str) -> Vec<Vec<String>> {
    let sandbox = Sandbox::with(&people(1500), 5, 2, &columns(illness, salary));
    sandbox.run(&[]);
    assert_eq!(sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()["satisfied"], true);
    by_class(&Rows::of(&read(&sandbox.release())), column)
}

#[test]
fn without_them_some_class_breaks_each_of_them() {
    let classes = released("", "", "illness");
    assert!(classes.iter().any(|class| shares(class).values().any(|share| *share > 0.6)));
    let entropy = |class: &[String]| -> f64 { shares(class).values().map(|share| -share * share.ln()).sum() };
    assert!(classes.iter().any(|class| entropy(class) < 2.5_f64.ln()));
}

#[test]
fn no_value_has_more_than_its_share() {
    for class in released("max_share = 0.6", "", "illness") {
        assert!(shares(&class).values().all(|share| *share <= 0.6 + 1e-9), "{class:?}");
    }
}

#[test]
fn every_class_has_the_entropy_that_was_asked_for() {
    for class in released("entropy_l = 2.5", "", "illness") {
        let entropy: f64 = shares(&class).values().map(|share| -share * share.ln()).sum();
        assert!(entropy >= 2.5_f64.ln() - 1e-9, "{class:?}");
    }
}

#[test]
fn the_most_frequent_value_is_bounded_by_the_rare_ones() {
    for class in released("recursive = { c = 2.0, l = 2 }", "", "illness") {
        let mut shares: Vec<f64> = shares(&class).into_values().collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        assert!(shares[0] < 2.0 * shares[1..].iter().sum::<f64>() + 1e-9, "{class:?}");
    }
}

#[test]
fn classes_are_close_to_the_whole_release() {
    let classes = released("t = 0.25", "", "illness");
    let all = classes.concat();
    let all = shares(&all);
    for class in &classes {
        let own = shares(class);
        let of = |value: &str| own.get(value).copied().unwrap_or(0.0);
        let distance: f64 = all.iter().map(|(value, share)| (of(value) - share).abs()).sum::<f64>() / 2.0;
        assert!(distance <= 0.25 + 1e-9, "{distance}");
    }
}

/// Illnesses in two groups, one of which is a level deeper.
const ILLNESSES: &str = "hierarchy = { lines = \"\"\"
flu;infection;airways;*
cold;infection;airways;*
asthma;asthma;airways;*
gout;gout;other;*
cancer;cancer;other;*
\"\"\" }
";

/// The cheapest transport between two distributions of the illnesses, unit by unit: leaves of one group are balanced within
/// it, and the remainder moves to the group above.
fn transport(own: &HashMap<&str, f64>, all: &HashMap<&str, f64>) -> f64 {
    let surplus = |value: &str| own.get(value).copied().unwrap_or(0.0) - all.get(value).copied().unwrap_or(0.0);
    let settle = |parts: &[f64], height: f64| {
        let over: f64 = parts.iter().filter(|part| **part > 0.0).sum();
        let under: f64 = -parts.iter().filter(|part| **part < 0.0).sum::<f64>();
        (over - under, over.min(under) * height / 3.0)
    };
    let (infection, a) = settle(&[surplus("flu"), surplus("cold")], 1.0);
    let (airways, b) = settle(&[infection, surplus("asthma")], 2.0);
    let (other, c) = settle(&[surplus("gout"), surplus("cancer")], 2.0);
    a + b + c + settle(&[airways, other], 3.0).1
}

#[test]
fn classes_are_close_to_the_whole_release_by_a_hierarchy() {
    let close = format!("{ILLNESSES}t = 0.12\ndistance = \"hierarchical\"");
    let worst = |illness: &str| {
        let classes = released(illness, "", "illness");
        let all = classes.concat();
        let all = shares(&all);
        classes.iter().map(|class| transport(&shares(class), &all)).fold(0.0, f64::max)
    };
    assert!(worst("") > 0.12, "the test has nothing to find");
    let found = worst(&close);
    assert!(found <= 0.12 + 1e-9, "{found}");
}

#[test]
fn a_release_that_is_not_close_by_a_hierarchy_is_refused() {
    let sandbox = Sandbox::with(&people(600), 5, 2, &columns("", ""));
    sandbox.run(&[]);
    let strict = columns(&format!("{ILLNESSES}t = 0.05\ndistance = \"hierarchical\""), "");
    let policy = std::fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let head = policy.split("[columns.age]").next().unwrap();
    std::fs::write(sandbox.path("strict.toml"), format!("{head}{strict}")).unwrap();
    let ended = sandbox.throng(&["verify", "out/release", "--policy", "strict.toml"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_contains(&ended.said(), &["t-closeness of `illness`", "broken by"]);
}

#[test]
fn no_value_is_much_more_frequent_than_in_the_whole_release() {
    let classes = released("beta = 1.5", "", "illness");
    let all = classes.concat();
    let all = shares(&all);
    for class in &classes {
        assert!(shares(class).iter().all(|(value, share)| *share <= 2.5 * all[value] + 1e-9), "{class:?}");
    }
}

#[test]
fn every_value_has_about_its_share_of_the_whole_release() {
    let worst = |illness: &str| {
        let classes = released(illness, "", "illness");
        let all = classes.concat();
        let all = shares(&all);
        let change = |class: &HashMap<&str, f64>| {
            all.iter().map(|(value, share)| (class.get(value).unwrap_or(&0.0) / share).ln().abs()).fold(0.0, f64::max)
        };
        classes.iter().map(|class| change(&shares(class))).fold(0.0, f64::max)
    };
    assert!(worst("") > 1.5, "the test has nothing to find");
    let found = worst("delta_disclosure = 1.5");
    assert!(found <= 1.5 + 1e-9, "{found}");
}

#[test]
fn salaries_are_in_different_bands_and_span_a_range() {
    for class in released("", "bands = [40000]\nrange = 8000", "salary") {
        let numbers: Vec<i64> = class.iter().map(|salary| salary.parse().unwrap()).collect();
        let (low, high) = (numbers.iter().min().unwrap(), numbers.iter().max().unwrap());
        assert!(high - low >= 8000 && *low < 40_000 && *high >= 40_000, "{class:?}");
    }
}

#[test]
fn what_no_class_can_satisfy_is_refused() {
    let refused =
        |illness: &str, salary: &str| Sandbox::with(&people(300), 5, 2, &columns(illness, salary)).run_refused(3, &[]);
    assert_contains(&refused("max_share = 0.3", ""), &["`illness`", "(alpha, k)-anonymity", "all rows together"]);
    assert_contains(&refused("entropy_l = 5", ""), &["`illness`", "entropy l-diversity"]);
    assert_contains(&refused("", "range = 1000000"), &["`salary`", "value range"]);
}

#[test]
fn requirements_that_make_no_sense_are_refused_with_their_place() {
    let refused = |illness: &str| Sandbox::with(&people(50), 5, 2, &columns(illness, "")).run_refused(78, &[]);
    assert_contains(&refused("max_share = 1.5"), &["columns.illness.max_share", "at most 1"]);
    assert_contains(&refused("t = 2.0"), &["columns.illness.t"]);
    assert_contains(&refused("distance = \"ordered\""), &["columns.illness.distance", "without `t`"]);
    assert_contains(&refused("t = 0.2\ndistance = \"ordered\""), &["columns.illness.distance", "numbers or dates"]);
    assert_contains(&refused("bands = [3, 1]"), &["columns.illness.bands", "ascending"]);
    assert_contains(&refused("range = 5"), &["columns.illness.range", "numbers or dates"]);
}
