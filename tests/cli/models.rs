//! Every model and every algorithm of the policy file, counted with plain maps.

use std::collections::{BTreeSet, HashMap, HashSet};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use serde_json::Value;

use crate::fixture_table::people;
use crate::release_files::{Cell, Rows, read};
use crate::sandbox::{Sandbox, assert_contains, contents};
use crate::tables::{Draws, strings, table};

/// Jobs in three categories, the most sensitive first.
const JOBS: [(&str, [&str; 2]); 3] =
    [("secret", ["spy", "judge"]), ("middle", ["nurse", "clerk"]), ("open", ["cook", "baker"])];

/// The fixture table with a column of jobs.
fn workers(rows: usize) -> RecordBatch {
    let people = people(rows);
    let mut draws = Draws::new(11);
    let jobs: Vec<&str> = JOBS.iter().flat_map(|(_, jobs)| jobs).copied().collect();
    let job: ArrayRef = strings((0..rows).map(|_| jobs[draws.below(6) as usize]));
    let schema = people.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    table(names.zip(people.columns().iter().cloned()).chain([("job", job)]).collect())
}

/// A mixed policy: extended on one column, (p+, alpha) on another, limits on two quasi-identifiers.
const MIXED: &str = r#"
alpha = 2.0
[columns.row]
role = "insensitive"
[columns.name]
role = "identifier"
[columns.age]
role = "quasi"
limit = [30, 50]
[columns.sex]
role = "quasi"
release = "set"
[columns.country]
role = "quasi"
hierarchy = { tree = { Europe = ["France", "Italy", "Spain"], Asia = ["China", "Japan"], Africa = ["Kenya", "Ghana"] } }
limit = 1
[columns.zip]
role = "quasi"
hierarchy = { mask = "right" }
[columns.diagnosis]
role = "sensitive"
hierarchy = { tree = { infection = ["flu", "hepatitis"], other = ["asthma", "cancer", "fracture"] } }
protected = ["infection"]
[columns.job]
role = "sensitive"
categories = [{ name = "secret", values = ["spy", "judge"] }, { name = "middle", values = ["nurse", "clerk"] }, { name = "open", values = ["cook", "baker"] }]
[columns.hours]
role = "insensitive"
"#;

const QUASI: [&str; 4] = ["age", "sex", "country", "zip"];

fn strong(diagnosis: &str) -> &str {
    if ["flu", "hepatitis"].contains(&diagnosis) { "infection" } else { diagnosis }
}

fn region(country: &str) -> &'static str {
    match country {
        "France" | "Italy" | "Spain" => "Europe",
        "China" | "Japan" => "Asia",
        _ => "Africa",
    }
}

fn band(age: &str) -> usize {
    let age: i64 = age.parse().unwrap();
    usize::from(age >= 30) + usize::from(age >= 50)
}

fn text(cell: &Cell) -> &str {
    cell.as_deref().unwrap()
}

/// Returns the rows of each class.
fn classes<'a>(rows: &'a Rows, quasi: &[&str]) -> Vec<Vec<usize>> {
    let mut classes: HashMap<Vec<&'a Cell>, Vec<usize>> = HashMap::new();
    for (row, tuple) in rows.tuples(quasi).into_iter().enumerate() {
        classes.entry(tuple).or_default().push(row);
    }
    classes.into_values().collect()
}

fn job_category(job: &str) -> usize {
    JOBS.iter().position(|(_, jobs)| jobs.contains(&job)).unwrap()
}

