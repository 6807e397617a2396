//! From an unknown table to a verified release, by clicks and keys; every figure against the commands.

use std::process::Command;

use serde_json::Value;

use super::reading::assert_reads_well;
use super::*;

/// Returns the figures of a document on the page: key and value.
fn figures(browser: &mut Browser, document: &str) -> Vec<(String, f64)> {
    let found = browser.evaluate(&format!(
        "[...document.querySelectorAll('data[data-doc={document}]')].map((e) => [e.dataset.key, Number(e.value)])"
    ));
    let pair = |pair: &Value| (pair[0].as_str().unwrap().to_owned(), pair[1].as_f64().unwrap());
    found.as_array().unwrap().iter().map(pair).collect()
}

/// Looks up a path: steps are separated by dots and, after the first slash, by slashes, since column names may contain
/// dots.
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

/// Reads a number as it is printed: with commas, and as a share with a percent sign. Also returns its precision.
fn printed(text: &str) -> (f64, f64) {
    let digits: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    let number: f64 = digits.parse().unwrap_or_else(|_| panic!("{text} is no number"));
    match text.contains('%') {
        true if text.starts_with("under") => (0.0, 0.000_1),
        true => (number / 100.0, if number >= 10.0 { 0.000_51 } else { 0.000_051 }),
        false => (number, 0.0),
    }
}

/// Asserts that every printed figure equals its underlying value, that the values are those of the commands, and that
/// nothing else has digits.
fn assert_prints_its_figures(browser: &mut Browser, metrics: &Value, risk: &Value) {
    let texts = browser.evaluate(
        "[...document.querySelectorAll('data[data-doc]')].map((e) => [e.dataset.key, Number(e.value), e.textContent])",
    );
    let texts = texts.as_array().unwrap();
    assert!(texts.len() > 50, "{texts:?}");
    for found in texts {
        let (key, value, text) = (found[0].as_str().unwrap(), found[1].as_f64().unwrap(), found[2].as_str().unwrap());
        let (shown, exactness) = printed(text);
        // One figure is a number in the document and a share on the page.
        let value = if key == "uniques" { value / risk["rows"].as_f64().unwrap() } else { value };
        assert!((shown - value).abs() <= exactness, "{key}: {text} is not {value}");
    }
    // Key figures and the gap have no digit outside of a figure.
    let rest = browser.evaluate(
        "[...document.querySelectorAll('#answers .key, #answers .gap, #outcome dl')].map((e) => { const c = e.cloneNode(true); \
         c.querySelectorAll('data').forEach((d) => d.remove()); return c.textContent; }).join(' ')",
    );
    let rest = rest.as_str().unwrap();
    assert!(!rest.contains(|c: char| c.is_ascii_digit()), "{rest}");
    let released = browser.evaluate("document.querySelector('[data-outcome=released]').textContent");
    assert_eq!(
        printed(released.as_str().unwrap().trim_end_matches('.')).0,
        metrics["utility"]["classes"].as_f64().unwrap()
    );
    // Bars have the same labels as the figures next to them.
    let bars = browser.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#answers figure')].map((f) => [f.querySelector('svg title').textContent, \
         [[...f.querySelectorAll('svg text.value')].map((t) => t.textContent), [...f.querySelectorAll('data')].map((d) => d.textContent)]]))",
    );
    let lists = |name: &str| {
        let texts = |at: usize| -> Vec<String> {
            bars[name][at].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        (texts(0), texts(1))
    };
    let (mut shown, mut figures) = lists("Detail lost by column");
    shown.sort();
    figures.sort();
    assert_eq!((shown.len(), &shown), (3, &figures));
    let (shown, _) = lists("Class sizes");
    let rows = metrics["output"]["rows"].as_f64().unwrap();
    let sizes = metrics["utility"]["class_sizes"].as_array().unwrap();
    assert_eq!(shown.len(), sizes.len());
    for (text, bin) in shown.iter().zip(sizes) {
        let (share, exactness) = printed(text);
        assert!((share - bin["rows"].as_f64().unwrap() / rows).abs() <= exactness, "{text}: {bin}");
    }
    let (shown, figures) = lists("Sensitive columns");
    assert_eq!((shown.len(), figures.len()), (1, 2));
    assert_eq!(shown[0], format!("{}, at least {} values", figures[0], figures[1]));
    let pill = browser.evaluate("document.querySelector('.pill.exact').textContent");
    assert_eq!(printed(pill.as_str().unwrap()).0, metrics["input"]["rows"].as_f64().unwrap());
}

