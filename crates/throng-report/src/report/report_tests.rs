use serde_json::{Value, json};

use super::*;

/// A sidecar of an earlier version.
fn early() -> Value {
    json!({
        "schema_version": 1, "throng_version": "0.1.0", "run_id": "r", "policy_digest": "d",
        "input": { "rows": 1000, "files": 1, "bytes": 8 },
        "output": { "rows": 990, "files": 1, "bytes": 8, "suppressed_rows": 10 },
        "privacy": {
            "satisfied": true,
            "requirements": [
                { "model": "k-anonymity", "required": 5, "achieved": 6 },
                { "model": "p-sensitivity", "column": "illness", "required": 2, "achieved": 3 },
                { "model": "alpha-weight", "column": "illness", "required": 1.5, "achieved": 2.0 },
                { "model": "constrained generalization", "column": "age", "required": 0, "achieved": 0 },
            ],
            "homogeneity": 0.0,
            "sensitive": [{ "column": "illness", "reading": "values", "fewest": 3, "mean": 4.25, "disclosures": 0 }],
        },
        "utility": {
            "classes": 90, "avg": 2.2, "dm": 12345, "ncp": 0.0625, "weighted_ncp": 0.06, "information_loss": 61.5,
            "columns": { "age": { "ncp": 0.125, "information_loss": 60.0 }, "pay": { "ncp": 0.0, "information_loss": 1.5, "sse_sst": 0.02 } },
        },
        "algorithm": { "partition": "mondrian", "cluster": "search", "reason": "auto", "seed": 7, "budget": "balanced", "leaves": 3, "search_cycles": 1 },
        "timing_ms": { "survey": 10, "cluster": 2500, "total": 2600 },
        "resources": { "threads": 2, "peak_memory_bytes": 123456789 },
    })
}

/// The same sidecar in the current version.
fn sidecar() -> Value {
    let mut sidecar = early();
    let table = |highest: f64| {
        let attacker =
            json!({ "highest": highest, "average": 0.25, "at_risk": [{ "above": 0.2, "share": highest / 2.0 }] });
        json!({ "classes": 90, "sample_uniques": highest / 4.0, "prosecutor": attacker, "journalist": attacker, "marketer": { "average": 0.25 } })
    };
    sidecar["risk"] = json!({ "before": table(1.0), "after": table(0.2) });
    sidecar["columns"] = json!({ "dropped": 1, "quasi": 2, "sensitive": 1, "unchanged": 3 });
    sidecar["utility"]["class_sizes"] =
        json!([{ "from": 5, "to": 7, "classes": 80, "rows": 500 }, { "from": 8, "to": 9, "classes": 10, "rows": 490 }]);
    sidecar["privacy"]["sensitive"][0]["diversity"] = json!([{ "from": 3, "to": 3, "classes": 90, "rows": 990 }]);
    let detail = |rows: u64, up_to: f64| json!({ "up_to": up_to, "rows": rows });
    sidecar["utility"]["columns"]["age"]["detail"] = json!([
        detail(900, 0.0),
        detail(40, 0.05),
        detail(50, 0.2),
        detail(0, 0.5),
        detail(0, 0.999_999),
        detail(0, 1.0)
    ]);
    sidecar["utility"]["columns"]["age"]["distribution"] = json!({ "distance": 0.03, "slices": [{ "end": 0.5, "before": 0.4, "after": 0.45 }, { "end": 1.0, "before": 0.6, "after": 0.55 }] });
    sidecar
}

fn page_of(sidecar: &Value) -> String {
    report(&Sidecar::parse(sidecar.to_string().as_bytes()).unwrap())
}

/// Returns every figure of a page: its path in the sidecar and its value.
fn figures(page: &str) -> Vec<(String, String)> {
    let parts = page.split("data-key=\"").skip(1).map(|rest| rest.split('"').collect::<Vec<_>>());
    parts.map(|parts| (parts[0].to_owned(), parts[2].to_owned())).collect()
}

