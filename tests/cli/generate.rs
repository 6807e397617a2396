//! Commands without an input: `schema`, `generate census`, `demo`.

use std::fs;

use serde_json::Value;

use crate::release_files::{Rows, data_files, read, read_file};
use crate::sandbox::{Sandbox, contents, names};

#[test]
fn the_schema_of_the_policy_file_is_json_schema() {
    let sandbox = Sandbox::new();
    let ended = sandbox.throng(&["schema"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let schema: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert!(schema["$schema"].as_str().unwrap().starts_with("https://json-schema.org/"), "{}", schema["$schema"]);
    let properties = schema["properties"].as_object().unwrap();
    for table in ["version", "input", "output", "privacy", "algorithm", "columns"] {
        assert!(properties.contains_key(table), "{table} is missing");
    }
    assert_eq!(schema["additionalProperties"], false, "unknown fields are errors");
    let required: Vec<&str> = schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(required, ["version", "input", "output", "privacy", "columns"]);
    assert!(ended.stderr.is_empty(), "{}", ended.stderr);
}

#[test]
fn help_and_version_go_to_stdout() {
    let sandbox = Sandbox::new();
    for command in [&[][..], &["run"], &["check"], &["verify"], &["schema"], &["generate", "census"], &["demo"]] {
        let ended = sandbox.throng(&[command, &["--help"]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("Usage: throng"), "{ended:?}");
    }
    let ended = sandbox.throng(&["--version"]);
    assert_eq!(ended.stdout.trim(), concat!("throng ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_census_is_the_same_for_the_same_seed_only() {
    let sandbox = Sandbox::new();
    let generate = |folder: &str, more: &[&str]| {
        let json = sandbox.throng(&[&["generate", "census", "--rows", "5000", "-o", folder], more].concat()).done();
        assert_eq!((&json["outcome"], &json["rows"]), (&"generated".into(), &5000.into()));
        let bytes: usize = contents(&sandbox.path(folder)).values().map(Vec::len).sum();
        assert_eq!(json["bytes"], bytes);
        json
    };
    let bytes = |folder: &str| contents(&sandbox.path(folder)).into_values().collect::<Vec<_>>();
    generate("a", &[]);
    generate("b", &["--threads", "1"]);
    generate("c", &["--seed", "1"]);
    assert_eq!(generate("d", &["--files", "3"])["files"], 3);
    assert!(bytes("a") == bytes("b"), "the same seed gives other people");
    assert!(bytes("a") != bytes("c"), "another seed gives the same people");
    assert_eq!(names(&sandbox.path("d")), ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]);
    assert_eq!(read(&sandbox.path("d")), read(&sandbox.path("a")), "people depend on the number of files");
}

#[test]
fn a_census_has_as_many_people_as_asked_for() {
    let sandbox = Sandbox::new();
    for rows in [0, 1, 8191, 8193] {
        let folder = format!("rows-{rows}");
        sandbox.throng(&["generate", "census", "--rows", &rows.to_string(), "-o", &folder]).done();
        let files = data_files(&sandbox.path(&folder));
        assert_eq!(files.len(), 1);
        assert_eq!(read_file(&files[0]).iter().map(|batch| batch.num_rows()).sum::<usize>(), rows);
    }
    let people = Rows::of(&read(&sandbox.path("rows-8193")));
    assert_eq!(people.names().len(), 15);
    people.by("person_id");
}

#[test]
fn a_census_is_not_replaced_unless_asked() {
    let sandbox = Sandbox::new();
    let generate = ["generate", "census", "--rows", "10", "-o", "people"];
    sandbox.throng(&generate).done();
    let before = contents(&sandbox.path("people"));
    let message = sandbox.throng(&[&generate[..], &["--seed", "5"]].concat()).refused(78);
    assert!(message.contains("already exists") && message.contains("overwriting"), "{message}");
    assert!(contents(&sandbox.path("people")) == before);
    sandbox.throng(&[&generate[..], &["--seed", "5", "--overwrite"]].concat()).done();
    assert!(contents(&sandbox.path("people")) != before);
}

#[test]
fn the_demo_releases_a_census_and_can_be_run_again() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        let json = sandbox.throng(&["demo", "--rows", "20000", "-o", "try"]).done();
        assert_eq!((&json["rows"], &json["verified"]), (&20000.into(), &true.into()));
        assert_eq!(names(&sandbox.path("try")), ["census.toml", "hierarchies", "input", "release"]);
        let quasi = ["age", "sex", "marital_status", "race", "birth_place", "region"];
        let rows = Rows::of(&read(&sandbox.path("try/release")));
        let count = rows.count(&quasi, &["occupation"]);
        assert_eq!(count.rows, 20000);
        assert!(count.smallest >= 10 && count.fewest[0] >= 3, "{count:?}");
        assert_eq!(json["classes"], count.classes);
        assert!(!rows.names().contains(&"name") && !rows.names().contains(&"person_id"));
    }
    // The policy that the demo has written works on its own.
    let run = ["run", "try/census.toml", "-i", "try/input", "-o", "out/release"];
    assert_eq!(sandbox.throng(&run).done()["rows"], 20000);
}

#[test]
fn the_demo_does_not_touch_the_files_of_others() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("home")).unwrap();
    sandbox.write("home/thesis.txt", "years of work");
    let message = sandbox.throng(&["demo", "--rows", "100", "-o", "home"]).refused(78);
    assert!(message.contains("home") && message.contains("-o"), "{message}");
    assert_eq!(names(&sandbox.path("home")), ["thesis.txt"]);
}
