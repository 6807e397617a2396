//! Three tables of one census, released together.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use throng_testkit::{PythonPackages, skip};

use super::{Linked, assert_linked_promise, profiles};
use crate::release_files::{Rows, read};
use crate::sandbox::{Ended, Sandbox, assert_contains, contents, names};
use crate::tables::{Draws, strings, table, write_parquet};

const PEOPLE: u64 = 1500;

/// People: one row each, a few without an identifier.
fn people() -> RecordBatch {
    let mut draws = Draws::new(3);
    let illnesses = ["none", "asthma", "diabetes", "cancer", "flu"];
    let ids = (0..PEOPLE + 10).map(|person| (person < PEOPLE).then_some(person as i64));
    let ages = (0..PEOPLE + 10).map(|_| Some(draws.below(90) as i64)).collect::<Int64Array>();
    table(vec![
        ("person_id", Arc::new(ids.collect::<Int64Array>()) as ArrayRef),
        ("age", Arc::new(ages)),
        ("sex", strings((0..PEOPLE + 10).map(|_| ["f", "m"][draws.below(2) as usize]))),
        ("zip", strings((0..PEOPLE + 10).map(|_| format!("{:04}", draws.below(3000))))),
        ("illness", strings((0..PEOPLE + 10).map(|_| illnesses[draws.below(5) as usize]))),
    ])
}

/// Households of two people in five, whose numbers are of another type.
fn households() -> RecordBatch {
    let mut draws = Draws::new(4);
    let heads: Vec<i32> = (0..PEOPLE as i32).filter(|person| person % 5 < 2).collect();
    let rooms = heads.iter().map(|_| Some(1 + draws.below(8) as i64)).collect::<Int64Array>();
    let regions = strings(heads.iter().map(|_| ["north", "south", "east", "west"][draws.below(4) as usize]));
    table(vec![
        ("person_id", Arc::new(Int32Array::from(heads)) as ArrayRef),
        ("rooms", Arc::new(rooms)),
        ("region", regions),
    ])
}

/// Visits: up to four of most people, many of some, and some with unknown or missing person numbers. Numbers are text.
fn visits() -> RecordBatch {
    let mut draws = Draws::new(5);
    let codes = ["flu", "asthma", "fracture", "diabetes", "cancer", "migraine"];
    let (mut patients, mut days, mut clinics, mut of_codes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for person in 0..PEOPLE + 30 {
        let visits = if person % 60 == 0 { 8 + draws.below(20) } else { draws.below(5) };
        for _ in 0..visits {
            patients.push((person % 97 != 0).then(|| person.to_string()));
            days.push(Some(draws.below(365) as i64));
            clinics.push(["A", "B", "C"][draws.below(3) as usize]);
            of_codes.push(codes[draws.below(6) as usize]);
        }
    }
    table(vec![
        ("patient", Arc::new(StringArray::from(patients)) as ArrayRef),
        ("day", Arc::new(days.into_iter().collect::<Int64Array>())),
        ("clinic", strings(clinics)),
        ("code", strings(of_codes)),
    ])
}

fn policy(k: u64, p: u64, privacy: &str) -> String {
    format!(
        r#"version = 1
table = "people"
input.location = "input/people.parquet"
output.location = "out/release"
[privacy]
k = {k}
p = {p}
unit = "person_id"
{privacy}
[columns]
person_id = {{ role = "identifier", release = "pseudonym" }}
age.role = "quasi"
sex.role = "quasi"
zip = {{ role = "quasi", hierarchy = {{ mask = "right" }} }}
illness.role = "sensitive"

[tables.households]
input.location = "input/households.parquet"
columns.person_id = {{ role = "identifier", release = "pseudonym" }}
columns.rooms.role = "quasi"
columns.region.role = "quasi"

[tables.visits]
input.location = "input/visits.parquet"
unit = "patient"
columns.patient = {{ role = "identifier", release = "pseudonym" }}
columns.day.role = "quasi"
columns.clinic.role = "quasi"
columns.code.role = "sensitive"
"#
    )
}

fn census(k: u64, p: u64, privacy: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, batch) in [("people", people()), ("households", households()), ("visits", visits())] {
        write_parquet(&sandbox.path(&format!("input/{name}.parquet")), &batch);
    }
    sandbox.write("policy.toml", policy(k, p, privacy));
    sandbox
}

/// The figures that DuckDB counts: people, profiles and people of the smallest profile.
fn counted_by_duckdb(sandbox: &Sandbox, k: u64, p: u64) -> Option<Vec<u64>> {
    let packages = match PythonPackages::install("python", "duckdb", "duckdb==2.0.0\n") {
        Ok(packages) => packages,
        Err(why) if std::env::var_os("THRONG_REQUIRE_PYTHON").is_some() => panic!("{why}"),
        Err(why) => {
            skip(&format!("there is no DuckDB to count with: {why}"));
            return None;
        }
    };
    let mut command = packages.script(include_str!("count.py"));
    command.arg(sandbox.release()).args([k.to_string(), p.to_string()]).stdin(Stdio::null());
    let ended = Ended::from(command.output().unwrap());
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    Some(ended.stdout.split_whitespace().map(|figure| figure.parse().unwrap()).collect())
}

