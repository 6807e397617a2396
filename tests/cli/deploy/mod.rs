//! Checks the files of `deploy/` against the binary: policies are valid, commands run as written, exit codes agree, and
//! limits leave room. Images and clusters themselves are not tested here.

mod files;
mod monitoring;
#[cfg(unix)]
mod packages;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use throng_job::Kind;
use throng_policy::{Overrides, Policy};
use throng_synthetic::census_schema;
use yaml_rust2::Yaml;

use crate::sandbox::Sandbox;
use files::{bytes, numbers, object, path, python_lists, setting, stages, strings, text, unit, yaml};

const CRON_JOB: &str = "deploy/kubernetes/census.yaml";
const SERVICE: &str = "deploy/systemd/throng@.service";
const TIMER: &str = "deploy/systemd/throng@.timer";
const COMPOSE: &str = "deploy/compose/compose.yaml";
const DAG: &str = "deploy/airflow/throng_dag.py";
const CONTAINERFILE: &str = "deploy/Containerfile";

/// Maximum time that a run may continue after SIGTERM, in seconds; see GRACE and LAST_WORK in lib.rs.
const LONGEST_STOP: i64 = 35;

/// Factor of its `--memory-limit` that a process stays within.
const MEMORY_MARGIN: f64 = 1.2;

/// Exit codes of failures that a retry does not fix.
fn final_codes() -> BTreeSet<i64> {
    use Kind::{BadData, BadPolicy, BadQuery, Infeasible, Internal, NoInput, Verification};
    let kinds = [BadQuery, Infeasible, Verification, BadData, NoInput, Internal, BadPolicy];
    kinds.map(|kind| i64::from(kind.exit_code())).into()
}

fn job() -> Yaml {
    object(CRON_JOB, "CronJob")["spec"]["jobTemplate"]["spec"].clone()
}

fn container() -> Yaml {
    let containers = &job()["template"]["spec"]["containers"];
    assert_eq!(containers.as_vec().unwrap().len(), 1);
    containers[0].clone()
}

/// Returns the arguments of every command of Throng in the folder, with its file.
fn commands() -> Vec<(&'static str, Vec<String>)> {
    let mut commands = vec![(CRON_JOB, strings(&container()["args"]))];
    let service = unit(SERVICE);
    let started = setting(&service, "Service", "ExecStart").replace("%i", "census");
    let started = started.strip_prefix("/usr/local/bin/throng ").unwrap();
    commands.push((SERVICE, started.split(' ').map(str::to_owned).collect()));
    for (name, service) in yaml(COMPOSE)[0]["services"].as_hash().unwrap() {
        if !["store", "bucket"].contains(&name.as_str().unwrap()) {
            commands.push((COMPOSE, strings(&service["command"])));
        }
    }
    commands.extend(python_lists(&text(DAG), "arguments").into_iter().map(|arguments| (DAG, arguments)));
    commands
}

/// Returns the value of a flag, after a space or an equals sign.
fn flag<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    let joined = format!("{name}=");
    let at = arguments.iter().position(|argument| argument == name || argument.starts_with(&joined))?;
    arguments[at].strip_prefix(&joined).or_else(|| arguments.get(at + 1).map(String::as_str))
}

#[test]
fn the_policy_is_the_same_everywhere_and_fits_the_census() {
    let policy = text("deploy/census.toml");
    assert_eq!(object(CRON_JOB, "ConfigMap")["data"]["census.toml"].as_str(), Some(policy.as_str()));
    let policy = Policy::parse(&policy, Path::new("."), &Overrides::for_a_table()).unwrap();
    let binding = policy.bind(&census_schema()).unwrap();
    assert_eq!((binding.k, binding.sensitive[0].p), (10, 3));
}

