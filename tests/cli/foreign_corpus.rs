//! Runs every command on a corpus of third-party files: `THRONG_CORPUS=DIR` names a folder of them, `THRONG_CORPUS_THREADS` runs
//! several files at a time. No panic, no bug of ours, no hang, nothing left behind, and bounded memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use throng_testkit::skip;

use crate::fuzzed::targets::read;
use crate::mutations::{HANG, MAX_MEMORY};
use crate::sandbox::{Sandbox, Watched, policy_text};

/// Results of the commands so far.
#[derive(Default)]
struct Tally {
    files: usize,
    codes: BTreeMap<String, BTreeMap<Option<i32>, usize>>,
    wrong: Vec<String>,
    longest: (Duration, String),
    peak: (u64, String),
}

impl Tally {
    fn print(&self) {
        let commands: usize = self.codes.values().flat_map(BTreeMap::values).sum();
        eprintln!("{} files, {commands} commands, {} wrong", self.files, self.wrong.len());
        for (command, codes) in &self.codes {
            let code = |code: &Option<i32>| code.map_or("killed".to_owned(), |code| code.to_string());
            let codes: Vec<String> = codes.iter().map(|(of, count)| format!("{}: {count}", code(of))).collect();
            eprintln!("  {command} {{ {} }}", codes.join(", "));
        }
        eprintln!("  longest: {:?}, {}", self.longest.0, self.longest.1);
        eprintln!("  peak memory: {} MiB, {}", self.peak.0 >> 20, self.peak.1);
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// Returns the format of a file of a corpus, which may have any extension.
fn name_of(file: &Path, bytes: &[u8]) -> &'static str {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension {
        "parquet" => read::NAMES[0],
        "arrow" | "arrow_file" | "stream" | "ipc" => read::NAMES[1],
        "csv" => read::NAMES[2],
        _ if bytes.starts_with(b"PAR1") || bytes.ends_with(b"PAR1") => read::NAMES[0],
        _ if file.to_string_lossy().contains("parquet") => read::NAMES[0],
        _ => read::NAMES[1],
    }
}

/// The names of the columns, or of any if the file can't be read.
fn columns(sandbox: &Sandbox, input: &str) -> Vec<String> {
    let ended = sandbox.throng(&["sql", "-c", &format!("DESCRIBE '{input}'"), "--format", "ndjson"]);
    let rows = ended.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let names: Vec<String> = rows.filter_map(|row| Some(row["column_name"].as_str()?.to_owned())).collect();
    if names.is_empty() { vec!["x".to_owned()] } else { names }
}

/// Whether a name can be written in a list on the command line.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_control() || "\"\\,".contains(c))
}

/// Whether an exit code is acceptable for a bad file or request.
fn is_expected(command: &str, code: Option<i32>) -> bool {
    matches!(code, Some(0 | 2 | 3 | 65 | 78)) || command == "verify" && code == Some(4)
}

/// A folder with a file as its input, and policies that release its first column, and all of them.
fn sandbox(file: &Path) -> (Sandbox, String, String) {
    let bytes = fs::read(file).unwrap();
    let sandbox = Sandbox::new();
    let input = format!("input/{}", name_of(file, &bytes));
    sandbox.write(&input, &bytes);
    let names = columns(&sandbox, &input);
    let column = names.iter().find(|name| is_plain(name)).map_or("x", String::as_str).to_owned();
    let role = |name: &str| if name == column { "quasi" } else { "insensitive" };
    // A string of JSON is one of TOML.
    let line = |name: &String| format!("[columns.{}]\nrole = \"{}\"\n", Value::from(name.as_str()), role(name));
    let first = format!("[columns]\ndefault = \"drop\"\n{}", line(&column));
    sandbox.policy(2, 1, &first);
    let all: String = names.iter().map(line).collect();
    sandbox.write("all.toml", policy_text("input/", 2, 1, &all).replace("out/release", "out/all"));
    sandbox.write("first.sql", format!("DESCRIBE '{input}'; SELECT * FROM '{input}'"));
    sandbox.write("values.csv", "1;*\n");
    (sandbox, input, column)
}

