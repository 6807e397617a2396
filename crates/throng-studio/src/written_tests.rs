use super::*;

const TEXT: &str = r#"
version = 1
[privacy]
preset = "research"
p = "?"
[algorithm]
budget = "fast"
[columns.age]
role = "quasi"
hierarchy = { intervals = [5, 10, 20] }
weight = 2
limit = 1
[columns."home country"]
role = "quasi"
hierarchy = { tree = { Europe = ["France", "Spain"], Asia = ["Japan"] } }
limit = ["Europe", "Asia"]
[columns.zip]
role = "?"
"#;

#[test]
fn a_draft_fills_the_page() {
    let written = WrittenPolicy::read(TEXT).unwrap();
    assert_eq!((written.k, written.p, written.is_p_open), (preset_k("research"), None, true));
    assert_eq!(written.settings["algorithm.budget"].as_deref(), Some("fast"));
    let age = written.column("age").unwrap();
    assert_eq!(age.hierarchy.as_deref(), Some("intervals 5, 10, 20"));
    assert_eq!(age.entered, Some(("intervals", "5, 10, 20".to_owned())));
    assert_eq!((age.settings["weight"].as_deref(), age.settings["limit"].as_deref()), (Some("2"), Some("1")));
    let home = written.column("home country").unwrap();
    assert_eq!(home.hierarchy.as_deref(), Some("tree of 3 values, 2 levels"));
    assert_eq!(home.settings["limit"].as_deref(), Some("Europe, Asia"));
    assert_eq!(written.open_roles().collect::<Vec<_>>(), ["zip"]);
    assert_eq!(written.questions(), 2);
}

#[test]
fn a_text_that_is_no_toml_names_its_line() {
    let error = WrittenPolicy::read("version = 1\n[privacy\nk = 2\n").unwrap_err();
    assert!(error.starts_with("line 2: this is not TOML"), "{error}");
}
