//! Seeded damage to valid files on every command that reads them: no panic, no bug of ours, no hang, nothing left behind.
//!
//! `THRONG_MUTATIONS=100000` runs as many, `THRONG_MUTATION_SEED` begins at another seed, `THRONG_MUTATION_THREADS` runs several
//! at a time. A seed that fails is printed, and its file is kept.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fuzzed::targets::mutate;

/// Time after which a command counts as hung.
pub const HANG: Duration = Duration::from_secs(60);

/// Maximum memory for any file.
pub const MAX_MEMORY: u64 = 2 << 30;

/// Results of the commands so far.
#[derive(Default)]
struct Tally {
    files: u64,
    codes: BTreeMap<(&'static str, u8), u64>,
    longest: Duration,
    failed: Vec<u64>,
    at_work: BTreeMap<u64, Instant>,
}

impl Tally {
    fn add(&mut self, outcomes: [(u8, Duration); mutate::COMMANDS.len()]) {
        for (command, (code, time)) in mutate::COMMANDS.into_iter().zip(outcomes) {
            *self.codes.entry((command, code)).or_default() += 1;
            self.longest = self.longest.max(time);
        }
    }

    /// Prints the exit codes of each command, and the maximum time and memory.
    fn print(&self) {
        eprintln!("{} files, failed: {:?}, longest command: {:?}", self.files, self.failed, self.longest);
        for command in mutate::COMMANDS {
            let codes = self.codes.iter().filter(|((of, _), _)| *of == command);
            let codes: Vec<String> = codes.map(|((_, code), count)| format!("{code}: {count}")).collect();
            eprintln!("  {command} {{ {} }}", codes.join(", "));
        }
        eprintln!("  peak memory: {} MiB", mutate::peak_memory_bytes().unwrap_or(0) >> 20);
    }
}

/// Mutates files with seeds that no other thread has taken, and counts the results of the commands.
fn check_seeds(sources: &[mutate::Source], next: &AtomicU64, end: u64, tally: &Mutex<Tally>) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return;
        }
        let (name, bytes) = mutate::mutated(sources, seed);
        tally.lock().unwrap().at_work.insert(seed, Instant::now());
        let found = std::panic::catch_unwind(AssertUnwindSafe(|| mutate::check_every_command(name, &bytes)));
        let mut tally = tally.lock().unwrap();
        tally.at_work.remove(&seed);
        tally.files += 1;
        match found {
            Ok(outcomes) => tally.add(outcomes),
            Err(_) => {
                eprintln!("seed {seed} fails: {}", mutate::keep(&format!("{seed}-{name}"), &bytes).display());
                tally.failed.push(seed);
            }
        }
        if tally.files.is_multiple_of(5000) {
            tally.print();
        }
    }
}

/// Ends the process if a seed hangs, because its commands can't be stopped.
fn watch(tally: &Mutex<Tally>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(100));
        let hangs = |begun: &Instant| begun.elapsed() > HANG * mutate::COMMANDS.len() as u32;
        if let Some((seed, _)) = tally.lock().unwrap().at_work.iter().find(|(_, begun)| hangs(begun)) {
            eprintln!("seed {seed} does not end");
            std::process::abort();
        }
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn damaged_files_are_refused_or_released_by_every_command() {
    let (first, count) = (number("THRONG_MUTATION_SEED", 0), number("THRONG_MUTATIONS", 60));
    let sources = mutate::sources();
    for source in &sources {
        let codes = mutate::check_every_command(source.name, &source.bytes).map(|(code, _)| code);
        // The source is not k-anonymous.
        assert_eq!(codes, [0, 0, 0, 4, 0], "{}", source.name);
    }
    let (tally, next, is_over) = (Mutex::new(Tally::default()), AtomicU64::new(first), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| watch(&tally, &is_over));
        let threads = 0..number("THRONG_MUTATION_THREADS", 1);
        let threads: Vec<_> =
            threads.map(|_| scope.spawn(|| check_seeds(&sources, &next, first + count, &tally))).collect();
        let ended: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
    });
    let tally = tally.into_inner().unwrap();
    tally.print();
    assert!(tally.failed.is_empty(), "seeds that fail: {:?}", tally.failed);
    assert_eq!(tally.files, count);
    assert!(tally.longest < HANG, "a command took {:?}", tally.longest);
    let released = tally.codes.get(&("run", 0)).copied().unwrap_or(0);
    assert!(released * 20 > count && released < count, "{released} of {count} released: the damage is of no use");
    if let Some(peak) = mutate::peak_memory_bytes() {
        assert!(peak < MAX_MEMORY, "{} MiB", peak >> 20);
    }
}
