//! `--memory-limit`: rows are spilled, the release is the same, and no spill files are left.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::fixture_table::{COLUMNS, people};
use crate::release_files::data_files;
use crate::sandbox::{Ended, Sandbox, assert_contains, names};
use crate::tables::{Draws, table, write_parquet};

const POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/census.toml");

fn release(sandbox: &Sandbox, output: &str, more: &[&str]) -> Vec<Vec<u8>> {
    let arguments = [&["run", POLICY, "--input", "input/census/", "--output", output], more].concat();
    let mut command = sandbox.command(&arguments);
    command.env("TMPDIR", sandbox.path("spill"));
    let ended: Ended = command.output().unwrap().into();
    let spilled = ended.stderr.contains("spilled=true");
    assert_eq!(spilled, !more.is_empty(), "{}", ended.stderr);
    ended.done();
    data_files(&sandbox.path(output)).iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn a_run_with_little_memory_gives_the_same_bytes_and_leaves_no_spill_file() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("spill")).unwrap();
    sandbox.throng(&["generate", "census", "--rows", "150000", "-o", "input/census"]).done();
    let expected = release(&sandbox, "out/unlimited", &[]);
    assert_eq!(release(&sandbox, "out/limited", &["--memory-limit", "160MiB"]), expected);
    assert_eq!(names(&sandbox.path("spill")), Vec::<String>::new());
}

#[test]
fn a_limit_under_which_nothing_can_be_done_is_named() {
    let sandbox = Sandbox::with(&people(100), 5, 2, COLUMNS);
    for (limit, says) in
        [("5", "160MiB"), ("16MiB", "160MiB"), ("512 elephants", "like 512MiB"), ("-1GB", "like 512MiB")]
    {
        let ended = sandbox.throng(&["run", "policy.toml", &format!("--memory-limit={limit}")]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_contains(&ended.stderr, &["--memory-limit", says]);
    }
}

/// Limit of the tests of wide rows, and their number: the values take several times as much.
const LIMIT: u64 = 288 << 20;
const WIDE_ROWS: i64 = 40_000;

/// Additional memory of a debug build over an optimized one.
const DEBUG_BYTES: u64 = 48 << 20;

/// Writes rows with 10 kB of text each, which compress well.
fn write_wide(sandbox: &Sandbox) {
    for file in 0..10 {
        let rows = || file * WIDE_ROWS / 10..(file + 1) * WIDE_ROWS / 10;
        let mut draws = Draws::new(file as u64);
        let ages: ArrayRef = Arc::new(Int64Array::from_iter_values(rows().map(|row| row * 7 % 80)));
        let note = |row: i64| format!("{row} {:x} ", draws.below(u64::MAX)).repeat(400);
        let notes: ArrayRef = Arc::new(StringArray::from_iter_values(rows().map(note)));
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1000)).build();
        let (file, rows) =
            (sandbox.path(&format!("input/{file}.parquet")), table(vec![("age", ages), ("note", notes)]));
        let mut writer =
            ArrowWriter::try_new(fs::File::create(file).unwrap(), rows.schema(), Some(properties)).unwrap();
        writer.write(&rows).unwrap();
        writer.close().unwrap();
    }
    sandbox.policy(5, 1, "[columns.age]\nrole = \"quasi\"\n[columns.note]\nrole = \"insensitive\"\n");
}

/// Returns the peak memory of a command, and how it ended.
fn peak_of(sandbox: &Sandbox, arguments: &[&str]) -> (u64, Ended) {
    let watched = sandbox.watched(arguments, Duration::from_secs(600));
    (watched.peak, watched.ended)
}

