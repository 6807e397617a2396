//! `throng utility`, `throng attack` and `throng diff`, and the gate of a run.

use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::take;
use serde_json::Value;

use crate::fixture_table::{COLUMNS, QUASI, people};
use crate::sandbox::{Ended, Sandbox, assert_contains, names};
use crate::tables::{strings, table, write_parquet};

/// A release of the table of most tests.
fn released() -> Sandbox {
    let sandbox = Sandbox::with(&people(3000), 5, 2, COLUMNS);
    sandbox.run(&[]);
    sandbox
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Returns the outcome of one attack.
fn attack<'a>(report: &'a Value, name: &str) -> &'a Value {
    let attacks = report["attacks"].as_array().unwrap();
    attacks.iter().find(|attack| attack["name"] == name).unwrap_or_else(|| panic!("{name} is not in {report}"))
}

#[test]
fn utility_measures_counts_marginals_association_and_models() {
    let sandbox = released();
    let roles = ["--original", "input/", "--policy", "policy.toml"];
    let report = sandbox.throng(&[&["utility", "out/release"], &roles[..]].concat()).done();
    assert_eq!((&report["outcome"], &report["unread_labels"]), (&"measured".into(), &0.into()));
    for conditions in ["one", "two", "three"] {
        let errors = &report["count_queries"][conditions];
        assert_eq!(errors["queries"], 500);
        assert!(number(&errors["median_error"]) <= number(&errors["p95_error"]), "{errors}");
    }
    assert!(number(&report["count_queries"]["median_error"]) > 0.0, "{report}");
    assert!(number(&report["count_queries"]["median_error"]) < 0.5, "{report}");
    let columns: Vec<&str> =
        report["marginals"].as_array().unwrap().iter().map(|column| column["column"].as_str().unwrap()).collect();
    assert_eq!(columns, [&QUASI[..], &["diagnosis"]].concat());
    assert_eq!(report["association"]["pairs"].as_array().unwrap().len(), 10);
    assert_eq!(report["models"]["column"], "diagnosis");
    assert!(number(&report["models"]["coefficient_overlap"]) <= 1.0);

    // The original answers everything, also without a policy, and models predict any column that is not generalized.
    let named = ["--quasi", "age,sex", "--sensitive", "diagnosis", "--target", "hours", "--queries", "50"];
    let copy = sandbox.throng(&[&["utility", "input/", "--original", "input/"], &named[..]].concat()).done();
    assert_eq!((number(&copy["count_queries"]["p95_error"]), &copy["models"]["column"]), (0.0, &"hours".into()));
    let target = ["utility", "input/", "--original", "input/", "--quasi", "age", "--target", "age"];
    assert_contains(&sandbox.throng(&target).refused(2), &["`age` is a quasi-identifier"]);
    assert_contains(&sandbox.throng(&["utility", "out/release", "--original", "input/"]).refused(2), &["--policy"]);
    let absent = ["utility", "out/release", "--original", "input/", "--quasi", "height"];
    assert_contains(&sandbox.throng(&absent).refused(2), &["the release has no column `height`"]);
}

#[test]
fn bounds_and_means_are_understood() {
    for form in ["bounds", "mean"] {
        let columns = COLUMNS.replacen("role = \"quasi\"", &format!("role = \"quasi\"\nrelease = \"{form}\""), 1);
        let sandbox = Sandbox::with(&people(1000), 5, 2, &columns);
        sandbox.run(&[]);
        let roles = ["--original", "input/", "--policy", "policy.toml"];
        let report = sandbox.throng(&[&["utility", "out/release"], &roles[..]].concat()).done();
        assert_eq!(report["unread_labels"], 0, "{form}");
        assert!(number(&report["marginals"][0]["total_variation"]) < 0.3, "{form}: {report}");
        let report = sandbox.throng(&[&["attack", "out/release"], &roles[..]].concat()).done();
        assert!(number(&attack(&report, "linkage")["gain"]) <= 1.0, "{form}: {report}");
        assert_eq!(attack(&report, "linkage")["people_not_covered"], 0, "{form}: {report}");
    }
}

