//! Checks the alerting rules and the dashboard against the metrics that the binary writes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::files::{path, text, yaml};
use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::Sandbox;

const RULES: &str = "deploy/monitoring/alerts.yaml";
const DASHBOARD: &str = "deploy/monitoring/dashboard.json";

/// Returns the metrics of a release, by name, with the names of their labels.
fn written() -> Vec<(String, BTreeSet<String>)> {
    let sandbox = Sandbox::with(&people(500), 4, 2, COLUMNS);
    sandbox.run(&["--metrics-file", "people.prom"]);
    let text = fs::read_to_string(sandbox.path("people.prom")).unwrap();
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (name, rest) = line.split_once('{').unwrap();
            let labels = rest.split_once('}').unwrap().0.split("\",").map(|label| label.split('=').next().unwrap());
            (name.to_owned(), labels.map(str::to_owned).collect())
        })
        .collect()
}

/// Returns the words of an expression that may be names of metrics.
fn metrics(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("throng_")).map(str::to_owned).collect()
}

/// Returns the expressions of the rules.
fn rules() -> Vec<String> {
    let groups = yaml(RULES).remove(0)["groups"].clone();
    let rules = groups.as_vec().unwrap().iter().flat_map(|group| group["rules"].as_vec().unwrap().clone());
    rules
        .map(|rule| {
            let name = rule["alert"].as_str().unwrap();
            assert!(name.starts_with("Throng"), "{name}");
            assert!(["page", "ticket"].contains(&rule["labels"]["severity"].as_str().unwrap()), "{name}");
            assert!(rule["annotations"]["summary"].as_str().unwrap().contains("$labels.policy"), "{name}");
            rule["expr"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// Returns the expressions and the legends of the panels.
fn panels() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(&text(DASHBOARD)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut numbers: Vec<&Value> = panels.iter().map(|panel| &panel["id"]).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), panels.len(), "two panels have the same id");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let field = |target: &Value, name: &str| target[name].as_str().unwrap().to_owned();
    targets.map(|target| (field(target, "expr"), field(target, "legendFormat"))).collect()
}

#[test]
fn rules_and_panels_use_metrics_that_throng_writes() {
    let written = written();
    let known: BTreeSet<&str> = written.iter().map(|(name, _)| name.as_str()).collect();
    let expressions = rules().into_iter().chain(panels().into_iter().map(|(expression, _)| expression));
    for expression in expressions {
        let used = metrics(&expression);
        assert!(!used.is_empty(), "{expression}");
        for name in used {
            assert!(known.contains(name.as_str()), "no run writes {name}, which `{expression}` uses");
        }
        assert_eq!(expression.matches('(').count(), expression.matches(')').count(), "{expression}");
    }
}

#[test]
fn legends_use_labels_that_the_metrics_have() {
    let written = written();
    for (expression, legend) in panels() {
        let labels = legend.split("{{").skip(1).map(|rest| rest.split_once("}}").unwrap().0);
        for label in labels {
            let has = |name: &String| written.iter().any(|(found, labels)| found == name && labels.contains(label));
            assert!(metrics(&expression).iter().any(has), "{expression} has no label {label}");
        }
    }
}

#[test]
fn the_guide_for_schedulers_names_the_files() {
    assert!(path(RULES).is_file() && path(DASHBOARD).is_file());
    let guide = text("deploy/README.md");
    for file in [RULES, DASHBOARD] {
        let name = Path::new(file).strip_prefix("deploy").unwrap().display().to_string();
        assert!(guide.contains(&name), "deploy/README.md does not name {name}");
    }
}
