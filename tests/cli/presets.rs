//! Presets: their output, their parameters, and that a release satisfies their k.

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains};
use crate::tables::write_parquet;

fn sandbox(privacy: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    write_parquet(&sandbox.path("input/people.parquet"), &people(600));
    let head = "version = 1\n[input]\nlocation = \"input/\"\n[output]\nlocation = \"out/release\"\n";
    sandbox.write("policy.toml", format!("{head}[privacy]\n{privacy}\n{COLUMNS}"));
    sandbox
}

#[test]
fn check_prints_the_basis_and_the_risk_and_a_run_logs_them() {
    for (name, k, risk, basis) in [
        ("common", 5, "1/5 = 0.200", "cell size of five"),
        ("research", 10, "1/10 = 0.100", "taken from no rule"),
        ("cms", 11, "1/11 = 0.091", "no cell of 1 to 10"),
        ("public-health", 12, "1/12 = 0.083", "at most 0.09"),
        ("strict", 20, "1/20 = 0.050", "patient data in public"),
    ] {
        let sandbox = sandbox(&format!("preset = \"{name}\"\np = 2"));
        let ended = sandbox.throng(&["check", "policy.toml"]);
        assert_contains(&ended.stderr, &[risk, basis, "no statement of compliance with any law"]);
        let json = ended.done();
        assert_eq!((&json["preset"], &json["k"]), (&name.into(), &k.into()));
        assert!((json["highest_risk"].as_f64().unwrap() - 1.0 / f64::from(k)).abs() < 1e-12);
        let ended = sandbox.throng(&["run", "policy.toml", "--budget", "fast"]);
        assert_contains(&ended.stderr, &[risk, basis]);
        ended.done();
        let count = Rows::of(&read(&sandbox.release())).count(&QUASI, &["diagnosis"]);
        assert!(count.smallest >= k as u64 && count.fewest[0] >= 2, "{name}: {count:?}");
    }
}

#[test]
fn a_preset_asks_for_p_and_is_not_undercut() {
    let asked = sandbox("preset = \"cms\"");
    let message = asked.run_refused(78, &[]);
    assert_contains(&message, &["policy.toml:6:2: privacy.p", "required beside a preset", "k = 11"]);
    asked.run(&["-p", "1"]);
    let lower = sandbox("preset = \"cms\"\np = 1\nk = 10");
    assert_contains(&lower.run_refused(78, &[]), &["policy.toml:9:5: privacy.k", "less than the 11"]);
    let given = sandbox("preset = \"cms\"\np = 1");
    assert_contains(&given.run_refused(78, &["-k", "5"]), &["--k", "less than the 11"]);
}

/// A preset requires a p, so the advice must not be to leave it out.
#[test]
fn without_a_sensitive_column_the_advice_can_be_followed() {
    let head = "preset = \"common\"\np = 2";
    let columns = COLUMNS.replace("role = \"sensitive\"", "role = \"insensitive\"");
    let sandbox = Sandbox::new();
    write_parquet(&sandbox.path("input/people.parquet"), &people(60));
    let locations = "version = 1\n[input]\nlocation = \"input/\"\n[output]\nlocation = \"out/release\"\n";
    sandbox.write("policy.toml", format!("{locations}[privacy]\n{head}\n{columns}"));
    assert_contains(&sandbox.run_refused(78, &[]), &["needs a column with the role `sensitive`", "set p to 1"]);
    sandbox.run(&["-p", "1"]);
}
