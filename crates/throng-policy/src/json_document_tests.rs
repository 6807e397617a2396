use std::path::Path;

use crate::test_policies::COMPLETE;
use crate::{LineColumn, Overrides, Policy};

const SMALL: &str = r#"{ "version": 1, "privacy": { "k": 5 }, "columns": { "age": { "role": "quasi" } } }"#;

#[test]
fn json_with_the_fields_of_a_file_is_the_same_policy() {
    let toml = "version = 1\nprivacy = { k = 5, p = 2 }\nalgorithm.seed = 18446744073709551615\n\
                [columns]\nage = { role = 'quasi', weight = 0.1 }\n\
                zip = { role = 'quasi', hierarchy = { tree = { b = ['2', '1'], a = ['3'] } } }\nsex.role = 'sensitive'\n";
    let json = r#"{
        "version": 1,
        "privacy": { "k": 5, "p": 2 },
        "algorithm": { "seed": 18446744073709551615 },
        "columns": {
            "age": { "role": "quasi", "weight": 0.1 },
            "zip": { "role": "quasi", "hierarchy": { "tree": { "b": ["2", "1"], "a": ["3"] } } },
            "sex": { "role": "sensitive" }
        }
    }"#;
    let toml = Policy::parse(toml, Path::new(""), &Overrides::for_a_table()).unwrap();
    assert_eq!(Policy::from_json(json).unwrap().canonical_json(), toml.canonical_json());
}

#[test]
fn locations_may_be_left_out_and_are_kept_where_they_are_given() {
    assert_eq!(Policy::from_json(SMALL).unwrap().output.location, "release");
    let with_output = SMALL.replacen('{', r#"{ "output": { "location": "out/" },"#, 1);
    assert_eq!(Policy::from_json(&with_output).unwrap().output.location, "out/");
}

#[test]
fn problems_name_the_field() {
    let json = SMALL.replace("role", "rolle");
    let error = Policy::from_json(&json).unwrap_err();
    let unknown = &error.problems()[0];
    assert_eq!((unknown.path.as_str(), unknown.place), ("columns.age.rolle", None));
    assert!(unknown.message.contains("did you mean `role`"), "{error}");
    assert_eq!(Policy::from_json("[]").unwrap_err().to_string(), "policy: expected a table, found a list");
}

#[test]
fn what_is_not_json_is_reported_with_its_place() {
    let error = Policy::from_json("{\n  \"version\": }").unwrap_err();
    assert_eq!(error.problems()[0].place, Some(LineColumn { line: 2, column: 14 }));
    assert!(error.to_string().starts_with("policy:2:14: not JSON of a policy: expected value"), "{error}");
    assert!(Policy::from_json(COMPLETE).is_err());
}

#[test]
fn fields_that_are_given_twice_and_nulls_are_refused() {
    let error = Policy::from_json(&SMALL.replace(r#""k": 5"#, r#""k": 5, "k": 2"#)).unwrap_err();
    assert!(error.to_string().contains("field \"k\" is given twice"), "{error}");
    let error = Policy::from_json(&SMALL.replace(r#""k": 5"#, r#""k": null"#)).unwrap_err();
    assert!(error.to_string().contains("null is not a value of a policy"), "{error}");
}