#[test]
fn every_command_runs_as_it_is_written() {
    let sandbox = Sandbox::new();
    for folder in ["etc", "data", "var/metrics", "var/lineage"] {
        fs::create_dir_all(sandbox.path(folder)).unwrap();
    }
    fs::copy(path("deploy/census.toml"), sandbox.path("etc/census.toml")).unwrap();
    let here = |place: &str| sandbox.path(place).display().to_string();
    let places = [
        ("/etc/throng/", here("etc/")),
        ("/var/lib/throng/", here("var/")),
        ("/data/", here("data/")),
        ("s3://census/raw/", here("raw/")),
        ("s3://census/release/", here("release/")),
    ];
    let put = |argument: String| {
        let argument = if argument == "100000" { "3000".to_owned() } else { argument };
        places.iter().fold(argument, |argument, (there, here)| argument.replace(there, here))
    };
    // Commands of the compose file come first, because they create the input of the others.
    let mut commands = commands();
    commands.sort_by_key(|(place, _)| *place != COMPOSE);
    let verbs: Vec<String> = commands.iter().map(|(_, arguments)| arguments[0].clone()).collect();
    assert_eq!(verbs, ["generate", "sql", "run", "verify", "run", "run", "check", "run"]);
    for (place, arguments) in commands {
        let arguments: Vec<String> = arguments.into_iter().map(put).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = sandbox.command(&arguments);
        command.env("CENSUS_INPUT", here("raw/")).env("CENSUS_OUTPUT", here("release/"));
        let ended = crate::sandbox::Ended::from(command.output().unwrap());
        assert_eq!(ended.code, Some(0), "{place}: {arguments:?}: {ended:?}");
        if arguments[0] == "run" {
            assert_eq!(ended.json()["rows"], 3000, "{place}");
        }
    }
    let written = |name: &str| fs::metadata(sandbox.path(name)).unwrap().len() > 0;
    assert!(written("var/metrics/census.prom") && written("var/lineage/census.json"));
}

#[test]
fn only_a_temporary_failure_is_tried_again() {
    let job = job();
    let rules = job["podFailurePolicy"]["rules"].as_vec().unwrap();
    let codes = |action: &str| -> BTreeSet<i64> {
        let of = rules.iter().filter(|rule| rule["action"].as_str() == Some(action));
        let codes = of.map(|rule| &rule["onExitCodes"]).filter(|codes| !codes.is_badvalue());
        codes
            .flat_map(|codes| {
                assert_eq!((codes["operator"].as_str(), codes["containerName"].as_str()), (Some("In"), Some("throng")));
                numbers(&codes["values"])
            })
            .collect()
    };
    let again = i64::from(Kind::TemporaryIo.exit_code());
    assert_eq!(codes("FailJob"), final_codes());
    assert_eq!(codes("Count"), BTreeSet::from([again]));
    assert!(job["backoffLimit"].as_i64().unwrap() > 0);
    assert_eq!(job["template"]["spec"]["restartPolicy"].as_str(), Some("Never"), "needed for the rules to be asked");

    let service = unit(SERVICE);
    assert_eq!(setting(&service, "Service", "Restart"), "no");
    assert_eq!(setting(&service, "Service", "RestartForceExitStatus"), again.to_string());
    assert!(text(DAG).contains(&format!("TRY_AGAIN = {again}\n")));
}

#[test]
fn limits_leave_room_for_what_a_run_takes() {
    let container = container();
    let args = strings(&container["args"]);
    let limits = &container["resources"]["limits"];
    assert_eq!(flag(&args, "--threads"), limits["cpu"].as_str());
    let compose = &yaml(COMPOSE)[0]["services"]["release"];
    let service = unit(SERVICE);
    let started: Vec<String> = setting(&service, "Service", "ExecStart").split(' ').map(str::to_owned).collect();
    for (place, arguments, limit) in [
        (CRON_JOB, args, limits["memory"].as_str().unwrap()),
        (SERVICE, started, setting(&service, "Service", "MemoryMax")),
        (COMPOSE, strings(&compose["command"]), compose["mem_limit"].as_str().unwrap()),
    ] {
        let taken = bytes(flag(&arguments, "--memory-limit").unwrap()) as f64 * MEMORY_MARGIN;
        assert!(taken <= bytes(limit) as f64, "{place}");
    }

    let pod = job()["template"]["spec"].clone();
    assert!(pod["terminationGracePeriodSeconds"].as_i64().unwrap() > LONGEST_STOP);
    let stop = setting(&service, "Service", "TimeoutStopSec").strip_suffix('s').unwrap();
    assert!(stop.parse::<i64>().unwrap() > LONGEST_STOP);
    let dag = text(DAG);
    let grace = dag.lines().find_map(|line| line.strip_prefix("GRACE_SECONDS = ")).unwrap();
    assert!(grace.parse::<i64>().unwrap() > LONGEST_STOP);
}

