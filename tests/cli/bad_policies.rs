//! Invalid policies: exit code 78 (or 3, or 2), what to correct and where, and no files left behind.

use std::sync::Arc;

use arrow::array::{Int64Array, ListArray};
use arrow::datatypes::Int64Type;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::table;

#[test]
fn a_column_that_the_policy_does_not_name_is_refused_by_name() {
    let columns = COLUMNS.replace("[columns.hours]\nrole = \"insensitive\"\n", "");
    let columns = columns.replace("[columns.name]\nrole = \"identifier\"\n", "");
    let sandbox = Sandbox::with(&people(50), 3, 1, &columns);
    let message = sandbox.run_refused(78, &[]);
    assert_contains(&message, &["`name`, `hours`", "[columns]", "default = \"drop\"", "policy.toml:"]);
    assert_eq!(sandbox.throng(&["check", "policy.toml"]).refused(78), message);
}

#[test]
fn a_column_that_the_input_does_not_have_is_refused_with_a_guess() {
    let columns = COLUMNS.replace("[columns.zip]", "[columns.zpi]");
    let sandbox = Sandbox::with(&people(50), 3, 1, &columns);
    let message = sandbox.run_refused(78, &[]);
    assert_contains(&message, &["columns.zpi", "no such column", "did you mean `zip`?"]);
}

#[test]
fn an_unknown_field_is_refused_with_its_place_and_a_guess() {
    let columns = COLUMNS.replace("[columns.age]\nrole = \"quasi\"", "[columns.age]\nrole = \"quasi\"\nwieght = 2.0");
    let sandbox = Sandbox::with(&people(50), 3, 1, &columns);
    let text = std::fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let line = 1 + text.lines().position(|line| line.starts_with("wieght")).unwrap();
    let message = sandbox.run_refused(78, &[]);
    let expected = format!("policy.toml:{line}:1: columns.age.wieght: unknown field; did you mean `weight`?");
    assert_eq!(message, expected);
}

#[test]
fn all_problems_of_a_policy_are_reported_at_once() {
    let columns = COLUMNS.replace("role = \"sensitive\"", "role = \"sensative\"").replace("\"set\"", "\"sett\"");
    let sandbox = Sandbox::with(&people(50), 3, 1, &columns);
    let message = sandbox.run_refused(78, &[]);
    assert_contains(&message, &["did you mean `sensitive`", "did you mean `set`?"]);
    assert_eq!(message.lines().count(), 2, "{message}");
}

#[test]
fn a_policy_that_is_no_policy_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.toml", "version = 1\n[input\n");
    assert_contains(&sandbox.throng(&["run", "broken.toml"]).refused(78), &["broken.toml:2:"]);
    sandbox.write("binary.toml", [0xff, 0xfe, 0x00, 0x01]);
    assert_contains(&sandbox.throng(&["run", "binary.toml"]).refused(78), &["binary.toml", "not UTF-8"]);
    assert_contains(&sandbox.throng(&["run", "absent.toml"]).refused(78), &["absent.toml", "no such policy file"]);
    assert_contains(&sandbox.throng(&["check", "absent.toml"]).refused(78), &["no such policy file"]);
    assert_contains(&sandbox.throng(&["run", "input"]).refused(78), &["input", "can't be read"]);
    assert!(sandbox.out().is_empty());
}

#[test]
fn a_missing_hierarchy_file_is_named() {
    let columns = COLUMNS.replace("{ mask = \"right\" }", "\"hierarchies/zip.csv\"");
    let sandbox = Sandbox::with(&people(50), 3, 1, &columns);
    assert_contains(&sandbox.run_refused(78, &[]), &["columns.zip.hierarchy", "hierarchies/zip.csv", "no such file"]);
}

#[test]
fn a_nested_quasi_identifier_is_refused() {
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>((0..10).map(|row| Some(vec![Some(row)])));
    let input = table(vec![("visits", Arc::new(lists)), ("age", Arc::new(Int64Array::from_iter_values(0..10)))]);
    let columns = "[columns.visits]\nrole = \"quasi\"\n[columns.age]\nrole = \"quasi\"";
    let sandbox = Sandbox::with(&input, 2, 1, columns);
    let message = sandbox.run_refused(78, &[]);
    assert_contains(&message, &["columns.visits.role", "of type list", "can't be `quasi`", "insensitive"]);
}

#[test]
fn a_release_that_does_not_go_with_the_type_is_refused() {
    let columns = COLUMNS.replace("release = \"set\"", "release = \"interval\"");
    let sandbox = Sandbox::with(&people(50), 3, 1, &columns);
    assert_contains(&sandbox.run_refused(78, &[]), &["columns.sex.release", "`interval` is for numbers", "`set`"]);
}

#[test]
fn p_above_the_distinct_values_names_the_column_and_the_highest_p() {
    let sandbox = Sandbox::with(&people(300), 10, 7, COLUMNS);
    let parts = ["`diagnosis`", "5 distinct values", "p = 7", "the highest p that works for it is 5"];
    assert_contains(&sandbox.run_refused(3, &[]), &parts);
    let checked = sandbox.throng(&["check", "policy.toml"]);
    assert_contains(&checked.refused(3), &parts);
    assert_contains(&checked.stderr, &["`diagnosis`", "p can be at most 5"]);
    let json = checked.json();
    assert_eq!(json["outcome"], "infeasible");
    assert_eq!(json["sensitive"][0]["highest_p"], 5);
    assert!(sandbox.out().is_empty());
    sandbox.run(&["-p", "5"]);
}

#[test]
fn k_above_the_rows_is_refused() {
    let sandbox = Sandbox::with(&people(50), 51, 1, COLUMNS);
    assert_contains(&sandbox.run_refused(3, &[]), &["50 rows", "k = 51"]);
    assert_contains(&sandbox.throng(&["check", "policy.toml"]).refused(3), &["50 rows", "k = 51"]);
    sandbox.run(&["-k", "50"]);
}

#[test]
fn a_flag_that_makes_no_sense_is_named() {
    let sandbox = Sandbox::with(&people(50), 3, 1, COLUMNS);
    assert_contains(&sandbox.run_refused(78, &["-k", "1"]), &["--k", "must be at least 2"]);
    assert_contains(&sandbox.run_refused(78, &["-p", "9"]), &["--p", "p = 9 is more than k = 3"]);
}

#[test]
fn usage_errors_have_their_own_code() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["run"][..],
        &["run", "policy.toml", "--thread", "x"],
        &["run", "policy.toml", "--threads", "0"],
        &["run", "policy.toml", "-k", "many"],
        &["rnu", "policy.toml"],
        &["verify", "out"],
        &["verify", "out", "--quasi", "age"],
        &["generate", "census"],
        &[],
    ] {
        let ended = sandbox.throng(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains("--help"), "{ended:?}");
        assert_eq!((&ended.json()["outcome"], &ended.json()["exit_code"]), (&"error".into(), &2.into()), "{ended:?}");
    }
    let help = sandbox.throng(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    assert_contains(&sandbox.throng(&["chek"]).stderr, &["'check'"]);
    assert!(sandbox.out().is_empty());
}