/// Rows may have any width: batches that are read, held, written and verified are sized in bytes, in every command.
#[test]
fn wide_rows_stay_within_the_limit_in_every_command() {
    let sandbox = Sandbox::new();
    write_wide(&sandbox);
    let limit = format!("{}MiB", LIMIT >> 20);
    let grouped = "SELECT max(length(note)), age FROM 'input/' GROUP BY age ORDER BY age";
    let copied = "COPY (SELECT note, age FROM 'input/') TO 'copy.parquet' STORED AS PARQUET";
    for arguments in [
        &["run", "policy.toml"][..],
        &["check", "policy.toml"],
        &["init", "input/", "-o", "drafted.toml"],
        &["risk", "input/", "--quasi", "age"],
        &["verify", "out/release", "--quasi", "age", "--k", "2"],
        &["sql", "-c", grouped],
        &["sql", "-c", copied],
        &["plan", "policy.toml"],
        &["sweep", "policy.toml", "--k", "5,6"],
        &["bound", "policy.toml"],
        &["hierarchy", "make", "input/", "--column", "age", "--builder", "width = 5, levels = 2", "-o", "ages.csv"],
        &["utility", "out/release", "--original", "input/", "--policy", "policy.toml"],
        &["attack", "out/release", "--original", "input/", "--policy", "policy.toml", "--targets", "100"],
        &["diff", "out/release", "out/release", "--policy", "policy.toml"],
    ] {
        let (peak, ended) = peak_of(&sandbox, &[arguments, &["--memory-limit", &limit, "--threads", "2"]].concat());
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        assert!(peak <= LIMIT + DEBUG_BYTES, "{arguments:?}: {} MiB", peak >> 20);
    }
    // Values that do not fit are refused, not collected.
    let make = ["hierarchy", "make", "input/", "--column", "note", "--builder", "mask = \"right\"", "-o", "notes.csv"];
    let (peak, ended) = peak_of(&sandbox, &[&make[..], &["--memory-limit", &limit, "--threads", "2"]].concat());
    assert_contains(&ended.refused(78), &["the distinct values of the column", "to at least "]);
    assert!(peak <= LIMIT + DEBUG_BYTES, "{} MiB", peak >> 20);
    let limited: Vec<Vec<u8>> = data_files(&sandbox.release()).iter().map(|file| fs::read(file).unwrap()).collect();
    sandbox.run(&["--overwrite"]);
    let unlimited: Vec<Vec<u8>> = data_files(&sandbox.release()).iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(limited == unlimited, "the limit changes bytes");
}

#[test]
fn a_row_group_that_no_limit_can_hold_is_refused_before_any_work() {
    let sandbox = Sandbox::new();
    let mut draws = Draws::new(1);
    let noise: String = (0..40_000_000).map(|_| char::from(b' ' + draws.below(90) as u8)).collect();
    let notes: ArrayRef = Arc::new(StringArray::from_iter_values([&noise[..20_000_000], &noise[20_000_000..]]));
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values(0..2));
    write_parquet(&sandbox.path("input/people.parquet"), &table(vec![("age", ages), ("note", notes)]));
    sandbox.policy(2, 1, "[columns.age]\nrole = \"quasi\"\n[columns.note]\nrole = \"insensitive\"\n");
    let message = sandbox.run_refused(78, &["--memory-limit", "200MiB"]);
    assert_contains(&message, &["a row group or batch of the input", "to at least ", "MiB"]);
    let least = message.rsplit_once(' ').unwrap().1.to_owned();
    sandbox.run(&["--memory-limit", &least]);
    // Columns that are not read need no memory.
    sandbox.throng(&["risk", "input/", "--quasi", "age", "--memory-limit", "200MiB"]).done();
}

