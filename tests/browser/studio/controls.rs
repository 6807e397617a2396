//! Rarer settings, in step with the text, and hierarchies that are arranged by dragging and by keys.

use super::*;

#[test]
fn rarer_settings_and_the_text_follow_each_other() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    write_patients(&sandbox, 1500);
    let studio = Running::start(&sandbox, &["input/patients.parquet"]);
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait("document.getElementById('open-questions')");
    answer_questions(&mut browser);

    // A promise of the whole policy, set by its field and then by the text; a comment written there is preserved.
    browser.click("document.querySelector('.rarer summary')");
    let limit = id("rarer-1-privacy-loss_limit");
    enter(&mut browser, &limit, "0.6");
    browser.wait(&text_has("loss_limit = 0.6"));
    browser.evaluate(
        "(() => { const e = document.getElementById('text'); e.focus(); e.value = e.value.replace('loss_limit = 0.6', 'loss_limit = 0.5 # agreed'); \
         e.dispatchEvent(new Event('input', { bubbles: true })); })()",
    );
    browser.wait(&format!("{limit}.getAttribute('value') === '0.5'"));
    enter(&mut browser, &limit, "0.55");
    browser.wait(&text_has("loss_limit = 0.55 # agreed"));
    enter(&mut browser, &id("rarer-1-privacy-attacks-max_gain"), "40");
    browser.wait(&text_has("[privacy.attacks]"));
    // An invalid gain is reported with the message of the policy, and reverted.
    enter(&mut browser, &id("rarer-1-privacy-attacks-max_gain"), "0.5");
    browser.wait("document.getElementById('problems').textContent.includes('max_gain')");
    browser.click(&button("Undo"));
    browser.wait("!document.getElementById('problems').textContent.trim()");

    // Promises about a sensitive column, in its dialog.
    browser.click(&field("More about diagnosis"));
    browser.wait("document.querySelector('dialog[open] #column-max_share')");
    enter(&mut browser, &id("column-max_share"), "0.5");
    browser.wait(&text_has("max_share = 0.5"));
    enter(&mut browser, &id("column-recursive"), "4, 2");
    browser.wait(&text_has("recursive = { c = 4.0, l = 2 }"));
    enter(&mut browser, &id("column-t"), "7");
    browser.wait("document.querySelector('dialog .error')?.textContent.includes('give a share from 0 to 1')");
    enter(&mut browser, &id("column-entropy_l"), "2");
    browser.wait(&text_has("entropy_l = 2"));
    assert_eq!(browser.evaluate(&text_has("t = 7")), false);
    browser.click(&button("Done"));
    browser.wait("!document.querySelector('dialog[open]')");
    browser.wait("document.getElementById('matrix').textContent.includes('max share 0.5')");

    // The figures keep the promises.
    browser.wait(IS_EXACT);
    let share = browser
        .evaluate("Number(document.querySelector('data[data-key=\"privacy.sensitive.0.largest_share\"]').value)");
    assert!(share.as_f64().unwrap() <= 0.5, "{share}");
    browser.click(&button("Check"));
    browser.wait("document.querySelector('[data-outcome=checked].holds')");
    let policy = std::fs::read_to_string(sandbox.path("input/patients.policy.toml")).unwrap();
    assert!(policy.starts_with("# A draft") && policy.contains("loss_limit = 0.55 # agreed"), "{policy}");
    // The browser logs that a value was refused; there is no other complaint.
    let others: Vec<String> = browser.complaints().into_iter().filter(|note| !note.contains("422")).collect();
    assert!(others.is_empty(), "{others:?}");
}

fn tree(browser: &mut Browser) -> String {
    browser.evaluate("document.getElementById('builder-text').value").as_str().unwrap().to_owned()
}

fn node(name: &str) -> String {
    format!("[...document.querySelectorAll('[data-node]')].find((e) => e.firstChild.data.trim() === '{name}')")
}

fn wait_for_tree(browser: &mut Browser, expected: &str) {
    let expected = expected.replace('\n', "\\n");
    browser.wait(&format!("document.getElementById('builder-text').value === '{expected}'"));
}

