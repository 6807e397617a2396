use std::path::Path;

use throng::{Overrides, Policy};

use super::*;

const TEXT: &str = r#"# The head of the file.
version = 1
[input]
location = "people.parquet" # where it is
[output]
location = "released/people"

[privacy]
# A convention.
preset = "research"
# Question: how many values?
p = "?"

# Quasi-identifiers.
[columns.age]
# Why: the name says age.
role = "quasi"
# How: round widths.
hierarchy = { intervals = [5, 10, 20] }
# Rows without a value.
nulls = "value" # kept

[columns.illness]
role = "sensitive"
[columns.note]
role = "?"
"#;

fn column(name: &str, field: &str, value: &str) -> PolicyEdit {
    PolicyEdit::Column(name.to_owned(), field.to_owned(), value.to_owned())
}

fn promise(field: &str, value: &str) -> PolicyEdit {
    PolicyEdit::Promise(field.to_owned(), value.to_owned())
}

fn apply(edits: &[PolicyEdit]) -> String {
    edits.iter().fold(TEXT.to_owned(), |text, edit| edit.apply(&text).unwrap())
}

fn comments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.find('#').map(|at| line[at..].trim())).collect()
}

#[test]
fn an_edit_changes_its_line_and_nothing_else() {
    let text = apply(&[column("note", "role", "identifier")]);
    assert_eq!(text, TEXT.replace("[columns.note]\nrole = \"?\"", "[columns.note]\nrole = \"identifier\""));
    let text = apply(&[promise("privacy.p", "2")]);
    assert_eq!(text, TEXT.replace("p = \"?\"", "p = 2"));
}

#[test]
fn answers_by_edits_make_a_valid_policy() {
    let edits = [
        promise("privacy.k", "12"),
        promise("privacy.p", "2"),
        column("note", "role", "insensitive"),
        column("age", "weight", "2.5"),
        column("age", "limit", "1"),
        column("age", "release", "ancestor"),
    ];
    let policy = Policy::parse(&apply(&edits), Path::new("."), &Overrides::default()).unwrap();
    assert_eq!((policy.privacy.k, policy.privacy.p), (12, 2));
    assert!(policy.privacy.preset.is_some(), "k = 12 keeps a preset of less");
}

#[test]
fn comments_survive_a_removal() {
    let before = comments(TEXT);
    let text = apply(&[PolicyEdit::Hierarchy("age".to_owned(), None), promise("privacy.k", "7")]);
    let after = comments(&text);
    assert!(before.iter().all(|comment| after.contains(comment)), "{text}");
    assert!(!text.contains("intervals"), "{text}");
}

#[test]
fn a_smaller_k_leaves_the_preset() {
    let text = apply(&[promise("privacy.k", "3")]);
    assert!(text.contains("k = 3") && !text.contains("preset"), "{text}");
    let text = promise("privacy.preset", "cms").apply(&text).unwrap();
    assert!(text.contains("preset = \"cms\"") && text.contains("k = 11"), "{text}");
}

#[test]
fn another_role_drops_what_it_must_not_have() {
    let text = apply(&[promise("privacy.p", "1"), column("note", "role", "quasi"), column("age", "role", "sensitive")]);
    let policy = Policy::parse(&text, Path::new("."), &Overrides::default());
    assert!(policy.is_ok(), "{policy:?}\n{text}");
}

#[test]
fn a_hierarchy_and_an_interval_exclude_each_other() {
    let text = apply(&[column("age", "release", "bounds")]);
    assert!(text.contains("bounds") && !text.contains("intervals"), "{text}");
    let text = PolicyEdit::Hierarchy("age".to_owned(), Some("{ intervals = [10] }".to_owned())).apply(&text).unwrap();
    assert!(!text.contains("bounds") && text.contains("hierarchy = { intervals = [10] }"), "{text}");
}

#[test]
fn a_name_can_not_break_out_of_its_place() {
    let name = "a\"]\n[privacy]\nk = 1 #";
    let text = column(name, "role", "quasi").apply(TEXT).unwrap();
    let document = text.parse::<DocumentMut>().unwrap();
    assert_eq!(document["columns"][name]["role"].as_str(), Some("quasi"));
    assert!(document["privacy"].get("k").is_none());
}

#[test]
fn limits_are_levels_bands_or_values() {
    for (text, expected) in
        [("2", "limit = 2"), ("18, 65.5", "limit = [18, 65.5]"), ("Asia, Europe", "limit = [\"Asia\", \"Europe\"]")]
    {
        let written = apply(&[column("age", "limit", text)]);
        assert!(written.contains(expected), "{written}");
    }
    assert!(column("age", "weight", "-1").apply(TEXT).is_err());
    assert!(column("age", "colour", "red").apply(TEXT).is_err());
}

#[test]
fn open_questions_are_answered_carefully() {
    let text = answered(TEXT).unwrap();
    let policy = Policy::parse(&text, Path::new("."), &Overrides::default()).unwrap();
    assert_eq!(policy.privacy.p, 1);
    let note = policy.columns.by_name.iter().find(|(name, _)| name == "note").unwrap();
    assert!(matches!(note.1, throng::Role::Identifier));
}
