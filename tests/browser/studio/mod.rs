//! Throng Studio in a real browser.
//!
//! | file | content |
//! |---|---|
//! | `newcomer` | from an unknown table to a verified release, by clicks and keys; every figure against the commands |
//! | `controls` | rarer settings, and hierarchies that are arranged by dragging and by keys |
//! | `reading` | widths, colours, axe-core, paper, keyboard |
//! | `endings` | a run that is stopped, a wrong file, a closed tab, two tables |
//! | `safety` | other pages, other users, other programs |
//! | `speed` | times on many rows, while the page is scrolled |

mod controls;
mod endings;
mod newcomer;
mod reading;
mod safety;
mod speed;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Date32Array, Int64Array, StringArray};
use serde_json::Value;

use super::chrome::{self, Browser};
use super::{CHECKS, keep};
use crate::sandbox::Sandbox;
use crate::tables::{Draws, strings, table, write_parquet};

/// The figures are exact, and nothing is being computed.
const IS_EXACT: &str = "document.querySelector('.pill.exact') && !document.querySelector('#answers .busy')";

/// A Studio process that is killed when the test ends.
struct Running {
    process: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Running {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        Self::of(sandbox.command(&[&["studio", "--no-browser"], arguments].concat()))
    }

    fn of(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        let first: Value = serde_json::from_str(&first).unwrap();
        let address = first["address"].as_str().unwrap().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Self { process, stdout, address }
    }

    /// Returns the host with its port, and the token.
    fn parts(&self) -> (&str, &str) {
        self.address.strip_prefix("http://").unwrap().trim_end_matches('/').split_once('/').unwrap()
    }

    /// Waits for the end of the process, and returns its code with the rest of its output.
    fn ended(mut self) -> (Option<i32>, String) {
        let start = Instant::now();
        while self.process.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "it does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.process.wait().unwrap().code(), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A table of patients with names and types that no other test has: spaces and dots in names, dates, missing values, a constant, and
/// unique texts.
fn write_patients(sandbox: &Sandbox, rows: i64) {
    let mut random = Draws::new(21);
    let mut column = |most: u64| (0..rows).map(|_| random.below(most) as i64).collect::<Vec<i64>>();
    let (years, areas, sexes, ills, days, dates) =
        (column(60), column(40), column(2), column(9), column(30), column(700));
    let numbers = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let illness = ["asthma", "flu", "gout", "fracture", "migraine", "anaemia", "eczema", "angina", "colic"];
    // Every seventh postcode is missing.
    let postcode = |(row, area): (usize, &i64)| (row % 7 != 3).then(|| format!("4{:02}{}", area / 4, area % 10));
    let batch = table(vec![
        ("patient_number", numbers((0..rows).map(|row| 70_000 + row).collect())),
        ("birth_year", numbers(years.iter().map(|year| 1940 + year).collect())),
        ("post code", Arc::new(StringArray::from_iter(areas.iter().enumerate().map(postcode)))),
        ("sex", strings(sexes.iter().map(|sex| ["f", "m"][*sex as usize]))),
        ("diagnosis", strings(ills.iter().map(|ill| illness[*ill as usize]))),
        ("days_in_ward", numbers(days)),
        ("admitted.on", Arc::new(Date32Array::from_iter_values(dates.iter().map(|day| 19_000 + *day as i32)))),
        ("hospital", strings((0..rows).map(|_| "St. Ann's"))),
        ("remark", strings((0..rows).map(|row| format!("remark {row} of the ward")))),
    ]);
    write_parquet(&sandbox.path("input/patients.parquet"), &batch);
}

/// Roles of the patients' columns, as a newcomer chooses them.
const ROLES: [(&str, &str); 9] = [
    ("patient_number", "identifier"),
    ("birth_year", "quasi"),
    ("post code", "quasi"),
    ("sex", "quasi"),
    ("diagnosis", "sensitive"),
    ("days_in_ward", "insensitive"),
    ("admitted.on", "identifier"),
    ("hospital", "insensitive"),
    ("remark", "identifier"),
];

fn browser() -> Option<Browser> {
    let found = chrome::find();
    if found.is_none() {
        throng_testkit::skip("no browser is installed; THRONG_BROWSER=install installs one");
    }
    found.map(|program| Browser::start(&program))
}

fn button(text: &str) -> String {
    format!("[...document.querySelectorAll('button')].find((b) => b.textContent.trim() === '{text}' && !b.disabled)")
}

fn field(label: &str) -> String {
    format!("document.querySelector('[aria-label^=\"{label}\"]')")
}

fn id(name: &str) -> String {
    format!("document.getElementById('{name}')")
}

/// Chooses an option of a list, as its menu would.
fn choose(browser: &mut Browser, list: &str, value: &str) {
    browser.evaluate(&format!(
        "(() => {{ const e = {list}; e.focus(); e.value = '{value}'; e.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
    // Once the markup shows it, the server has it.
    browser.wait(&format!(
        "{list}.value === '{value}' && ({list}.querySelector('option[selected]')?.value ?? '') === '{value}'"
    ));
}

/// Types into a field and leaves it.
fn enter(browser: &mut Browser, field: &str, text: &str) {
    browser.evaluate(&format!(
        "(() => {{ const e = {field}; e.focus(); e.value = '{text}'; for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"
    ));
}

fn text_has(part: &str) -> String {
    format!("document.getElementById('text').value.includes('{part}')")
}

/// Answers all open questions of the patients' draft.
fn answer_questions(browser: &mut Browser) {
    for (column, role) in ROLES {
        choose(browser, &field(&format!("Role of {column}")), role);
    }
    enter(browser, &id("p-value"), "3");
    browser.wait("document.getElementById('matrix').textContent.includes('No question is open')");
}