#[test]
fn attacks_report_three_chances_and_their_gain() {
    let sandbox = released();
    let arguments = ["attack", "out/release", "--original", "input/", "--policy", "policy.toml", "--seed", "3"];
    let ended = sandbox.throng(&arguments);
    for value in ["hepatitis", "Ghana", "person 0", "A000"] {
        assert!(!ended.stdout.contains(value) && !ended.stderr.contains(value), "{value} is in the output");
    }
    let report = ended.done();
    let attacks = report["attacks"].as_array().unwrap();
    assert!(attacks.len() >= 11, "{report}");
    for attack in attacks {
        let [prior, release, original, gain] =
            ["prior", "release", "original", "gain"].map(|field| number(&attack[field]));
        assert!((gain - release / prior).abs() < 1e-3 * gain.max(1.0), "{attack}");
        assert!((0.0..=1.0).contains(&release) && (0.0..=1.0).contains(&original), "{attack}");
        let interval = attack["gain_interval"].as_array().unwrap();
        assert!(number(&interval[0]) <= gain + 1e-6 && gain <= number(&interval[1]) + 1e-6, "{attack}");
        if let Some(bound) = attack["bound"].as_f64() {
            assert!(release <= bound + 1e-6, "{attack}");
        }
    }
    // k holds, so no one's row is found more easily than the policy accepts.
    assert!(number(&attack(&report, "linkage")["gain"]) <= 1.0);
    // Throng's order, files and loans give nothing away.
    for name in ["order", "metadata"] {
        assert!(number(&attack(&report, name)["gain"]) < 1.1, "{}", attack(&report, name));
    }
    assert_eq!(sandbox.throng(&arguments).done(), report, "the same seed gives the same report");

    // A raw copy is detected.
    let copy = sandbox.throng(&["attack", "input/", "--original", "input/", "--policy", "policy.toml"]).done();
    assert!(number(&attack(&copy, "linkage")["gain"]) > 3.0, "{copy}");
    let limited = [&arguments[..], &["--max-gain", "1.01"]].concat();
    let ended = sandbox.throng(&limited);
    assert_eq!(ended.code, Some(4));
    assert_contains(&ended.stderr, &["error: attacks gain more than 1.01: homogeneity"]);
}

#[test]
fn a_previous_release_and_a_population_give_more_attacks() {
    let sandbox = released();
    sandbox.run(&["--seed", "5", "--output", "out/second"]);
    sandbox.write("others.csv", "age,sex,country,zip\n18,Male,France,A000\n80,Female,Kenya,A205\n");
    let roles = ["--original", "input/", "--policy", "policy.toml"];
    let more = ["--previous", "out/second", "--population", "others.csv", "--oracle", "2"];
    let report = sandbox.throng(&[&["attack", "out/release"], &roles[..], &more[..]].concat()).done();
    assert!(number(&attack(&report, "composition")["gain"]) >= 1.0, "{report}");
    assert_eq!(attack(&report, "membership")["prior"], 0.5);
    assert_eq!((&attack(&report, "oracle")["trials"], &attack(&report, "oracle")["prior"]), (&2.into(), &0.5.into()));
}

#[test]
fn an_oracle_with_the_secret_knows_and_one_without_does_not() {
    // With p = 4 of eight diagnoses, classes depend on who has which.
    let sandbox = Sandbox::with(&people(400), 8, 4, COLUMNS);
    let chance = |secret: &str, seed: u64| {
        let _ = fs::remove_dir_all(sandbox.release());
        let ran = sandbox.command(&["run", "policy.toml"]).env("THRONG_SECRET", secret).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        let seed = seed.to_string();
        let roles = ["attack", "out/release", "--original", "input/", "--policy", "policy.toml", "--seed", &seed];
        number(&attack(&sandbox.throng(&[&roles[..], &["--oracle", "1"]].concat()).done(), "oracle")["release"])
    };
    let of = |secret: &dyn Fn(u64) -> String| (0..8).map(|seed| chance(&secret(seed), seed)).collect::<Vec<f64>>();
    // The intruder runs guesses with its own secrets, of which this is the first. A wrong guess may lead to the same classes, but
    // the right one always does.
    let known = of(&|seed| format!("the guess of an intruder {seed} 0"));
    assert!(known.iter().all(|chance| *chance >= 0.5) && known.iter().sum::<f64>() >= 5.0, "{known:?}");
    let unknown = of(&|_| crate::sandbox::SECRET.to_owned());
    assert!(unknown.iter().sum::<f64>() < known.iter().sum::<f64>(), "{unknown:?}");
}

