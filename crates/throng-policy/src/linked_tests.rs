use crate::test_policies::{complaints, read};

const HEAD: &str = "version = 1\ninput.location = 'in'\noutput.location = 'out'\n";
const COLUMNS: &str =
    "columns = { id = { role = 'identifier', release = 'pseudonym' }, age.role = 'quasi', ill.role = 'sensitive' }\n";

/// A policy with two tables, of which the second has these columns.
fn two_tables(columns: &str) -> String {
    format!(
        "{HEAD}table = 'one'\nprivacy = {{ k = 5, p = 2, unit = 'id' }}\n{COLUMNS}[tables.two]\ninput.location = 'two'\n{columns}"
    )
}

#[test]
fn only_the_unit_can_be_a_pseudonym() {
    let unit = |unit: &str| format!("{HEAD}privacy = {{ k = 5, {unit} }}\n{COLUMNS}");
    assert_eq!(read(&unit("unit = 'id'")).unwrap().pseudonym_column(), Some("id"));
    assert_eq!(read(&unit("unit = ['id']")).unwrap().pseudonym_column(), Some("id"));
    for other in ["p = 1", "unit = 'ill'", "unit = ['id', 'ill']"] {
        let found = complaints(&unit(other)).join("\n");
        assert!(found.contains("columns.id.release: a pseudonym links all rows"), "{found}");
    }
    let found =
        complaints(&format!("{HEAD}privacy = {{ k = 5, pseudonyms = 'stable' }}\ncolumns.age.role = 'quasi'\n"));
    assert!(found.join("\n").contains("privacy.pseudonyms: has no use here"), "{found:?}");
    let found = complaints(&unit("unit = 'id'").replace("release = 'pseudonym'", "release = 'set'"));
    assert!(found.join("\n").contains("`set` is for other roles"), "{found:?}");
    let found = complaints(
        &unit("unit = 'id'").replace("age.role = 'quasi'", "age = { role = 'quasi', release = 'pseudonym' }"),
    );
    assert!(found.join("\n").contains("`pseudonym` is for the role `identifier`"), "{found:?}");
}

#[test]
fn tables_share_all_but_their_input_and_their_columns() {
    let policy = read(&two_tables(
        "unit = 'pid'\ncolumns = { pid = { role = 'identifier', release = 'pseudonym' }, day.role = 'quasi' }\n",
    ))
    .unwrap();
    let tables = policy.linked_tables();
    let [(one, first), (two, second)] = &tables[..] else { panic!("{} tables", tables.len()) };
    assert_eq!((one.as_deref(), two.as_deref()), (Some("one"), Some("two")));
    assert_eq!((first.privacy.p, second.privacy.p, second.privacy.k), (2, 1, 5));
    assert_eq!((&second.input.locations[..], second.pseudonym_column()), (&["two".to_owned()][..], Some("pid")));
    assert_eq!(second.privacy.unit, ["pid"]);
    assert!(!second.has_tables() && policy.has_tables());
    assert_ne!(first.canonical_json(), policy.canonical_json());
}

#[test]
fn problems_of_a_table_have_its_path_and_place() {
    let found = complaints(&two_tables(
        "columns = { id = { role = 'identifier', release = 'pseudonym' }, day.role = 'quasi', ill = { role = 'sensitive', p = 9 } }\n",
    ));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("policy.toml:9:") && found[0].contains("tables.two.columns.ill.p: p = 9"), "{found:?}");
    let found = complaints(&two_tables("columns = { id.role = 'identifier', day.role = 'quasi' }\n"));
    assert!(found[0].contains("tables.two.columns: column `id` joins this table"), "{found:?}");
}

#[test]
fn tables_have_folders_of_their_own_already() {
    let text = two_tables("columns = { id = { role = 'identifier', release = 'pseudonym' }, day.role = 'quasi' }\n");
    let found = complaints(&text.replace(HEAD, &format!("{HEAD}output.data_folder = 'data'\n")));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("output.data_folder: is for one table"), "{found:?}");
}
