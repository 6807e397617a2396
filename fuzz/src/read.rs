//! Any bytes as a file that `init`, `risk`, `verify` and `sql` read. The first byte selects the format.
//!
//! A damaged file is an error of the file or of the request, and never a bug of ours or a reason to retry.

use std::fs;
use std::path::Path;

use throng_core::verify::{Promise, SensitivePromise};
use throng_job::{JobError, JobOptions, Kind, RiskOptions, SqlSession};

use super::job::{block_on, expect_decoders_to_panic};

/// File names by format.
pub const NAMES: [&str; 3] = ["people.parquet", "people.arrow", "people.csv"];

fn options() -> JobOptions {
    JobOptions { threads: 1, ..JobOptions::default() }
}

/// Writes bytes to a file of their format, and calls a check with its location.
fn with_file(bytes: &[u8], check: impl FnOnce(&Path) -> u8) {
    let Some((format, bytes)) = bytes.split_first() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(NAMES[usize::from(*format) % NAMES.len()]);
    fs::write(&file, bytes).expect("a file");
    expect_decoders_to_panic();
    check(&file);
}

/// Checks that an error is one of the file, and returns the exit code of the command.
fn exit_code<T>(result: Result<T, JobError>, more: &[Kind]) -> u8 {
    let Err(error) = result else { return 0 };
    let kinds = [&[Kind::BadData, Kind::BadPolicy, Kind::BadQuery], more].concat();
    assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
    assert!(!error.to_string().is_empty());
    error.kind().exit_code()
}

/// Drafts a policy for the table in these bytes.
pub fn init(bytes: &[u8]) {
    with_file(bytes, check_init);
}

/// Drafts a policy for a file. Returns the exit code, as the other checks do.
pub fn check_init(file: &Path) -> u8 {
    exit_code(block_on(throng_job::draft(&[file.display().to_string()], &options())), &[])
}

/// Computes the risk of the table in these bytes.
pub fn risk(bytes: &[u8]) {
    with_file(bytes, |file| check_risk(file, &["age", "city"], &["illness"]));
}

/// Computes the risk of a file.
pub fn check_risk(file: &Path, quasi: &[&str], sensitive: &[&str]) -> u8 {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let asked = RiskOptions {
        quasi: names(quasi),
        sensitive: names(sensitive),
        threshold: 0.2,
        sampling_fraction: None,
        weight: None,
    };
    exit_code(block_on(throng_job::risk(&[file.display().to_string()], &asked, &options())), &[])
}

/// Verifies the table in these bytes.
pub fn verify(bytes: &[u8]) {
    with_file(bytes, |file| check_verify(file, &["age", "city"], &["illness"]));
}

/// Verifies a file.
pub fn check_verify(file: &Path, quasi: &[&str], sensitive: &[&str]) -> u8 {
    let promise = Promise {
        quasi: quasi.iter().map(|name| (*name).to_owned()).collect(),
        sensitive: sensitive.iter().map(|name| SensitivePromise::plain(*name, 2)).collect(),
        k: 2,
        limits: Vec::new(),
        unit: None,
    };
    let found = block_on(throng_job::verify_release(&[file.display().to_string()], promise, None, &options()));
    match found {
        Ok(findings) if !findings.holds() => Kind::Verification.exit_code(),
        found => exit_code(found, &[Kind::Verification]),
    }
}

/// Queries the table in these bytes.
pub fn sql(bytes: &[u8]) {
    with_file(bytes, |file| check_sql(file, "age"));
}

/// Runs statements that read, group and sort a whole file.
pub fn check_sql(file: &Path, column: &str) -> u8 {
    let file = file.display();
    let codes = [
        format!("SELECT * FROM '{file}'"),
        format!("SELECT \"{column}\", count(*) FROM '{file}' GROUP BY \"{column}\" ORDER BY \"{column}\""),
    ]
    .map(|text| {
        let session = SqlSession::new(1, None).expect("a session");
        let statement = session.parse(&text).pop().expect("a statement").expect("a statement");
        let read = async {
            let mut rows = session.run(statement).await?;
            while rows.next().await?.is_some() {}
            Ok(())
        };
        exit_code(block_on(read), &[])
    });
    codes[0].max(codes[1])
}
