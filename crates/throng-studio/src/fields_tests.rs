use std::path::Path;

use throng::{Overrides, Policy};
use toml_edit::DocumentMut;

use super::*;
use crate::edit::PolicyEdit;
use crate::written::WrittenPolicy;

const TEXT: &str = r#"version = 1
[input]
location = "people.parquet"
[output]
location = "released/people"

# What is promised.
[privacy]
k = 5
p = 2

[columns.person]
role = "identifier"
[columns.age]
role = "quasi"
[columns.illness]
role = "sensitive"
[columns.pay]
role = "sensitive"
"#;

/// A text for each setting that its kind and the policy accept.
fn example(name: &str) -> &'static str {
    match name {
        "p" | "privacy.p" => "3",
        "weight" => "2.5",
        "limit" | "bands" => "18, 65.5",
        "nulls" => "suppress",
        "cover" => "5 from 18",
        "distance" => "ordered",
        "entropy_l" | "beta" | "delta_disclosure" | "privacy.alpha" | "privacy.attacks.max_gain" => "1.5",
        "recursive" => "3, 2",
        "range" => "100",
        "missing" | "protected" => "?, unknown",
        "categories" => "HIV, cancer; asthma; flu",
        "privacy.unit" => "person, age",
        "privacy.unit_nulls" => "error",
        "privacy.borrow" => "never",
        "algorithm.bound" => "true",
        "privacy.min_rows" | "privacy.population.k_map" => "20",
        "privacy.population.weight_of_unit" => "weights",
        "privacy.population.table" => "everyone.parquet",
        "algorithm.budget" => "30s",
        "output.mode" => "overwrite",
        "series.ledger" => "private/ledger",
        "series.reserve" | "series.remember" | "series.max_delay" => "4",
        _ => "0.25",
    }
}

#[test]
fn every_setting_is_written_and_read_back_as_it_was_entered() {
    for field in QUASI.iter().chain(&SENSITIVE) {
        let text = example(field.name);
        let edit = PolicyEdit::Column("age".to_owned(), field.name.to_owned(), text.to_owned());
        let written = edit.apply(TEXT).unwrap();
        let read = WrittenPolicy::read(&written).unwrap();
        let found = read.column("age").unwrap().settings.get(field.name).cloned();
        assert_eq!(found, Some(Some(text.to_owned())), "{written}");
        let gone = PolicyEdit::Column("age".to_owned(), field.name.to_owned(), String::new()).apply(&written).unwrap();
        assert_eq!(gone, TEXT, "{}", field.name);
    }
    for field in of_policy() {
        let text = example(field.name);
        let written = PolicyEdit::Promise(field.name.to_owned(), text.to_owned()).apply(TEXT).unwrap();
        let read = WrittenPolicy::read(&written).unwrap();
        assert_eq!(read.settings.get(field.name).cloned(), Some(Some(text.to_owned())), "{written}");
        let gone = PolicyEdit::Promise(field.name.to_owned(), String::new()).apply(&written).unwrap();
        let has_it = WrittenPolicy::read(&gone).unwrap().settings.contains_key(field.name);
        assert!(!has_it && !gone.contains("population") && !gone.contains("attacks"), "{gone}");
    }
}

/// Compatible settings, combined into one valid policy.
#[test]
fn settings_make_a_policy_that_is_understood() {
    let columns = [
        ("age", "cover", "5 from 18"),
        ("age", "nulls", "suppress"),
        ("illness", "max_share", "0.5"),
        ("illness", "t", "0.3"),
        ("illness", "entropy_l", "1.5"),
        ("illness", "recursive", "3, 2"),
        ("illness", "beta", "2"),
        ("illness", "delta_disclosure", "1.5"),
        ("illness", "missing", "?, unknown"),
        ("pay", "bands", "0, 20000, 40000"),
        ("pay", "range", "1000"),
    ];
    let promises = [
        ("privacy.unit", "person"),
        ("privacy.borrow", "never"),
        ("privacy.insensitive_uniqueness", "0.05"),
        ("privacy.attacks.max_gain", "1.5"),
        ("privacy.population.table", "everyone.parquet"),
        ("privacy.population.k_map", "20"),
        ("privacy.loss_limit", "0.4"),
        ("privacy.min_rows", "100"),
    ];
    let edits = columns
        .map(|(name, field, text)| PolicyEdit::Column(name.to_owned(), field.to_owned(), text.to_owned()))
        .into_iter()
        .chain(promises.map(|(path, text)| PolicyEdit::Promise(path.to_owned(), text.to_owned())));
    let text = edits.fold(TEXT.to_owned(), |text, edit| edit.apply(&text).unwrap());
    let policy = Policy::parse(&text, Path::new("."), &Overrides::default());
    assert!(policy.is_ok(), "{policy:?}\n{text}");
    assert!(text.contains("# What is promised.\n[privacy]"), "{text}");
}

#[test]
fn what_a_setting_does_not_take_is_refused_in_words() {
    let refused = |name: &str, text: &str| {
        let field = of_column(name).or_else(|| of_policy().find(|field| field.name == name)).unwrap();
        let why = field.parse(text).unwrap_err();
        assert!(why.starts_with(field.label), "{why}");
    };
    for (name, text) in [
        ("p", "0"),
        ("p", "many"),
        ("max_share", "1.5"),
        ("t", "-0.1"),
        ("beta", "NaN"),
        ("bands", "1, two"),
        ("recursive", "3"),
        ("recursive", "3, 1.5"),
        ("cover", "5 from here"),
        ("weight", "0"),
        ("limit", ","),
        ("privacy.population.k_map", "1"),
    ] {
        refused(name, text);
    }
}

#[test]
fn what_only_the_text_can_hold_is_said_to_be_there() {
    let text = TEXT.replace(
        "[columns.illness]\nrole = \"sensitive\"",
        "[columns.illness]\nrole = \"sensitive\"\ncategories = [{ name = \"Grave\", values = [\"HIV\"] }, { name = \"Other\", values = [\"flu\"] }]",
    );
    let read = WrittenPolicy::read(&text).unwrap();
    assert_eq!(read.column("illness").unwrap().settings.get("categories"), Some(&None));
}

#[test]
fn comments_of_a_part_that_goes_away_stay() {
    let text = format!("{TEXT}\n# The gate.\n[privacy.attacks]\n# As agreed.\nmax_gain = 1.5\n");
    let gone = PolicyEdit::Promise("privacy.attacks.max_gain".to_owned(), String::new()).apply(&text).unwrap();
    assert!(gone.contains("# The gate.") && gone.contains("# As agreed.") && !gone.contains("max_gain"), "{gone}");
    assert!(
        gone.parse::<DocumentMut>().unwrap().get("privacy").is_some_and(|privacy| privacy.get("attacks").is_none())
    );
}