#[test]
fn a_mixed_policy_runs_and_verifies() {
    let (k, p) = (6, 2);
    let input = workers(700);
    let sandbox = Sandbox::with(&input, k, p, MIXED);
    let outcome = sandbox.run(&[]);
    let (original, released) = (Rows::of(&input), Rows::of(&read(&sandbox.release())));

    for class in classes(&released, &QUASI) {
        assert!(class.len() as u64 >= k);
        let of = |name: &str| class.iter().map(|row| text(&released.column(name)[*row])).collect::<Vec<_>>();
        let strong: HashSet<&str> = of("diagnosis").into_iter().map(strong).collect();
        assert!(strong.len() as u64 >= p, "{strong:?}");
        let jobs = of("job");
        let place = |job: &&str| JOBS.iter().position(|(name, _)| name == job).unwrap();
        assert!(jobs.iter().collect::<HashSet<_>>().len() as u64 >= p, "{jobs:?}");
        let weight: f64 = jobs.iter().map(|job| place(job) as f64 / 2.0).sum();
        assert!(weight >= 2.0, "{jobs:?}");
    }
    // No value exceeds its limit.
    for row in 0..released.len() {
        let age = text(&released.column("age")[row]).trim_matches(['[', ']']).to_owned();
        let (low, high) = age.split_once('-').unwrap_or((&age, &age));
        assert_eq!(band(low), band(high), "{age}");
        assert_ne!(text(&released.column("country")[row]), "*");
    }
    // Categories replace values, and every job is that of its row.
    let places = released.by("row");
    for (row, id) in original.column("row").iter().enumerate() {
        if let Some(place) = places.get(text(id)) {
            let job = job_category(text(&original.column("job")[row]));
            assert_eq!(text(&released.column("job")[*place]), JOBS[job].0);
        }
    }
    // Suppressed are exactly the rows that no release within the limits could hold: counted on the classes of region
    // and band.
    let mut most_general: HashMap<(usize, &str), Vec<usize>> = HashMap::new();
    for row in 0..original.len() {
        let key = (band(text(&original.column("age")[row])), region(text(&original.column("country")[row])));
        most_general.entry(key).or_default().push(row);
    }
    let can_be_released = |rows: &&Vec<usize>| {
        let of = |name: &str| rows.iter().map(|row| text(&original.column(name)[*row])).collect::<Vec<_>>();
        let jobs: Vec<usize> = of("job").into_iter().map(job_category).collect();
        rows.len() as u64 >= k
            && of("diagnosis").into_iter().map(strong).collect::<HashSet<_>>().len() as u64 >= p
            && jobs.iter().collect::<HashSet<_>>().len() as u64 >= p
            && jobs.iter().sum::<usize>() as f64 / 2.0 >= 2.0
    };
    let expected: usize = most_general.values().filter(can_be_released).map(Vec::len).sum();
    assert_eq!(released.len(), expected);
    assert_eq!(outcome["suppressed_rows"], original.len() - expected);

    let metrics = metrics(&sandbox);
    let models = metrics["privacy"]["requirements"].as_array().unwrap();
    let models: Vec<&str> = models.iter().map(|found| found["model"].as_str().unwrap()).collect();
    assert_eq!(
        models,
        [
            "k-anonymity",
            "extended p-sensitivity",
            "p+-sensitivity",
            "alpha-weight",
            "constrained generalization",
            "constrained generalization",
        ]
    );
    let verified = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();
    assert_eq!(verified["satisfied"], true);
    // The same release does not satisfy a stricter promise.
    sandbox.policy(k, p, &MIXED.replace("alpha = 2.0", "alpha = 600.0"));
    let refused = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    sandbox.policy(k, p, &MIXED.replace("limit = [30, 50]", "limit = [25, 33]"));
    let refused = sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert_contains(&refused.stderr, &["constrained generalization of `age`"]);
}

fn metrics(sandbox: &Sandbox) -> Value {
    serde_json::from_slice(&std::fs::read(sandbox.path("out/release/_throng/metrics.json")).unwrap()).unwrap()
}

#[test]
fn released_categories_leave_no_trace_of_values() {
    let sandbox = Sandbox::with(&workers(300), 5, 2, MIXED);
    sandbox.run(&["--threads", "1"]);
    for (path, bytes) in contents(&sandbox.release()) {
        for (_, jobs) in JOBS {
            for job in jobs {
                let found = bytes.windows(job.len()).any(|window| window == job.as_bytes());
                assert!(!found, "{job} is in {}", path.display());
            }
        }
    }
}

#[test]
fn value_and_category_can_be_released_side_by_side() {
    let both = MIXED.replace("[columns.job]\n", "[columns.job]\nrelease = \"both\"\n");
    let sandbox = Sandbox::with(&workers(500), 5, 2, &both);
    sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    assert!(released.names().windows(2).any(|pair| pair == ["job", "job_category"]), "{:?}", released.names());
    for row in 0..released.len() {
        let job = job_category(text(&released.column("job")[row]));
        assert_eq!(text(&released.column("job_category")[row]), JOBS[job].0);
    }
    sandbox.throng(&["verify", "out/release", "--policy", "policy.toml"]).done();
}

