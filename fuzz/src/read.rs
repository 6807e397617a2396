//! Any bytes as a file that `init`, `risk`, `verify` and `sql` read. The first tells the format.
//!
//! A damaged file is an error of the file or of what is asked of it, and never a bug of ours or a reason to try again.

use std::fs;
use std::path::Path;

use throng_core::verify::{Promise, SensitivePromise};
use throng_job::{JobError, JobOptions, Kind, RiskOptions, SqlSession};

use super::job::{block_on, expect_decoders_to_panic};

/// The file of a format.
pub const NAMES: [&str; 3] = ["people.parquet", "people.arrow", "people.csv"];

fn options() -> JobOptions {
    JobOptions { threads: 1, ..JobOptions::default() }
}

/// Writes bytes to a file by their format, and gives its location to a check.
fn with_file(bytes: &[u8], check: impl FnOnce(&str)) {
    let Some((format, bytes)) = bytes.split_first() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(NAMES[usize::from(*format) % NAMES.len()]);
    fs::write(&file, bytes).expect("a file");
    expect_decoders_to_panic();
    check(&file.display().to_string());
}

fn check_kind<T>(result: Result<T, JobError>, more: &[Kind]) {
    if let Err(error) = result {
        let kinds = [&[Kind::BadData, Kind::BadPolicy, Kind::BadQuery], more].concat();
        assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
        assert!(!error.to_string().is_empty());
    }
}

/// Drafts a policy for what bytes hold.
pub fn init(bytes: &[u8]) {
    with_file(bytes, |file| check_init(Path::new(file)));
}

/// Drafts a policy for a file.
pub fn check_init(file: &Path) {
    check_kind(block_on(throng_job::draft(&[file.display().to_string()], &options())), &[]);
}

/// Computes the risk of what bytes hold.
pub fn risk(bytes: &[u8]) {
    with_file(bytes, |file| check_risk(Path::new(file), &["age", "city"], &["illness"]));
}

/// Computes the risk of a file.
pub fn check_risk(file: &Path, quasi: &[&str], sensitive: &[&str]) {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let asked = RiskOptions {
        quasi: names(quasi),
        sensitive: names(sensitive),
        threshold: 0.2,
        sampling_fraction: None,
        weight: None,
    };
    check_kind(block_on(throng_job::risk(&[file.display().to_string()], &asked, &options())), &[]);
}

/// Verifies what bytes hold.
pub fn verify(bytes: &[u8]) {
    with_file(bytes, |file| check_verify(Path::new(file), &["age", "city"], &["illness"]));
}

/// Verifies a file.
pub fn check_verify(file: &Path, quasi: &[&str], sensitive: &[&str]) {
    let promise = Promise {
        quasi: quasi.iter().map(|name| (*name).to_owned()).collect(),
        sensitive: sensitive.iter().map(|name| SensitivePromise::plain(*name, 2)).collect(),
        k: 2,
        limits: Vec::new(),
        unit: None,
    };
    let found = block_on(throng_job::verify_release(&[file.display().to_string()], promise, None, &options()));
    check_kind(found.map(|_| ()), &[Kind::Verification]);
}

/// Queries what bytes hold.
pub fn sql(bytes: &[u8]) {
    with_file(bytes, |file| check_sql(Path::new(file), "age"));
}

/// Runs statements over a file that read all of it, group it and sort it.
pub fn check_sql(file: &Path, column: &str) {
    let file = file.display();
    for text in [
        format!("SELECT * FROM '{file}'"),
        format!("SELECT \"{column}\", count(*) FROM '{file}' GROUP BY \"{column}\" ORDER BY \"{column}\""),
    ] {
        let session = SqlSession::new(1, None).expect("a session");
        let statement = session.parse(&text).pop().expect("a statement").expect("a statement");
        let read = async {
            let mut rows = session.run(statement).await?;
            while rows.next().await?.is_some() {}
            Ok(())
        };
        check_kind(block_on(read), &[]);
    }
}
