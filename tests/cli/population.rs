//! People of a population in the boxes of a release: k-map, delta-presence, and the risk of those who have a register. All counts
//! are recomputed from the released text.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use serde_json::Value;

use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::{Draws, strings, table, write_parquet};

const COLUMNS: &str = "[columns]\nage.role = \"quasi\"\nzip = { role = \"quasi\", hierarchy = { mask = \"right\" } }\n\
                       town = { role = \"quasi\", release = \"set\" }\nillness.role = \"sensitive\"\n\
                       weight.role = \"identifier\"\n";

/// People of whom the first are the input.
struct Town {
    ages: Vec<i64>,
    zips: Vec<String>,
    towns: Vec<String>,
}

impl Town {
    fn new(people: usize) -> Self {
        let mut draws = Draws::new(11);
        Self {
            ages: (0..people).map(|_| 20 + (draws.below(30) + draws.below(30)) as i64).collect(),
            zips: (0..people).map(|_| format!("{:05}", 10_000 + draws.below(300))).collect(),
            towns: (0..people)
                .map(|_| ["Ulm", "Bonn", "Trier", "Köln, Süd"][draws.below(4) as usize].to_owned())
                .collect(),
        }
    }

    fn batch(&self, people: usize) -> RecordBatch {
        let ages: ArrayRef = Arc::new(Int64Array::from(self.ages[..people].to_vec()));
        let weights: ArrayRef = Arc::new(Float64Array::from_iter_values((0..people).map(|row| 1.0 + (row % 7) as f64)));
        table(vec![
            ("age", ages),
            ("zip", strings(&self.zips[..people])),
            ("town", strings(&self.towns[..people])),
            ("illness", strings((0..people).map(|row| format!("illness {}", row * row % 5)))),
            ("weight", weights),
        ])
    }

    /// Whether a person is in the box of a class, by its text alone.
    fn is_in(&self, person: usize, [age, zip, town]: [&str; 3]) -> bool {
        let ends = age.trim_start_matches('[').trim_end_matches(']');
        let (low, high) = ends.split_once('-').unwrap_or((ends, ends));
        let in_age = age == "*" || (low.parse().unwrap()..=high.parse().unwrap()).contains(&self.ages[person]);
        let in_zip = zip == "*" || self.zips[person].starts_with(zip.trim_end_matches('*'));
        let inside = town.trim_start_matches('{').trim_end_matches('}').replace("Köln, Süd", "Köln; Süd");
        let name = self.towns[person].replace(", ", "; ");
        in_age && in_zip && (town == "*" || inside.split(", ").any(|member| member == name))
    }
}

/// The classes of a release: labels, rows, members of the input, and people of the population with their weights.
struct Counted {
    rows: Vec<u64>,
    people: Vec<u64>,
    members: Vec<u64>,
    weights: Vec<f64>,
    outside: u64,
}

impl Counted {
    fn of(sandbox: &Sandbox, town: &Town, input: usize) -> Self {
        let release = Rows::of(&read(&sandbox.release()));
        let mut classes: HashMap<Vec<String>, u64> = HashMap::new();
        for labels in release.tuples(&["age", "zip", "town"]) {
            *classes.entry(labels.into_iter().map(|label| label.clone().unwrap()).collect()).or_default() += 1;
        }
        let mut counted =
            Self { rows: Vec::new(), people: Vec::new(), members: Vec::new(), weights: Vec::new(), outside: 0 };
        let mut is_in_any = vec![false; town.ages.len()];
        for (labels, rows) in classes {
            let labels = [labels[0].as_str(), labels[1].as_str(), labels[2].as_str()];
            let held: Vec<usize> = (0..town.ages.len()).filter(|person| town.is_in(*person, labels)).collect();
            held.iter().for_each(|person| is_in_any[*person] = true);
            counted.rows.push(rows);
            counted.people.push(held.len() as u64);
            counted.members.push(held.iter().filter(|person| **person < input).count() as u64);
            let weights = held.iter().filter(|person| **person < input).map(|person| 1.0 + (person % 7) as f64);
            counted.weights.push(weights.sum());
        }
        counted.outside = is_in_any.iter().filter(|is_in| !**is_in).count() as u64;
        counted
    }

