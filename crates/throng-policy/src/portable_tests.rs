use std::path::{Path, PathBuf};

use arrow::datatypes::{DataType, Field, Schema};
use proptest::prelude::*;

use super::*;
use crate::test_policies::{COMPLETE, EXTENDED, HEAD, folder, read, read_in};

/// Round-trips a policy through its portable text, and checks that nothing has changed.
fn round_trip(policy: &Policy) -> Policy {
    let text = policy.to_portable();
    let elsewhere = Policy::from_portable(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(elsewhere.canonical_json(), policy.canonical_json());
    assert_eq!(elsewhere.privacy, policy.privacy);
    assert_eq!(elsewhere.algorithm, policy.algorithm);
    let names = |policy: &Policy| policy.columns.by_name.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&elsewhere), names(policy));
    assert_eq!(elsewhere.to_portable(), text);
    elsewhere
}

/// Returns a policy with one quasi-identifier `a`, whose hierarchy is in a file with these lines.
fn with_file(lines: &str, delimiter: &str) -> Result<Policy, PolicyError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), lines).unwrap();
    let columns =
        format!("columns.a = {{ role = 'quasi', hierarchy = {{ file = 'a.csv', delimiter = '{delimiter}' }} }}");
    read_in(folder.path(), &format!("{HEAD}{columns}\n"), &Overrides::default())
}

#[test]
fn a_portable_policy_means_the_same_and_names_no_place() {
    let folder = folder();
    for text in [COMPLETE, EXTENDED] {
        let overrides = Overrides { k: Some(20), seed: Some(u64::MAX), ..Overrides::default() };
        let policy = read_in(folder.path(), text, &overrides).unwrap();
        let elsewhere = round_trip(&policy);
        assert_eq!((elsewhere.privacy.k, elsewhere.algorithm.seed), (20, u64::MAX));
        assert_eq!(elsewhere.input.locations, ["table"]);
        let portable = policy.to_portable();
        for trace in ["census", "DATA", "bucket", "patients", "country.csv", "hierarchies", "/data"] {
            assert!(!portable.contains(trace), "{trace}");
        }
    }
}

/// A series counts units with its ledger, which is not included, and neither are the columns of the unit.
#[test]
fn a_unit_that_was_taken_from_a_policy_is_not_in_its_portable_text() {
    let text = "version = 1\ninput.location = 'in'\noutput = { location = 'out', mode = 'series' }\n\
                columns = { person.role = 'identifier', age.role = 'quasi' }\n\
                privacy = { k = 3, unit = 'person' }\nseries.ledger = 'kept'\n";
    let mut policy = read(text).unwrap();
    assert!(policy.to_portable().contains("unit"));
    policy.privacy.unit.clear();
    let portable = policy.to_portable();
    assert!(!portable.contains("unit") && !portable.contains("kept") && !portable.contains("series"), "{portable}");
    assert!(Policy::from_portable(&portable).unwrap().privacy.unit.is_empty());
}

#[test]
fn the_policies_that_come_with_throng_are_portable() {
    let configs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    for name in ["census.toml", "census-models.toml", "adult.toml"] {
        let policy = Policy::load(&configs.join(name), &Overrides::default()).unwrap();
        round_trip(&policy);
    }
}

#[test]
fn every_quirk_of_a_hierarchy_file_is_portable() {
    let files = [
        // Labels that repeat upwards, at the bottom, in the middle and up to the root.
        "Other;Other;*\nFrance;Europe;*\n",
        "a;B;B;*\nc;C;D;*\n",
        "a;*;*\nb;b;*\n",
        // One label on two levels of different branches, and a value with the label of a group.
        "a;x;y;*\nb;y;z;*\n",
        "Europe;Asia;*\nJapan;Japan;*\nx;Europe;*\n",
        // A root other than `*`, and a value with the label `*`.
        "a;A;all\nb;B;all\n*;C;all\n",
        "*;x\ny;x\n",
        // Branches that are not contiguous, so that leaf order differs from file order.
        "France;Europe;*\nJapan;Asia;*\nSpain;Europe;*\nIndia;Asia;*\n",
        // An empty value, blanks, quotes, line breaks, control characters and a byte order mark.
        ";none;*\n x ; y;*\n",
        "\"a;b\";\"say \"\"x\"\"\";*\n\"two\nlines\";\"a\rb\";*\n\\n;\t;*\n",
        "\u{7f};\u{1};*\n\"\u{feff}x\";é;*\nä;#;*\n",
        "\u{feff}x;y;*\n",
        "\"\u{feff}x\";y;*\n",
        // Empty lines, and Windows line endings.
        "a;A;*\r\n\r\nb;A;*\r\n",
    ];
    for file in files {
        let policy = with_file(file, ";").unwrap_or_else(|error| panic!("{error}\n{file}"));
        round_trip(&policy);
    }
    round_trip(&with_file("a,x;y,*\nb,x;y,*\n", ",").unwrap());
}

