//! A run that is stopped, a wrong file, a closed tab, two tables.

use super::*;

#[test]
fn a_release_can_be_stopped() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    sandbox.throng(&["generate", "census", "--rows", "300000", "-o", "input/census"]).done();
    let configs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let policy = std::fs::read_to_string(configs.join("census.toml")).unwrap();
    let policy = policy.replace("\"hierarchies/", &format!("\"{}/hierarchies/", configs.display()));
    sandbox.write("policy.toml", policy.replace("data/census/", "input/census/").replace("out/census/", "out/release"));
    let studio = Running::start(&sandbox, &["policy.toml"]);
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait(&button("Release"));
    browser.click(&button("Release"));
    browser.wait(&button("Stop"));
    browser.wait("document.querySelector('#outcome progress')");
    browser.click(&button("Stop"));
    browser.wait("document.querySelector('[data-outcome=failed]')");
    let said = browser.evaluate("document.getElementById('outcome').textContent");
    assert!(said.as_str().unwrap().contains("nothing was published"), "{said}");
    assert!(sandbox.out().is_empty(), "{:?}", sandbox.out());
}

#[test]
fn a_wrong_file_is_explained_and_a_closed_tab_ends_the_process() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("input/people.parquet", "this is a text that is called a Parquet file");
    let studio = Running::start(&sandbox, &["input/people.parquet", "--exit-when-closed"]);
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait("document.body.textContent.includes(\"can't be opened\")");
    let said = browser.evaluate("document.querySelector('.welcome').textContent").to_string();
    assert!(said.contains("people.parquet") && !said.contains("called a Parquet"), "{said}");
    keep("studio-wrong-file.png", &browser.picture(false));
    // Another table is opened on the same page.
    write_patients(&sandbox, 500);
    browser.evaluate(
        "(() => { const form = document.querySelector('.welcome form'); form.path.value = 'input/patients.parquet'; form.requestSubmit(); })()",
    );
    browser.wait("document.querySelectorAll('.tabs .tab').length === 2 && document.getElementById('open-questions')");
    // Each table keeps its own state, and the closed one is gone.
    browser.click("document.querySelectorAll('.tabs .tab')[0]");
    browser.wait("document.body.textContent.includes(\"can't be opened\")");
    browser.click("document.querySelectorAll('.tabs .close')[0]");
    browser.wait("document.querySelectorAll('.tabs .tab').length === 1 && document.getElementById('open-questions')");
    browser.ask("Page.navigate", serde_json::json!({ "url": "about:blank" }));
    let (code, rest) = studio.ended();
    assert_eq!(code, Some(0));
    assert_eq!(rest.trim(), "{\"outcome\":\"closed\"}");
    assert!(!sandbox.path("input/patients.policy.toml").exists(), "nothing was saved");
}
