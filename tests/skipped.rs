//! Lists the tests of this run that were skipped, by name.

#![allow(clippy::unwrap_used, missing_docs)]

use std::io::Write;

use throng_testkit::skip_record;

#[test]
fn skipped_tests_are_listed() {
    let record = std::fs::read_to_string(skip_record()).unwrap_or_default();
    let mut lines: Vec<&str> = record.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    // Bypasses the capture of the test harness, so that it is visible.
    let mut out = std::io::stderr();
    writeln!(out, "\n{} tests skipped in this run", lines.len()).unwrap();
    for line in lines {
        writeln!(out, "  {line}").unwrap();
    }
    let _ = std::fs::remove_file(skip_record());
}
