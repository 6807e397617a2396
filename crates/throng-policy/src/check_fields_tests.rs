use crate::Overrides;
use crate::spanned_toml::SpannedToml;
use crate::test_policies::{COMPLETE, EXTENDED, complaints, complaints_of_columns, folder, read_in};

#[test]
fn an_empty_file_misses_every_required_field() {
    assert_eq!(
        complaints(""),
        [
            "policy.toml:1:1: version: required field is missing",
            "policy.toml:1:1: input: required field is missing",
            "policy.toml:1:1: output: required field is missing",
            "policy.toml:1:1: privacy: required field is missing",
            "policy.toml:1:1: columns: required field is missing",
        ]
    );
}

#[test]
fn errors_of_the_syntax_have_a_place_and_do_not_quote_the_line() {
    assert_eq!(
        complaints("version = 1\n[input\nlocation = \"s3://key:secret@bucket/\"\n[privacy]\nk = \n"),
        [
            "policy.toml:2:7: not TOML: unclosed table, expected `]`",
            "policy.toml:5:5: not TOML: string values must be quoted, expected literal string",
        ]
    );
    assert_eq!(complaints("version = 1\nversion = 1\n"), ["policy.toml:2:1: not TOML: duplicate key"]);
}

#[test]
fn all_errors_are_reported_in_the_order_of_the_file() {
    let text = r#"version = "1"
[input]
location = 7
fromat = "csv"
[output]
location = ["out"]
mode = "overwrit"
[privacy]
k = -3
p = 1.5
l = 2
[algorithm]
seed = 99999999999999999999
cluster = "magic"
[columns.age]
role = "quazi"
wieght = inf
[columns.zip]
release = true
weight = nan
[columns.born]
role = 2024-02-29
"#;
    assert_eq!(
        complaints(text),
        [
            "policy.toml:1:11: version: expected a whole number, found a string",
            "policy.toml:3:12: input.location: expected a string or a list, found a whole number",
            "policy.toml:4:1: input.fromat: unknown field; did you mean `format`?",
            "policy.toml:6:12: output.location: expected a string, found a list",
            "policy.toml:7:8: output.mode: unknown value `overwrit`; did you mean `overwrite`?",
            "policy.toml:9:5: privacy.k: must not be negative",
            "policy.toml:10:5: privacy.p: expected a whole number, found a number with a fraction",
            "policy.toml:11:1: privacy.l: unknown field; use `preset`, `k`, `p`, `alpha`, `unit`, `unit_nulls`, \
             `pseudonyms`, `borrow`, `suppression_limit`, `min_rows`, `max_rows_change`, `loss_limit`, \
             `insensitive_uniqueness`, `attacks` or `population`",
            "policy.toml:13:8: algorithm.seed: is too large a number",
            "policy.toml:14:11: algorithm.cluster: unknown value `magic`; use `auto`, `greedy`, `greedy-pk`, \
             `enhanced-pk`, `switching`, `mdav`, `random-seed`, `centroid` or `none`",
            "policy.toml:16:8: columns.age.role: unknown value `quazi`; did you mean `quasi`?",
            "policy.toml:17:1: columns.age.wieght: unknown field; did you mean `weight`?",
            "policy.toml:18:10: columns.zip.role: required field is missing",
            "policy.toml:19:11: columns.zip.release: expected a string, found true or false",
            "policy.toml:20:10: columns.zip.weight: must be a finite number",
            "policy.toml:22:8: columns.born.role: expected a string, found a date or time",
        ]
    );
}

#[test]
fn the_elements_of_lists_and_inline_tables_have_their_own_places() {
    assert_eq!(
        complaints_of_columns(
            "[columns.a]\nrole = 'quasi'\nhierarchy = { date = ['month', 'yaer'], sort = 1 }\n\
             [columns.b]\nrole = 'quasi'\nhierarchy = { tree = { 'Ü' = ['x', 3], B = { C = 'c' } } }\n"
        ),
        [
            "policy.toml:7:32: columns.a.hierarchy.date[1]: unknown value `yaer`; did you mean `year`?",
            "policy.toml:7:41: columns.a.hierarchy.sort: unknown field; use `file`, `lines`, `delimiter`, `tree`, \
             `intervals`, `origin`, `width`, `growth`, `levels`, `date` or `mask`",
            "policy.toml:10:36: columns.b.hierarchy.tree.\"Ü\"[1]: expected a string, found a whole number",
            "policy.toml:10:50: columns.b.hierarchy.tree.B.C: expected a list or a table, found a string",
        ]
    );
}

