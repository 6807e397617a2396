//! Process limits under which nothing could run: they are rejected before any work begins.
//!
//! The runtime and the allocator do not return an error if the system refuses a thread or memory: they panic or abort.

use std::io;
use std::sync::Mutex;
use std::thread;

use throng_job::{JobError, Kind};

/// Minimum address space with which the smallest job runs: most of it is reserved and never used.
const MIN_ADDRESS_SPACE: u64 = 1 << 30;

/// Address space per thread: its stack, and the arena that the allocator reserves for it.
const THREAD_ADDRESS_SPACE: u64 = 64 << 20;

/// Number of threads besides two for each of `--threads`: those that read and write files.
const OTHER_THREADS: usize = 4;

/// Returns an error if the system would refuse the process its address space or threads.
pub(crate) fn check(threads: usize) -> Result<(), JobError> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    check_address_space(&limits, threads)?;
    start_together(2 * threads + OTHER_THREADS).map_err(|error| no_threads(&error))
}

/// Returns the error for a system that refuses threads.
pub(crate) fn no_threads(error: &io::Error) -> JobError {
    let text = format!("starting threads: {error}");
    let advice = "raise the number of processes (`ulimit -u`) or the memory of the system, or lower --threads";
    JobError::new(Kind::BadPolicy, format!("{text}; {advice}"))
}

/// Checks the address space limit, in the format of Linux.
fn check_address_space(limits: &str, threads: usize) -> Result<(), JobError> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"));
    let soft: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let least = MIN_ADDRESS_SPACE + 2 * threads as u64 * THREAD_ADDRESS_SPACE;
    match soft {
        Some(bytes) if bytes < least => {
            let (found, least) = (bytes >> 20, least >> 20);
            let text = format!("the address space of the process is limited to {found} MiB (`ulimit -v`)");
            let advice = format!("raise it to at least {least} MiB, and use --memory-limit to bound memory");
            Err(JobError::new(Kind::BadPolicy, format!("{text}; {advice}")))
        }
        _ => Ok(()),
    }
}

/// Starts threads that exist at the same time, and ends them.
fn start_together(threads: usize) -> io::Result<()> {
    let gate = Mutex::new(());
    let gate = &gate;
    thread::scope(|scope| {
        let closed = gate.lock();
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, move || drop(gate.lock())).map(drop);
        let started = (0..threads).try_for_each(spawn);
        drop(closed);
        started
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_address_space_is_refused_with_the_least_that_would_do() {
        let limits =
            |soft: &str| format!("Limit  Soft Limit  Hard Limit  Units\nMax address space  {soft}  unlimited  bytes\n");
        let error = check_address_space(&limits("307200000"), 2).unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy);
        assert!(error.to_string().contains("292 MiB (`ulimit -v`); raise it to at least 1280 MiB"), "{error}");
        for sufficient in ["unlimited", "9000000000"] {
            check_address_space(&limits(sufficient), 2).unwrap();
        }
        check_address_space("", 2).unwrap();
    }

    #[test]
    fn threads_are_started_together_and_end() {
        start_together(8).unwrap();
        assert!(no_threads(&io::ErrorKind::WouldBlock.into()).to_string().contains("ulimit -u"));
    }
}