#[test]
fn names_and_numbers_are_exact() {
    let policy = read(&format!(
        "{HEAD}columns.\"a.b \\\"c\\\"\\u0001\\u007f\\n\" = {{ role = 'quasi', weight = 0.1 }}\n\
         columns.b = {{ role = 'quasi', weight = 999999.9999999999, hierarchy = {{ width = 0.30000000000000004 }} }}\n\
         columns.'c\\d' = {{ role = 'quasi', weight = 5e-324, hierarchy = {{ intervals = [1, 2.5e16], origin = -0.0 }} }}\n\
         columns.default = {{ role = 'quasi', limit = [2.2250738585072011e-308, 9007199254740993] }}\n"
    ));
    round_trip(&policy.unwrap());
    let policy = read(&format!("{HEAD}columns = {{ default = 'drop', a.role = 'quasi' }}\n")).unwrap();
    assert!(round_trip(&policy).columns.drop_unlisted);
}

#[test]
fn a_deep_tree_does_not_become_deep_text() {
    let groups: Vec<String> = (0..70).map(|depth| format!("g{depth}")).collect();
    let policy =
        read(&format!("{HEAD}columns.a.role = 'quasi'\n[columns.a.hierarchy.tree.{}]\nx = ['y']\n", groups.join(".")));
    round_trip(&policy.unwrap());
}

#[test]
fn a_portable_policy_binds_like_its_original() {
    let folder = folder();
    let policy = read_in(folder.path(), EXTENDED, &Overrides::default()).unwrap();
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    let schema = Schema::new(vec![
        field("age", DataType::Int32),
        field("country", DataType::Utf8),
        field("city", DataType::Utf8),
        field("zip", DataType::Utf8),
        field("income", DataType::Float64),
        field("treatment", DataType::Utf8),
        field("illness", DataType::Utf8),
    ]);
    let (here, there) = (policy.bind(&schema).unwrap(), round_trip(&policy).bind(&schema).unwrap());
    assert_eq!(here.released_names(), there.released_names());
    assert_eq!(format!("{:?}", here.privacy()), format!("{:?}", there.privacy()));
}

#[test]
fn a_portable_policy_opens_no_file_and_asks_for_no_variable() {
    let folder = folder();
    let file = folder.path().join("hierarchies/country.csv");
    let columns = format!("columns.a = {{ role = 'quasi', hierarchy = {:?} }}", file.display().to_string());
    let error = Policy::from_portable(&format!("version = 1\nprivacy.k = 2\n{columns}\n")).unwrap_err().to_string();
    assert!(error.contains("a portable policy has no files beside it"), "{error}");
    let located = "version = 1\nprivacy.k = 2\ninput.location = '${PATH}'\ncolumns.a.role = 'quasi'\n";
    assert_eq!(Policy::from_portable(located).unwrap().input.locations, ["table"]);
}

#[test]
fn lines_in_a_policy_are_checked_like_a_file() {
    let complain = |hierarchy: &str| {
        let columns = format!("columns.a = {{ role = 'quasi', hierarchy = {hierarchy} }}\n");
        read(&format!("{HEAD}{columns}")).unwrap_err().to_string()
    };
    let ragged = complain("{ lines = \"a;*\\nb;B;*\" }");
    assert!(ragged.contains("columns.a.hierarchy.lines: line 2 of the hierarchy has 3 levels"), "{ragged}");
    let one = complain("{ lines = 'a,*', delimiter = ';' }");
    assert!(one.contains("its lines have one level only"), "{one}");
    let both = complain("{ lines = 'a;*', file = 'x.csv' }");
    assert!(both.contains("has 2 forms, `file` and `lines`"), "{both}");
    let policy =
        read(&format!("{HEAD}columns.a = {{ role = 'quasi', hierarchy = {{ lines = 'a|*', delimiter = '|' }} }}"));
    round_trip(&policy.unwrap());
}

#[test]
fn garbage_is_refused() {
    let whole = with_file("a;A;*\nb;B;*\n", ";").unwrap().to_portable();
    for end in 0..whole.len() {
        let _ = Policy::from_portable(&whole[..end]);
    }
    assert!(Policy::from_portable("").is_err());
    assert!(Policy::load(Path::new("/nowhere/policy.toml"), &Overrides::default()).is_err());
}

proptest! {
    /// Files of random short labels, many of which are not hierarchies.
    #[test]
    fn whatever_file_is_a_hierarchy_is_portable(
        lines in prop::collection::vec(prop::collection::vec("[ab;\"\n\u{feff}* ]{0,2}", 2..4), 1..5)
    ) {
        let quoted = |label: &String| format!("\"{}\"", label.replace('"', "\"\""));
        let line = |labels: &Vec<String>| labels.iter().map(quoted).chain(["*".to_owned()]).collect::<Vec<_>>().join(";");
        let file = lines.iter().map(line).collect::<Vec<_>>().join("\n");
        if let Ok(policy) = with_file(&file, ";") {
            round_trip(&policy);
        }
    }
}