#[test]
fn too_much_suppression_stops_the_run_when_a_limit_says_so() {
    let input = workers(120);
    let sandbox = Sandbox::with(&input, 20, 2, MIXED);
    let checked = sandbox.throng(&["check", "policy.toml"]).done();
    let suppressed = checked["suppressed_rows"].as_u64().unwrap();
    assert!(suppressed > 12, "{checked}");
    sandbox.policy(20, 2, &format!("suppression_limit = 0.1\n{MIXED}"));
    let message = sandbox.run_refused(3, &[]);
    assert_contains(&message, &[&format!("{suppressed} of 120 rows"), "`suppression_limit = 0.1` allows at most 12"]);
    assert_eq!(sandbox.throng(&["check", "policy.toml"]).code, Some(3));
    // A limit equal to the suppressed share is allowed.
    sandbox.policy(20, 2, &format!("suppression_limit = {}\n{MIXED}", suppressed as f64 / 120.0));
    assert_eq!(sandbox.run(&[])["suppressed_rows"], suppressed);
}

#[test]
fn limits_that_leave_nothing_to_release_are_named() {
    let sandbox = Sandbox::with(&workers(60), 50, 2, MIXED);
    let message = sandbox.run_refused(3, &[]);
    assert_contains(&message, &["within the limits", "none of the 60 rows"]);
}

#[test]
fn a_column_may_have_a_p_of_its_own() {
    let own = crate::fixture_table::COLUMNS.replace("[columns.diagnosis]\n", "[columns.diagnosis]\np = 4\n");
    let sandbox = Sandbox::with(&people(400), 6, 1, &own);
    sandbox.run(&[]);
    let count = Rows::of(&read(&sandbox.release())).count(&QUASI, &["diagnosis"]);
    assert!(count.smallest >= 6 && count.fewest[0] >= 4, "{count:?}");
}

#[test]
fn every_algorithm_of_the_policy_file_keeps_the_promise() {
    let input = people(400);
    for (partition, cluster, reported) in [
        ("mondrian", "auto", "search"),
        ("mondrian", "greedy-pk", "greedy-pk"),
        ("mondrian", "enhanced-pk", "enhanced-pk"),
        ("basic-mondrian", "auto", "none"),
        ("basic-mondrian", "mdav", "mdav"),
        ("mdr", "auto", "none"),
        ("incognito", "auto", "none"),
        ("none", "greedy", "greedy"),
        ("none", "switching", "switching"),
        ("none", "random-seed", "random-seed"),
    ] {
        let sandbox = Sandbox::new();
        crate::tables::write_parquet(&sandbox.path("input/people.parquet"), &input);
        let algorithm = format!("[algorithm]\npartition = \"{partition}\"\ncluster = \"{cluster}\"\n");
        sandbox.policy(5, 3, &(algorithm + crate::fixture_table::COLUMNS));
        sandbox.run(&[]);
        let released = Rows::of(&read(&sandbox.release()));
        let count = released.count(&QUASI, &["diagnosis"]);
        assert_eq!(count.rows, 400, "{partition} {cluster}");
        assert!(count.smallest >= 5 && count.fewest[0] >= 3, "{partition} {cluster}: {count:?}");
        let algorithm = &metrics(&sandbox)["algorithm"];
        assert_eq!((&algorithm["partition"], &algorithm["cluster"]), (&partition.into(), &reported.into()));
        assert!(!algorithm["reason"].as_str().unwrap().is_empty());
    }
}

#[test]
fn full_domain_generalization_shows_one_level_of_each_hierarchy() {
    let sandbox = Sandbox::new();
    crate::tables::write_parquet(&sandbox.path("input/people.parquet"), &people(400));
    let algorithm = "[algorithm]\npartition = \"incognito\"\n";
    sandbox.policy(5, 2, &(algorithm.to_owned() + crate::fixture_table::COLUMNS));
    sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    let stars = |zip: &Cell| text(zip).matches('*').count();
    let levels: BTreeSet<usize> = released.column("zip").iter().map(stars).collect();
    assert_eq!(levels.len(), 1, "{levels:?}");
    let level = |country: &str| match country {
        "*" => 2,
        "Europe" | "Asia" | "Africa" => 1,
        _ => 0,
    };
    let levels: BTreeSet<usize> = released.column("country").iter().map(|country| level(text(country))).collect();
    assert_eq!(levels.len(), 1, "{levels:?}");
}

