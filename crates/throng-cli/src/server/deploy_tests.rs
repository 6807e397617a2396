//! Checks the cluster files of `deploy/` against the binaries: variables, ports, exit codes and memory limits. Images
//! and clusters themselves are not tested here.

use std::collections::{BTreeMap, BTreeSet};

use clap::{CommandFactory, Parser};
use throng_job::Kind;
use yaml_rust2::Yaml;

use super::args::{ServerArgs, ServerCommand};
use super::{GRACE, LAST_WORK};
use crate::args::{Args as ThrongArgs, Command as ThrongCommand};

#[allow(dead_code, reason = "the tests of `throng` use all of it")]
#[path = "../../../../tests/cli/deploy/files.rs"]
mod files;

use files::{bytes, numbers, stages, strings, text, yaml};

const COMPOSE: &str = "deploy/compose/cluster.yaml";
const KUBERNETES: &str = "deploy/kubernetes/cluster.yaml";

/// Factor of its memory limit that a process stays within.
const MEMORY_MARGIN: f64 = 1.2;

/// A container with its command line and variables.
struct Container {
    name: String,
    /// Binary that replaces the entrypoint of the image.
    entrypoint: Option<String>,
    arguments: Vec<String>,
    variables: BTreeMap<String, String>,
    memory: String,
    /// Names below `/etc/throng-tls` and `/etc/throng-token` that are mounted and can't be written.
    certificates: BTreeSet<String>,
}

impl Container {
    /// Parses the command line of a server, including its variables.
    fn parsed(&self) -> ServerArgs {
        assert_eq!(self.entrypoint, None, "{}", self.name);
        self.parse()
    }

    /// Parses the command line of a release job.
    fn release(&self) -> ThrongCommand {
        assert_eq!(self.entrypoint.as_deref(), Some("/usr/bin/throng"), "{}", self.name);
        self.parse::<ThrongArgs>().command
    }