/// Returns the problems of a limit that is written in line 7 from column 9 on, without their common prefix.
fn refused_limit(written: &str) -> Vec<String> {
    let complaints = complaints_of_columns(&format!("[columns.a]\nrole = 'quasi'\nlimit = {written}\n"));
    complaints.iter().map(|line| line.strip_prefix("policy.toml:7:").unwrap().to_owned()).collect()
}

#[test]
fn a_limit_is_a_level_or_a_list_whose_first_item_tells_its_kind() {
    assert_eq!(refused_limit("3"), [""; 0]);
    assert_eq!(refused_limit("['x', 'y']"), [""; 0]);
    assert_eq!(refused_limit("[-1, 2.5]"), [""; 0]);
    let form = "9: columns.a.limit: expected a whole number or a list, found";
    assert_eq!(refused_limit("1.5"), [format!("{form} a number with a fraction")]);
    assert_eq!(refused_limit("'x'"), [format!("{form} a string")]);
    assert_eq!(refused_limit("{ level = 1 }"), [format!("{form} a table")]);
    assert_eq!(refused_limit("-1"), ["9: columns.a.limit: must not be negative"]);
    assert_eq!(
        refused_limit("['x', 3, 2.5]"),
        [
            "15: columns.a.limit[1]: expected a string, found a whole number",
            "18: columns.a.limit[2]: expected a string, found a number with a fraction",
        ]
    );
    assert_eq!(refused_limit("[3, 'x']"), ["13: columns.a.limit[1]: expected a number, found a string"]);
    assert_eq!(refused_limit("[0, inf]"), ["13: columns.a.limit[1]: must be a finite number"]);
    assert_eq!(
        refused_limit("[true, 'x']"),
        ["10: columns.a.limit[0]: expected a string or a number, found true or false"]
    );
    assert_eq!(refused_limit("[['x']]"), ["10: columns.a.limit[0]: expected a string or a number, found a list"]);
}

#[test]
fn a_category_is_a_list_or_a_table() {
    let refused = |written: &str| {
        complaints_of_columns(&format!(
            "columns.q.role = 'quasi'\n[columns.a]\nrole = 'sensitive'\ncategories = {written}\n"
        ))
    };
    assert_eq!(refused("[['x'], { name = 'N', values = ['y'] }]"), [""; 0]);
    assert_eq!(refused("{ N = ['x'] }"), ["policy.toml:8:14: columns.a.categories: expected a list, found a table"]);
    assert_eq!(
        refused("['x', [1], { nmae = 'N', values = 'y' }]"),
        [
            "policy.toml:8:15: columns.a.categories[0]: expected a list or a table, found a string",
            "policy.toml:8:21: columns.a.categories[1][0]: expected a string, found a whole number",
            "policy.toml:8:25: columns.a.categories[2].name: required field is missing",
            "policy.toml:8:27: columns.a.categories[2].nmae: unknown field; did you mean `name`?",
            "policy.toml:8:48: columns.a.categories[2].values: expected a list, found a string",
        ]
    );
}

#[test]
fn a_whole_number_that_is_too_large_is_refused_where_a_fraction_would_do() {
    assert_eq!(
        complaints_of_columns(
            "[columns.a]\nrole = 'quasi'\nweight = 99999999999999999999\nlimit = [0, -99999999999999999999]\n"
        ),
        [
            "policy.toml:7:10: columns.a.weight: is too large a number",
            "policy.toml:8:13: columns.a.limit[1]: is too large a number",
        ]
    );
    // A number of 64 bits can be read, and is refused by its value.
    assert_eq!(
        complaints_of_columns("[columns.a]\nrole = 'quasi'\nweight = 18446744073709551615\n"),
        ["policy.toml:7:10: columns.a.weight: must be at most 1000000; weights are relative to each other"]
    );
}