#[test]
fn a_newcomer_comes_to_a_verified_release_by_clicks_alone() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    write_patients(&sandbox, 1000);
    let studio = Running::start(&sandbox, &["input/patients.parquet"]);
    browser.visit(&studio.address, 1280, 800, "light");
    browser.wait("document.documentElement.dataset.ready === 'yes'");
    browser.wait("document.getElementById('open-questions')");
    browser.wait(IS_EXACT);

    // Roles that the draft could not infer. Release is not possible before they are set.
    assert_eq!(browser.evaluate(&format!("{} === undefined", button("Release"))), true);
    for (column, role) in ROLES {
        choose(&mut browser, &field(&format!("Role of {column}")), role);
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

    // A bound, which is requested among the rarer settings.
    browser.click("document.querySelector('.rarer summary')");
    choose(&mut browser, &id("rarer-0-algorithm-bound"), "true");
    browser.click("document.querySelector('.rarer summary')");

    // A change that is undone.
    choose(&mut browser, &field("Role of sex"), "identifier");
    browser.wait(&format!(
        "{} && document.getElementById('history').textContent.includes('sex: role identifier')",
        button("Undo")
    ));
    browser.click(&button("Undo"));
    browser.wait("document.querySelector('[aria-label=\"Role of sex\"]').value === 'quasi'");

    browser.wait(IS_EXACT);
    browser.wait("document.querySelector('#frontier table') && document.querySelector('#answers .gap')");
    assert_reads_well(&mut browser, "figures");
    browser.evaluate("document.getElementById('answers').scrollIntoView({ behavior: 'instant' })");
    keep("studio-figures.png", &browser.picture(false));
    let quasi = "birth_year,post code,sex";

    // Check, try, release.
    browser.click(&button("Check"));
    browser.wait("document.querySelector('[data-outcome=checked]')");
    let checked = sandbox.throng(&["check", "input/patients.policy.toml"]).done();
    assert_equal(&mut browser, "check", &checked, 6);
    browser.click(&button("Try"));
    browser.wait("document.querySelector('[data-outcome=tried]')");
    assert!(!sandbox.path("released").exists(), "a trial writes nothing");
    let tried = figures(&mut browser, "run");
    browser.click(&button("Release"));
    browser.wait("document.querySelector('[data-outcome=released]')");
    browser.evaluate("document.querySelector('details.commands').open = true");
    browser.evaluate("document.getElementById('actions').scrollIntoView({ behavior: 'instant' })");
    keep("studio-released.png", &browser.picture(false));
    assert_eq!(figures(&mut browser, "run"), tried);

    // Everything on the page agrees with the commands.
    let metrics = std::fs::read(sandbox.path("released/patients/_throng/metrics.json")).unwrap();
    let metrics: Value = serde_json::from_slice(&metrics).unwrap();
    assert_equal(&mut browser, "metrics", &metrics, 16);
    assert_equal(&mut browser, "run", &metrics, 3);
    let risk = sandbox.throng(&["risk", "input/patients.parquet", "--quasi", quasi, "--sensitive", "diagnosis"]).done();
    assert_equal(&mut browser, "risk", &risk, 6);
    let swept = sandbox.throng(&["sweep", "input/patients.policy.toml", "--k", "2,3,5,10,12,20,50", "--p", "3"]);
    assert_equal(&mut browser, "sweep", &swept.json(), 20);
    let bounded = sandbox.throng(&["bound", "input/patients.policy.toml"]).done();
    let near = |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 2e-6;
    assert!(near(&bounded["lower_bound"], &metrics["utility"]["lower_bound"]), "{bounded}");
    assert!(near(&bounded["gap"], &metrics["utility"]["gap"]), "{bounded}");
    assert_prints_its_figures(&mut browser, &metrics, &risk);
    let verified = sandbox.throng(&["verify", "released/patients", "--policy", "input/patients.policy.toml"]).done();
    assert_eq!(verified["satisfied"], true);
    let shown = browser.evaluate("document.querySelector('details.commands pre').textContent");
    for line in shown.as_str().unwrap().lines().filter(|line| !line.contains(" run ") && !line.is_empty()) {
        let status = Command::new("sh")
            .args(["-c", &line.replace("throng ", "\"$THRONG\" ")])
            .env("THRONG", env!("CARGO_BIN_EXE_throng"))
            .env("THRONG_SECRET", crate::sandbox::SECRET)
            .current_dir(sandbox.path(""))
            .output()
            .unwrap();
        assert!(status.status.success(), "{line}: {status:?}");
    }
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
    let foreign: Vec<String> = browser.fetched().into_iter().filter(|url| !url.starts_with(&studio.address)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    for value in ["asthma", "eczema", "70001", "f\"", "4090", "remark"] {
        let urls = browser.fetched().join(" ");
        assert!(!urls.contains(value), "{value} is in a URL");
    }
    browser.visit(&format!("{}report", studio.address), 1180, 900, "light");
    assert_eq!(browser.evaluate("document.title"), "Release report");
}