#[test]
fn two_releases_reveal_more_than_one() {
    let sandbox = released();
    sandbox.run(&["--seed", "5", "--output", "out/second"]);
    let diff = |second: &str, more: &[&str]| {
        sandbox.throng(&[&["diff", "out/release", second, "--policy", "policy.toml"], more].concat()).done()
    };
    for more in [&[][..], &["--original", "input/"], &["--link", "row"]] {
        let same = diff("out/release", more);
        assert_eq!((&same["people_below_k"], &same["people_below_p"]), (&0.into(), &0.into()), "{more:?}: {same}");
    }
    let linked = diff("out/second", &["--link", "row"]);
    assert_eq!((&linked["method"], &linked["people"]), (&"linked".into(), &3000.into()));
    assert!(number(&linked["people_below_k"]) > 0.0, "{linked}");
    assert!(number(&linked["chance_together"]) > number(&linked["chance_alone"]), "{linked}");
    let labels = diff("out/second", &[]);
    assert!(number(&labels["people_below_k"]) <= number(&linked["people_below_k"]), "{labels} {linked}");
    // Files that no policy describes, and another policy for the second.
    let named = ["diff", "out/release", "input/", "--quasi", "age,sex", "--sensitive", "diagnosis", "-k", "3"];
    assert_eq!(sandbox.throng(&named).done()["outcome"], "measured");
    let policy = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let fewer = policy.replacen(
        "[columns.zip]\nrole = \"quasi\"\nhierarchy = { mask = \"right\" }",
        "[columns.zip]\nrole = \"identifier\"",
        1,
    );
    assert_ne!(policy, fewer);
    sandbox.write("fewer.toml", fewer);
    sandbox.throng(&["run", "fewer.toml", "--output", "out/fewer"]).done();
    let two = diff("out/fewer", &["--policy-b", "fewer.toml", "--link", "row"]);
    assert!(number(&two["people_below_k"]) > 0.0, "{two}");
}

#[test]
fn people_with_several_rows_are_attacked_as_people() {
    // Every person has six rows with the same quasi-identifiers.
    let rows = people(3000);
    let first = UInt32Array::from_iter_values((0..3000).map(|row| row / 6 * 6));
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns()).map(|(field, column)| match field.name().as_str() {
        "diagnosis" | "hours" => (field.name().clone(), Arc::clone(column)),
        name => (name.to_owned(), take(column, &first, None).unwrap()),
    });
    let visits = RecordBatch::try_from_iter(columns).unwrap();
    let linkage = |unit: &str| {
        let sandbox = Sandbox::with(&visits, 5, 2, &format!("{unit}{COLUMNS}"));
        sandbox.run(&[]);
        sandbox.policy(5, 2, &format!("unit = \"name\"\n{COLUMNS}"));
        let arguments = ["attack", "out/release", "--original", "input/", "--policy", "policy.toml"];
        let report = sandbox.throng(&arguments).done();
        assert_eq!(report["targets"], 500, "people are drawn, not rows");
        attack(&report, "linkage").clone()
    };
    let (by_rows, by_people) = (linkage(""), linkage("unit = \"name\"\n"));
    assert_eq!((&by_rows["rows_per_person"], &by_rows["bound"]), (&6.0.into(), &Value::Null));
    // A class of five rows is one person. Counted by people, k holds.
    assert!(number(&by_rows["gain"]) > 2.0, "{by_rows}");
    assert!(number(&by_people["gain"]) <= 1.0, "{by_people}");
}

/// Nights of a table of which a few people leave and come; a copy of each release.
fn nights(sandbox: &Sandbox, policy: &str, nights: usize) -> Vec<String> {
    let copies = (0..nights).map(|night| {
        write_parquet(&sandbox.path("input/people.parquet"), &people(1100).slice(10 * night, 1000));
        let copy = format!("{}-{night}", policy.trim_end_matches(".toml"));
        let mode = if policy == "series.toml" { &[][..] } else { &["--overwrite"] };
        sandbox.throng(&[&["run", policy, "--output", "out/nightly"], mode].concat()).done();
        fs::create_dir(sandbox.path(&copy)).unwrap();
        for name in names(&sandbox.path("out/nightly")).iter().filter(|name| name.starts_with("part-")) {
            fs::copy(sandbox.path("out/nightly").join(name), sandbox.path(&copy).join(name)).unwrap();
        }
        copy
    });
    let copies = copies.collect();
    fs::remove_dir_all(sandbox.path("out/nightly")).unwrap();
    copies
}