/// The memory that an error names is about what is needed, although it is raised before most rows are read.
#[test]
fn the_least_that_different_texts_ask_for_is_enough_and_not_much_more() {
    let sandbox = Sandbox::new();
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..150_000).map(|row| format!("{row:0200}"))));
    write_parquet(&sandbox.path("input/people.parquet"), &table(vec![("name", names)]));
    sandbox.policy(2, 1, "[columns.name]\nrole = \"quasi\"\n");
    let message = sandbox.run_refused(78, &["--memory-limit", "224MiB"]);
    assert_contains(&message, &["the distinct values of the quasi-identifiers", "to at least "]);
    let least = message.rsplit_once(' ').unwrap().1.trim_end_matches("MiB").parse::<u64>().unwrap();
    sandbox.run(&["--memory-limit", &format!("{least}MiB")]);
    // The limit is a multiple of 32 MiB, of which five eighths are the pool's.
    sandbox.run_refused(78, &["--memory-limit", &format!("{}MiB", least - 64), "--output", "out/less"]);
}

/// Limit of the test of growing tables.
const GROWING_LIMIT: u64 = 320 << 20;

/// Writes `rows` rows, nearly all of which have unique quasi-identifiers.
fn write_scattered(sandbox: &Sandbox, folder: &str, rows: u64) {
    const FILE_ROWS: u64 = 400_000;
    fs::create_dir_all(sandbox.path(folder)).unwrap();
    for file in 0..rows.div_ceil(FILE_ROWS) {
        let mut draws = Draws::new(file);
        let mut drawn = |below: u64| -> ArrayRef {
            let rows = FILE_ROWS.min(rows - file * FILE_ROWS);
            Arc::new(Int64Array::from_iter_values((0..rows).map(|_| draws.below(below) as i64)))
        };
        let columns = vec![("age", drawn(1000)), ("place", drawn(1000)), ("size", drawn(50)), ("ill", drawn(6))];
        write_parquet(&sandbox.path(&format!("{folder}/{file}.parquet")), &table(columns));
    }
}

/// The table is cut into parts, of which one at a time is in memory, together with its rows' groups and classes.
#[test]
fn peak_memory_does_not_grow_with_rows_and_distinct_combinations() {
    let sandbox = Sandbox::new();
    let quasi = ["age", "place", "size"].map(|name| format!("[columns.{name}]\nrole = \"quasi\"\n")).concat();
    sandbox.policy(20, 2, &format!("{quasi}[columns.ill]\nrole = \"sensitive\"\n"));
    let limit = format!("{}MiB", GROWING_LIMIT >> 20);
    let peaks = [1_200_000, 4_800_000].map(|rows| {
        write_scattered(&sandbox, "input/growing", rows);
        let arguments = ["run", "policy.toml", "--input", "input/growing", "--overwrite", "--budget", "fast"];
        let (peak, ended) =
            peak_of(&sandbox, &[&arguments[..], &["--memory-limit", &limit, "--threads", "2"]].concat());
        assert_eq!(ended.code, Some(0), "{rows} rows: {ended:?}");
        assert_contains(&ended.stderr, &["divided into parts"]);
        assert!(peak <= GROWING_LIMIT + DEBUG_BYTES, "{rows} rows: {} MiB", peak >> 20);
        peak
    });
    // The second table has four times as many rows. The smaller one may fit without spilling, and then peaks below its
    // allowance.
    assert!(peaks[1] <= peaks[0] + peaks[0] / 3, "{:?} MiB", peaks.map(|peak| peak >> 20));
}

/// Limit of the test of unique values.
const DIFFERENT_LIMIT: u64 = 288 << 20;

/// Writes `rows` rows with unique incomes.
fn write_different(sandbox: &Sandbox, folder: &str, rows: i64) {
    const FILES: i64 = 4;
    fs::create_dir_all(sandbox.path(folder)).unwrap();
    for file in 0..FILES {
        let of_file = || file * rows / FILES..(file + 1) * rows / FILES;
        let mut draws = Draws::new(file as u64);
        // An odd factor permutes the 40-bit numbers.
        let income = |row: i64| row.wrapping_mul(0x5_DEEC_E66D) & ((1 << 40) - 1);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("income", Arc::new(Int64Array::from_iter_values(of_file().map(income)))),
            ("age", Arc::new(Int64Array::from_iter_values(of_file().map(|_| draws.below(80) as i64)))),
            ("note", Arc::new(Int64Array::from_iter_values(of_file()))),
        ];
        write_parquet(&sandbox.path(&format!("{folder}/{file}.parquet")), &table(columns));
    }
}

