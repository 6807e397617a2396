//! A process of the cluster, which ends with the test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A process that logs nothing for this long is considered hung, which is a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Log of a process, one JSON object per line.
type Log = Arc<(Mutex<Vec<String>>, Condvar)>;

pub struct Process {
    child: Child,
    log: Log,
    reader: Option<JoinHandle<()>>,
}

/// Outcome of a process.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The secret of every test, so that releases can be compared.
pub const SECRET: &str = "the same secret in every test";

/// Returns the command of a binary, in an environment without other variables of Throng: `throng-cluster` for a server,
/// `throng` for everything else.
fn command(arguments: &[&str], environment: &[(&'static str, String)]) -> Command {
    let is_server = ["scheduler", "executor"].contains(&arguments[0]);
    let mut command = Command::new(match is_server {
        true => env!("CARGO_BIN_EXE_throng-cluster"),
        false => env!("CARGO_BIN_EXE_throng"),
    });
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("THRONG_") || name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    command.env("THRONG_SECRET", SECRET);
    command.args(["--log-format", "json"]).args(arguments).envs(environment.iter().cloned()).stdin(Stdio::null());
    command
}

impl Process {
    pub fn start(arguments: &[&str], environment: &[(&'static str, String)]) -> Self {
        let mut child = command(arguments, environment).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::default();
        let (lines, shared) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        let reader = std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                shared.0.lock().unwrap().push(line);
                shared.1.notify_all();
            }
        });
        Self { child, log, reader: Some(reader) }
    }

    /// Whether the process has begun a task.
    pub fn has_begun(&self, task: &str) -> bool {
        self.begun(task) > 0
    }

    /// Returns how often the process has begun a task.
    pub fn begun(&self, task: &str) -> usize {
        entries(&self.log.0.lock().unwrap(), "a task begins").filter(|line| line["fields"]["task"] == task).count()
    }

    /// Waits until the process has logged a message `times` times, and returns the fields of the last one.
    pub fn wait_for(&mut self, message: &str, times: usize) -> Value {
        let since = Instant::now();
        let mut lines = self.log.0.lock().unwrap();
        loop {
            if let Some(found) = entries(&lines, message).nth(times - 1) {
                return found["fields"].clone();
            }
            let ended = self.child.try_wait().unwrap();
            assert!(since.elapsed() < PATIENCE && ended.is_none(), "no `{message}` ({ended:?}): {lines:#?}");
            lines = self.log.1.wait_timeout(lines, Duration::from_millis(200)).unwrap().0;
        }
    }

    /// Returns how often a message was logged so far.
    pub fn count(&self, message: &str) -> usize {
        entries(&self.log.0.lock().unwrap(), message).count()
    }

    /// Returns everything that was logged so far.
    pub fn log(&self) -> String {
        self.log.0.lock().unwrap().join("\n")
    }

    /// Kills the process, as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Terminates the process and returns its outcome.
    pub fn stop(self) -> Ended {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.wait()
    }

    /// Whether the process has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end of the process.
    pub fn wait(mut self) -> Ended {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        // The last lines may still be unread.
        self.reader.take().unwrap().join().unwrap();
        Ended { code, stdout, stderr: self.log() }
    }
}

/// Returns the lines that log a message.
fn entries(lines: &[String], message: &str) -> impl Iterator<Item = Value> {
    let lines = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(move |line| line["fields"]["message"] == message)
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