#[test]
fn default_is_an_option_as_text_and_a_column_as_a_table() {
    let quasi = "[columns.age]\nrole = 'quasi'\n";
    assert_eq!(complaints_of_columns(&format!("[columns]\ndefault = 'drop'\n{quasi}")), [""; 0]);
    assert_eq!(complaints_of_columns(&format!("{quasi}[columns.default]\nrole = 'sensitive'\n")), [""; 0]);
    assert_eq!(
        complaints_of_columns(&format!("[columns]\ndefault = 'keep'\n{quasi}")),
        ["policy.toml:6:11: columns.default: unknown value `keep`; use `drop`"]
    );
    assert_eq!(
        complaints_of_columns(&format!("[columns]\ndefualt = 'drop'\n{quasi}")),
        ["policy.toml:6:1: columns.defualt: expected a table; did you mean `default`?"]
    );
    assert_eq!(
        complaints_of_columns(&format!("[columns]\nzip = 'quasi'\n{quasi}")),
        ["policy.toml:6:7: columns.zip: expected a table, found a string"]
    );
    assert_eq!(
        complaints_of_columns(&format!("{quasi}[columns.default]\nroll = 'sensitive'\n")),
        [
            "policy.toml:7:10: columns.default.role: required field is missing",
            "policy.toml:8:1: columns.default.roll: unknown field; did you mean `role`?",
        ]
    );
}

#[test]
fn a_file_of_another_version_is_named_besides_its_unknown_fields() {
    let head = "input.location = 'in'\noutput.location = 'out'\nprivacy.k = 2\ncolumns.a.role = 'quasi'\n";
    assert_eq!(
        complaints(&format!("version = 2\nnew = true\n{head}")),
        [
            "policy.toml:1:11: version: version 2 is not known here; use 1",
            "policy.toml:2:1: new: unknown field; use `version`, `input`, `output`, `store`, `privacy`, \
             `algorithm`, `series`, `workload`, `columns`, `table` or `tables`",
        ]
    );
}

/// Only the structural check can name a position, so nothing may pass it and fail to deserialize.
#[test]
fn whatever_passes_the_check_deserializes() {
    let folder = folder();
    let values = [
        "0",
        "-1",
        "1.5",
        "inf",
        "nan",
        "true",
        "''",
        "'x'",
        "[]",
        "['x']",
        "[1]",
        "[[]]",
        "{}",
        "{ x = 1 }",
        "99999999999999999999",
        "2024-02-29",
        "12:00:00",
        "{ role = 'quasi' }",
        "{ tree = [] }",
        "{ tree = {} }",
        "{ file = 'x' }",
        "[0.5, -2]",
        "[99999999999999999999]",
        "['x', 1]",
        "[1, 'x']",
        "[['x'], ['y']]",
        "[{ name = 'x', values = ['y'] }, {}]",
    ];
    let mut replaced = 0;
    for policy in [COMPLETE, EXTENDED] {
        for (number, line) in policy.lines().enumerate() {
            let Some((field, _)) = line.split_once(" = ") else { continue };
            for value in values {
                let lines = policy.lines().enumerate();
                let text: Vec<String> = lines
                    .map(|(other, line)| if other == number { format!("{field} = {value}") } else { line.to_owned() })
                    .collect();
                let text = text.join("\n");
                replaced += 1;
                SpannedToml::parse("policy.toml", &text).unwrap();
                if let Err(error) = read_in(folder.path(), &text, &Overrides::default()) {
                    assert!(!error.to_string().contains("its schema describes"), "{field} = {value}: {error}");
                    let has_place = error.problems().iter().all(|problem| problem.place.is_some());
                    assert!(has_place, "{field} = {value}: {error}");
                }
            }
        }
    }
    assert_eq!(replaced, values.len() * (22 + 30));
}