/// Values that do not fit are ranked on disk, and each part of the table has those of its own rows.
#[test]
fn a_quasi_identifier_that_is_different_for_everybody_stays_within_the_limit() {
    let sandbox = Sandbox::new();
    write_different(&sandbox, "input/different", 2_400_000);
    let quasi = ["income", "age"].map(|name| format!("[columns.{name}]\nrole = \"quasi\"\n")).concat();
    sandbox.policy(40, 1, &format!("{quasi}[columns.note]\nrole = \"insensitive\"\n"));
    let arguments = ["run", "policy.toml", "--input", "input/different", "--overwrite", "--budget", "fast"];
    let limit = format!("{}MiB", DIFFERENT_LIMIT >> 20);
    let (peak, ended) = peak_of(&sandbox, &[&arguments[..], &["--memory-limit", &limit, "--threads", "2"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_contains(&ended.stderr, &["distinct values of a quasi-identifier spilled", "divided into parts"]);
    assert!(peak <= DIFFERENT_LIMIT + DEBUG_BYTES, "{} MiB", peak >> 20);
    let released = || data_files(&sandbox.release()).iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>();
    let limited = released();
    let ended = sandbox.throng(&arguments);
    assert!(!ended.stderr.contains("distinct values of a quasi-identifier spilled"), "{}", ended.stderr);
    ended.done();
    assert!(limited == released(), "the limit changes bytes");
}

/// Limit of the test of compared releases.
const COMPARED_LIMIT: u64 = 224 << 20;

/// Writes the rows of a release, in classes of 200.
fn write_classes(sandbox: &Sandbox, folder: &str, rows: std::ops::Range<i64>) {
    fs::create_dir_all(sandbox.path(folder)).unwrap();
    let all: Vec<i64> = rows.collect();
    for (file, rows) in all.chunks(400_000).enumerate() {
        let column = |value: fn(i64) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| value(*row))))
        };
        let columns = vec![
            ("age", column(|row| row / 200 % 1000)),
            ("place", column(|row| row / 200 / 1000)),
            ("note", column(|row| row)),
            ("ill", column(|row| row % 6)),
        ];
        write_parquet(&sandbox.path(&format!("{folder}/{file}.parquet")), &table(columns));
    }
}

/// Rows of both releases are matched on disk, a bucket at a time.
#[test]
fn releases_of_any_size_are_compared_within_the_limit() {
    let sandbox = Sandbox::new();
    let limit = format!("{}MiB", COMPARED_LIMIT >> 20);
    let peaks = [600_000, 2_400_000].map(|rows| {
        write_classes(&sandbox, &format!("monday-{rows}"), 0..rows);
        write_classes(&sandbox, &format!("tuesday-{rows}"), 400..rows + 400);
        let (monday, tuesday) = (format!("monday-{rows}"), format!("tuesday-{rows}"));
        let arguments = ["verify", &tuesday, "--quasi", "age,place", "--sensitive", "ill", "-k", "200", "-p", "2"];
        let more = ["--against", &monday, "--memory-limit", &limit, "--threads", "2"];
        let (peak, ended) = peak_of(&sandbox, &[&arguments[..], &more].concat());
        let found = ended.done()["against"][0].clone();
        let counts = ["stayed", "moved", "left", "come", "rows_below_k"].map(|count| found[count].as_i64().unwrap());
        assert_eq!(counts, [rows - 400, 0, 400, 400, 0], "{found}");
        assert!(peak <= COMPARED_LIMIT + DEBUG_BYTES, "{rows} rows: {} MiB", peak >> 20);
        peak
    });
    assert!(peaks[1] <= peaks[0] + peaks[0] / 3, "{:?} MiB", peaks.map(|peak| peak >> 20));
}
