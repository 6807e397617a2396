//! `throng run --metrics-file`: the Prometheus metrics, compared with the sidecar.

use std::fs;

use serde_json::Value;

use crate::fixture_table::{COLUMNS, people};
use crate::prometheus_parser::Samples;
use crate::sandbox::{Sandbox, assert_contains, names};

const FILE: [&str; 2] = ["--metrics-file", "metrics/people.prom"];

/// Metrics of every run.
const ALWAYS: [&str; 6] = [
    "throng_run_duration_seconds",
    "throng_run_end_timestamp_seconds",
    "throng_run_exit_code",
    "throng_run_peak_memory_bytes",
    "throng_run_start_timestamp_seconds",
    "throng_run_success",
];

fn sandbox(columns: &str) -> Sandbox {
    let sandbox = Sandbox::with(&people(500), 4, 2, columns);
    fs::create_dir(sandbox.path("metrics")).unwrap();
    sandbox
}

fn samples(sandbox: &Sandbox) -> Samples {
    assert_eq!(names(&sandbox.path("metrics")), ["people.prom"]);
    Samples::parse(&fs::read_to_string(sandbox.path("metrics/people.prom")).unwrap())
}

fn of_every_run() -> Vec<&'static str> {
    let known = |name: &&str| cfg!(target_os = "linux") || !name.ends_with("memory_bytes");
    ALWAYS.into_iter().filter(known).collect()
}

#[test]
fn a_release_tells_what_its_sidecar_tells() {
    let sandbox = sandbox(COLUMNS);
    sandbox.run(&FILE);
    let found = samples(&sandbox);
    let sidecar = fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap();
    let sidecar: Value = serde_json::from_slice(&sidecar).unwrap();
    let assert_gauge = |name: &str, labels: &[(&str, &str)], expected: &Value| {
        assert!(expected.is_number(), "{name}");
        assert_eq!(found.value(name, labels), expected.as_f64(), "{name} {labels:?}");
    };
    assert_gauge("throng_run_success", &[], &1.into());
    assert_gauge("throng_run_exit_code", &[], &0.into());
    for side in ["input", "output"] {
        for fact in ["rows", "files", "bytes"] {
            assert_gauge(&format!("throng_run_{side}_{fact}"), &[], &sidecar[side][fact]);
        }
    }
    assert_gauge("throng_run_suppressed_rows", &[], &sidecar["output"]["suppressed_rows"]);
    assert_gauge("throng_run_classes", &[], &sidecar["utility"]["classes"]);
    assert_gauge("throng_run_ncp", &[], &sidecar["utility"]["ncp"]);
    for (column, facts) in sidecar["utility"]["columns"].as_object().unwrap() {
        assert_gauge("throng_run_column_ncp", &[("column", column)], &facts["ncp"]);
    }
    assert_eq!(found.labels("throng_run_column_ncp", "column").len(), 4);
    let requirements = sidecar["privacy"]["requirements"].as_array().unwrap();
    for requirement in requirements {
        let column = requirement["column"].as_str().unwrap_or_default();
        let labels = [("model", requirement["model"].as_str().unwrap()), ("column", column)];
        assert_gauge("throng_run_requirement_required", &labels, &requirement["required"]);
        assert_gauge("throng_run_requirement_achieved", &labels, &requirement["achieved"]);
    }
    assert_eq!(found.labels("throng_run_requirement_achieved", "model"), ["k-anonymity", "p-sensitivity"]);
    let info = [("policy_digest", sidecar["policy_digest"].as_str().unwrap()), ("version", env!("CARGO_PKG_VERSION"))];
    assert_eq!(found.value("throng_run_info", &info), Some(1.0));
    assert_eq!(found.labels("throng_run_info", "policy"), ["policy"], "the name of the policy file");

    let mut stages: Vec<&str> = found.labels("throng_run_stage_duration_seconds", "stage");
    stages.sort_unstable();
    assert_eq!(stages, ["cluster", "partition", "publish", "recode", "survey", "verify", "write"]);
    let number = |name: &str| found.value(name, &[]).unwrap();
    let spent: f64 =
        stages.iter().map(|stage| found.value("throng_run_stage_duration_seconds", &[("stage", stage)]).unwrap()).sum();
    assert!(spent <= number("throng_run_duration_seconds") + 0.01, "{found:?}");
    let (start, end) = (number("throng_run_start_timestamp_seconds"), number("throng_run_end_timestamp_seconds"));
    assert!((end - start - number("throng_run_duration_seconds")).abs() < 0.01, "{found:?}");
    assert_eq!(number("throng_run_last_success_timestamp_seconds"), end);
}