#[test]
fn people_households_and_visits_join_and_every_profile_is_that_of_k_people() {
    let (k, p) = (5, 2);
    let sandbox = census(k, p, "");
    let outcome = sandbox.run(&[]);
    assert_eq!(names(&sandbox.release()), ["_SUCCESS", "_throng", "households", "people", "visits"]);
    let tables = ["people", "households", "visits"].map(|name| Rows::of(&read(&sandbox.release().join(name))));
    let [people, households, visits] = &tables;
    assert_eq!(people.names(), ["person_id", "age", "sex", "zip", "illness"]);
    assert_eq!(visits.names(), ["patient", "day", "clinic", "code"]);
    let linked = [
        Linked { rows: people, pseudonym: "person_id", quasi: &["age", "sex", "zip"], sensitive: Some("illness") },
        Linked { rows: households, pseudonym: "person_id", quasi: &["rooms", "region"], sensitive: None },
        Linked { rows: visits, pseudonym: "patient", quasi: &["day", "clinic"], sensitive: Some("code") },
    ];
    let profiles = profiles(&linked);
    assert_linked_promise(&profiles, k as usize, p as usize);
    assert!(profiles.len() > 50, "{} profiles", profiles.len());

    // Rows join, and nearly all releasable rows are released.
    let of = |rows: &Rows, column: &str| rows.column(column).iter().flatten().cloned().collect::<BTreeSet<String>>();
    assert!(of(households, "person_id").is_subset(&of(people, "person_id")));
    assert!(of(visits, "patient").is_subset(&of(people, "person_id")));
    assert!(visits.column("patient").iter().all(Option::is_some), "visits of nobody are linked with nobody");
    let shares = [(people, 1510, 0.95), (households, 600, 0.8), (visits, self::visits().num_rows(), 0.7)];
    for (released, original, share) in shares {
        let found = released.len() as f64 / original as f64;
        assert!(found > share, "{} of {original} rows", released.len());
    }

    let metrics = std::fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_slice(&metrics).unwrap();
    let reported = &metrics["privacy"]["pseudonyms"];
    let smallest = profiles.iter().map(|profile| profile.people.len()).min().unwrap();
    let figures = ["people", "profiles", "smallest_profile"].map(|name| reported[name].as_u64().unwrap());
    let counted = [of(people, "person_id").len(), profiles.len(), smallest].map(|figure| figure as u64);
    assert_eq!(figures, counted);
    if let Some(by_duckdb) = counted_by_duckdb(&sandbox, k, p) {
        assert_eq!(by_duckdb, counted);
    }
    let reported: BTreeMap<&str, u64> = metrics["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| (table["name"].as_str().unwrap(), table["rows"].as_u64().unwrap()))
        .collect();
    let rows = |rows: &Rows| rows.len() as u64;
    assert_eq!(reported, [("people", rows(people)), ("households", rows(households)), ("visits", rows(visits))].into());
    assert_eq!(outcome["tables"][2]["rows"], visits.len());

    let verified = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();
    assert_eq!((&verified["satisfied"], &verified["linked"]["profiles"]), (&true.into(), &profiles.len().into()));
}

#[test]
fn a_release_of_several_tables_is_replaced_as_a_whole_or_not_at_all() {
    let sandbox = census(4, 2, "");
    sandbox.run(&[]);
    let first = contents(&sandbox.release());
    assert_contains(&sandbox.run_refused(78, &[]), &["already holds files"]);
    sandbox.write("policy.toml", policy(4, 2, "suppression_limit = 0.001"));
    assert_contains(&sandbox.run_refused(3, &["--overwrite"]), &["suppress"]);
    assert_eq!(contents(&sandbox.release()), first, "a run that failed changed the release");
    sandbox.write("policy.toml", policy(4, 2, ""));
    sandbox.run(&["--overwrite"]);
    let second = contents(&sandbox.release());
    assert_ne!(second, first);
    assert_eq!(sandbox.out(), ["release"]);
    // A file that is not of the release is not overwritten.
    sandbox.write("out/release/visits/notes.txt", "mine");
    assert_contains(&sandbox.run_refused(78, &["--overwrite"]), &["not a release"]);
}

#[test]
fn problems_of_a_table_are_reported_by_its_name() {
    let sandbox = census(4, 2, "");
    let refused = |from: &str, to: &str, parts: &[&str]| {
        let text = policy(4, 2, "");
        assert!(text.contains(from), "{from}");
        sandbox.write("policy.toml", text.replacen(from, to, 1));
        assert_contains(&sandbox.run_refused(78, &[]), parts);
        assert_contains(&sandbox.throng(&["check", "policy.toml"]).refused(78), parts);
    };
    refused("columns.day.role = \"quasi\"\n", "", &["tables.visits.columns", "`day`"]);
    refused("unit = \"patient\"\n", "", &["tables.visits.columns", "person_id", "pseudonym"]);
    refused("table = \"people\"\n", "", &["table: required beside [tables]"]);
    refused("table = \"people\"", "table = \"visits\"", &["tables.visits", "[input]"]);
    refused("[tables.visits]", "[tables.\"../visits\"]", &["folder of the release"]);
    refused(
        "person_id = { role = \"identifier\", release = \"pseudonym\" }",
        "person_id.role = \"identifier\"",
        &["tables:"],
    );
    sandbox.write("policy.toml", policy(4, 2, "").replace("input/visits.parquet", "out/release/visits"));
    assert_contains(&sandbox.run_refused(78, &[]), &["overlap"]);
}
