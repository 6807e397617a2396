//! `cover`: the ends of released intervals are borders of a grid, and no values of the table.

use std::fs;

use serde_json::Value;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Sandbox, assert_contains};

/// The columns of most tests, with these settings for the age.
fn with_age(settings: &str) -> String {
    COLUMNS.replacen("[columns.age]\nrole = \"quasi\"\n", &format!("[columns.age]\nrole = \"quasi\"\n{settings}\n"), 1)
}

/// Runs the policy, and returns the result of a query on the release.
fn released(sandbox: &Sandbox, question: &str) -> Vec<String> {
    sandbox.run(&[]);
    let ended = sandbox.throng(&["sql", "--format", "csv", "-c", &format!("{question} FROM 'out/release'")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout.lines().skip(1).map(|line| line.trim_matches('"').to_owned()).collect()
}

/// Parses `[20-29]`; `None` for a single value.
fn ends(label: &str) -> Option<(i64, i64)> {
    let (low, high) = label.strip_prefix('[')?.strip_suffix(']')?.split_once('-')?;
    Some((low.parse().unwrap(), high.parse().unwrap()))
}

fn sidecar(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&fs::read(sandbox.release().join("_throng/metrics.json")).unwrap()).unwrap()
}

const VERIFY: [&str; 4] = ["verify", "out/release", "--policy", "policy.toml"];

#[test]
fn ends_are_borders_of_the_grid_and_the_promise_holds() {
    let tight = Sandbox::with(&people(2000), 5, 2, COLUMNS);
    let covered = Sandbox::with(&people(2000), 5, 2, &with_age("cover = { grid = 5, origin = 2 }"));
    let question = "SELECT DISTINCT age";
    let intervals =
        |sandbox: &Sandbox| -> Vec<_> { released(sandbox, question).iter().filter_map(|age| ends(age)).collect() };
    let is_on_grid = |(low, high): &(i64, i64)| (low - 2) % 5 == 0 && (high - 1) % 5 == 0;
    assert!(!intervals(&tight).iter().all(is_on_grid));
    let found = intervals(&covered);
    assert!(!found.is_empty() && found.iter().all(is_on_grid), "{found:?}");
    assert_eq!(covered.throng(&VERIFY).done()["satisfied"], true);
    // Losses are those of the released values.
    let ncp = |sandbox: &Sandbox| sidecar(sandbox)["utility"]["columns"]["age"]["ncp"].as_f64().unwrap();
    assert!(ncp(&covered) > ncp(&tight), "{} and {}", ncp(&covered), ncp(&tight));
    // The same bytes from several threads and from one.
    let manifest = || fs::read(covered.release().join("_throng/manifest.json")).unwrap();
    let files = |bytes: Vec<u8>| serde_json::from_slice::<Value>(&bytes).unwrap()["files"].clone();
    let first = files(manifest());
    covered.run(&["--overwrite", "--threads", "1"]);
    assert_eq!(files(manifest()), first);
}

#[test]
fn bounds_are_rounded_in_their_own_type_and_stay_in_their_band() {
    let settings = "release = \"bounds\"\ncover = 10\nlimit = [25, 65]";
    let sandbox = Sandbox::with(&people(2000), 5, 2, &with_age(settings));
    let found = released(&sandbox, "SELECT DISTINCT concat('[', age_min, '-', age_max, ']')");
    for (low, high) in found.iter().filter_map(|label| ends(label)).filter(|(low, high)| low < high) {
        assert!(low % 10 == 0 || [25, 65].contains(&low), "{low}");
        assert!((high + 1) % 10 == 0 || [24, 64].contains(&high), "{high}");
        assert!([25, 65].iter().all(|border| high < *border || *border <= low), "{low} to {high} crosses a border");
    }
    assert_eq!(sandbox.throng(&VERIFY).done()["satisfied"], true);
}

#[test]
fn every_partition_releases_the_grid() {
    for (partition, cluster) in
        [("mondrian", "none"), ("mondrian", "greedy"), ("incognito", "none"), ("none", "centroid")]
    {
        let algorithm = format!("[algorithm]\npartition = \"{partition}\"\ncluster = \"{cluster}\"\n");
        let sandbox = Sandbox::with(&people(600), 5, 2, &format!("{algorithm}{}", with_age("cover = 7")));
        let found = released(&sandbox, "SELECT DISTINCT age");
        let on_grid = |(low, high): (i64, i64)| low % 7 == 0 && (high + 1) % 7 == 0;
        assert!(found.iter().filter_map(|age| ends(age)).all(on_grid), "{partition}, {cluster}: {found:?}");
    }
}

#[test]
fn a_bound_of_the_loss_stays_below_what_is_released() {
    let text = format!("[algorithm]\nbound = true\n{}", with_age("cover = 5"));
    let sandbox = Sandbox::with(&people(500), 5, 2, &text);
    sandbox.run(&[]);
    let utility = &sidecar(&sandbox)["utility"];
    let (bound, found) = (utility["lower_bound"].as_f64().unwrap(), utility["ncp"].as_f64().unwrap());
    assert!(0.0 < bound && bound <= found, "{bound} is above {found}: {utility}");
}

#[test]
fn what_can_not_be_rounded_is_refused_with_its_place() {
    let sandbox = Sandbox::with(&people(100), 5, 2, &with_age("release = \"mean\"\ncover = 5"));
    let message = sandbox.run_refused(78, &[]);
    assert_contains(&message, &["columns.age.cover: rounds the ends of intervals", "released as `mean`"]);
    let sandbox = Sandbox::with(&people(100), 5, 2, &with_age("cover = 0.5"));
    assert_contains(&sandbox.run_refused(78, &[]), &["columns.age.cover: the borders of this grid are no values"]);
    assert!(!sandbox.release().exists());
}

#[test]
fn an_intruder_can_not_take_the_ends_for_values() {
    let attack = |settings: &str| {
        let sandbox = Sandbox::with(&people(3000), 5, 2, &with_age(settings));
        sandbox.run(&[]);
        let arguments = ["attack", "out/release", "--original", "input/", "--policy", "policy.toml"];
        let report = sandbox.throng(&arguments).done();
        let found = report["attacks"].as_array().unwrap().iter().find(|attack| attack["name"] == "downcoding");
        found.unwrap()["gain"].as_f64().unwrap()
    };
    let (tight, covered) = (attack(""), attack("cover = 5"));
    assert!(tight > 2.0 && covered < 1.3, "{tight} and {covered}");
}
