//! The most important messages of every exit code, verbatim, as in `messages.txt`.
//!
//! After an intended change, `THRONG_WRITE_MESSAGES=1 cargo test --test cli messages` rewrites the file.

use std::fs;
use std::sync::Arc;

use arrow::array::Int64Array;

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Ended, Sandbox, policy_text};
use crate::tables::{strings, table, write_parquet};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cli/messages.txt");

/// Returns the text for users, without logs and without the folder of the test.
fn printed(sandbox: &Sandbox, ended: &Ended) -> String {
    let is_log = |line: &str| line.starts_with("20") && line.contains('Z');
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| !is_log(line)).map(str::trim_end).collect();
    let folder = sandbox.path("").canonicalize().unwrap();
    lines.join("\n").replace(folder.to_str().unwrap(), "FOLDER")
}

fn with(columns: &str) -> Sandbox {
    Sandbox::with(&people(50), 3, 1, columns)
}

/// Returns titles and commands that fail.
fn cases() -> Vec<(&'static str, Sandbox, Vec<&'static str>)> {
    let run = || vec!["run", "policy.toml"];
    let mut cases = vec![
        ("an option that is not known", with(COLUMNS), vec!["run", "policy.toml", "--ouput", "x"]),
        ("a command without its policy", with(COLUMNS), vec!["run"]),
        ("columns without a k", with(COLUMNS), vec!["verify", "input/", "--quasi", "age"]),
        (
            "algorithms that are not known",
            with(COLUMNS),
            vec!["sweep", "policy.toml", "--algorithm", "mondrian,mondriaan/auto"],
        ),
        ("more than there are rows and values", with(COLUMNS), vec!["run", "policy.toml", "-k", "51", "-p", "9"]),
        (
            "a table that does not keep the promise",
            with(COLUMNS),
            vec!["verify", "input/", "--quasi", "age,sex", "-k", "5", "--sensitive", "diagnosis", "-p", "2"],
        ),
        ("no input", with(COLUMNS), vec!["run", "policy.toml", "--input", "nowhere"]),
        ("no policy", with(COLUMNS), vec!["run", "nothing.toml"]),
        ("a limit of p above k", with(COLUMNS), vec!["run", "policy.toml", "-p", "4"]),
    ];
    let cut = with(COLUMNS);
    let bytes = fs::read(cut.path("input/people.parquet")).unwrap();
    cut.write("input/people.parquet", &bytes[..bytes.len() / 2]);
    cases.push(("a file that was cut off", cut, run()));
    let csv = Sandbox::new();
    let lines: String = (0..100_001)
        .map(|row| format!("{},x\n", if row == 100_000 { "old".to_owned() } else { "7".to_owned() }))
        .collect();
    csv.write("input/people.csv", format!("age,sex\n{lines}"));
    csv.policy(3, 1, "[columns]\nage.role = \"quasi\"\nsex.role = \"quasi\"\n");
    cases.push(("a value that does not fit", csv, run()));
    let missing = with(&COLUMNS.replace("\"Ghana\"", "\"Gambia\""));
    cases.push(("values that a hierarchy does not know", missing, run()));
    let unnamed = with(&COLUMNS.replace("[columns.hours]\nrole = \"insensitive\"\n", ""));
    cases.push(("a column without a role", unnamed, run()));
    let typos = with(&COLUMNS.replace("role = \"identifier\"", "roel = \"identifer\""));
    cases.push(("fields that are not known", typos, run()));
    let open = with(COLUMNS);
    let text = policy_text("input/", 3, 1, COLUMNS).replace("k = 3\np = 1", "preset = \"common\"\np = \"?\"");
    open.write("policy.toml", text.replace("role = \"insensitive\"", "role = \"?\""));
    cases.push(("open questions", open, run()));
    let preset = with(COLUMNS);
    preset
        .write("policy.toml", policy_text("input/", 3, 1, COLUMNS).replace("k = 3\np = 1", "preset = \"cms\"\nk = 10"));
    cases.push(("a preset without p, and undercut", preset, run()));
    let tiny = with(&format!("min_rows = 100\n{COLUMNS}"));
    cases.push(("a delivery that is too small", tiny, run()));
    let changed = with(&format!("max_rows_change = 0.5\n{COLUMNS}"));
    changed.run(&[]);
    write_parquet(&changed.path("input/people.parquet"), &people(10));
    cases.push(("a delivery that changed too much", changed, vec!["run", "policy.toml", "--overwrite"]));
    let retyped = with(&COLUMNS.replace("[columns.age]\n", "[columns.age]\ntype = \"text\"\n"));
    cases.push(("a column of another type", retyped, run()));
    let lossy = with(&format!("loss_limit = 0.01\n{COLUMNS}"));
    cases.push(("a release that loses too much", lossy, run()));
    let exposed = with(&format!("insensitive_uniqueness = 0.05\n{COLUMNS}"));
    cases.push(("insensitive columns that single rows out", exposed, run()));
    let there = with(COLUMNS);
    there.run(&[]);
    cases.push(("a release that is already there", there, run()));
    let full = with(COLUMNS);
    full.run(&[]);
    std::os::unix::fs::symlink("/dev/full", full.path("full.html")).unwrap();
    let report = vec!["report", "out/release/_throng/metrics.json", "-o", "full.html"];
    cases.push(("a full disk", full, report));
    let wide = Sandbox::new();
    let names = |row: usize| format!("{row:0>200}");
    let ids = Arc::new(Int64Array::from_iter_values(0..300_000));
    write_parquet(
        &wide.path("input/people.parquet"),
        &table(vec![("age", ids), ("name", strings((0..300_000).map(names)))]),
    );
    wide.policy(3, 1, "[columns]\nage.role = \"quasi\"\nname.role = \"quasi\"\n");
    cases.push((
        "a limit of memory that is too low",
        wide,
        vec!["run", "policy.toml", "--threads", "1", "--memory-limit", "160MiB"],
    ));
    cases
}

#[test]
fn messages_read_as_they_were_written() {
    let mut cases: Vec<(i32, &str, String)> = cases()
        .into_iter()
        .map(|(title, sandbox, arguments)| {
            let ended = sandbox.throng(&arguments);
            (ended.code.unwrap(), title, printed(&sandbox, &ended))
        })
        .collect();
    cases.sort_by_key(|(code, _, _)| *code);
    let codes: Vec<i32> = cases.iter().map(|(code, _, _)| *code).collect();
    for code in [2, 3, 4, 65, 66, 75, 78] {
        assert!(codes.contains(&code), "no message of exit code {code}");
    }
    let found: String =
        cases.iter().map(|(code, title, printed)| format!("## {code}: {title}\n\n{printed}\n\n")).collect();
    if std::env::var_os("THRONG_WRITE_MESSAGES").is_some() {
        fs::write(FILE, &found).unwrap();
    }
    let expected = fs::read_to_string(FILE).unwrap_or_default();
    for (found, expected) in found.split("## ").zip(expected.split("## ")) {
        assert_eq!(found, expected);
    }
    assert_eq!(found, expected);
}
