//! A table, a policy, and two releases whose bytes are known.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::bucket::{Bucket, KEY_ID, SECRET};
use crate::release_files::{data_files, read_file};
use crate::sandbox::{Ended, Sandbox};

/// Request timeout of the client.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Store settings of all trials; see [`PATIENCE`].
pub const STORE: &str = r#"
[store]
timeout = "1s"
connect_timeout = "1s"
retries = 3
retry_timeout = "10s"
"#;

/// A run that takes longer than this is considered hung.
const MAX_TIME: Duration = Duration::from_secs(180);

const POLICY: &str = r#"version = 1
[input]
location = "input/"
[output]
location = "out/release"
rows_per_file = ROWS_PER_FILE
[privacy]
k = 5
p = 2
[algorithm]
budget = "fast"
[columns]
default = "drop"
[columns.age]
role = "quasi"
[columns.sex]
role = "quasi"
release = "set"
[columns.region]
role = "quasi"
hierarchy = { mask = "right" }
[columns.occupation]
role = "sensitive"
[columns.hours]
role = "insensitive"
"#;

/// Seeds of the two releases.
pub const SEEDS: [u64; 2] = [1, 2];

/// Rows, size and digest of a file of a release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownFile {
    pub rows: u64,
    pub bytes: u64,
    pub sha256: String,
}

pub struct Trial {
    pub sandbox: Sandbox,
    /// Files of the releases with the first and the second seed.
    pub known: [Vec<KnownFile>; 2],
}

impl Trial {
    /// Creates a table in several files, and both of its releases on the local file system, in about ten files each.
    pub fn new(rows: u64, files: u64) -> Self {
        let sandbox = Sandbox::new();
        let generate =
            ["generate", "census", "--rows", &rows.to_string(), "--files", &files.to_string(), "-o", "input"];
        sandbox.throng(&generate).done();
        let rows_per_file = (rows / 10 + 1).to_string();
        sandbox.write("policy.toml", format!("{}{STORE}", POLICY.replace("ROWS_PER_FILE", &rows_per_file)));
        let trial = Self::of(sandbox);
        for (index, known) in trial.known.iter().enumerate() {
            let folder = trial.sandbox.path(&format!("known-{index}"));
            let read = |file| read_file(file).iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
            let counted: Vec<u64> = data_files(&folder).iter().map(|file| read(file)).collect();
            assert_eq!(counted, known.iter().map(|file| file.rows).collect::<Vec<_>>());
            assert_eq!(counted.iter().sum::<u64>(), rows);
        }
        trial
    }

    /// Creates both releases of the policy and the input of a sandbox on the local file system.
    pub fn of(sandbox: Sandbox) -> Self {
        let known = [0, 1].map(|index| {
            let output = format!("known-{index}");
            sandbox.run(&["--output", &output, "--seed", &SEEDS[index].to_string()]);
            sandbox.throng(&["verify", &output, "--policy", "policy.toml"]).done();
            listed(&fs::read(sandbox.path(&output).join("_throng/manifest.json")).unwrap())
        });
        assert_ne!(known[0], known[1]);
        Self { sandbox, known }
    }

    /// Alternates the layout of later runs: data files next to the documents, or in a separate folder. Tables that are released
    /// together have folders in any case.
    pub fn lay_out(&self, turn: usize) {
        const FOLDER: &str = "[output]\ndata_folder = \"data\"\n";
        let text = fs::read_to_string(self.sandbox.path("policy.toml")).unwrap();
        let plain = text.replace(FOLDER, "[output]\n");
        let has_folder = turn % 2 == 1 && !plain.contains("[tables.");
        self.sandbox.write("policy.toml", if has_folder { plain.replace("[output]\n", FOLDER) } else { plain });
    }

    /// Makes later runs write Delta tables.
    pub fn release_tables(&self) {
        let text = fs::read_to_string(self.sandbox.path("policy.toml")).unwrap();
        self.sandbox.write("policy.toml", text.replace("[output]\n", "[output]\nformat = \"delta\"\n"));
    }

    /// Lets runs wait for responses with practically no timeout.
    pub fn be_patient(&self) {
        let text = fs::read_to_string(self.sandbox.path("policy.toml")).unwrap();
        self.sandbox.write("policy.toml", text.replace(STORE, "[store]\ntimeout = \"10min\"\n"));
    }

    /// Removes the orphans of dead runs at an output, whatever their age.
    pub fn clean(&self, endpoint: SocketAddr, output: &str) {
        // Times of the store have a resolution of one second.
        std::thread::sleep(Duration::from_secs(1));
        let clean = self.command(endpoint, &["clean", output, "--older-than", "1ms"]).output();
        Ended::from(clean.unwrap()).done();
    }

    /// Uploads the table to a bucket, below `input/`.
    pub fn upload(&self, bucket: &Bucket) {
        for file in data_files(&self.sandbox.path("input")) {
            let name = file.file_name().unwrap().to_str().unwrap();
            bucket.put(&format!("input/{name}"), fs::read(&file).unwrap());
        }
    }

    /// Returns the command of the binary with the S3 endpoint in its environment.
    pub fn command(&self, endpoint: SocketAddr, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command(arguments);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        command
            .env("AWS_ENDPOINT_URL", format!("http://{endpoint}"))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", KEY_ID)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a run with the seed of a known release.
    pub fn start(&self, endpoint: SocketAddr, run: &Run<'_>) -> Child {
        let arguments = run.arguments();
        self.command(endpoint, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap()
    }

    /// Runs to completion.
    pub fn run(&self, endpoint: SocketAddr, run: &Run<'_>) -> Ended {
        wait(self.start(endpoint, run))
    }
}

/// Arguments of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub input: &'a str,
    pub output: &'a str,
    /// Index of the known release that it produces.
    pub release: usize,
    pub overwrite: bool,
}

impl Run<'_> {
    pub fn arguments(&self) -> Vec<String> {
        let seed = SEEDS[self.release].to_string();
        let arguments = ["run", "policy.toml", "--input", self.input, "--output", self.output, "--seed", &seed];
        let overwrite = self.overwrite.then_some("--overwrite");
        arguments.into_iter().chain(overwrite).map(str::to_owned).collect()
    }
}

/// Waits for the end of a run, and collects its output. Panics if the run hangs.
pub fn wait(mut run: Child) -> Ended {
    let hear = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut heard = Vec::new();
            let _ = pipe.read_to_end(&mut heard);
            heard
        })
    };
    let (stdout, stderr) = (run.stdout.take().unwrap(), run.stderr.take().unwrap());
    let (stdout, stderr) = (hear(Box::new(stdout)), hear(Box::new(stderr)));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = run.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > MAX_TIME {
            run.kill().unwrap();
            run.wait().unwrap();
            let heard = stderr.join().unwrap();
            let _ = std::io::stderr().write_all(&heard);
            panic!("a run does not come to an end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let ended =
        Ended::from(std::process::Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() });
    assert!(!ended.said().contains(SECRET), "the secret is shown: {ended:?}");
    assert!(!ended.stderr.contains("internal error"), "{ended:?}");
    ended
}

/// Returns the files that a manifest lists, in order.
pub fn listed(manifest: &[u8]) -> Vec<KnownFile> {
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    let file = |file: &Value| KnownFile {
        rows: file["rows"].as_u64().unwrap(),
        bytes: file["bytes"].as_u64().unwrap(),
        sha256: file["sha256"].as_str().unwrap().to_owned(),
    };
    manifest["files"].as_array().unwrap().iter().map(file).collect()
}

pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