#[test]
fn every_figure_is_that_of_the_sidecar() {
    let sidecar = sidecar();
    let found = figures(&page_of(&sidecar));
    assert!(found.len() > 60, "{} figures", found.len());
    for (key, value) in found {
        let expected = sidecar.pointer(&format!("/{}", key.replace('.', "/")));
        let expected = expected.unwrap_or_else(|| panic!("{key} is not in the sidecar"));
        match expected {
            Value::String(text) => assert_eq!(&value, text, "{key}"),
            number => assert_eq!(value.parse::<f64>().unwrap(), number.as_f64().unwrap(), "{key}"),
        }
    }
}

#[test]
fn the_promise_is_about_people_where_units_are_counted() {
    let mut sidecar = sidecar();
    sidecar["privacy"]["counts"] = "units".into();
    let page = page_of(&sidecar);
    let sentence = "Anyone who knows the age and pay of a person finds rows of at least 5 different units (people, or what \
                    the policy names) that could be theirs, and among them at least 2 different values";
    assert!(page.contains(sentence), "{page}");
    assert!(page.contains("units, such as people, with rows in the smallest class"));
    assert!(!page.contains(">rows in the smallest class<"));
}

#[test]
fn the_promise_is_a_sentence() {
    let page = page_of(&sidecar());
    let sentence = "Anyone who knows the age and pay of a person finds at least 5 rows that could be theirs, and among them at \
                    least 2 different values of illness and categories of illness that weigh at least 1.5 together; no \
                    value of age is generalized beyond its limit.";
    assert!(page.contains(sentence), "{page}");
    assert_eq!(page.matches("✓ yes").count(), 4);
    let mut broken = sidecar();
    broken["privacy"]["satisfied"] = false.into();
    broken["privacy"]["requirements"][0]["achieved"] = 4.into();
    broken["privacy"]["requirements"][3]["achieved"] = 1.into();
    let page = page_of(&broken);
    assert!(page.contains("✗ A promise does not hold") && page.matches("✗ no").count() == 2, "{page}");
}

#[test]
fn a_sidecar_of_an_earlier_version_has_a_shorter_report() {
    let page = page_of(&early());
    assert!(page.contains("What was promised") && page.contains("What the release still shows"), "{page}");
    assert!(!page.contains("The risk of being found</h2>") && !page.contains("Class sizes"), "{page}");
}

#[test]
fn names_from_a_damaged_sidecar_do_not_break_out() {
    let mut hostile = sidecar();
    let name = "<script>alert(1)</script>\"";
    let age = hostile["utility"]["columns"]["age"].clone();
    hostile["utility"]["columns"][name] = age;
    hostile["privacy"]["sensitive"][0]["column"] = name.into();
    hostile["algorithm"]["budget"] = name.into();
    hostile["run_id"] = name.into();
    let page = page_of(&hostile);
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
}

#[test]
fn a_page_names_nothing_outside_of_itself() {
    let page = page_of(&sidecar());
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<iframe", "javascript:"] {
        assert!(!page.contains(outside), "{outside} is in the page");
    }
    assert!(page.contains("Content-Security-Policy"));
}

#[test]
fn what_is_no_sidecar_is_refused() {
    let mut later = sidecar();
    later["schema_version"] = 2.into();
    for bytes in [&b"{}"[..], b"", b"\xff", later.to_string().as_bytes()] {
        assert!(Sidecar::parse(bytes).is_none());
    }
}

#[test]
fn a_release_that_is_appended_to_reports_the_sums_of_its_appends() {
    let mut sidecar = sidecar();
    assert!(!page_of(&sidecar).contains("All appends"));
    sidecar["append"] = json!({ "appends": 3, "input_files": 5, "rows": 4321, "files": 3, "bytes": 99 });
    let page = page_of(&sidecar);
    assert!(
        page.contains("data-key=\"append.rows\"") && !page.contains("append.classes"),
        "not counted by an earlier version"
    );
    for (field, number) in [("input_rows", 4400), ("suppressed_rows", 79), ("classes", 432)] {
        sidecar["append"][field] = number.into();
    }
    let page = page_of(&sidecar);
    for field in ["appends", "input_files", "rows", "files", "input_rows", "suppressed_rows", "classes"] {
        assert!(page.contains(&format!("data-key=\"append.{field}\"")), "{field}");
    }
}