#[test]
fn means_are_released_in_the_type_of_the_column() {
    let columns = r#"
[columns]
default = "drop"
[columns.row]
role = "insensitive"
[columns.age]
role = "quasi"
release = "mean"
[columns.hours]
role = "quasi"
release = "median"
[columns.country]
role = "quasi"
release = "mode"
[columns.diagnosis]
role = "sensitive"
"#;
    let input = people(300);
    let sandbox = Sandbox::with(&input, 5, 2, columns);
    let outcome = sandbox.run(&[]);
    let batch = read(&sandbox.release());
    assert_eq!(batch.column_by_name("age").unwrap().data_type(), &DataType::Int64);
    assert_eq!(batch.column_by_name("hours").unwrap().data_type(), &DataType::Float64);
    let (original, released) = (Rows::of(&input), Rows::of(&batch));
    let quasi = ["age", "hours", "country"];
    let count = released.count(&quasi, &["diagnosis"]);
    assert!(count.smallest >= 5 && count.fewest[0] >= 2, "{count:?}");
    let row_of = original.by("row");
    let number = |rows: &Rows, name: &str, row: usize| text(&rows.column(name)[row]).parse::<f64>().unwrap();
    let (mut sse, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for class in classes(&released, &quasi) {
        let originals: Vec<usize> = class.iter().map(|row| row_of[text(&released.column("row")[*row])]).collect();
        let mean = originals.iter().map(|row| number(&original, "age", *row)).sum::<f64>() / originals.len() as f64;
        let shown = number(&released, "age", class[0]);
        assert!((shown - mean).abs() <= 0.5, "{shown} stands for {mean}");
        let mut hours: Vec<f64> = originals.iter().map(|row| number(&original, "hours", *row)).collect();
        hours.sort_by(f64::total_cmp);
        assert_eq!(number(&released, "hours", class[0]), hours[(hours.len() - 1) / 2]);
        for row in originals {
            let age = number(&original, "age", row);
            sse += (age - shown).powi(2);
            sum += age;
            squares += age * age;
        }
    }
    let sst = squares - sum * sum / 300.0;
    let metrics = metrics(&sandbox);
    let reported = metrics["utility"]["columns"]["age"]["sse_sst"].as_f64().unwrap();
    assert!((reported - sse / sst).abs() < 2e-6, "{reported} is not {}", sse / sst);
    assert!(metrics["utility"]["columns"]["country"].get("sse_sst").is_none());
    assert_eq!(metrics["algorithm"]["cluster"], "centroid");
    assert_eq!(outcome["outcome"], "released");
}

#[test]
fn regular_intervals_come_from_few_grids() {
    let columns = "[algorithm]\npartition = \"mdr\"\n[columns]\ndefault = \"drop\"\nage.role = \"quasi\"\n\
                   diagnosis.role = \"sensitive\"\n";
    let sandbox = Sandbox::with(&people(3000), 30, 3, columns);
    sandbox.run(&[]);
    let released = Rows::of(&read(&sandbox.release()));
    let mut starts: HashMap<i64, HashSet<i64>> = HashMap::new();
    for age in released.column("age").iter().map(text) {
        if let Some((low, high)) = age.trim_matches(['[', ']']).split_once('-') {
            let (low, high): (i64, i64) = (low.parse().unwrap(), high.parse().unwrap());
            let width = high - low + 1;
            starts.entry(width).or_default().insert(low.rem_euclid(width));
        }
    }
    assert!(!starts.is_empty() && starts.len() <= 3, "{starts:?}");
    for (width, remainders) in starts {
        assert_eq!(remainders.len(), 1, "intervals of {width} years do not lie on one grid: {remainders:?}");
    }
}

#[test]
fn the_example_with_every_model_runs_and_verifies() {
    let sandbox = Sandbox::new();
    sandbox.throng(&["generate", "census", "--rows", "8000", "-o", "input/census"]).done();
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/census-models.toml");
    let outcome = sandbox.throng(&["run", policy, "--input", "input/census/", "--output", "out/release"]).done();
    assert_eq!(outcome["satisfied"], true);
    let released = Rows::of(&read(&sandbox.release()));
    assert_eq!(released.len() as u64 + outcome["suppressed_rows"].as_u64().unwrap(), 8000);
    let verified = sandbox.throng(&["verify", "out/release", "--policy", policy]).done();
    assert_eq!(verified["satisfied"], true);
}
