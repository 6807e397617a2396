//! Records tests that could not run, so that a run of all tests lists them at its end.
//!
//! Test executables of one `cargo test` have the same parent process, whose id names the record. The test target `skipped`
//! prints it.

use std::io::Write;
use std::path::PathBuf;

/// Records that the current test was skipped, and why. Also prints it, bypassing the output capture of the test
/// harness.
pub fn skip(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{test}: {why}\n");
    let _ = write!(std::io::stderr(), "skipped: {line}");
    // Failing to write the record must not fail the test: the line above was printed.
    if let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(skip_record()) {
        let _ = file.write_all(line.as_bytes());
    }
}

/// Returns the path of the record of this run.
pub fn skip_record() -> PathBuf {
    #[cfg(unix)]
    let run = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let run = 0;
    std::env::temp_dir().join(format!("throng-skipped-{run}"))
}
