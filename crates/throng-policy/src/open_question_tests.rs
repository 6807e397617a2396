use crate::test_policies::{HEAD, complaints, complaints_with, read, read_in};
use crate::{Overrides, Role};

const DRAFT: &str = "version = 1\n[input]\nlocation = 'in'\n[output]\nlocation = 'out'\n[privacy]\npreset = 'common'\n\
                     p = '?'\n[columns.age]\nrole = 'quasi'\n[columns.pay]\nrole = '?'\nwieght = 1\n[columns.zip]\n\
                     role = \"?\"\n";

#[test]
fn all_questions_are_listed_with_their_lines_beside_other_mistakes() {
    let roles = "`identifier`, `quasi`, `sensitive` or `insensitive`";
    assert_eq!(
        complaints(DRAFT),
        [
            "policy.toml:8:5: privacy.p: open question; put a whole number in place of \"?\"".to_owned(),
            format!("policy.toml:12:8: columns.pay.role: open question; put {roles} in place of \"?\""),
            "policy.toml:13:1: columns.pay.wieght: unknown field; did you mean `weight`?".to_owned(),
            format!("policy.toml:15:8: columns.zip.role: open question; put {roles} in place of \"?\""),
        ]
    );
}

#[test]
fn a_flag_answers_a_question() {
    let found = complaints_with(DRAFT, &Overrides { p: Some(2), ..Overrides::default() });
    assert!(found.iter().all(|problem| !problem.contains("privacy.p")), "{found:?}");
    let text = format!("{HEAD}columns.a.role = 'quasi'\n").replace("privacy.k = 10", "privacy = { k = '?' }");
    assert_eq!(complaints(&text), ["policy.toml:4:17: privacy.k: open question; put a whole number in place of \"?\""]);
    assert_eq!(read_in("/".as_ref(), &text, &Overrides { k: Some(4), ..Overrides::default() }).unwrap().privacy.k, 4);
}

#[test]
fn a_question_mark_in_a_hierarchy_or_among_categories_is_a_value() {
    let columns = "columns.a = { role = 'quasi', hierarchy = { tree = { known = ['x'], '?' = ['y'] } }, limit = ['?'] }\n\
                   columns.'?' = { role = 'sensitive', categories = [['?'], ['z']] }\n";
    let policy = read(&format!("{HEAD}{columns}")).unwrap();
    assert!(matches!(&policy.columns.by_name[1], (name, Role::Sensitive(_)) if name == "?"));
}

#[test]
fn what_happens_to_other_columns_can_be_asked_too() {
    let found = complaints(&format!("{HEAD}[columns]\ndefault = '?'\na.role = 'quasi'\n"));
    assert_eq!(found, ["policy.toml:6:11: columns.default: open question; put a string or a table in place of \"?\""]);
}