#[test]
fn a_pod_can_write_to_its_spill_volume_and_to_nothing_else() {
    let (pod, container) = (job()["template"]["spec"].clone(), container());
    let security = &container["securityContext"];
    assert_eq!(security["readOnlyRootFilesystem"].as_bool(), Some(true));
    assert_eq!(security["allowPrivilegeEscalation"].as_bool(), Some(false));
    assert_eq!(strings(&security["capabilities"]["drop"]), ["ALL"]);
    assert_eq!(pod["securityContext"]["runAsNonRoot"].as_bool(), Some(true));
    assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false));
    let environment = container["env"].as_vec().unwrap().iter();
    let spill = environment.clone().find(|variable| variable["name"].as_str() == Some("TMPDIR")).unwrap();
    let mounts = container["volumeMounts"].as_vec().unwrap().iter();
    let writable: Vec<&Yaml> = mounts.filter(|mount| mount["readOnly"].as_bool() != Some(true)).collect();
    assert_eq!(writable.len(), 1);
    assert_eq!(writable[0]["mountPath"].as_str(), spill["value"].as_str());
    let volumes = pod["volumes"].as_vec().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == writable[0]["name"]).unwrap();
    assert!(volume["emptyDir"]["sizeLimit"].as_str().is_some(), "it goes away with the pod, and is bounded");
    assert_eq!(object(CRON_JOB, "CronJob")["spec"]["concurrencyPolicy"].as_str(), Some("Forbid"));
    // Credentials come from a Secret, whose values are not in the file.
    let named: Vec<&str> = environment.filter_map(|variable| variable["name"].as_str()).collect();
    assert!(named.iter().all(|name| !name.contains("KEY") && !name.contains("TOKEN")), "{named:?}");
    assert!(container["envFrom"][0]["secretRef"]["name"].as_str().is_some());
    assert!(yaml(CRON_JOB).iter().all(|document| document["kind"].as_str() != Some("Secret")));
}

#[test]
fn the_image_is_pinned_and_holds_only_what_was_collected() {
    let stages = stages(CONTAINERFILE);
    let [build, last] = &stages[..] else { panic!("{stages:?}") };
    let of = |stage: &[(String, String)], word: &str| -> Vec<String> {
        stage.iter().filter(|(found, _)| found == word).map(|(_, rest)| rest.clone()).collect()
    };
    let base = of(build, "FROM")[0].clone();
    let version = base.strip_prefix("docker.io/library/rust:").unwrap().split('-').next().unwrap().to_owned();
    assert_eq!(version.split('.').count(), 3, "an exact version: {base}");
    assert!(of(build, "ENV").contains(&format!("RUSTUP_TOOLCHAIN={version}")));
    let minor = |version: &str| version.split('.').nth(1).unwrap().parse::<u32>().unwrap();
    assert!(minor(&version) >= minor(env!("CARGO_PKG_RUST_VERSION")), "the image is too old for the workspace");
    let run = of(build, "RUN").join("\n");
    assert!(run.contains("cargo build --profile dist --locked"), "{run}");
    assert!(!run.contains("apt-get") && !run.contains("curl"), "what a network gives today it may not give tomorrow");

    let words: Vec<&str> = last.iter().map(|(word, _)| word.as_str()).collect();
    assert_eq!(words, ["FROM", "COPY", "ENV", "USER", "ENTRYPOINT", "CMD"]);
    assert_eq!((of(last, "FROM")[0].as_str(), of(last, "COPY")[0].as_str()), ("scratch", "--from=build /image/ /"));
    let entry: Vec<String> = serde_json::from_str(&of(last, "ENTRYPOINT")[0]).unwrap();
    assert!(run.contains(&format!("/image{}", entry[0])), "{entry:?}");
    let user = of(last, "USER")[0].clone();
    let pod = &job()["template"]["spec"]["securityContext"];
    let of_pod = format!("{}:{}", pod["runAsUser"].as_i64().unwrap(), pod["runAsGroup"].as_i64().unwrap());
    assert_eq!(user, of_pod);
    assert!(!user.starts_with("0:"));

    // The build context has the workspace, and no file that is not part of it.
    let ignored = text(".dockerignore");
    let kept: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    assert!(ignored.lines().any(|line| line == "*"));
    assert!(kept.iter().all(|name| path(name).exists()), "{kept:?}");
    for needed in ["Cargo.toml", "Cargo.lock", "crates", "tests", "benches", "configs"] {
        assert!(kept.contains(&needed), "{needed}");
    }
}

/// Whether a program is installed; prints that a test is skipped otherwise.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        throng_testkit::skip(&format!("{program} is not installed"));
    }
    found
}

