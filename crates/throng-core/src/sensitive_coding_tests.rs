use arrow::array::AsArray;

use super::*;
use crate::columns::Category;
use crate::hierarchy::HierarchySpec;
use crate::test_tables::{ints, maybe_texts, texts, tree};

/// Part of [Truta 2007, Fig. 2]: kinds of cancer below cancer, other illnesses beside it.
fn illnesses(protected: &[&str]) -> SensitiveCoding {
    let tree = tree(&[
        "colon cancer;cancer;illness",
        "breast cancer;cancer;illness",
        "flu;infection;illness",
        "HIV;infection;illness",
        "asthma;asthma;illness",
    ]);
    let protected = protected.iter().map(|label| (*label).to_owned()).collect();
    SensitiveCoding::Strong(Arc::new(Protection {
        hierarchy: Arc::new(HierarchySpec::Tree(Arc::new(tree))),
        protected,
    }))
}

/// [Sun 2008, Table 4].
pub(crate) fn health_conditions() -> Categories {
    let category = |(name, values): (&str, [&str; 2])| Category {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        ..Category::default()
    };
    let list = [
        ("Top Secret", ["HIV", "Cancer"]),
        ("Secret", ["Phthisis", "Hepatitis"]),
        ("Less Secret", ["Heart Disease", "Asthma"]),
        ("Non Secret", ["Flu", "Indigestion"]),
    ];
    Categories { list: list.into_iter().map(category).collect() }
}

#[test]
fn values_below_a_protected_value_are_one() {
    let values = texts(&["HIV", "asthma", "breast cancer", "colon cancer", "flu"]);
    let (codes, distinct) =
        codes(&illnesses(&["cancer"]), &LookAlikeRule::default(), "illness", &values, None).unwrap();
    assert_eq!((codes[2] == codes[3], distinct), (true, 4));
    let mut others = vec![codes[0], codes[1], codes[2], codes[4]];
    others.sort_unstable();
    assert_eq!(others, [0, 1, 2, 3]);
}

#[test]
fn without_a_protected_value_every_value_is_its_own() {
    let values = texts(&["HIV", "asthma", "breast cancer", "colon cancer", "flu"]);
    let (mut codes, distinct) = codes(&illnesses(&[]), &LookAlikeRule::default(), "illness", &values, None).unwrap();
    codes.sort_unstable();
    assert_eq!((codes, distinct), (vec![0, 1, 2, 3, 4], 5));
}

#[test]
fn of_two_protected_values_on_one_way_the_higher_is_strong() {
    let values = texts(&["HIV", "asthma", "breast cancer", "colon cancer", "flu"]);
    let (codes, distinct) =
        codes(&illnesses(&["HIV", "infection", "cancer"]), &LookAlikeRule::default(), "illness", &values, None)
            .unwrap();
    assert_eq!((codes[0] == codes[4], codes[2] == codes[3], distinct), (true, true, 3));
}

#[test]
fn categories_are_coded_in_their_order() {
    let categories = SensitiveCoding::Categories(Arc::new(health_conditions()));
    let values = texts(&["Asthma", "Cancer", "Flu", "HIV", "Hepatitis"]);
    assert_eq!(
        codes(&categories, &LookAlikeRule::default(), "health", &values, None).unwrap(),
        (vec![2, 0, 3, 0, 1], 4)
    );
}

#[test]
fn values_without_a_category_are_counted_and_not_named() {
    let categories = health_conditions();
    let values = texts(&["Asthma", "Plague", "Plague", "Gout"]);
    let error = category_names(&categories, "health", &values).unwrap_err();
    assert!(matches!(&error, CoreError::Uncategorized { column, count: 2 } if column == "health"), "{error}");
    assert!(!error.to_string().contains("Plague"));
    let distinct = texts(&["Asthma", "Plague", "Gout"]);
    let error =
        codes(&SensitiveCoding::Categories(Arc::new(categories)), &LookAlikeRule::default(), "health", &distinct, None)
            .unwrap_err();
    assert!(matches!(error, CoreError::Uncategorized { count: 2, .. }));
}

#[test]
fn rows_get_the_names_of_their_categories() {
    let values = maybe_texts(&[Some("Flu"), None, Some("HIV")]);
    let names = category_names(&health_conditions(), "health", &values).unwrap();
    assert_eq!(names.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("Non Secret"), None, Some("Top Secret")]);
}

#[test]
fn numbers_are_categorized_by_their_text() {
    let of = |name: &str, values: &[&str]| Category {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        ..Category::default()
    };
    let categories = Categories { list: vec![of("1", &["-7"]), of("2", &["10", "11"])] };
    let facet = SensitiveCoding::Categories(Arc::new(categories));
    assert_eq!(
        codes(&facet, &LookAlikeRule::default(), "code", &ints(&[11, -7, 10]), None).unwrap(),
        (vec![1, 0, 1], 2)
    );
}
