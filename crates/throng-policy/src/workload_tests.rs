use std::path::Path;

use crate::{Overrides, Policy, PolicyError, Role};

const COLUMNS: &str = r#"
[columns]
name.role = "identifier"
age = { role = "quasi" }
sex = { role = "quasi", weight = 0.5 }
region = { role = "quasi" }
ill.role = "sensitive"
hours.role = "insensitive"
"#;

fn parse(queries: &str) -> Result<Policy, PolicyError> {
    let head = "version = 1\ninput.location = \"in\"\noutput.location = \"out\"\nprivacy = { k = 2, p = 1 }\n";
    let workload = if queries.is_empty() { String::new() } else { format!("workload.queries = {queries}\n") };
    Policy::parse(&format!("{head}{workload}{COLUMNS}"), Path::new("."), &Overrides::default())
}

/// Returns the weights of age, sex and region.
fn weights(policy: &Policy) -> Vec<f64> {
    let quasi = |(_, role): &(String, Role)| if let Role::Quasi(quasi) = role { Some(quasi.weight) } else { None };
    policy.columns.by_name.iter().filter_map(quasi).collect()
}

#[test]
fn columns_are_weighted_by_the_questions_that_they_are_in() {
    assert_eq!(weights(&parse("").unwrap()), [1.0, 0.5, 1.0]);
    // One question: its columns count four times as much, on top of the weight that they have.
    assert_eq!(weights(&parse(r#"[["age", "sex"]]"#).unwrap()), [4.0, 2.0, 1.0]);
    // Age is in two of three questions, and no column in more.
    let several = r#"[["age", "sex"], ["age", "ill"], ["region", "hours"]]"#;
    assert_eq!(weights(&parse(several).unwrap()), [4.0, 0.5 * 2.5, 2.5]);
    // A question that is asked twice counts twice.
    assert_eq!(weights(&parse(r#"[["age"], ["age"], ["region"]]"#).unwrap()), [4.0, 0.5, 2.5]);
}

#[test]
fn a_workload_is_the_policy_with_its_weights() {
    let by_hand = COLUMNS.replace("age = { role = \"quasi\" }", "age = { role = \"quasi\", weight = 4.0 }");
    let head = "version = 1\ninput.location = \"in\"\noutput.location = \"out\"\nprivacy = { k = 2, p = 1 }\n";
    let by_hand = Policy::parse(&format!("{head}{by_hand}"), Path::new("."), &Overrides::default()).unwrap();
    let derived = parse(r#"[["age"]]"#).unwrap();
    assert_eq!(derived.canonical_json(), by_hand.canonical_json());
    assert_eq!((derived.workload, by_hand.workload), (vec![vec!["age".to_owned()]], Vec::new()));
}

#[test]
fn a_builder_takes_a_workload_too() {
    let built = Policy::builder().with_k(2).quasi("age", |age| age).quasi("sex", |sex| sex).with_workload([["sex"]]);
    assert_eq!(weights(&built.build().unwrap()), [1.0, 4.0]);
}

#[test]
fn questions_that_no_release_answers_are_refused() {
    let problem = |queries: &str| parse(queries).unwrap_err().to_string();
    for (queries, said) in [
        ("[]", "workload.queries: names no question"),
        ("[[]]", "workload.queries[0]: is a question about no column"),
        (r#"[["age"], ["agee"]]"#, "the policy has no column `agee`; did you mean `age`?"),
        (r#"[["name", "age"]]"#, "`name` is an identifier"),
        (r#"[["age", "age"]]"#, "`age` is in this question already"),
        (r#"[["ill", "hours"]]"#, "has no quasi-identifier"),
    ] {
        let message = problem(queries);
        assert!(message.contains(said), "{queries}: {message}");
    }
}

#[test]
fn weights_have_a_limit_beyond_which_sums_would_overflow() {
    let built = |weight: f64| Policy::builder().with_k(2).quasi("age", |age| age.with_weight(weight)).build();
    assert!(built(1e6).is_ok());
    assert!(built(5e307).unwrap_err().to_string().contains("columns.age.weight: must be at most 1000000"));
}