fn check_file(file: &Path, tally: &Mutex<Tally>) {
    let (sandbox, input, column) = sandbox(file);
    let external = if input.ends_with("parquet") { "PARQUET" } else { "ARROW" };
    let external = format!("CREATE EXTERNAL TABLE t STORED AS {external} LOCATION '{input}'; SELECT count(*) FROM t");
    let mask = "mask = \"right\"";
    let grid = ["--k", "2,3", "--budget", "fast"];
    let release = || if sandbox.release().exists() { "out/release" } else { input.as_str() };
    let commands: [&[&str]; 16] = [
        &["init", &input, "-o", "drafted.toml"],
        &["risk", &input, "--quasi", &column],
        &["verify", &input, "--quasi", &column, "--k", "2"],
        &["sql", "-f", "first.sql", "--format", "csv"],
        &["sql", "-f", "first.sql"],
        &["sql", "-c", &external],
        &["check", "policy.toml"],
        &["plan", "policy.toml"],
        &[&["sweep", "policy.toml"], &grid[..]].concat(),
        &["bound", "policy.toml", "--budget", "fast"],
        &["hierarchy", "make", &input, "--column", &column, "--builder", mask, "-o", "made.csv"],
        &["hierarchy", "check", "values.csv", &input, "--column", &column],
        &["run", "policy.toml"],
        &["run", "all.toml"],
        &["diff", &input, &input, "--quasi", &column],
        &["check", "drafted.toml"],
    ];
    for arguments in commands {
        check(&sandbox, file, arguments, tally);
    }
    for arguments in [
        &["utility", release(), "--original", &input, "--policy", "policy.toml"][..],
        &["attack", release(), "--original", &input, "--policy", "policy.toml"],
        &["diff", release(), release(), "--policy", "policy.toml", "--original", &input],
    ] {
        check(&sandbox, file, arguments, tally);
    }
    tally.lock().unwrap().files += 1;
}

fn check(sandbox: &Sandbox, file: &Path, arguments: &[&str], tally: &Mutex<Tally>) {
    let before = sandbox.out();
    let Watched { ended, peak, time } = sandbox.watched(arguments, HANG);
    let is_clean = ended.code == Some(0) || sandbox.out() == before;
    let is_reported = !ended.stderr.contains("panicked") && !ended.stderr.contains("internal error");
    let call = || format!("{} {arguments:?}", file.display());
    let mut tally = tally.lock().unwrap();
    if !is_expected(arguments[0], ended.code) || !is_clean || !is_reported || peak > MAX_MEMORY {
        let wrong = format!("{} {:?} {} MiB {}", call(), ended.code, peak >> 20, ended.stderr.trim());
        eprintln!("{wrong}");
        tally.wrong.push(wrong);
    }
    *tally.codes.entry(arguments[0].to_owned()).or_default().entry(ended.code).or_default() += 1;
    if time > tally.longest.0 {
        tally.longest = (time, call());
    }
    if peak > tally.peak.0 {
        tally.peak = (peak, call());
    }
}

#[test]
fn every_file_of_a_foreign_corpus_is_read_or_refused_by_every_command() {
    let Some(corpus) = std::env::var_os("THRONG_CORPUS") else {
        return skip("THRONG_CORPUS names no folder of foreign files");
    };
    let files = Mutex::new(files_below(Path::new(&corpus)).into_iter());
    let threads = std::env::var("THRONG_CORPUS_THREADS").map_or(1, |threads| threads.parse().unwrap());
    let tally = Mutex::new(Tally::default());
    let next = || files.lock().unwrap().next();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| std::iter::from_fn(next).for_each(|file| check_file(&file, &tally)));
        }
    });
    let tally = tally.into_inner().unwrap();
    tally.print();
    assert!(tally.files > 0 && tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
}
