use crate::Overrides;
use crate::test_policies::{COMPLETE, HEAD, folder, read, read_in};

#[test]
fn the_canonical_text_is_the_promise_in_effect() {
    let folder = folder();
    let policy = read_in(folder.path(), COMPLETE, &Overrides { k: Some(20), ..Default::default() }).unwrap();
    assert_eq!(
        policy.canonical_json(),
        concat!(
            r#"{"version":1,"privacy":{"k":20,"p":3},"#,
            r#""algorithm":{"partition":"mondrian","cluster":"greedy","seed":42},"unlisted":"drop","columns":{"#,
            r#""age":{"role":"quasi","release":"bounds","weight":2.0,"nulls":"suppress","hierarchy":null},"#,
            r#""country":{"role":"quasi","release":null,"weight":1.0,"nulls":"value","hierarchy":"#,
            r#"{"tree":[["France","Europe","*"],["Spain","Europe","*"],["Japan","Asia","*"]]}},"#,
            r#""diagnosis":{"role":"sensitive"},"hours per week":{"role":"insensitive"},"#,
            r#""person_id":{"role":"identifier"}}}"#
        )
    );
}

#[test]
fn every_form_of_hierarchy_is_told() {
    let policy = read(&format!(
        "{HEAD}[columns]\na = {{ role = 'quasi', hierarchy = {{ width = 5, levels = 2, origin = 1 }} }}\n\
         b = {{ role = 'quasi', hierarchy = {{ date = ['month', 'year'] }} }}\n\
         c = {{ role = 'quasi', hierarchy = {{ mask = 'left' }}, nulls = 'error', release = 'set' }}\n"
    ))
    .unwrap();
    let text = policy.canonical_json();
    assert!(text.contains(r#""hierarchy":{"intervals":[5.0,10.0],"origin":1.0}"#), "{text}");
    assert!(text.contains(r#""hierarchy":{"date":["month","year"]}"#), "{text}");
    assert!(text.contains(r#""release":"set","weight":1.0,"nulls":"error","hierarchy":{"mask":"left"}"#), "{text}");
}

#[test]
fn locations_files_and_the_order_of_columns_do_not_count() {
    let one = read(&format!("{HEAD}[columns]\na.role = 'quasi'\nb.role = 'sensitive'\n")).unwrap();
    let other = "version = 1\ninput = { location = 'x.csv', delimiter = ';' }\nprivacy.k = 10\n\
                 output = { location = 'y', mode = 'overwrite' }\n[columns]\nb.role = 'sensitive'\na.role = 'quasi'\n";
    assert_eq!(one.canonical_json(), read(other).unwrap().canonical_json());
    let seeded = read_in("/".as_ref(), other, &Overrides { seed: Some(1), ..Default::default() }).unwrap();
    assert_ne!(one.canonical_json(), seeded.canonical_json());
}