#[test]
fn a_series_withstands_the_intersection_of_its_nights() {
    let sandbox = Sandbox::with(&people(1000), 4, 2, &format!("unit = \"row\"\n{COLUMNS}"));
    let text = fs::read_to_string(sandbox.path("policy.toml")).unwrap();
    let text = text.replace("[columns.hours]\nrole = \"insensitive\"", "[columns.hours]\nrole = \"identifier\"");
    sandbox.write("plain.toml", &text);
    let series = text.replace("[output]\n", "[output]\nmode = \"series\"\n");
    sandbox.write("series.toml", series.replace("[columns.row]", "[series]\nledger = \"ledger\"\n[columns.row]"));
    // People who are in all nights, as an intruder would know them.
    write_parquet(&sandbox.path("stayed.parquet"), &people(1000).slice(40, 960));
    let composition = |policy: &str| {
        let releases = nights(&sandbox, policy, 4);
        let (last, earlier) = releases.split_last().unwrap();
        let mut arguments = vec!["attack", last, "--original", "stayed.parquet", "--policy", policy, "--against"];
        arguments.extend(earlier.iter().map(String::as_str));
        attack(&sandbox.throng(&arguments).done(), "composition").clone()
    };
    let (plain, series) = (composition("plain.toml"), composition("series.toml"));
    assert_eq!((&plain["releases"], &series["releases"]), (&4.into(), &4.into()));
    assert!(number(&plain["share_below_k"]) > 0.1, "{plain}");
    assert_eq!((number(&series["share_below_k"]), number(&series["share_below_p"])), (0.0, 0.0), "{series}");
    assert!(number(&series["gain"]) < number(&plain["gain"]), "{plain} {series}");
    // The parts that all nights show together each keep the promise, which bounds what is learned.
    assert_eq!((&series["parts_below_k"], &series["parts_below_p"]), (&0.into(), &0.into()), "{series}");
    assert!(number(&series["parts"]) > 20.0, "{series}");
    assert!(number(&series["release"]) <= number(&series["bound"]) + 1e-6, "{series}");
    assert!(number(&series["gain"]) < 1.1, "no more than from one of the nights: {series}");
    assert_eq!(plain["bound"], Value::Null, "{plain}");
}

/// People of four ages; `illness` is given by the age and the number of the row.
fn ages(illness: impl Fn(i64, i64) -> &'static str) -> RecordBatch {
    let rows: Vec<i64> = (0..2000).collect();
    let ages: ArrayRef = Arc::new(rows.iter().map(|row| Some(30 + row % 4)).collect::<Int64Array>());
    let illnesses = strings(rows.iter().map(|row| illness(row % 4, row / 4)));
    table(vec![("age", ages), ("illness", illnesses)])
}

const GATED: &str = "attacks = { max_gain = 1.5 }\n[columns]\nage.role = \"quasi\"\nillness.role = \"sensitive\"\n";

