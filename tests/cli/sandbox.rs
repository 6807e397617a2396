//! A temporary folder with a policy, an input and an output, in which the binary runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use serde_json::Value;
use tempfile::TempDir;

use crate::tables;

/// The secret of every test, so that releases can be compared.
pub const SECRET: &str = "the same secret in every test";

/// A folder for one test: `input/`, `out/` and `policy.toml`.
pub struct Sandbox {
    folder: TempDir,
}

/// Outcome of a command with its peak memory and its time.
#[derive(Debug)]
pub struct Watched {
    pub ended: Ended,
    pub peak: u64,
    pub time: Duration,
}

/// Outcome of a command.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("sandbox-").tempdir().unwrap();
        for name in ["input", "out"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// Creates a folder with a table as `input/people.parquet` and a policy for it.
    pub fn with(batch: &RecordBatch, k: u64, p: u64, columns: &str) -> Self {
        let sandbox = Self::new();
        tables::write_parquet(&sandbox.path("input/people.parquet"), batch);
        sandbox.policy(k, p, columns);
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the output location of the policy.
    pub fn release(&self) -> PathBuf {
        self.path("out/release")
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes `policy.toml`, from `input/` to `out/release`.
    pub fn policy(&self, k: u64, p: u64, columns: &str) {
        self.write("policy.toml", policy_text("input/", k, p, columns));
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_throng"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for variable in ["THRONG_LOG", "THRONG_LOG_FORMAT", "THRONG_CLUSTER", "THRONG_SHUFFLE_PARTITIONS"] {
            command.env_remove(variable);
        }
        command.env("THRONG_SECRET", SECRET).env("THRONG_LEDGER_KEY", SECRET);
        command
    }

    pub fn throng(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().unwrap().into()
    }

    /// Starts a command without waiting for its end.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs a command, and kills it after some time. Peak memory is that of Linux, and 0 elsewhere.
    pub fn watched(&self, arguments: &[&str], most: Duration) -> Watched {
        let start = Instant::now();
        let mut child = self.start(arguments);
        let status = format!("/proc/{}/status", child.id());
        let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let read = |from: &mut dyn Read| {
            let mut text = String::new();
            from.read_to_string(&mut text).map(|_| text).unwrap()
        };
        let mut peak = 0;
        let (stdout, stderr) = thread::scope(|scope| {
            let stdout = scope.spawn(|| read(&mut out));
            let stderr = scope.spawn(|| read(&mut err));
            while child.try_wait().unwrap().is_none() {
                let status = fs::read_to_string(&status).unwrap_or_default();
                let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
                peak = peak.max(kibibytes.unwrap_or(0) << 10);
                if start.elapsed() > most {
                    child.kill().unwrap();
                }
                thread::sleep(Duration::from_millis(5));
            }
            (stdout.join().unwrap(), stderr.join().unwrap())
        });
        let code = child.wait().unwrap().code();
        Watched { ended: Ended { code, stdout, stderr }, peak, time: start.elapsed() }
    }

    /// Runs the policy, which must succeed, and returns the outcome.
    pub fn run(&self, more: &[&str]) -> Value {
        self.throng(&[&["run", "policy.toml"], more].concat()).done()
    }

    /// Runs the policy, which must fail without changing the output folder, and returns the message.
    pub fn run_refused(&self, code: i32, more: &[&str]) -> String {
        let before = names(&self.path("out"));
        let message = self.throng(&[&["run", "policy.toml"], more].concat()).refused(code);
        assert_eq!(names(&self.path("out")), before, "a run that failed changed the folder of its output");
        message
    }

    /// Returns the names in the output folder, including hidden ones.
    pub fn out(&self) -> Vec<String> {
        names(&self.path("out"))
    }
}

/// Returns a policy from a location to `out/release`.
pub fn policy_text(input: &str, k: u64, p: u64, columns: &str) -> String {
    format!(
        "version = 1\n[input]\nlocation = \"{input}\"\n[output]\nlocation = \"out/release\"\n\
         [privacy]\nk = {k}\np = {p}\n{columns}"
    )
}

/// Asserts that a message has all of these parts.
pub fn assert_contains(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// Returns the names in a folder, including hidden ones, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Returns every file below a folder with its bytes.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for name in names(folder) {
        let path = folder.join(name);
        if path.is_dir() {
            files.extend(contents(&path));
        } else {
            files.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    files
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ended {
    /// Returns the last line on stdout, which must be one JSON object.
    pub fn json(&self) -> Value {
        let last = self.stdout.lines().last().unwrap_or_else(|| panic!("nothing on stdout: {self:?}"));
        let json: Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("the last line is no JSON: {self:?}"));
        assert!(json.is_object(), "{json}");
        json
    }

    /// Returns the outcome of a command that must have succeeded.
    pub fn done(self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.json()
    }

    /// Returns the message of a command that must have failed with this code, on stderr and in the JSON.
    pub fn refused(&self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        let json = self.json();
        assert_eq!(json["exit_code"], code, "{json}");
        let message = json["error"].as_str().unwrap().to_owned();
        assert!(self.stderr.contains("error: "), "there is no error message: {self:?}");
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("internal error"), "{self:?}");
        message
    }

    /// Returns stdout and stderr.
    pub fn said(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }
}
