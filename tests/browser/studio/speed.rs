//! Times on many rows: the first figures, and those of a new k, while the page is scrolled.
//!
//! ```sh
//! THRONG_STUDIO_ROWS=1000000 cargo test --release --workspace --test cli browser::studio::speed -- --nocapture
//! ```
//!
//! Without the variable there are few rows, times are not asserted, and the test checks only that answers are for the
//! right k.

use super::*;

/// Limits on a million rows, in milliseconds: the first figures, the sample of a new k, its exact figures.
const LIMITS: [f64; 3] = [2000.0, 1000.0, 3000.0];

/// Maximum memory of the process, in bytes.
const MAX_MEMORY: u64 = 1 << 30;

/// Time between frames, in milliseconds, above which scrolling is noticeably slow.
const SLOW_FRAME: f64 = 50.0;

/// Scrolls up and down, frame by frame, and records the time between frames.
const SCROLL: &str = "window.frames_ = []; window.last_ = performance.now(); (function step(now) { \
    window.frames_.push(now - window.last_); window.last_ = now; \
    const most = document.documentElement.scrollHeight - innerHeight; \
    scrollTo({ top: most * (0.5 + 0.5 * Math.sin(now / 700)), behavior: 'instant' }); \
    requestAnimationFrame(step); })(performance.now())";

fn median(times: &[f64]) -> f64 {
    quantile(times, 0.5)
}

fn quantile(times: &[f64], share: f64) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[((times.len() - 1) as f64 * share).round() as usize]
}

/// The largest memory of a process so far, in bytes.
fn most_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// Times in milliseconds, of the process from its start and of each new k.
struct Measured {
    columns: f64,
    first: f64,
    first_exact: f64,
    samples: Vec<f64>,
    exacts: Vec<f64>,
    frames: Vec<f64>,
    memory: u64,
}

/// Opens a table or a policy, requests some values of k, and scrolls meanwhile.
fn measure(browser: &mut Browser, sandbox: &Sandbox, location: &str, steps: u32) -> Measured {
    let begun = Instant::now();
    let studio = Running::start(sandbox, &[location]);
    let since = |start: Instant| start.elapsed().as_secs_f64() * 1000.0;
    browser.visit(&studio.address, 1280, 900, "light");
    browser.wait_closely("document.querySelectorAll('.matrix tbody tr').length === 15");
    let columns = since(begun);
    browser.wait_closely("document.querySelector('.pill')");
    let first = since(begun);
    browser.wait_closely("document.querySelector('.pill.exact')");
    let first_exact = since(begun);

    // The work on the previous k is still running, and is cancelled for the new one.
    browser.evaluate(SCROLL);
    let (mut samples, mut exacts) = (Vec::new(), Vec::new());
    for k in (0..steps).map(|step| 11 + 2 * step) {
        let start = Instant::now();
        enter(browser, &id("k-value"), &k.to_string());
        let is_of_k = format!(
            "{}.getAttribute('value') === '{k}' && !document.querySelector('.headline.outdated')",
            id("k-value")
        );
        browser.wait_closely(&format!("{is_of_k} && document.querySelector('.pill')"));
        samples.push(since(start));
        browser.wait_closely(&format!("{is_of_k} && document.querySelector('.pill.exact')"));
        exacts.push(since(start));
        let figure = "Number(document.querySelector('data[data-key=\"risk.after.prosecutor.highest\"]').value)";
        let risk = browser.evaluate(figure).as_f64().unwrap();
        let highest = 1.0 / f64::from(k);
        assert!(risk <= highest + 1e-6 && risk > highest / 2.0, "the answer for k = {k} has the risk {risk}");
    }
    let frames = browser.evaluate("window.frames_.slice(1)");
    let frames = frames.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    let memory = most_memory(studio.process.id()).unwrap_or_default();
    Measured { columns, first, first_exact, samples, exacts, frames, memory }
}

impl Measured {
    fn print(&self, name: &str) {
        let Self { columns, first, first_exact, samples, exacts, frames, memory } = self;
        let slow = frames.iter().filter(|frame| **frame > SLOW_FRAME).count() as f64 / frames.len() as f64;
        println!(
            "{name}: columns {columns:.0} ms, first figures {first:.0} ms, first exact {first_exact:.0} ms; of {} new k, sample median \
             {:.0} ms (largest {:.0}), exact median {:.0} ms (largest {:.0}); {} frames, median {:.1} ms, 95% within {:.1} ms, {:.2}% \
             above {SLOW_FRAME} ms; peak memory {} MiB",
            samples.len(),
            median(samples),
            quantile(samples, 1.0),
            median(exacts),
            quantile(exacts, 1.0),
            frames.len(),
            median(frames),
            quantile(frames, 0.95),
            slow * 100.0,
            memory >> 20,
        );
    }
}

#[test]
fn a_new_k_is_answered_while_the_page_is_scrolled() {
    let Some(mut browser) = browser() else { return };
    let asked = std::env::var("THRONG_STUDIO_ROWS").ok();
    let (rows, steps) = asked.as_ref().map_or(("3000", 3), |rows| (rows.as_str(), 20));
    let sandbox = Sandbox::new();
    sandbox.throng(&["generate", "census", "--rows", rows, "-o", "input/census"]).done();
    let configs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let policy = std::fs::read_to_string(configs.join("census.toml")).unwrap();
    let policy = policy.replace("\"hierarchies/", &format!("\"{}/hierarchies/", configs.display()));
    sandbox.write("policy.toml", policy.replace("data/census/", "input/census/"));

    let of_policy = measure(&mut browser, &sandbox, "policy.toml", steps);
    of_policy.print(&format!("{rows} rows, six quasi-identifiers of a policy"));
    let of_draft = measure(&mut browser, &sandbox, "input/census", steps);
    of_draft.print(&format!("{rows} rows, the draft with ten quasi-identifiers"));
    assert!(of_policy.memory.max(of_draft.memory) < MAX_MEMORY);
    if asked.is_some() {
        let [first, sample, exact] = LIMITS;
        let Measured { samples, exacts, frames, .. } = &of_policy;
        assert!(of_policy.first <= first && median(samples) <= sample && median(exacts) <= exact);
        assert!(quantile(frames, 0.95) <= SLOW_FRAME, "scrolling is not smooth");
    }
}
