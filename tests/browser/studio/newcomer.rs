//! Throng Studio in a real browser: from a table that it has never seen to a verified release, by clicks and keys.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command};
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array};
use serde_json::Value;

use super::chrome::{self, Browser};
use super::{CHECKS, keep};
use crate::sandbox::Workshop;
use crate::tables::{Draws, strings, table, write_parquet};

/// A Studio that is killed with the test.
struct Running {
    process: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Running {
    fn start(workshop: &Workshop, arguments: &[&str]) -> Self {
        let mut process = workshop.start(&[&["studio", "--no-browser"], arguments].concat());
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        let first: Value = serde_json::from_str(&first).unwrap();
        let address = first["address"].as_str().unwrap().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        Self { process, stdout, address }
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

/// A table of patients with names and types that no other test has.
fn write_patients(workshop: &Workshop, rows: i64) {
    let mut random = Draws::new(21);
    let mut column = |most: u64| (0..rows).map(|_| random.below(most) as i64).collect::<Vec<i64>>();
    let (years, areas, sexes, ills, days) = (column(60), column(40), column(2), column(9), column(30));
    let numbers = |values: Vec<i64>| std::sync::Arc::new(Int64Array::from(values)) as ArrayRef;
    let illness = ["asthma", "flu", "gout", "fracture", "migraine", "anaemia", "eczema", "angina", "colic"];
    let batch = table(vec![
        ("patient_number", numbers((0..rows).map(|row| 70_000 + row).collect())),
        ("birth_year", numbers(years.iter().map(|year| 1940 + year).collect())),
        ("postcode", strings(areas.iter().map(|area| format!("4{:02}{}", area / 4, area % 10)))),
        ("sex", strings(sexes.iter().map(|sex| ["f", "m"][*sex as usize]))),
        ("diagnosis", strings(ills.iter().map(|ill| illness[*ill as usize]))),
        ("days_in_ward", numbers(days)),
    ]);
    write_parquet(&workshop.path("input/patients.parquet"), &batch);
}

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

/// Chooses an option of a list, as its menu does.
fn choose(browser: &mut Browser, label: &str, value: &str) {
    let list = field(label);
    browser.evaluate(&format!(
        "(() => {{ const e = {list}; e.focus(); e.value = '{value}'; e.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
    browser.wait(&format!("{list}.value === '{value}' && document.activeElement"));
}

const IS_EXACT: &str = "document.querySelector('.pill.exact') && !document.querySelector('#answers .busy')";

/// Returns the figures of a document on the page: key and value.
fn figures(browser: &mut Browser, document: &str) -> Vec<(String, f64)> {
    let found = browser.evaluate(&format!(
        "[...document.querySelectorAll('data[data-doc={document}]')].map((e) => [e.dataset.key, Number(e.value)])"
    ));
    let pair = |pair: &Value| (pair[0].as_str().unwrap().to_owned(), pair[1].as_f64().unwrap());
    found.as_array().unwrap().iter().map(pair).collect()
}

/// Looks up a path: steps with dots, and after the first slash with slashes, since names of columns may have dots.
fn at<'a>(document: &'a Value, key: &str) -> &'a Value {
    let (plain, names) = key.split_once('/').map_or((key, None), |(plain, names)| (plain, Some(names)));
    let steps = plain.split('.').chain(names.into_iter().flat_map(|names| names.split('/')));
    steps.fold(document, |value, step| match step.parse::<usize>() {
        Ok(index) if value.is_array() => &value[index],
        _ => &value[step],
    })
}

fn assert_equal(browser: &mut Browser, name: &str, document: &Value, least: usize) {
    let found = figures(browser, name);
    assert!(found.len() >= least, "{name}: only {found:?}");
    for (key, value) in found {
        assert_eq!(at(document, &key).as_f64(), Some(value), "{name}: {key}");
    }
}

fn assert_reads_well(browser: &mut Browser, place: &str) {
    let found = browser.evaluate(CHECKS);
    let problems = found["problems"].as_array().unwrap();
    // The page has one script, which is a file of its own.
    let others: Vec<&Value> = problems.iter().filter(|problem| *problem != "there is a script").collect();
    assert!(others.is_empty(), "{place}: {others:#?}");
    assert_eq!(
        browser.evaluate("document.scripts.length === 1 && document.scripts[0].src.endsWith('/studio.js')"),
        true
    );
    let unnamed = "[...document.querySelectorAll('input, select, textarea, button')].filter((e) => !e.closest('dialog:not([open])') && \
                   !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML)";
    assert_eq!(browser.evaluate(unnamed), serde_json::json!([]), "{place}: controls without a name");
    assert!(found["looked"].as_u64().unwrap() > 60, "{place}: {found}");
}

#[test]
fn a_newcomer_comes_to_a_verified_release_by_clicks_alone() {
    let Some(mut browser) = browser() else { return };
    let workshop = Workshop::new();
    write_patients(&workshop, 6000);
    let studio = Running::start(&workshop, &["input/patients.parquet"]);
    browser.visit(&studio.address, 1360, 800, "light");
    browser.wait("document.documentElement.dataset.ready === 'yes'");
    browser.wait("document.getElementById('open-questions')");
    browser.wait(IS_EXACT);

    // Roles: what the draft could not know. Release is not possible before.
    assert_eq!(browser.evaluate(&format!("{} === undefined", button("Release"))), true);
    for (column, role) in [
        ("patient_number", "identifier"),
        ("birth_year", "quasi"),
        ("postcode", "quasi"),
        ("sex", "quasi"),
        ("diagnosis", "sensitive"),
        ("days_in_ward", "insensitive"),
    ] {
        choose(&mut browser, &format!("Role of {column}"), role);
    }
    // p and k with the keys of their sliders.
    browser.click("document.getElementById('p-slider')");
    browser.evaluate("document.getElementById('p-slider').focus()");
    browser.press("Home", 36);
    browser.press("ArrowRight", 39);
    browser.press("ArrowRight", 39);
    browser.wait("document.getElementById('text').value.includes('p = 3')");
    browser.evaluate("document.getElementById('k-slider').focus()");
    browser.press("ArrowRight", 39);
    browser.press("ArrowRight", 39);
    browser.wait("document.getElementById('text').value.includes('k = 12')");
    browser.wait("document.getElementById('matrix').textContent.includes('No question is open')");
    assert_eq!(
        browser.evaluate("document.getElementById('text').value.startsWith('# A draft')"),
        true,
        "comments survive"
    );

    // A hierarchy by its builder.
    browser.click(&field("Hierarchy of birth_year"));
    browser.wait("document.querySelector('dialog[open] #builder-text')");
    browser.evaluate(
        "(() => { const e = document.getElementById('builder-text'); e.focus(); e.value = '5, 10, 30'; \
         e.dispatchEvent(new Event('input', { bubbles: true })); })()",
    );
    browser.wait("document.querySelectorAll('#builder-preview tbody tr').length === 4 && document.querySelector('#builder-preview tbody tr:nth-child(3)').textContent.includes('30')");
    keep("studio-hierarchy.png", &browser.picture(false));
    assert_eq!(
        browser.evaluate("document.getElementById('builder-preview').innerText.includes('19')"),
        false,
        "values are shown"
    );
    browser.click(&button("Use it"));
    browser.wait("!document.querySelector('dialog[open]') && document.getElementById('text').value.includes('intervals = [5, 10, 30]')");

    // A change that is undone.
    choose(&mut browser, "Role of sex", "identifier");
    browser.wait(&format!(
        "{} && document.getElementById('history').textContent.includes('sex: role identifier')",
        button("Undo")
    ));
    browser.click(&button("Undo"));
    browser.wait("document.querySelector('[aria-label=\"Role of sex\"]').value === 'quasi'");

    browser.wait(IS_EXACT);
    browser.wait("document.querySelector('#frontier table')");
    assert_reads_well(&mut browser, "figures");
    browser.evaluate("document.getElementById('answers').scrollIntoView({ behavior: 'instant' }); scrollBy(0, -70)");
    keep("studio-figures.png", &browser.picture(false));
    let quasi = "birth_year,postcode,sex";

    // Check, try, release.
    browser.click(&button("Check"));
    browser.wait("document.querySelector('[data-outcome=checked]')");
    let checked = workshop.throng(&["check", "input/patients.policy.toml"]).done();
    assert_equal(&mut browser, "check", &checked, 6);
    browser.click(&button("Try"));
    browser.wait("document.querySelector('[data-outcome=tried]')");
    assert!(!workshop.path("released").exists(), "a trial writes nothing");
    let tried = figures(&mut browser, "run");
    browser.click(&button("Release"));
    browser.wait("document.querySelector('[data-outcome=released]')");
    browser.evaluate("document.querySelector('details.commands').open = true");
    browser.evaluate("document.getElementById('actions').scrollIntoView({ behavior: 'instant' }); scrollBy(0, -70)");
    keep("studio-released.png", &browser.picture(false));
    assert_eq!(figures(&mut browser, "run"), tried);

    // Everything on the page is what the commands say.
    let metrics = std::fs::read(workshop.path("released/patients/_throng/metrics.json")).unwrap();
    let metrics: Value = serde_json::from_slice(&metrics).unwrap();
    assert_equal(&mut browser, "metrics", &metrics, 10);
    assert_equal(&mut browser, "run", &metrics, 3);
    let risk =
        workshop.throng(&["risk", "input/patients.parquet", "--quasi", quasi, "--sensitive", "diagnosis"]).done();
    assert_equal(&mut browser, "risk", &risk, 6);
    let swept = workshop.throng(&["sweep", "input/patients.policy.toml", "--k", "2,3,5,10,12,20,50", "--p", "3"]);
    assert_equal(&mut browser, "sweep", &swept.json(), 20);
    let verified = workshop.throng(&["verify", "released/patients", "--policy", "input/patients.policy.toml"]).done();
    assert_eq!(verified["satisfied"], true);
    let shown = browser.evaluate("document.querySelector('details.commands pre').textContent");
    for line in shown.as_str().unwrap().lines().filter(|line| !line.contains(" run ") && !line.is_empty()) {
        let status = Command::new("sh")
            .args(["-c", &line.replace("throng ", "\"$THRONG\" ")])
            .env("THRONG", env!("CARGO_BIN_EXE_throng"))
            .env("THRONG_SECRET", crate::sandbox::SECRET)
            .current_dir(workshop.path(""))
            .output()
            .unwrap();
        assert!(status.status.success(), "{line}: {status:?}");
    }
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    let foreign: Vec<String> = browser.fetched().into_iter().filter(|url| !url.starts_with(&studio.address)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    for value in ["asthma", "eczema", "70001", "f\"", "4090"] {
        let urls = browser.fetched().join(" ");
        assert!(!urls.contains(value), "{value} is in a URL");
    }
    browser.visit(&format!("{}report", studio.address), 1180, 900, "light");
    assert_eq!(browser.evaluate("document.title"), "Release report");
}

#[test]
fn the_page_reads_well_at_every_width() {
    let Some(mut browser) = browser() else { return };
    let workshop = Workshop::new();
    workshop.throng(&["generate", "census", "--rows", "5000", "-o", "input/census"]).done();
    let studio = Running::start(&workshop, &["input/census"]);
    browser.visit(&studio.address, 1440, 900, "light");
    browser.wait(IS_EXACT);
    browser.wait("document.querySelector('#frontier table')");
    browser.resize(1400, 860, "light");
    keep("studio-columns.png", &browser.picture(false));
    browser.resize(390, 780, "light");
    keep("studio-phone.png", &browser.picture(false));
    for (width, scheme) in [1440, 1024, 390].into_iter().flat_map(|width| [(width, "light"), (width, "dark")]) {
        browser.resize(width, 900, scheme);
        assert_reads_well(&mut browser, &format!("{width} {scheme}"));
        assert_eq!(
            browser.evaluate("getComputedStyle(document.body).backgroundColor === 'rgb(19, 23, 26)'"),
            scheme == "dark"
        );
        keep(&format!("studio-{width}-{scheme}.png"), &browser.picture(true));
        keep(&format!("studio-{width}-{scheme}-top.png"), &browser.picture(false));
    }
    browser.resize(1440, 900, "light");
    let paper = browser.paper();
    assert!(paper.starts_with(b"%PDF") && paper.len() > 10_000, "the page can't be printed");
    keep("studio.pdf", &paper);
    // Every control can be reached with the keyboard, in the order of the page.
    browser.evaluate("document.activeElement.blur()");
    let mut reached = Vec::new();
    for _ in 0..12 {
        browser.press("Tab", 9);
        reached.push(
            browser
                .evaluate("document.activeElement.textContent.trim().slice(0, 20) || document.activeElement.id")
                .to_string(),
        );
    }
    assert!(
        reached[0].contains("To the columns") && reached.iter().any(|name| name.contains("k-slider")),
        "{reached:?}"
    );
}

#[test]
fn a_release_can_be_stopped() {
    let Some(mut browser) = browser() else { return };
    let workshop = Workshop::new();
    workshop.throng(&["generate", "census", "--rows", "300000", "-o", "input/census"]).done();
    let configs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let policy = std::fs::read_to_string(configs.join("census.toml")).unwrap();
    let policy = policy.replace("\"hierarchies/", &format!("\"{}/hierarchies/", configs.display()));
    workshop
        .write("policy.toml", policy.replace("data/census/", "input/census/").replace("out/census/", "out/release"));
    let studio = Running::start(&workshop, &["policy.toml"]);
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait(&button("Release"));
    browser.click(&button("Release"));
    browser.wait(&button("Stop"));
    browser.wait("document.querySelector('#outcome progress')");
    browser.click(&button("Stop"));
    browser.wait("document.querySelector('[data-outcome=failed]')");
    let said = browser.evaluate("document.getElementById('outcome').textContent");
    assert!(said.as_str().unwrap().contains("nothing was published"), "{said}");
    assert!(workshop.out().is_empty(), "{:?}", workshop.out());
}

#[test]
fn a_wrong_file_is_explained_and_a_closed_tab_ends_the_process() {
    let Some(mut browser) = browser() else { return };
    let workshop = Workshop::new();
    workshop.write("input/people.parquet", "this is a text that is called a Parquet file");
    let studio = Running::start(&workshop, &["input/people.parquet", "--exit-when-closed"]);
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait("document.body.textContent.includes(\"can't be opened\")");
    let said = browser.evaluate("document.querySelector('.welcome').textContent").to_string();
    assert!(said.contains("people.parquet") && !said.contains("called a Parquet"), "{said}");
    keep("studio-wrong-file.png", &browser.picture(false));
    // Another table is opened on the same page.
    write_patients(&workshop, 500);
    browser.evaluate(
        "(() => { const form = document.querySelector('.welcome form'); form.path.value = 'input/patients.parquet'; form.requestSubmit(); })()",
    );
    browser.wait("document.querySelectorAll('.tabs .tab').length === 2 && document.getElementById('open-questions')");
    // A page of another site reaches nothing, with the address or without it.
    let address = studio.address.clone();
    browser.ask("Page.navigate", serde_json::json!({ "url": "about:blank" }));
    let asked = browser.evaluate(&format!(
        "fetch('{address}do', {{ method: 'POST', body: '{{\"do\":\"save\"}}' }}).then((r) => 'read ' + r.status, () => 'refused')"
    ));
    assert_eq!(asked, "refused");
    let (code, rest) = studio.ended();
    assert_eq!(code, Some(0));
    assert_eq!(rest.trim(), "{\"outcome\":\"closed\"}");
    assert!(!workshop.path("input/patients.policy.toml").exists(), "nothing was saved");
}
