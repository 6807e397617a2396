//! `throng sweep`: a grid of policies, compared with runs of the same policies.

use std::fs;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::release_files::{Rows, read};
use crate::sandbox::{Sandbox, assert_contains, contents};

fn sandbox() -> Sandbox {
    Sandbox::with(&people(600), 4, 2, COLUMNS)
}

#[test]
fn every_trial_is_like_the_release_that_a_run_makes() {
    let sandbox = sandbox();
    let before = contents(&sandbox.path("")).len();
    let ended = sandbox.throng(&["sweep", "policy.toml", "--k", "3,6", "--p", "1,2", "--algorithm", "mondrian,mdr"]);
    let swept = ended.json();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(contents(&sandbox.path("")).len(), before, "a sweep publishes nothing");
    assert_eq!((&swept["outcome"], &swept["rows"]), (&"swept".into(), &600.into()));
    let trials = swept["trials"].as_array().unwrap();
    let grid: Vec<_> =
        trials.iter().map(|trial| format!("{} {} {}", trial["algorithm"], trial["k"], trial["p"])).collect();
    let expected = [
        "\"mondrian\" 3 1",
        "\"mondrian\" 3 2",
        "\"mondrian\" 6 1",
        "\"mondrian\" 6 2",
        "\"mdr\" 3 1",
        "\"mdr\" 3 2",
        "\"mdr\" 6 1",
        "\"mdr\" 6 2",
    ];
    assert_eq!(grid, expected);
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    for trial in trials {
        let (k, p) = (trial["k"].to_string(), trial["p"].to_string());
        sandbox.write("policy.toml", format!("{policy}\n[algorithm]\npartition = {}\n", trial["algorithm"]));
        let outcome = sandbox.run(&["--overwrite", "-k", &k, "-p", &p]);
        assert_eq!(trial["classes"], outcome["classes"], "{trial}");
        let (found, of_run) = (trial["ncp"].as_f64().unwrap(), outcome["ncp"].as_f64().unwrap());
        assert!((found - of_run).abs() < 1e-6, "{trial} {outcome}");
        let count = Rows::of(&read(&sandbox.release())).count(&QUASI, &["diagnosis"]);
        assert_eq!(trial["highest_risk"].as_f64().unwrap(), 1.0 / count.smallest as f64, "{trial}");
        assert_eq!(trial["average_risk"].as_f64().unwrap(), count.classes as f64 / 600.0, "{trial}");
        assert_eq!(trial["feasible"], true);
    }
}

#[test]
fn errors_of_counts_are_those_of_the_release_that_a_run_makes() {
    let sandbox = sandbox();
    let grid =
        ["sweep", "policy.toml", "--k", "3,20,900", "--algorithm", "mondrian,mdr", "--utility", "-o", "sweep.html"];
    let ended = sandbox.throng(&grid);
    assert_contains(&ended.stderr, &["average     error      95 %"]);
    let swept = ended.done();
    let trials = swept["trials"].as_array().unwrap();
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let mut medians = Vec::new();
    for trial in trials.iter().filter(|trial| trial["feasible"] == true) {
        let k = trial["k"].to_string();
        sandbox.write("policy.toml", format!("{policy}\n[algorithm]\npartition = {}\n", trial["algorithm"]));
        sandbox.run(&["--overwrite", "-k", &k]);
        let measured = sandbox.throng(&["utility", "out/release", "--original", "input/", "--policy", "policy.toml"]);
        let queries = &measured.done()["count_queries"];
        assert_eq!(trial["count_queries"]["median_error"], queries["median_error"], "{trial}");
        assert_eq!(trial["count_queries"]["p95_error"], queries["p95_error"], "{trial}");
        medians.push(queries["median_error"].as_f64().unwrap());
    }
    assert!(medians.len() == 4 && 0.0 < medians[0] && medians[0] < medians[1], "{medians:?}");
    assert!(trials[2]["feasible"] == false && trials[2].get("count_queries").is_none(), "{}", trials[2]);
    let page = fs::read_to_string(sandbox.path("sweep.html")).unwrap();
    assert_contains(&page, &["Errors of counts", "median error of a count"]);
    assert_eq!(page.matches("count_queries.p95_error").count(), 4);
    // Without the option nothing is measured.
    let plain = sandbox.throng(&["sweep", "policy.toml", "--k", "3"]).done();
    assert!(plain["trials"][0].get("count_queries").is_none(), "{plain}");
}

#[test]
fn limits_on_the_finished_release_do_not_keep_errors_from_being_measured() {
    let sandbox = sandbox();
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", format!("{policy}\n[privacy.attacks]\nmax_gain = 1.0\n"));
    let swept = sandbox.throng(&["sweep", "policy.toml", "--utility"]).done();
    assert!(swept["trials"][0]["count_queries"]["median_error"].as_f64().unwrap() > 0.0, "{swept}");
}

#[test]
fn a_bound_says_how_near_each_trial_is_to_the_best() {
    let sandbox = sandbox();
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    sandbox.write("policy.toml", format!("{policy}\n[algorithm]\nbound = true\n"));
    let ended = sandbox.throng(&["sweep", "policy.toml", "--k", "3,6", "-o", "sweep.html"]);
    assert_contains(&ended.stderr, &["lost       gap   highest"]);
    let trials = ended.done()["trials"].clone();
    let page = fs::read_to_string(sandbox.path("sweep.html")).unwrap();
    for at in 0..2 {
        let figure = |field: &str| trials[at][field].as_f64().unwrap();
        assert!((figure("ncp") / figure("lower_bound") - 1.0 - figure("gap")).abs() < 1e-9, "{}", trials[at]);
        assert_contains(&page, &[&format!("data-key=\"trials.{at}.gap\""), "of the best possible"]);
    }
}

