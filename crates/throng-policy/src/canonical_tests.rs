use crate::Overrides;
use crate::test_policies::{COMPLETE, EXTENDED, HEAD, folder, read, read_in};

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
fn every_form_of_hierarchy_is_reported() {
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
                 output = { location = 'y', mode = 'overwrite', rows_per_file = 7 }\n[columns]\nb.role = 'sensitive'\na.role = 'quasi'\n";
    assert_eq!(one.canonical_json(), read(other).unwrap().canonical_json());
    let seeded = read_in("/".as_ref(), other, &Overrides { seed: Some(1), ..Default::default() }).unwrap();
    assert_ne!(one.canonical_json(), seeded.canonical_json());
}

#[test]
fn what_is_promised_beyond_k_and_p_is_reported() {
    let folder = folder();
    let policy = read_in(folder.path(), EXTENDED, &Overrides::default()).unwrap();
    assert_eq!(
        policy.canonical_json(),
        concat!(
            r#"{"version":1,"privacy":{"k":4,"p":2,"alpha":2.0,"suppression_limit":0.05},"#,
            r#""algorithm":{"partition":"basic-mondrian","cluster":"enhanced-pk","seed":0},"unlisted":"error","columns":{"#,
            r#""age":{"role":"quasi","release":"median","weight":1.0,"nulls":"value","hierarchy":null,"limit":[18.0,65.0]},"#,
            r#""city":{"role":"quasi","release":"mode","weight":1.0,"nulls":"value","hierarchy":{"tree":"#,
            r#"[["Oslo","North","*"],["Bergen","North","*"],["Rome","South","*"]]},"limit":["North"]},"#,
            r#""country":{"role":"quasi","release":null,"weight":1.0,"nulls":"value","hierarchy":"#,
            r#"{"tree":[["France","Europe","*"],["Spain","Europe","*"],["Japan","Asia","*"]]},"limit":1},"#,
            r#""illness":{"role":"sensitive","p":4,"categories":[{"name":"1","values":["HIV","Cancer"]},"#,
            r#"{"name":"Lung","values":["Phthisis"]},{"name":"3","values":["Asthma"]},{"name":"4","values":["Flu"]}],"#,
            r#""release":"both"},"income":{"role":"sensitive"},"#,
            r#""treatment":{"role":"sensitive","p":3,"hierarchy":{"tree":"#,
            r#"[["bypass","surgery","*"],["stent","surgery","*"],["aspirin","drug","*"],["none","none","*"]]},"#,
            r#""protected":["surgery"]},"#,
            r#""zip":{"role":"quasi","release":null,"weight":1.0,"nulls":"value","hierarchy":null,"limit":0}}}"#
        )
    );
}

#[test]
fn prefixes_and_bands_of_categories_are_reported() {
    let text = format!(
        "{HEAD}columns.q.role = 'quasi'\ncolumns.a = {{ role = 'sensitive', categories = [{{ name = 'x', prefixes = ['C'] }}, \
         {{ name = 'y', bands = [{{ from = 5, below = 7.5 }}, {{ below = '1970-01-03' }}] }}] }}\n"
    );
    let json = read(&text).unwrap().canonical_json();
    let categories = r#""categories":[{"name":"x","values":[],"prefixes":["C"]},{"name":"y","values":[],"bands":[{"from":5.0,"below":7.5},{"from":null,"below":2.0}]}]"#;
    assert!(json.contains(categories), "{json}");
}

#[test]
fn the_release_of_categories_is_reported_also_when_it_is_the_default() {
    let with = |release: &str| {
        let column = format!("{{ role = 'sensitive', categories = [['x'], ['y']]{release} }}");
        read(&format!("{HEAD}columns.a.role = 'quasi'\ncolumns.b = {column}\n")).unwrap().canonical_json()
    };
    assert!(with("").contains(r#""release":"category"}"#), "{}", with(""));
    assert_eq!(with(""), with(", release = 'category'"));
    assert_ne!(with(""), with(", release = 'value'"));
}