    fn presence(&self) -> impl Iterator<Item = f64> {
        self.members.iter().zip(&self.people).map(|(members, people)| *members as f64 / *people as f64)
    }
}

fn metrics(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&fs::read(sandbox.release().join("_throng/metrics.json")).unwrap()).unwrap()
}

/// A sandbox with an input of 1,500 people, and a population of 6,000.
fn sandbox(town: &Town, population: &str) -> Sandbox {
    let sandbox = Sandbox::with(&town.batch(1500), 5, 2, &format!("{population}\n{COLUMNS}"));
    write_parquet(&sandbox.path("population.parquet"), &town.batch(6000));
    sandbox
}

fn is_close(found: &Value, expected: f64) -> bool {
    (found.as_f64().unwrap() - expected).abs() < 1e-5
}

#[test]
fn the_sidecar_has_the_figures_that_a_reader_counts() {
    let town = Town::new(6000);
    let sandbox = sandbox(&town, "population = { table = \"population.parquet\" }");
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", policy.replace("[privacy]", "report = true\n[privacy]"));
    let ended = sandbox.throng(&["run", "policy.toml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let counted = Counted::of(&sandbox, &town, 1500);
    assert!(counted.people.iter().zip(&counted.rows).any(|(people, rows)| people > rows));
    assert!(counted.members.iter().zip(&counted.rows).any(|(members, rows)| members > rows), "no boxes overlap");
    let risk = &metrics(&sandbox)["risk"];
    let matched = &risk["population"]["matched"];
    let fewest = *counted.people.iter().min().unwrap();
    assert_eq!((&matched["source"], &matched["fewest"]), (&"table".into(), &fewest.into()));
    assert_eq!(risk["population"]["people"], 6000);
    assert!(is_close(&risk["population"]["fraction"], 0.25));
    let classes = || counted.rows.iter().zip(&counted.people).map(|(rows, people)| (*rows as f64, *people as f64));
    let reidentified: f64 = classes().map(|(rows, people)| rows / people).sum();
    assert!(is_close(&risk["population"]["reidentified_after"], reidentified), "{risk}");
    assert!(is_close(&risk["after"]["marketer"]["average"], reidentified / 1500.0));
    assert!(is_close(&risk["after"]["journalist"]["highest"], 1.0 / fewest as f64));
    assert!(risk["after"]["journalist"]["average"].as_f64() < risk["after"]["prosecutor"]["average"].as_f64());
    let (least, most) = counted.presence().fold((1.0_f64, 0.0_f64), |(a, b), share| (a.min(share), b.max(share)));
    let least = if counted.outside > 0 { 0.0 } else { least };
    assert!(is_close(&matched["presence"]["least"], (least * 100.0).floor() / 100.0), "{matched} {least}");
    assert!(is_close(&matched["presence"]["most"], (most * 100.0).ceil() / 100.0), "{matched} {most}");
    assert!(is_close(&matched["outside"], (counted.outside as f64 / 60.0).ceil() / 100.0));
    assert_contains(&ended.stderr, &[&format!("k-map: at least {fewest} people of the population in every class")]);
    let report = fs::read_to_string(sandbox.release().join("_throng/report.html")).unwrap();
    assert_contains(&report, &["Every class matches at least ", "risk.population.matched.presence.most"]);
}

#[test]
fn limits_refuse_a_release_below_them_and_let_one_at_them_pass() {
    let town = Town::new(6000);
    let free = sandbox(&town, "population = { table = \"population.parquet\" }");
    free.run(&[]);
    let counted = Counted::of(&free, &town, 1500);
    let fewest = *counted.people.iter().min().unwrap();
    let most = counted.presence().fold(0.0, f64::max);
    let limit = |limit: &str| sandbox(&town, &format!("population = {{ table = \"population.parquet\", {limit} }}"));

    limit(&format!("k_map = {fewest}")).run(&[]);
    let message = limit(&format!("k_map = {}", fewest + 1)).run_refused(3, &[]);
    assert_contains(&message, &["fewer than the", "of `k_map`", "nothing is published", "[privacy.population]"]);

    limit(&format!("delta_max = {most}")).run(&[]);
    let message = limit(&format!("delta_max = {}", most - 0.01)).run_refused(3, &[]);
    assert_contains(&message, &["`delta_max = "]);
    let message = limit("delta_min = 0.9").run_refused(3, &[]);
    assert_contains(&message, &["`delta_min = 0.9`"]);
}

#[test]
fn sampling_weights_estimate_the_people_of_a_class() {
    let town = Town::new(1500);
    let sandbox = workshop_of_weights(&town, "population = { weight_of_unit = \"weight\" }");
    let ended = sandbox.throng(&["run", "policy.toml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let counted = Counted::of(&sandbox, &town, 1500);
    let fewest = counted.weights.iter().copied().fold(f64::INFINITY, f64::min).floor();
    let risk = &metrics(&sandbox)["risk"];
    assert_eq!(risk["population"]["matched"]["source"], "weights");
    assert_eq!(risk["population"]["matched"]["fewest"].as_f64(), Some(fewest));
    let all: f64 = (0..1500).map(|row| 1.0 + (row % 7) as f64).sum();
    assert_eq!(risk["population"]["people"].as_f64(), Some(all));
    assert!(risk["after"]["journalist"]["average"].as_f64() < risk["after"]["prosecutor"]["average"].as_f64());
    assert!(Rows::of(&read(&sandbox.release())).names().iter().all(|name| *name != "weight"));
    let k_map = format!("population = {{ weight_of_unit = \"weight\", k_map = {} }}", fewest + 1.0);
    workshop_of_weights(&town, &k_map).run_refused(3, &[]);
}

fn workshop_of_weights(town: &Town, population: &str) -> Sandbox {
    Sandbox::with(&town.batch(1500), 5, 2, &format!("{population}\n{COLUMNS}"))
}

#[test]
fn check_names_what_the_population_lacks() {
    let town = Town::new(6000);
    let few = sandbox(&town, "population = { table = \"few.parquet\", k_map = 50 }");
    write_parquet(&few.path("few.parquet"), &town.batch(40));
    let checked = few.throng(&["check", "policy.toml"]);
    assert_eq!(checked.code, Some(3));
    assert_contains(&checked.stderr, &["the population has 40 rows", "`k_map = 50`", "lacks people of the input"]);
    assert_eq!(checked.json()["people"], 40);

    let narrow = sandbox(&town, "population = { table = \"narrow.parquet\" }");
    write_parquet(&narrow.path("narrow.parquet"), &town.batch(6000).project(&[0, 2]).unwrap());
    for command in ["check", "run"] {
        let refused = narrow.throng(&[command, "policy.toml"]).refused(78);
        assert_contains(&refused, &["the table of the population has no column `zip`"]);
    }
    let absent = sandbox(&town, "population = { table = \"nowhere.parquet\" }");
    assert_contains(&absent.throng(&["run", "policy.toml"]).refused(66), &["nowhere.parquet"]);
}

#[test]
fn risk_counts_people_in_the_classes_of_any_table() {
    let town = Town::new(6000);
    let sandbox = sandbox(&town, "population = { table = \"population.parquet\" }");
    let ended = sandbox.throng(&[
        "risk",
        "input/people.parquet",
        "--quasi",
        "age,zip",
        "--population",
        "population.parquet",
        "--format",
        "json",
    ]);
    let found = ended.done();
    let mut classes: HashMap<(i64, &str), (u64, u64)> = HashMap::new();
    for person in 0..6000 {
        let class = classes.entry((town.ages[person], &town.zips[person])).or_default();
        class.1 += 1;
        class.0 += u64::from(person < 1500);
    }
    classes.retain(|_, (rows, _)| *rows > 0);
    let reidentified: f64 = classes.values().map(|(rows, people)| *rows as f64 / *people as f64).sum();
    assert!(is_close(&found["population"]["reidentified"], reidentified), "{found}");
    assert_eq!(found["population"]["fewest"], classes.values().map(|(_, people)| *people).min().unwrap());
    assert_eq!(found["population"]["people"], 6000.0);
}

#[test]
fn memory_for_the_boxes_is_limited() {
    let town = Town::new(6000);
    let sandbox = sandbox(&town, "population = { table = \"population.parquet\", k_map = 2 }");
    let free = sandbox.run(&[]);
    let again = sandbox.throng(&["run", "policy.toml", "--overwrite", "--memory-limit", "256MiB"]).done();
    assert_eq!(free["ncp"], again["ncp"]);
}