#[test]
fn trials_are_not_logged_one_by_one_unless_asked() {
    let sweep = ["sweep", "policy.toml", "--k", "3,6", "--p", "1,2"];
    let ended = sandbox().throng(&sweep);
    assert!(ended.code == Some(0) && !ended.stderr.contains("INFO"), "{ended:?}");
    let asked = sandbox().throng(&[&sweep[..], &["-v"]].concat());
    assert!(asked.stderr.contains("INFO"), "{asked:?}");
}

#[test]
fn what_can_not_be_kept_says_why_and_the_rest_is_tried() {
    let sandbox = sandbox();
    let ended =
        sandbox.throng(&["sweep", "policy.toml", "--k", "4,900", "--p", "2,5,6", "-o", "sweep.html", "--loss", "0.9"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let swept = ended.json();
    let trials = swept["trials"].as_array().unwrap();
    let feasible: Vec<bool> = trials.iter().map(|trial| trial["feasible"].as_bool().unwrap()).collect();
    // p above k is invalid, there are five diagnoses, and 600 rows.
    assert_eq!(feasible, [true, false, false, false, false, false]);
    let reason = |at: usize| trials[at]["reason"].as_str().unwrap();
    assert_contains(reason(1), &["p"]);
    assert_contains(reason(3), &["600 rows", "k = 900"]);
    assert_contains(&ended.stderr, &["can't be kept", "best for a loss of at most 90%: k = 4, p = 2 with mondrian"]);
    assert_eq!(swept["best"], trials[0]);
    let page = fs::read_to_string(sandbox.path("sweep.html")).unwrap();
    assert_contains(&page, &["Risk over loss", "600 rows", "k = 900, p = 2"]);
    assert_eq!(page.matches("can't be kept").count(), 5);
}

#[test]
fn a_grid_of_which_nothing_can_be_kept_ends_with_three() {
    let sandbox = sandbox();
    let ended = sandbox.throng(&["sweep", "policy.toml", "--k", "700,900"]);
    assert_contains(&ended.refused(3), &["no policy of the grid can be kept", "600 rows"]);
    let swept = ended.json();
    assert_eq!((&swept["rows"], swept["trials"].as_array().unwrap().len()), (&600.into(), 2));
}

#[test]
fn mistakes_are_reported_before_anything_is_read() {
    let sandbox = sandbox();
    fs::remove_dir_all(sandbox.path("input")).unwrap();
    let refused =
        |arguments: &[&str], code| sandbox.throng(&[&["sweep", "policy.toml"], arguments].concat()).refused(code);
    let choices = "mondrian, basic-mondrian, mdr, incognito, none";
    assert_contains(&refused(&["--algorithm", "mdr,mondriaan"], 2), &["no partition `mondriaan`", choices]);
    assert_contains(&refused(&["--algorithm", "mdr/magic"], 2), &["no cluster method `magic`", "enhanced-pk"]);
    assert_contains(&refused(&["--algorithm", "none/none"], 2), &["one class"]);
    assert_contains(&refused(&["--algorithm", "incognito/mdav"], 2), &["forms classes by itself"]);
    assert_contains(&refused(&["--loss", "7"], 2), &["from 0 to 1"]);
    assert_contains(&refused(&["-o", "policy.toml"], 2), &["ends in .html"]);
}

/// A preset is a lower bound of k for a release, and a sweep releases nothing.
#[test]
fn a_preset_is_a_k_among_others() {
    let sandbox = sandbox();
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let sweep = |grid: &[&str]| {
        let swept = sandbox.throng(&[&["sweep", "policy.toml", "--budget", "fast"], grid].concat()).done();
        let trial = |trial: &serde_json::Value| {
            let highest = trial["highest_risk"].as_f64().unwrap();
            (trial["k"].as_u64().unwrap(), trial["p"].as_u64().unwrap(), (1.0 / highest).round() as u64)
        };
        swept["trials"].as_array().unwrap().iter().map(trial).collect::<Vec<_>>()
    };
    sandbox.write("policy.toml", policy.replace("k = 4\np = 2", "preset = \"cms\"\np = 2"));
    let grid = sweep(&["--k", "3,11,20"]);
    assert_eq!(grid.iter().map(|(k, p, _)| (*k, *p)).collect::<Vec<_>>(), [(3, 2), (11, 2), (20, 2)]);
    assert!(grid.iter().all(|(k, _, smallest)| smallest >= k) && grid[0].2 < 11, "{grid:?}");
    let own = sweep(&[]);
    assert!(own.len() == 1 && (own[0].0, own[0].1) == (11, 2) && own[0].2 >= 11, "{own:?}");
    // A parameter of the grid may be an open question in the file.
    sandbox.write("policy.toml", policy.replace("k = 4\np = 2", "preset = \"cms\"\np = \"?\""));
    assert_eq!(sweep(&["--p", "1,3"]).iter().map(|(k, p, _)| (*k, *p)).collect::<Vec<_>>(), [(11, 1), (11, 3)]);
    assert_contains(
        &sandbox.throng(&["sweep", "policy.toml", "--k", "5"]).refused(78),
        &["privacy.p", "open question"],
    );
}
