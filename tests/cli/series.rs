//! `mode = "series"`: nights on the command line.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains, names};
use crate::{release_files, tables};

/// A series over the first `rows` people of the table.
fn sandbox(rows: usize) -> Sandbox {
    let sandbox =
        Sandbox::with(&people(rows), 4, 2, &format!("unit = \"row\"\n[series]\nledger = \"ledger\"\n{COLUMNS}"));
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nmode = \"series\"\n"));
    sandbox
}

/// Replaces the input of the next night.
fn tonight(sandbox: &Sandbox, table: &RecordBatch) {
    tables::write_parquet(&sandbox.path("input/people.parquet"), table);
}

fn copy_release(sandbox: &Sandbox, to: &str) {
    let to = sandbox.path(to);
    fs::create_dir(&to).unwrap();
    for name in names(&sandbox.release()).iter().filter(|name| name.starts_with("part-")) {
        fs::copy(sandbox.release().join(name), to.join(name)).unwrap();
    }
}

const VERIFY: [&str; 4] = ["verify", "out/release", "--policy", "policy.toml"];

#[test]
fn releases_of_a_series_are_verified_together() {
    let sandbox = sandbox(900);
    let first = sandbox.run(&[]);
    assert_eq!(first["rows"], 900);
    copy_release(&sandbox, "night-1");
    // One person leaves, a hundred come.
    tonight(&sandbox, &people(1000).slice(1, 999));
    sandbox.run(&[]);
    let verified = sandbox.throng(&[&VERIFY[..], &["--against", "night-1", "--ledger"]].concat()).done();
    assert_eq!((&verified["satisfied"], &verified["against"][0]["left"]), (&true.into(), &0.into()), "{verified}");
    assert_eq!(
        (&verified["against"][0]["stayed"], &verified["ledger"]["releases"]),
        (&900.into(), &2.into()),
        "{verified}"
    );

    // The same without a ledger is detected.
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let plain = text
        .replace("mode = \"series\"", "mode = \"overwrite\"")
        .replace("unit = \"row\"\n[series]\nledger = \"ledger\"\n", "");
    sandbox.write("plain.toml", plain);
    sandbox.throng(&["run", "plain.toml", "--output", "out/plain"]).done();
    let refused = sandbox.throng(&["verify", "out/plain", "--policy", "plain.toml", "--against", "night-1"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let found = refused.json()["against"][0].clone();
    assert!(found["rows_below_k"].as_u64().unwrap() > 0);

    // A column that only one of them has hides nothing, and a column of another type is not taken for other rows.
    let earlier = release_files::read(&sandbox.path("night-1"));
    let with = |name: &str, column: ArrayRef| {
        let schema = earlier.schema();
        let columns = schema.fields().iter().map(|field| field.name().clone()).zip(earlier.columns().to_vec());
        let columns: Vec<(String, ArrayRef)> = columns.filter(|(known, _)| known != name).collect();
        let columns = columns.iter().map(|(name, column)| (name.as_str(), Arc::clone(column)));
        tables::table(columns.chain([(name, column)]).collect())
    };
    let against = |table: &RecordBatch| {
        tables::write_parquet(&sandbox.path("edited.parquet"), table);
        sandbox.throng(&["verify", "out/plain", "--policy", "plain.toml", "--against", "edited.parquet"])
    };
    let rows = earlier.num_rows();
    let wider = against(&with("note", Arc::new(Int64Array::from(vec![1; rows]))));
    assert_eq!(wider.code, Some(4), "{wider:?}");
    for figure in ["stayed", "moved", "left", "come", "rows_below_k", "rows_below_p"] {
        assert_eq!(wider.json()["against"][0][figure], found[figure], "{figure}");
    }
    let retyped = against(&with("hours", tables::strings((0..rows).map(|_| "8"))));
    assert_contains(&retyped.refused(4), &["column `hours`", "different types"]);
}

#[test]
fn the_ledger_is_verified_under_a_policy_that_has_the_columns_in_another_order() {
    let sandbox = sandbox(300);
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let columns: Vec<&str> = COLUMNS.trim().split("[columns.").skip(1).collect();
    let reversed: String = columns.iter().rev().map(|column| format!("[columns.{column}\n")).collect();
    let turned = text.replace(COLUMNS.trim(), &reversed);
    assert!(turned.find("[columns.diagnosis]").unwrap() < turned.find("[columns.age]").unwrap());
    sandbox.write("policy.toml", turned);
    sandbox.run(&[]);
    let verified = sandbox.throng(&[&VERIFY[..], &["--ledger"]].concat()).done();
    assert_eq!((&verified["ledger"]["unknown_rows"], &verified["satisfied"]), (&0.into(), &true.into()), "{verified}");
}

#[test]
fn a_lost_ledger_and_a_changed_policy_say_how_to_begin_again() {
    let sandbox = sandbox(300);
    sandbox.run(&[]);
    let changed = sandbox.run_refused(78, &["--k", "5"]);
    assert_contains(&changed, &["the policy has changed", "--rebase"]);
    fs::remove_dir_all(sandbox.path("ledger")).unwrap();
    let lost = sandbox.run_refused(78, &[]);
    assert_contains(&lost, &["missing", "--rebase"]);
    sandbox.run(&["--rebase"]);
    sandbox.run(&[]);
    let without = sandbox.command(&["run", "policy.toml"]).env_remove("THRONG_LEDGER_KEY").output().unwrap();
    assert_eq!(without.status.code(), Some(78));
}

#[test]
fn a_night_that_is_killed_leaves_the_old_state_or_the_new_one() {
    let sandbox = sandbox(3000);
    sandbox.run(&[]);
    tonight(&sandbox, &people(3600));
    let verify = [&VERIFY[..], &["--ledger"]].concat();
    let mut releases = 1;
    // Killed at moments spread over a run: before the ledger is written, between ledger and release, and after both.
    for delay in [0, 40, 80, 120, 160, 240, 320, 480, 640] {
        let mut run = sandbox.start(&["run", "policy.toml"]);
        let start = Instant::now();
        let is_written = || fs::read_dir(sandbox.path("ledger")).unwrap().count() > 2;
        while start.elapsed() < Duration::from_millis(delay) && !(delay % 80 == 40 && is_written()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        run.kill().unwrap();
        run.wait().unwrap();
        let found = sandbox.throng(&verify).done();
        let now = found["ledger"]["releases"].as_u64().unwrap();
        assert!(now == releases || now == releases + 1, "{now} after {releases}");
        releases = now;
    }
    sandbox.run(&[]);
    let found = sandbox.throng(&verify).done();
    assert_eq!(found["ledger"]["releases"], releases + 1);
    assert!(names(&sandbox.release()).contains(&"_SUCCESS".to_owned()));
}

/// A sweep and a bound are about single releases, which count the units of the policy.
#[test]
fn policies_of_a_series_can_be_swept_and_bounded() {
    let sandbox = sandbox(300);
    let swept = sandbox.throng(&["sweep", "policy.toml", "--k", "4,9", "--utility"]).done();
    let classes = |at: usize| swept["trials"][at]["classes"].as_u64().unwrap();
    assert!(classes(0) > classes(1) && classes(1) > 1, "{swept}");
    let bounded = sandbox.throng(&["bound", "policy.toml"]).done();
    assert!(bounded["gap"].as_f64().unwrap() > 0.0, "{bounded}");
}