#[test]
fn systemd_accepts_the_units() {
    if !has("systemd-analyze") {
        return;
    }
    let sandbox = Sandbox::new();
    let service = text(SERVICE).replace("/usr/local/bin/throng", env!("CARGO_BIN_EXE_throng"));
    sandbox.write("throng@census.service", &service);
    sandbox.write("throng@census.timer", text(TIMER));
    let verified = Command::new("systemd-analyze")
        .args(["verify", "./throng@census.service", "./throng@census.timer"])
        .current_dir(sandbox.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && !said.contains("throng@"), "{said}");
    let folders = setting(&unit(SERVICE), "Service", "StateDirectory").to_owned();
    for folder in ["throng/metrics", "throng/lineage"] {
        assert!(folders.split(' ').any(|made| made == folder), "{folder} is not made: {folders}");
    }
}

/// Stubs for the few names of Airflow that the DAG uses; prints the operator's reaction to success, failures
/// and a kill.
const DRIVER: &str = r#"
import json, sys, threading, time, types

class AirflowException(Exception): pass
class AirflowFailException(AirflowException): pass
class BaseOperator:
    def __init__(self, task_id): self.task_id = task_id
    def __rshift__(self, other): return other
class DAG:
    def __init__(self, **settings): self.settings = settings
    def __enter__(self): return self
    def __exit__(self, *_): pass
sdk, exceptions = types.ModuleType("airflow.sdk"), types.ModuleType("airflow.sdk.exceptions")
sdk.DAG, sdk.BaseOperator = DAG, BaseOperator
exceptions.AirflowException, exceptions.AirflowFailException = AirflowException, AirflowFailException
sys.modules.update({"airflow": types.ModuleType("airflow"), "airflow.sdk": sdk, "airflow.sdk.exceptions": exceptions})
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import throng_dag

def ended(arguments):
    try:
        return ["done", throng_dag.ThrongOperator(task_id="x", arguments=arguments).execute({})["outcome"]]
    except AirflowException as error:
        return [type(error).__name__, str(error)]

reported = [ended(["check", "policy.toml"]), ended(["run", "none.toml"]),
        ended(["run", "policy.toml", "--input", "s3://bucket/people.parquet"]),
        ended(["run", "policy.toml", "--output", "/proc/none/release"])]
operator = throng_dag.ThrongOperator(task_id="x", arguments=["generate", "census", "--rows", "100000000", "-o", "big"])
def stopped():
    try:
        operator.execute({})
    except AirflowFailException:
        reported.append(["stopped"])
waiting = threading.Thread(target=stopped)
waiting.start()
while operator.process is None: time.sleep(0.01)
operator.on_kill()
waiting.join()
reported.append([operator.process.returncode])
print(json.dumps([reported, throng_dag.dag.settings["max_active_runs"], throng_dag.dag.settings["default_args"]["retries"]]))
"#;

#[test]
#[cfg(target_os = "linux")]
fn airflow_tries_again_only_what_may_pass() {
    if !has("python3") {
        return;
    }
    let columns = format!("{}\n[store]\nretries = 0\n", crate::fixture_table::COLUMNS);
    let sandbox = Sandbox::with(&crate::fixture_table::people(60), 3, 1, &columns);
    let binary = Path::new(env!("CARGO_BIN_EXE_throng"));
    let search = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let ran = Command::new("python3")
        .args(["-c", DRIVER])
        .arg(path("deploy/airflow"))
        .current_dir(sandbox.path(""))
        .env("PATH", search)
        // A store that does not respond.
        .envs([("AWS_ENDPOINT_URL", "http://127.0.0.1:9"), ("AWS_ALLOW_HTTP", "true")])
        .envs([("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let reported: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&reported[1], reported[2].as_u64().unwrap() > 0), (&1.into(), true));
    let reported = &reported[0];
    assert_eq!(reported[0], serde_json::json!(["done", "feasible"]));
    assert_eq!(reported[1][0], "AirflowFailException");
    assert!(reported[1][1].as_str().unwrap().starts_with("throng ended with 78: none.toml"), "{reported}");
    assert_eq!(reported[2][0], "AirflowException", "75 is tried again: {reported}");
    assert!(reported[2][1].as_str().unwrap().starts_with("throng ended with 75: "), "{reported}");
    assert_eq!(reported[3][0], "AirflowFailException", "a folder that can't be created stays so: {reported}");
    assert!(reported[3][1].as_str().unwrap().starts_with("throng ended with 78: creating "), "{reported}");
    assert_eq!(reported[4], serde_json::json!(["stopped"]));
    let by_signal = &reported[5][0];
    assert!(by_signal == 143 || by_signal == -15, "{reported}");
}