#[test]
fn the_gate_refuses_what_p_accepts_and_an_attack_breaks() {
    // Nearly everyone of one age has the rare value: each class has two values, but gives them away.
    let skewed = ages(|age, row| if (age == 3) == (row % 20 != 0) { "HIV" } else { "flu" });
    let sandbox = Sandbox::with(&skewed, 10, 2, &GATED.replacen("attacks = { max_gain = 1.5 }\n", "", 1));
    sandbox.run(&[]);
    fs::remove_dir_all(sandbox.release()).unwrap();
    sandbox.policy(10, 2, GATED);
    let message = sandbox.run_refused(4, &[]);
    assert_contains(&message, &["`max_gain = 1.5`", "skewness of `illness` gains ", "nothing is published"]);
    assert!(!sandbox.release().exists());

    // The same distribution for every age: published, with the gains of the attacks.
    let even = ages(|_, row| ["flu", "HIV", "gout", "none"][row as usize % 4]);
    let sandbox = Sandbox::with(&even, 10, 2, GATED);
    let outcome = sandbox.run(&[]);
    assert_eq!(outcome["outcome"], "released");
    let sidecar: Value =
        serde_json::from_slice(&fs::read(sandbox.release().join("_throng/metrics.json")).unwrap()).unwrap();
    assert_eq!(sidecar["attacks"]["max_gain"], 1.5);
    let measured = sidecar["attacks"]["measured"].as_array().unwrap();
    assert!(measured.len() >= 8 && measured.iter().all(|attack| number(&attack["gain"]) < 1.5), "{measured:?}");
    // Only means over at least k people, and rounded.
    for attack in measured {
        let digits = |field: &str| number(&attack[field]) * 100.0;
        for field in ["gain", "release"] {
            assert!((digits(field) - digits(field).round()).abs() < 1e-9, "{attack}");
        }
    }
    // A delivery that an attack breaks leaves the old release as it was.
    let files = || fs::read(sandbox.release().join("_throng/manifest.json")).unwrap();
    let before = files();
    write_parquet(&sandbox.path("input/people.parquet"), &skewed);
    assert_contains(&sandbox.run_refused(4, &["--overwrite"]), &["skewness of `illness` gains "]);
    assert_eq!(files(), before);
    assert_eq!(sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done()["satisfied"], true);
    sandbox.throng(&["report", "out/release", "-o", "report.html"]).done();
    let page = fs::read_to_string(sandbox.path("report.html")).unwrap();
    assert_contains(&page, &["What an intruder gains", "homogeneity of illness"]);
}

#[test]
fn a_query_passes_the_same_gate() {
    let skewed = ages(|age, row| if (age == 3) == (row % 20 != 0) { "HIV" } else { "flu" });
    let even = ages(|_, row| ["flu", "HIV", "gout", "none"][row as usize % 4]);
    let query = |input: &RecordBatch, policy: &str, from: &str| {
        let sandbox = Sandbox::with(input, 10, 2, policy);
        let statement = format!(
            "CREATE VIEW people AS SELECT * FROM 'input/people.parquet'; \
             SELECT age, count(*) AS people FROM {from} GROUP BY age ORDER BY age"
        );
        sandbox.throng(&["sql", "--format", "csv", "-c", &statement])
    };
    let released = "anonymize('people', 'policy.toml')";
    let refused = |ended: Ended, code: i32, parts: &[&str]| {
        // No row except the column names.
        assert!(ended.code == Some(code) && ["", "age,people\n"].contains(&ended.stdout.as_str()), "{ended:?}");
        assert_contains(&ended.stderr, parts);
    };
    refused(query(&skewed, GATED, released), 4, &["`max_gain = 1.5`", "skewness of `illness` gains "]);
    let shown = query(&even, GATED, released);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(shown.stdout, "age,people\n30,500\n31,500\n32,500\n33,500\n");
    // With four ages of five hundred people each, no class has as many people of the population as this requires.
    let people = |k_map: u64| {
        GATED.replacen(
            "attacks = { max_gain = 1.5 }",
            &format!("population = {{ table = \"input/people.parquet\", k_map = {k_map} }}"),
            1,
        )
    };
    refused(query(&even, &people(501), released), 3, &["fewer than the 501 people of `k_map`"]);
    assert_eq!(query(&even, &people(500), released).code, Some(0));
    // A stream that is released when it ends passes the gate, too. With a delay, rows leave before all could be examined.
    let stream = "anonymize_stream('people', 'policy.toml')";
    refused(query(&skewed, GATED, stream), 4, &["`max_gain = 1.5`"]);
    assert_eq!(query(&even, GATED, stream).code, Some(0));
    let delayed = format!("{GATED}[series]\nmax_delay = {{ rows = 500 }}\n");
    refused(query(&even, &delayed, stream), 78, &["privacy.attacks", "nobody examines"]);
}

#[test]
fn a_limit_below_one_is_refused() {
    let sandbox = Sandbox::with(&ages(|_, _| "flu"), 10, 1, &GATED.replacen("1.5", "0.5", 1));
    assert_contains(&sandbox.run_refused(78, &[]), &["privacy.attacks.max_gain: must be at least 1"]);
}
