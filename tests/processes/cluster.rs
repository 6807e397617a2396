//! One scheduler and its executors, as separate processes.

use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::bucket::Bucket;
use crate::process::{Ended, PATIENCE, Process};

/// Short times, so that lost executors are detected soon.
const HEARTBEAT: &str = "1";
const TIMEOUT: &str = "3";

pub struct Cluster {
    environment: Vec<(&'static str, String)>,
    address: String,
    work: TempDir,
    scheduler: Process,
    executors: Vec<Option<Process>>,
}

impl Cluster {
    /// Starts a cluster that reads this bucket, and waits until all processes are ready.
    pub fn start(bucket: &Bucket, executors: usize) -> Self {
        Self::start_with(bucket, executors, &[])
    }

    /// Same as [`start`](Self::start), with more variables for all processes, clients included.
    pub fn start_with(bucket: &Bucket, executors: usize, more: &[(&'static str, String)]) -> Self {
        let environment = [bucket.environment(), more.to_vec()].concat();
        let mut scheduler = start_scheduler("127.0.0.1:0", &environment);
        let ready = scheduler.wait_for("the scheduler is ready", 1);
        let address = ready["address"].as_str().unwrap().to_owned();
        let work = TempDir::new().unwrap();
        let mut cluster = Self { environment, address, work, scheduler, executors: Vec::new() };
        for _ in 0..executors {
            cluster.start_executor();
        }
        cluster.scheduler.wait_for("an executor has come", executors);
        cluster
    }

    /// Starts another executor, and waits until it is registered.
    pub fn start_executor(&mut self) {
        let mut executor = self.spawn_executor(&self.environment);
        executor.wait_for("the executor is ready", 1);
        self.executors.push(Some(executor));
    }

    /// Starts an executor in another environment, which is not counted as one of the cluster.
    pub fn spawn_executor(&self, environment: &[(&'static str, String)]) -> Process {
        let work = self.work.path().display().to_string();
        let arguments = [
            &["executor", "--scheduler", &self.address, "--port", "0", "--grpc-port", "0", "--slots", "2"][..],
            &["--work-dir", &work, "--memory-limit", "1GiB", "--heartbeat", HEARTBEAT],
        ]
        .concat();
        Process::start(&arguments, environment)
    }

    /// Restarts the scheduler at the same address.
    pub fn restart_scheduler(&mut self) {
        self.scheduler = start_scheduler(&self.address, &self.environment);
        self.scheduler.wait_for("the scheduler is ready", 1);
    }

    /// Waits until an executor has logged a message, and returns its index.
    pub fn wait_for_executor(&self, message: &str) -> usize {
        self.wait_for_any(message, |executor| executor.count(message) > 0)
    }

    fn wait_for_any(&self, message: &str, has_logged: impl Fn(&Process) -> bool) -> usize {
        let since = Instant::now();
        loop {
            let has_logged = |executor: &Option<Process>| executor.as_ref().is_some_and(&has_logged);
            if let Some(number) = self.executors.iter().position(has_logged) {
                return number;
            }
            assert!(since.elapsed() < PATIENCE, "no executor says `{message}`: {}", self.logs());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until an executor has begun a task, and returns its index.
    pub fn wait_for_task(&self, task: &str) -> usize {
        self.wait_for_any(&format!("a task begins: {task}"), |executor| executor.has_begun(task))
    }

    /// Returns how many tasks of this name each executor has begun.
    pub fn begun(&self, task: &str) -> Vec<usize> {
        self.executors.iter().map(|executor| executor.as_ref().map_or(0, |executor| executor.begun(task))).collect()
    }

    /// `kill -9` of an executor.
    pub fn kill_executor(&mut self, number: usize) {
        self.executors[number].take().unwrap().kill();
    }

    /// Waits until an executor ends by itself.
    pub fn wait_for_end_of_executor(&mut self, number: usize) -> Ended {
        self.executors[number].take().unwrap().wait()
    }

    /// `kill -9` of the scheduler.
    pub fn kill_scheduler(&mut self) {
        self.scheduler.kill();
    }

    pub fn scheduler(&mut self) -> &mut Process {
        &mut self.scheduler
    }

    /// Runs a command of the binary as a client of this cluster.
    pub fn client(&self, arguments: &[&str]) -> Ended {
        self.start_client(arguments).wait()
    }

    /// Same as [`client`](Self::client), without waiting for its end.
    pub fn start_client(&self, arguments: &[&str]) -> Process {
        self.start_client_in(arguments, &self.environment)
    }

    /// Same as [`start_client`](Self::start_client), in another environment.
    pub fn start_client_in(&self, arguments: &[&str], environment: &[(&'static str, String)]) -> Process {
        let mut environment = environment.to_vec();
        environment.push(("THRONG_CLUSTER", format!("df://{}", self.address)));
        Process::start(arguments, &environment)
    }

    /// Returns the address of the scheduler.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the parent of the executors' folders.
    pub fn work(&self) -> &Path {
        self.work.path()
    }

    /// Returns everything that the servers have logged.
    pub fn logs(&self) -> String {
        let executors = self.executors.iter().flatten().map(Process::log);
        executors.chain([self.scheduler.log()]).collect::<Vec<_>>().join("\n")
    }

    /// Terminates all processes, executors first. Returns how they ended, and the content of their folder.
    pub fn stop(self) -> (Vec<Ended>, Vec<String>) {
        let executors: Vec<Ended> = self.executors.into_iter().flatten().map(Process::stop).collect();
        let scheduler = self.scheduler.stop();
        let left = std::fs::read_dir(self.work.path()).unwrap();
        let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        (executors.into_iter().chain([scheduler]).collect(), left)
    }
}

fn start_scheduler(address: &str, environment: &[(&'static str, String)]) -> Process {
    Process::start(
        &["scheduler", "--bind", address, "--executor-timeout", TIMEOUT, "--no-executors-timeout", "5"],
        environment,
    )
}