#[test]
fn failures_tell_their_exit_code_and_nothing_of_the_data() {
    let sandbox = sandbox(COLUMNS);
    sandbox.run(&FILE);
    let success = samples(&sandbox).value("throng_run_last_success_timestamp_seconds", &[]).unwrap();

    // The output exists already; k can't be satisfied; the policy is invalid; there is no input.
    let other = ["--output", "out/other"];
    for (code, more) in [
        (78, vec![]),
        (3, [&other[..], &["-k", "501"]].concat()),
        (78, vec!["-p", "0"]),
        (66, [&other[..], &["--input", "nothing/"]].concat()),
    ] {
        sandbox.throng(&[&["run", "policy.toml"], &FILE[..], &more].concat()).refused(code);
        let found = samples(&sandbox);
        assert_eq!(found.value("throng_run_success", &[]), Some(0.0));
        assert_eq!(found.value("throng_run_exit_code", &[]), Some(f64::from(code)));
        assert_eq!(found.value("throng_run_last_success_timestamp_seconds", &[]), Some(success));
        let mut expected = of_every_run();
        expected.push("throng_run_last_success_timestamp_seconds");
        let rest: Vec<&str> = found.names().into_iter().filter(|name| !expected.contains(name)).collect();
        let allowed = ["throng_run_info", "throng_run_stage_duration_seconds"];
        assert!(rest.iter().all(|name| allowed.contains(name)), "{rest:?}");
        assert!(expected.iter().all(|name| found.names().contains(name)), "{found:?}");
    }
}

#[test]
fn a_file_that_could_not_be_written_is_refused_before_the_run() {
    let sandbox = sandbox(COLUMNS);
    for (flag, place, why) in [
        ("--metrics-file", "nowhere/people.prom", "create it first"),
        ("--metrics-file", "metrics", "is a folder"),
        ("--lineage-file", "nowhere/people.json", "create it first"),
    ] {
        let message = sandbox.run_refused(2, &[flag, place]);
        assert_contains(&message, &[flag, place, why]);
    }
    assert!(names(&sandbox.path("metrics")).is_empty());
}

/// A name that exceeds the limit of the file system once the temporary name adds to it.
#[test]
#[cfg(unix)]
fn a_release_stands_when_its_metrics_can_not_be_written() {
    let sandbox = sandbox(COLUMNS);
    let name = format!("metrics/{}", "m".repeat(250));
    let ended = sandbox.throng(&["run", "policy.toml", "--metrics-file", &name]);
    assert!(ended.stderr.contains("could not be written"), "{ended:?}");
    assert_eq!(ended.done()["outcome"], "released");
    assert!(sandbox.release().join("_SUCCESS").exists());
    assert!(names(&sandbox.path("metrics")).is_empty());
}

#[test]
fn strange_names_of_columns_are_escaped() {
    let batch = people(200);
    let fields: Vec<_> = batch.schema_ref().fields().iter().map(|field| field.as_ref().clone()).collect();
    let strange = "a\"ge \\ in\nyears";
    let renamed = fields.into_iter().map(|field| match field.name().as_str() {
        "age" => field.with_name(strange),
        _ => field,
    });
    let schema = arrow::datatypes::Schema::new(renamed.collect::<Vec<_>>());
    let batch = arrow::array::RecordBatch::try_new(schema.into(), batch.columns().to_vec()).unwrap();
    let columns = COLUMNS.replace("[columns.age]", "[columns.\"a\\\"ge \\\\ in\\nyears\"]");
    let sandbox = Sandbox::with(&batch, 4, 2, &columns);
    fs::create_dir(sandbox.path("metrics")).unwrap();
    sandbox.run(&FILE);
    assert!(samples(&sandbox).value("throng_run_column_ncp", &[("column", strange)]).is_some());
}