    fn parse<A: Parser + CommandFactory>(&self) -> A {
        let command = A::command();
        let subcommand = command.find_subcommand(&self.arguments[0]).unwrap();
        let mut line = vec![command.get_name().to_owned()];
        line.extend(self.arguments.iter().cloned());
        let settings =
            self.variables.iter().filter(|(name, _)| name.starts_with("THRONG_") && *name != "THRONG_SECRET");
        for (name, value) in settings {
            let mut options = subcommand.get_arguments().chain(command.get_arguments());
            let option = options.find(|option| option.get_env().is_some_and(|variable| variable == name.as_str()));
            let option = option.unwrap_or_else(|| panic!("{}: no option reads {name}", self.name));
            // Certificates are read with the options, and are not here.
            if !self.certificates.contains(value) {
                line.push(format!("--{}={value}", option.get_long().unwrap()));
            }
        }
        A::try_parse_from(line).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

/// Returns a map with the entries of those that are merged into it.
fn merged(map: &Yaml) -> BTreeMap<String, Yaml> {
    let others = match &map["<<"] {
        Yaml::Array(others) => others.clone(),
        Yaml::BadValue => Vec::new(),
        other => vec![other.clone()],
    };
    let mut all: BTreeMap<String, Yaml> = others.iter().flat_map(merged).collect();
    let own = map.as_hash().unwrap().iter().filter(|(name, _)| name.as_str() != Some("<<"));
    all.extend(own.map(|(name, value)| (name.as_str().unwrap().to_owned(), value.clone())));
    all
}

fn of_compose(name: &str) -> Container {
    let service = merged(&yaml(COMPOSE)[0]["services"][name]);
    let values = merged(&service["environment"]).into_iter();
    let mounts = service.get("volumes").map(strings).unwrap_or_default();
    let mounted = mounts.iter().filter_map(|mount| {
        let (file, place) = mount.strip_suffix(":ro")?.split_once(':')?;
        (file.rsplit('/').next()? == place.rsplit('/').next()?).then(|| place.to_owned())
    });
    Container {
        name: format!("{COMPOSE}: {name}"),
        entrypoint: service.get("entrypoint").map(|words| strings(words)[0].clone()),
        arguments: strings(&service["command"]),
        variables: values.filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect(),
        memory: service.get("mem_limit").and_then(Yaml::as_str).unwrap_or_default().to_owned(),
        certificates: mounted.collect(),
    }
}

/// Returns the objects of a kind by name.
fn objects(kind: &str) -> BTreeMap<String, Yaml> {
    let of_kind = yaml(KUBERNETES).into_iter().filter(|document| document["kind"].as_str() == Some(kind));
    of_kind.map(|document| (document["metadata"]["name"].as_str().unwrap().to_owned(), document)).collect()
}

/// Returns the templates of all pods by the name that network policies use.
fn pods() -> BTreeMap<String, Yaml> {
    let servers = objects("Deployment").into_values().chain(objects("StatefulSet").into_values());
    let servers = servers.map(|server| server["spec"]["template"].clone());
    let jobs = objects("CronJob").into_values().map(|job| job["spec"]["jobTemplate"]["spec"]["template"].clone());
    let name = |pod: &Yaml| pod["metadata"]["labels"]["app.kubernetes.io/name"].as_str().unwrap().to_owned();
    servers.chain(jobs).map(|pod| (name(&pod), pod)).collect()
}

fn of_pod(name: &str) -> Container {
    let pod = pods()[name]["spec"].clone();
    let container = &pod["containers"][0];
    let secrets: BTreeMap<&str, &[&str]> =
        [("throng-cluster-tls", &["ca.crt", "tls.crt", "tls.key"][..]), ("throng-cluster-token", &["token"])].into();
    let volumes = pod["volumes"].as_vec().unwrap();
    let mounts = container["volumeMounts"].as_vec().unwrap().iter();
    let mounted = mounts.filter(|mount| mount["readOnly"].as_bool() == Some(true)).flat_map(|mount| {
        let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
        let files = volume["secret"]["secretName"].as_str().map_or(&[][..], |secret| secrets[secret]);
        files.iter().map(|file| format!("{}/{file}", mount["mountPath"].as_str().unwrap()))
    });
    let variable = |variable: &Yaml| {
        let value = variable["value"].as_str().map(str::to_owned);
        // Placeholder for a value that only a running pod has.
        Some((variable["name"].as_str()?.to_owned(), value.unwrap_or_else(|| "10.0.0.7".to_owned())))
    };
    Container {
        name: format!("{KUBERNETES}: {name}"),
        entrypoint: container["command"].as_vec().map(|words| words[0].as_str().unwrap().to_owned()),
        arguments: strings(&container["args"]),
        variables: container["env"].as_vec().unwrap().iter().filter_map(variable).collect(),
        memory: container["resources"]["limits"]["memory"].as_str().unwrap().to_owned(),
        certificates: mounted.collect(),
    }
}

/// Returns all processes of a cluster.
fn processes() -> [Container; 7] {
    let [scheduler, first, second, release] = ["scheduler", "executor-1", "executor-2", "release"].map(of_compose);
    let [pod_scheduler, pod_executor, pod_release] =
        ["throng-scheduler", "throng-executor", "throng-release"].map(of_pod);
    [scheduler, first, second, release, pod_scheduler, pod_executor, pod_release]
}

#[test]
fn servers_find_each_other() {
    let services = objects("Service");
    assert_eq!(services.keys().collect::<Vec<_>>(), ["throng-executor", "throng-scheduler"]);
    for (scheduler, executor, release, name) in [
        (of_compose("scheduler"), of_compose("executor-1"), of_compose("release"), "scheduler"),
        (of_compose("scheduler"), of_compose("executor-2"), of_compose("release"), "scheduler"),
        (of_pod("throng-scheduler"), of_pod("throng-executor"), of_pod("throng-release"), "throng-scheduler"),
    ] {
        let ServerCommand::Scheduler(parsed) = scheduler.parsed().command else { panic!("{}", scheduler.name) };
        let options = parsed.options().unwrap();
        assert!(options.bind.ip().is_unspecified(), "others must reach it");
        assert_eq!(options.advertise.as_deref(), Some(name), "{}", scheduler.name);
        let ServerCommand::Executor(parsed) = executor.parsed().command else { panic!("{}", executor.name) };
        let reached = parsed.options().unwrap();
        assert_eq!(reached.scheduler.to_string(), format!("{name}:{}", options.bind.port()), "{}", executor.name);
        assert!(reached.bind.is_unspecified(), "others must reach it");
        assert!(options.executor_timeout_seconds >= 3 * reached.heartbeat_seconds);
        let ThrongCommand::Run(parsed) = release.release() else { panic!("{}", release.name) };
        assert_eq!(
            parsed.cluster.cluster.unwrap().to_string(),
            format!("df://{name}:{}", options.bind.port()),
            "{}",
            release.name
        );
    }
}

#[test]
fn limits_leave_room_for_what_a_process_takes() {
    for executor in [of_compose("executor-1"), of_compose("executor-2"), of_pod("throng-executor")] {
        let ServerCommand::Executor(parsed) = executor.parsed().command else { panic!("{}", executor.name) };
        let taken = parsed.options().unwrap().memory_limit.unwrap() as f64 * MEMORY_MARGIN;
        assert!(taken <= bytes(&executor.memory) as f64, "{}", executor.name);
    }
    let longest = (GRACE + LAST_WORK).as_secs() as i64;
    for (name, pod) in pods() {
        assert!(pod["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap() > longest, "{name}");
    }
    let stop = merged(&yaml(COMPOSE)[0]["services"]["executor-1"])["stop_grace_period"].clone();
    assert!(stop.as_str().unwrap().trim_end_matches('s').parse::<i64>().unwrap() > longest);
    let executor = pods()["throng-executor"]["spec"].clone();
    let container = &executor["containers"][0];
    assert_eq!(
        of_pod("throng-executor").variables["THRONG_EXECUTOR_SLOTS"],
        container["resources"]["limits"]["cpu"].as_str().unwrap()
    );
}

#[test]
fn a_pod_can_write_to_its_volume_and_to_nothing_else() {
    for (name, pod) in pods() {
        let pod = &pod["spec"];
        let containers = pod["containers"].as_vec().unwrap();
        assert_eq!(containers.len(), 1, "{name}");
        let container = &containers[0];
        let security = &container["securityContext"];
        assert_eq!(security["readOnlyRootFilesystem"].as_bool(), Some(true), "{name}");
        assert_eq!(security["allowPrivilegeEscalation"].as_bool(), Some(false), "{name}");
        assert_eq!(strings(&security["capabilities"]["drop"]), ["ALL"], "{name}");
        assert_eq!(pod["securityContext"]["runAsNonRoot"].as_bool(), Some(true), "{name}");
        assert_eq!(pod["automountServiceAccountToken"].as_bool(), Some(false), "{name}");
        let mounts = container["volumeMounts"].as_vec().cloned().unwrap_or_default();
        for mount in mounts.iter().filter(|mount| mount["readOnly"].as_bool() != Some(true)) {
            let volumes = pod["volumes"].as_vec().unwrap();
            let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]).unwrap();
            assert!(volume["emptyDir"]["sizeLimit"].as_str().is_some(), "{name}: it goes away, and is bounded");
            let variables = of_pod(&name).variables;
            let place = variables.get("THRONG_EXECUTOR_WORK_DIR").or(variables.get("TMPDIR"));
            assert_eq!(mount["mountPath"].as_str(), place.map(String::as_str), "{name}");
        }
        // Credentials come from a Secret, whose values are not in the file.
        assert!(container["envFrom"][0]["secretRef"]["name"].as_str().is_some(), "{name}");
        let secret = |name: &str| name.contains("KEY") || name.contains("TOKEN") || name.contains("SECRET");
        let certificates = of_pod(&name).certificates;
        for (variable, value) in of_pod(&name).variables.iter().filter(|(name, _)| secret(name)) {
            assert!(certificates.contains(value), "{name}: {variable} is no file of a secret");
        }
    }
    assert!(objects("Secret").is_empty());
}

#[test]
fn every_process_shows_a_certificate_and_the_token() {
    for process in processes() {
        let file = |name: &str| process.variables[&format!("THRONG_CLUSTER_{name}")].clone();
        let [authority, certificate, key, token] = ["CA", "CERT", "KEY", "TOKEN_FILE"].map(file);
        for file in [&authority, &certificate, &key, &token] {
            assert!(process.certificates.contains(file), "{}: {file} is not mounted", process.name);
        }
        let name = |file: &str| file.rsplit('/').next().unwrap().to_owned();
        let names = [authority, certificate, key, token].map(|file| name(&file));
        assert_eq!(names, ["ca.crt", "tls.crt", "tls.key", "token"], "{}", process.name);
        assert!(process.certificates.iter().all(|file| name(file) != "ca.key"), "{}", process.name);
    }
}

/// Returns the names of the certificate that a comment or a document makes by the script.
fn certified(name: &str) -> BTreeSet<String> {
    let line = text(name).lines().find(|line| line.contains("deploy/certificates.sh ")).unwrap().to_owned();
    let words = line.split_whitespace().skip_while(|word| *word != "deploy/certificates.sh").skip(2);
    words.map(|word| word.trim_matches('\'').to_owned()).collect()
}

#[test]
fn certificates_have_the_names_by_which_processes_are_reached() {
    let advertised = |container: Container, variable: &str| container.variables[variable].clone();
    let scheduler = advertised(of_compose("scheduler"), "THRONG_SCHEDULER_ADVERTISE");
    let executors = ["executor-1", "executor-2"].map(|name| {
        let advertised = advertised(of_compose(name), "THRONG_EXECUTOR_ADVERTISE");
        assert_eq!(advertised, name);
        advertised
    });
    assert_eq!(certified(COMPOSE), executors.into_iter().chain([scheduler]).collect());

    let scheduler = advertised(of_pod("throng-scheduler"), "THRONG_SCHEDULER_ADVERTISE");
    let executor = advertised(of_pod("throng-executor"), "THRONG_EXECUTOR_ADVERTISE");
    let executors = executor.replace("$(POD_NAME)", "*");
    let set = &objects("StatefulSet")["throng-executor"]["spec"];
    assert_eq!(executors, format!("*.{}.default.svc", set["serviceName"].as_str().unwrap()));
    let service = &objects("Service")["throng-executor"]["spec"];
    assert_eq!(service["clusterIP"].as_str(), Some("None"), "a name for each pod");
    let names: BTreeSet<String> = [scheduler, executors].into();
    assert_eq!(certified(KUBERNETES), names);
    let documents = yaml("deploy/kubernetes/certificates.yaml");
    let of_processes = documents.iter().find(|document| document["spec"]["dnsNames"].as_vec().is_some()).unwrap();
    assert_eq!(strings(&of_processes["spec"]["dnsNames"]).into_iter().collect::<BTreeSet<_>>(), names);
    assert_eq!(of_processes["spec"]["secretName"].as_str(), Some("throng-cluster-tls"));
    assert!(strings(&of_processes["spec"]["usages"]).contains(&"client auth".to_owned()));
}

#[test]
fn every_job_has_a_secret() {
    assert!(of_compose("release").variables.contains_key("THRONG_SECRET"));
    let made = text(KUBERNETES).lines().find(|line| line.contains("secret generic census-store")).unwrap().to_owned();
    assert!(made.contains("--from-literal=THRONG_SECRET="), "{made}");
}

/// Returns the ports of a pod and who may connect to them.
fn admitted(pod: &str) -> BTreeSet<(i64, String)> {
    let policies = objects("NetworkPolicy");
    let spec = &policies[pod]["spec"];
    assert_eq!(strings(&spec["policyTypes"]), ["Ingress"]);
    assert_eq!(spec["podSelector"]["matchLabels"]["app.kubernetes.io/name"].as_str(), Some(pod));
    let mut admitted = BTreeSet::new();
    for rule in spec["ingress"].as_vec().unwrap() {
        for port in rule["ports"].as_vec().unwrap() {
            for from in rule["from"].as_vec().unwrap() {
                let who = &from["podSelector"]["matchLabels"]["app.kubernetes.io/name"];
                admitted.insert((port["port"].as_i64().unwrap(), who.as_str().unwrap().to_owned()));
            }
        }
    }
    admitted
}

#[test]
fn the_network_lets_through_what_ballista_needs_and_nothing_else() {
    let ServerCommand::Scheduler(scheduler) = of_pod("throng-scheduler").parsed().command else { panic!() };
    let ServerCommand::Executor(executor) = of_pod("throng-executor").parsed().command else { panic!() };
    let (scheduler, executor) = (scheduler.options().unwrap(), executor.options().unwrap());
    let set = |pairs: &[(u16, &str)]| pairs.iter().map(|(port, who)| (i64::from(*port), (*who).to_owned())).collect();
    let expected: [(&str, BTreeSet<(i64, String)>); 3] = [
        (
            "throng-scheduler",
            set(&[(scheduler.bind.port(), "throng-executor"), (scheduler.bind.port(), "throng-release")]),
        ),
        ("throng-executor", set(&[(executor.port, "throng-executor"), (executor.port, "throng-release")])),
        ("throng-release", BTreeSet::new()),
    ];
    assert_eq!(pods().into_keys().collect::<Vec<_>>(), ["throng-executor", "throng-release", "throng-scheduler"]);
    for (pod, who) in expected {
        assert_eq!(admitted(pod), who, "{pod}");
    }
    // No port of the example is published on the host.
    assert!(!text(COMPOSE).contains("ports:"));
}

#[test]
fn only_a_temporary_failure_is_tried_again() {
    let job = objects("CronJob")["census-release-on-cluster"]["spec"]["jobTemplate"]["spec"].clone();
    let rules = job["podFailurePolicy"]["rules"].as_vec().unwrap();
    let codes = |action: &str| -> BTreeSet<i64> {
        let of = rules.iter().filter(|rule| rule["action"].as_str() == Some(action));
        let codes = of.map(|rule| &rule["onExitCodes"]).filter(|codes| !codes.is_badvalue());
        codes.flat_map(|codes| numbers(&codes["values"])).collect()
    };
    use Kind::{BadData, BadPolicy, BadQuery, Infeasible, Internal, NoInput, TemporaryIo, Verification};
    let final_codes = [BadQuery, Infeasible, Verification, BadData, NoInput, Internal, BadPolicy];
    assert_eq!(codes("FailJob"), final_codes.map(|kind| i64::from(kind.exit_code())).into());
    assert_eq!(codes("Count"), BTreeSet::from([i64::from(TemporaryIo.exit_code())]));
    assert_eq!(job["template"]["spec"]["restartPolicy"].as_str(), Some("Never"), "needed for the rules to be asked");
}

#[test]
fn the_image_is_made_like_the_other_one() {
    let (ours, other) = (stages("deploy/Containerfile.cluster"), stages("deploy/Containerfile"));
    let as_other = |(word, rest): &(String, String)| {
        let rest = rest
            .replace("--package throng-cli --features cluster --bin throng-cluster ", "")
            .replace("&& install -m 0755 target/dist/throng-cluster /image/usr/bin/throng-cluster", "")
            .replace("throng-cluster", "throng");
        (word.clone(), rest.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let in_words = |stages: Vec<Vec<(String, String)>>| -> Vec<Vec<_>> {
        stages.iter().map(|stage| stage.iter().map(as_other).collect()).collect()
    };
    assert_eq!(in_words(ours), in_words(other));
}
