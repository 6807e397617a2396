//! Seeded damage to valid files on every command that reads them: no panic, no bug of ours, no hang, nothing left behind.
//!
//! `THRONG_MUTATIONS=100000` runs as many, `THRONG_MUTATION_SEED` begins at another seed. A seed that fails is printed, and its
//! file is kept. `THRONG_CORPUS=DIR` runs every file of a folder through every command.

use std::fs;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use throng_testkit::skip;

use crate::fuzzed::targets::{mutate, read};
use crate::sandbox::{Ended, Workshop};

/// Time after which a command counts as one that does not end.
const HANG: Duration = Duration::from_secs(60);

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

/// The seed at work, and when it began. A thread beside it ends the process if that takes too long.
struct Watch {
    seed: AtomicU64,
    began: AtomicU64,
    start: Instant,
}

impl Watch {
    fn begin(&self, seed: u64) {
        self.began.store(self.start.elapsed().as_millis() as u64, Ordering::Relaxed);
        self.seed.store(seed, Ordering::Relaxed);
    }

    fn start() -> &'static Self {
        let watch = Box::leak(Box::new(Self {
            seed: AtomicU64::new(u64::MAX),
            began: AtomicU64::new(0),
            start: Instant::now(),
        }));
        let watched: &'static Self = watch;
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let seed = watched.seed.load(Ordering::Relaxed);
                let began = Duration::from_millis(watched.began.load(Ordering::Relaxed));
                // Five commands have a minute each, in a build without optimization.
                if seed != u64::MAX && watched.start.elapsed() > began + 5 * HANG {
                    eprintln!("seed {seed} does not end");
                    std::process::abort();
                }
            }
        });
        watched
    }
}

#[test]
fn damaged_files_are_refused_or_released_by_every_command() {
    let (first, count) = (number("THRONG_MUTATION_SEED", 0), number("THRONG_MUTATIONS", 60));
    let sources = mutate::sources();
    for source in &sources {
        assert!(mutate::check_every_command(source.name, &source.bytes), "{} is not released", source.name);
    }
    let watch = Watch::start();
    let (mut released, mut failed) = (0, Vec::new());
    for seed in first..first + count {
        watch.begin(seed);
        let (name, bytes) = mutate::mutated(&sources, seed);
        match std::panic::catch_unwind(AssertUnwindSafe(|| mutate::check_every_command(name, &bytes))) {
            Ok(is_released) => released += u64::from(is_released),
            Err(_) => {
                eprintln!("seed {seed} fails: {}", mutate::keep(&format!("{seed}-{name}"), &bytes).display());
                failed.push(seed);
            }
        }
        if (seed + 1 - first) % 1000 == 0 {
            eprintln!("{} mutations, {released} released, failed: {failed:?}", seed + 1 - first);
        }
    }
    watch.seed.store(u64::MAX, Ordering::Relaxed);
    assert!(failed.is_empty(), "seeds that fail: {failed:?}");
    assert!(released * 20 > count && released < count, "{released} of {count} released: the damage is of no use");
    if let Some(peak) = mutate::peak_memory_bytes() {
        assert!(peak < 2 << 30, "{} MiB", peak >> 20);
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The format of a file of a corpus, whose names have all kinds of extensions.
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

/// Codes of a command that a file, or what was asked of it, may end with.
fn is_expected(command: &str, code: Option<i32>) -> bool {
    matches!(code, Some(0 | 2 | 3 | 65 | 78)) || command == "verify" && code == Some(4)
}

#[test]
fn every_file_of_a_foreign_corpus_is_read_or_refused_by_every_command() {
    let Some(corpus) = std::env::var_os("THRONG_CORPUS") else {
        return skip("THRONG_CORPUS names no folder of foreign files");
    };
    let (mut runs, mut wrong) = (0, Vec::new());
    for file in files_below(Path::new(&corpus)) {
        let bytes = fs::read(&file).unwrap();
        let workshop = Workshop::new();
        let input = format!("input/{}", name_of(&file, &bytes));
        workshop.write(&input, &bytes);
        workshop.write("first.sql", format!("DESCRIBE '{input}'; SELECT * FROM '{input}'"));
        let column = first_column(&workshop, &input);
        let columns = format!("[columns]\ndefault = \"drop\"\n[columns.\"{column}\"]\nrole = \"quasi\"\n");
        workshop.policy(2, 1, &columns);
        for arguments in [
            &["init", &input, "-o", "drafted.toml"][..],
            &["risk", &input, "--quasi", &column],
            &["verify", &input, "--quasi", &column, "--k", "1"],
            &["sql", "-f", "first.sql", "--format", "csv"],
            &["check", "policy.toml"],
            &["run", "policy.toml"],
        ] {
            runs += 1;
            let start = Instant::now();
            let ended: Ended = workshop.throng(arguments);
            let is_clean = ended.code == Some(0) || workshop.out().is_empty() || arguments[0] != "run";
            let is_told = !ended.stderr.contains("panicked") && !ended.stderr.contains("internal error");
            if !is_expected(arguments[0], ended.code) || !is_clean || !is_told || start.elapsed() > HANG {
                wrong.push(format!("{} {arguments:?} {:?} {}", file.display(), ended.code, ended.stderr.trim()));
            }
        }
    }
    eprintln!("{runs} commands, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The name of the first column, or any if the file can't be read.
fn first_column(workshop: &Workshop, input: &str) -> String {
    let ended = workshop.throng(&["sql", "-c", &format!("DESCRIBE '{input}'"), "--format", "ndjson"]);
    let first = ended.stdout.lines().next().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let name = first.and_then(|first| Some(first["column_name"].as_str()?.to_owned()));
    // Some names can be written neither on a command line nor in a policy.
    let is_plain = |name: &String| !name.is_empty() && !name.contains(|c: char| c.is_control() || "\"\\,".contains(c));
    name.filter(is_plain).unwrap_or_else(|| "x".to_owned())
}