#[test]
fn a_tree_is_arranged_by_dragging_and_by_keys() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    write_patients(&sandbox, 600);
    let studio = Running::start(&sandbox, &["input/patients.parquet", "--show-values"]);
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait("document.getElementById('open-questions')");
    choose(&mut browser, &field("Role of diagnosis"), "quasi");
    browser.click(&field("Hierarchy of diagnosis"));
    browser.wait("document.querySelector('dialog[open] input[value=tree]')");
    browser.click("document.querySelector('dialog input[value=tree]')");
    browser.wait(&button("Begin with the values of the column"));
    browser.click(&button("Begin with the values of the column"));
    let all = "anaemia angina asthma colic eczema flu fracture gout migraine".split(' ');
    let begun: String = std::iter::once("other\n".to_owned()).chain(all.map(|name| format!("  {name}\n"))).collect();
    wait_for_tree(&mut browser, &begun);

    // By keyboard: pick a value, name a group for it; then pick another and drop it there.
    let focus = |browser: &mut Browser, element: &str| browser.evaluate(&format!("{element}.focus()"));
    focus(&mut browser, &node("gout"));
    browser.press(" ", 32);
    browser.wait(&format!("{}.getAttribute('aria-pressed') === 'true'", node("gout")));
    assert!(
        browser.evaluate("document.getElementById('arrange-said').textContent").to_string().contains("gout is picked")
    );
    enter(&mut browser, &id("group-name"), "bones");
    focus(&mut browser, &button("Make the group"));
    browser.press(" ", 32);
    browser.wait("document.getElementById('builder-text').value.endsWith('bones\\n  gout\\n')");
    focus(&mut browser, &node("fracture"));
    browser.press(" ", 32);
    focus(&mut browser, &node("bones"));
    browser.press(" ", 32);
    browser.wait("document.getElementById('builder-text').value.endsWith('bones\\n  gout\\n  fracture\\n')");
    // Escape drops the picked line, and leaves the dialog open.
    focus(&mut browser, &node("flu"));
    browser.press(" ", 32);
    browser.press("Escape", 27);
    browser.wait(&format!("{}.getAttribute('aria-pressed') === 'false'", node("flu")));
    assert_eq!(browser.evaluate("Boolean(document.querySelector('dialog[open]'))"), true);

    // By mouse.
    browser.drag(&node("migraine"), &node("bones"));
    browser
        .wait("document.getElementById('builder-text').value.endsWith('bones\\n  gout\\n  fracture\\n  migraine\\n')");
    browser.wait("document.querySelectorAll('#builder-preview tbody tr').length === 2");
    keep("studio-tree.png", &browser.picture(false));
    let arranged = tree(&mut browser);
    browser.drag(&node("bones"), &node("gout"));
    browser.wait("document.querySelector('dialog .error')?.textContent.includes('into itself')");
    assert_eq!(tree(&mut browser), arranged);

    // Export as an ARX file, import it again, and apply it to the policy.
    browser.click(&button("Write as ARX file"));
    browser.wait("document.getElementById('notice').textContent.includes('convention of ARX')");
    let lines = std::fs::read_to_string(sandbox.path("input/hierarchies/diagnosis.csv")).unwrap();
    assert!(lines.contains("gout;bones;*") && lines.contains("flu;other;*") && lines.lines().count() == 9, "{lines}");
    browser.click(&button("Use it"));
    browser.wait(&text_has("bones = [\"gout\", \"fracture\", \"migraine\"]"));
    browser.click(&field("Hierarchy of diagnosis"));
    browser.wait("document.querySelector('dialog[open] #builder-text')");
    assert_eq!(tree(&mut browser), arranged, "a builder begins with the hierarchy of the policy");
    browser.evaluate(&format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([{}], 'arx.csv')); const e = document.getElementById('builder-file'); \
         e.files = data.files; e.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()",
        serde_json::json!(lines.replace("bones", "joints"))
    ));
    browser.wait("document.getElementById('builder-text').value === 'hierarchies/diagnosis-2.csv' && document.querySelectorAll('#builder-preview tbody tr').length === 2");
    browser.click(&button("Use it"));
    browser.wait(&text_has("hierarchies/diagnosis-2.csv"));
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());
}
