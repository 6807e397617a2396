//! A process of the cluster, which ends with the test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// After this a process that says nothing hangs, which is a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a process has logged, one JSON object per line.
type Log = Arc<(Mutex<Vec<String>>, Condvar)>;

pub struct Process {
    child: Child,
    log: Log,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The binary with its arguments, in an environment that holds nothing else of Throng.
pub fn command(arguments: &[&str], environment: &[(&'static str, String)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_throng-cluster"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("THRONG_") || name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    command.args(["--log-format", "json"]).args(arguments).envs(environment.iter().cloned()).stdin(Stdio::null());
    command
}

impl Process {
    pub fn start(arguments: &[&str], environment: &[(&'static str, String)]) -> Self {
        let mut child = command(arguments, environment).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::default();
        let (lines, told) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                told.0.lock().unwrap().push(line);
                told.1.notify_all();
            }
        });
        Self { child, log }
    }

    /// Waits until the process has logged a message so often, and gives the fields of the last one.
    pub fn wait_for(&mut self, message: &str, times: usize) -> Value {
        self.wait_until(message, times, |_| true)
    }

    /// Waits until the process has begun a task.
    pub fn wait_for_task(&mut self, task: &str) {
        self.wait_until("a task begins", 1, |fields| fields["task"] == task);
    }

    fn wait_until(&mut self, message: &str, times: usize, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let since = Instant::now();
        let mut lines = self.log.0.lock().unwrap();
        loop {
            let told = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let is_told = |line: &Value| line["fields"]["message"] == message && is_wanted(&line["fields"]);
            let mut told = told.filter(is_told);
            if let Some(found) = told.nth(times - 1) {
                return found["fields"].clone();
            }
            let ended = self.child.try_wait().unwrap();
            assert!(since.elapsed() < PATIENCE && ended.is_none(), "no `{message}` ({ended:?}): {lines:#?}");
            lines = self.log.1.wait_timeout(lines, Duration::from_millis(200)).unwrap().0;
        }
    }

    /// Everything that was logged so far.
    pub fn log(&self) -> String {
        self.log.0.lock().unwrap().join("\n")
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it ends, and tells how it did.
    pub fn wait(mut self) -> Ended {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        Ended { code, stdout, stderr: self.log() }
    }

    /// Asks it to end, and tells how it did.
    pub fn stop(mut self) -> Ended {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        Ended { code, stdout, stderr: self.log() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
