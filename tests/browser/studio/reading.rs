//! The page at every width, light and dark, for screen readers, on paper and by keyboard.

use super::*;

/// Widths of a phone, a tablet and a desktop.
const WIDTHS: [u32; 3] = [390, 768, 1280];

pub(super) fn assert_reads_well(browser: &mut Browser, place: &str) {
    let found = browser.evaluate(CHECKS);
    let problems = found["problems"].as_array().unwrap();
    // The page has one script, in a separate file.
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

/// Runs axe-core on the page, if it is given.
fn assert_no_fault(browser: &mut Browser, axe: Option<&str>, place: &str) {
    let Some(axe) = axe else { return };
    if browser.evaluate("typeof window.axe") != "object" {
        browser.evaluate(&format!("{axe}; 0"));
    }
    let found = browser.evaluate(
        "axe.run(document, { resultTypes: ['violations'] }).then((r) => ({ passed: r.passes.length, faults: r.violations.map((v) => \
         `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`) }))",
    );
    assert_eq!(found["faults"], serde_json::json!([]), "{place}");
    assert!(found["passed"].as_u64().unwrap() > 15, "{place}: {found}");
}

#[test]
fn the_page_reads_well_at_every_width() {
    let Some(mut browser) = browser() else { return };
    let axe = std::env::var_os("THRONG_AXE").map(|path| std::fs::read_to_string(path).unwrap());
    if axe.is_none() {
        throng_testkit::skip("only the project's own checks: THRONG_AXE=axe.min.js adds those of axe-core");
    }
    let sandbox = Sandbox::new();
    sandbox.throng(&["generate", "census", "--rows", "3000", "-o", "input/census"]).done();
    let studio = Running::start(&sandbox, &["input/census"]);
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait(IS_EXACT);
    browser.wait("document.querySelector('#frontier table')");
    for (name, width) in [("phone", 390), ("tablet", 768), ("columns", 1280)] {
        browser.resize(width, if width == 390 { 780 } else { 860 }, "light");
        browser.evaluate("scrollTo(0, 0)");
        keep(&format!("studio-{name}.png"), &browser.picture(false));
    }
    for (width, scheme) in WIDTHS.into_iter().flat_map(|width| [(width, "light"), (width, "dark")]) {
        let place = format!("{width}-{scheme}");
        browser.resize(width, 900, scheme);
        assert_eq!(
            browser.evaluate("getComputedStyle(document.body).backgroundColor === 'rgb(19, 23, 26)'"),
            scheme == "dark"
        );
        keep(&format!("studio-{place}.png"), &browser.picture(true));
        // Collapsed content is checked too.
        for is_open in [false, true] {
            browser.evaluate(&format!("document.querySelector('.rarer').open = {is_open}"));
            assert_reads_well(&mut browser, &place);
            assert_no_fault(&mut browser, axe.as_deref(), &place);
        }
        keep(&format!("studio-{place}-promises.png"), &browser.picture(false));
        browser.evaluate("document.querySelector('.rarer').open = false");
        for (name, opener) in [("settings", "More about income"), ("builder", "Hierarchy of age")] {
            browser.click(&field(opener));
            browser.wait("document.querySelector('dialog[open] .settings, dialog[open] #builder-preview tbody')");
            assert_reads_well(&mut browser, &format!("{place} {name}"));
            assert_no_fault(&mut browser, axe.as_deref(), &format!("{place} {name}"));
            keep(&format!("studio-{place}-{name}.png"), &browser.picture(false));
            browser.press("Escape", 27);
            browser.wait("!document.querySelector('dialog[open]')");
        }
    }
    browser.resize(1280, 900, "light");
    let paper = browser.paper();
    assert!(paper.starts_with(b"%PDF") && paper.len() > 10_000, "the page can't be printed");
    keep("studio.pdf", &paper);
}

/// Every control is focused with the Tab key, in the order of the page, and shows its focus.
#[test]
fn every_control_is_reached_with_the_keyboard() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    write_patients(&sandbox, 400);
    let studio = Running::start(&sandbox, &["input/patients.parquet"]);
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait("document.getElementById('open-questions')");
    browser.wait("!document.querySelector('.busy')");
    let reachable = "[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex=\"0\"]')].filter((e) => \
                     !e.disabled && e.checkVisibility() && !(e.closest('details:not([open])') && e.nodeName !== 'SUMMARY'))";
    let expected = browser.evaluate(&format!("{reachable}.length")).as_u64().unwrap();
    assert!(expected > 40, "{expected}");
    browser.evaluate("document.activeElement.blur()");
    browser.evaluate(&format!("window.waiting = new Set({reachable}); window.hidden = []"));
    for _ in 0..expected + 5 {
        browser.press("Tab", 9);
        browser.evaluate(
            "(() => { const e = document.activeElement; window.waiting.delete(e); const s = getComputedStyle(e); \
             if (e !== document.body && s.outlineStyle === 'none') window.hidden.push(e.outerHTML.slice(0, 120)); })()",
        );
    }
    let missed = browser.evaluate("[...window.waiting].map((e) => e.outerHTML.slice(0, 120))");
    assert_eq!(missed, serde_json::json!([]), "controls that Tab does not reach");
    assert_eq!(browser.evaluate("window.hidden"), serde_json::json!([]), "controls that do not show their turn");
}
