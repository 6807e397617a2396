//! The report, sweep and risk pages in a real browser: at desktop and phone width, light and dark, and printed.
//!
//! ```sh
//! cargo test --workspace --test cli browser                            # says that it skipped where there is no browser
//! THRONG_BROWSER=install cargo test --workspace --test cli browser     # installs it first (Debian, as root)
//! THRONG_PICTURES=DIR cargo test --workspace --test cli browser        # keeps the pictures
//! ```

mod chrome;
mod studio;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::Sandbox;
use chrome::Browser;

const CHECKS: &str = include_str!("checks.js");

/// Widths of a desktop and a phone.
const WIDTHS: [u32; 2] = [1180, 390];

/// Renders the report of a census, the sweep of its policy with one infeasible combination, and its risk.
fn pages() -> (Sandbox, Vec<PathBuf>) {
    let sandbox = Sandbox::new();
    sandbox.throng(&["generate", "census", "--rows", "20000", "-o", "input/census"]).done();
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let policy = fs::read_to_string(configs.join("census.toml")).unwrap();
    let hierarchies = format!("\"{}/hierarchies/", configs.display());
    let policy = policy.replace("\"hierarchies/", &hierarchies).replace("data/census/", "input/census/");
    sandbox.write(
        "policy.toml",
        policy.replace("location = \"out/census/\"", "location = \"out/release\"\nreport = true"),
    );
    sandbox.run(&[]);
    let grid = [
        "sweep",
        "policy.toml",
        "--k",
        "5,10,20,50",
        "--p",
        "1,3,5",
        "--budget",
        "fast",
        "--loss",
        "0.1",
        "-o",
        "sweep.html",
    ];
    sandbox.throng(&grid).done();
    let quasi = "age,sex,marital_status,race,birth_place,region";
    sandbox.throng(&["risk", "input/census", "--quasi", quasi, "--sensitive", "occupation", "-o", "risk.html"]).done();
    let pages = ["out/release/_throng/report.html", "sweep.html", "risk.html"].map(|page| sandbox.path(page)).to_vec();
    (sandbox, pages)
}

fn keep(name: &str, bytes: &[u8]) {
    if let Some(folder) = std::env::var_os("THRONG_PICTURES") {
        fs::create_dir_all(&folder).unwrap();
        fs::write(Path::new(&folder).join(name), bytes).unwrap();
    }
}

fn number(found: &Value, name: &str) -> u64 {
    found[name].as_u64().unwrap()
}

#[test]
fn pages_read_well_in_a_browser() {
    let Some(program) = chrome::find() else {
        throng_testkit::skip("no browser is installed; THRONG_BROWSER=install installs one");
        return;
    };
    let (_workshop, pages) = pages();
    let mut browser = Browser::start(&program);
    for page in &pages {
        let name = page.file_stem().unwrap().to_str().unwrap();
        let (least_plots, least_tables) = match name {
            "report" => (10, 5),
            "risk" => (2, 4),
            _ => (1, 1),
        };
        for (width, scheme) in WIDTHS.iter().flat_map(|width| [(*width, "light"), (*width, "dark")]) {
            let place = format!("{name}-{width}-{scheme}");
            browser.open(page, width, 900, scheme);
            // Collapsed details are checked too.
            browser.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })");
            let found = browser.evaluate(CHECKS);
            assert_eq!(found["problems"].as_array().unwrap().len(), 0, "{place}: {:#}", found["problems"]);
            assert!(number(&found, "looked") > 20, "{place}: {found}");
            assert!(
                number(&found, "plots") >= least_plots && number(&found, "tables") >= least_tables,
                "{place}: {found}"
            );
            assert_eq!(
                browser.evaluate("getComputedStyle(document.body).backgroundColor === 'rgb(19, 23, 26)'"),
                scheme == "dark"
            );
            browser.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = false })");
            let picture = browser.picture(true);
            assert!(picture.starts_with(b"\x89PNG") && picture.len() > 10_000, "{place} has no picture");
            keep(&format!("{place}.png"), &picture);
            keep(&format!("{place}-top.png"), &browser.picture(false));
            assert!(browser.fetched().is_empty(), "{place} fetches {:?}", browser.fetched());
            assert!(browser.complaints().is_empty(), "{place}: {:?}", browser.complaints());
        }
        let paper = browser.paper();
        assert!(paper.starts_with(b"%PDF") && paper.len() > 10_000, "{name} can't be printed");
        keep(&format!("{name}.pdf"), &paper);
    }
}

/// The checks must be able to fail.
#[test]
fn a_page_that_reads_badly_is_noticed() {
    let Some(program) = chrome::find() else {
        throng_testkit::skip("no browser is installed; THRONG_BROWSER=install installs one");
        return;
    };
    let sandbox = Sandbox::new();
    let bad = "<!doctype html><html lang=en><title>t</title><body style='background:#fff'><h1>a</h1><h3>b</h3>\
               <p style='color:#999'>pale</p><div style='width:3000px'>wide</div><table><tr><td>1</td></tr></table>\
               <svg role=img></svg><img src='https://example.invalid/x.png'><script>missing()</script>";
    sandbox.write("bad.html", bad);
    let mut browser = Browser::start(&program);
    browser.open(&sandbox.path("bad.html"), 390, 800, "light");
    let found = browser.evaluate(CHECKS);
    let problems = found["problems"].to_string();
    for expected in [
        "contrast 2.8",
        "sticks out",
        "without a caption",
        "without a head",
        "without a title",
        "left out before",
        "a script",
    ] {
        assert!(problems.contains(expected), "{expected} is not in {problems}");
    }
    assert_eq!(browser.fetched(), ["https://example.invalid/x.png"]);
    assert!(browser.complaints().iter().any(|complaint| complaint.contains("missing is not defined")));
}