#[test]
fn a_release_of_a_series_reports_who_waits_and_who_is_shown_on() {
    let mut sidecar = sidecar();
    assert!(!page_of(&sidecar).contains("The series"));
    sidecar["series"] = json!({
        "releases": 7, "remembered": 6, "reserve": 0, "come": 20, "gone": 10, "held": 5, "outdated": 15, "suppressed": 0, "shown_on": 125
    });
    let page = page_of(&sidecar);
    assert!(page.contains("Releases outside of this series") && !page.contains("knows nothing of earlier"));
    for part in ["data-key=\"series.shown_on\"", "125", "data-key=\"series.remembered\"", "The series"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("they could not be hidden"), "they wait for another reason");
}

#[test]
fn a_limit_on_frequencies_is_no_longer_listed_as_missing() {
    let mut sidecar = sidecar();
    assert!(page_of(&sidecar).contains("far more frequent than the others"));
    let mut limit = sidecar["privacy"]["requirements"][0].clone();
    limit["model"] = "(alpha, k)-anonymity".into();
    limit["column"] = "disease".into();
    sidecar["privacy"]["requirements"].as_array_mut().unwrap().push(limit);
    let page = page_of(&sidecar);
    assert!(page.contains("similar in meaning") && !page.contains("far more frequent than the others"));
}

/// The current sidecar with the names of its columns.
fn with_columns(forms: [&str; 2]) -> Value {
    let mut sidecar = sidecar();
    sidecar["columns"]["released"] = json!([
        { "column": "age", "role": "quasi", "release": forms[0] },
        { "column": "illness", "role": "sensitive" },
        { "column": "town", "role": "quasi", "release": forms[1] },
        { "column": "note", "role": "insensitive" },
    ]);
    sidecar
}

#[test]
fn columns_are_listed_by_role_and_those_left_out_are_counted() {
    let page = page_of(&with_columns(["interval", "set"]));
    let rows = ["<td>age (interval) and town (set)</td>", "<td>illness</td>", "<td>note</td>", ">1 column</data>"];
    for row in rows {
        assert!(page.contains(row), "{row}: {page}");
    }
    assert!(!page.contains("Pseudonym") && !page_of(&sidecar()).contains("Columns by role"));
}

#[test]
fn means_are_warned_of_where_a_column_has_them() {
    let warned = |forms| {
        let page = page_of(&with_columns(forms));
        let of_class = page.split("One value stands for all rows of a class in ").nth(1);
        let of_ranges = page.split("in parts of the range of ").nth(1);
        [of_class, of_ranges].map(|rest| rest.map(|rest| rest.split([',', '.']).next().unwrap().to_owned()))
    };
    let text = |words: &str| Some(words.to_owned());
    assert_eq!(warned(["interval", "set"]), [None, text("age")]);
    assert_eq!(warned(["mean", "mode"]), [text("age (mean) and town (mode)"), text("age")]);
    assert_eq!(warned(["ancestor", "median"]), [text("town (median)"), text("town")]);
    assert_eq!(warned(["ancestor", "set"]), [None, None]);
    // In a sidecar of an earlier version, the measure reveals that there is a mean or a median.
    assert!(page_of(&early()).contains("One value stands for all rows of a class in pay."));
}

#[test]
fn a_threshold_that_k_allows_does_not_alarm() {
    let mut sidecar = sidecar();
    for table in ["before", "after"] {
        let at_risk =
            json!([{ "above": 0.2, "share": 0.0 }, { "above": 0.1, "share": 0.0 }, { "above": 0.09, "share": 0.801 }]);
        for attacker in ["prosecutor", "journalist"] {
            sidecar["risk"][table][attacker]["at_risk"] = at_risk.clone();
        }
    }
    let with_k = |k: u64| {
        let mut sidecar = sidecar.clone();
        sidecar["privacy"]["requirements"][0]["required"] = k.into();
        page_of(&sidecar)
    };
    let page = with_k(10);
    assert!(page.contains("rows with a risk above 9%, which k = 10 allows"), "{page}");
    assert!(!page.contains("above 10%, which") && !page.contains("above 20%, which"));
    let words = "k = 10 allows a risk of up to 10%. The share of rows above 9% then only says how many are in classes of fewer than 12 \
                 rows; where that matters, the policy needs k = 12.";
    assert!(page.contains(words), "{page}");
    assert!(!with_k(12).contains("allows a risk"), "1/12 is below 9%");
    assert!(with_k(11).contains("the policy needs k = 12"));
}
