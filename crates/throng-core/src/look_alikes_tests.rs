use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};

use super::*;

#[test]
fn texts_that_look_alike_have_one_key() {
    let alike = ["HIV", "hiv", " HIV ", "H\u{200b}IV", "\u{ff28}\u{ff29}\u{ff36}", "HIV\u{a0}", "\thiv\n", "H\u{ad}IV"];
    for text in alike {
        assert_eq!(look_alike_key(text), "hiv", "{text:?}");
    }
    assert_eq!(look_alike_key("Caf\u{e9}"), look_alike_key("CAFE\u{301}"));
    assert_eq!(look_alike_key("\u{fb01}t"), "fit");
    for text in ["STRASSE", "stra\u{df}e", "STRA\u{1e9e}E"] {
        assert_eq!(look_alike_key(text), "strasse");
    }
    assert_eq!(look_alike_key("\u{39f}\u{394}\u{39f}\u{3a3}"), look_alike_key("\u{3bf}\u{3b4}\u{3bf}\u{3c2}"));
}

#[test]
fn texts_that_differ_keep_different_keys() {
    let texts = ["HIV", "HIV 2", "H I V", "HIV-", "", "h1v", "\u{442}\u{43e}"];
    let keys: std::collections::HashSet<String> = texts.iter().map(|text| look_alike_key(text)).collect();
    assert_eq!(keys.len(), texts.len());
}

#[test]
fn a_key_is_its_own_key() {
    for mark in (0..=0x10_ffff).filter_map(char::from_u32) {
        let key = look_alike_key(&format!("a{mark}b"));
        assert_eq!(look_alike_key(&key), key, "{mark:?}");
    }
}

#[test]
fn missing_values_have_no_key() {
    let rule = LookAlikeRule { merges: true, missing: Arc::new(["?".into(), "n/a".into()]) };
    assert_eq!(["", " ", "\u{200b}", "?", "N/A", " n/a"].map(|text| rule.key(text)), [const { None }; 6]);
    assert_eq!(rule.key("Flu"), Some("flu".to_owned()));
    let exact = LookAlikeRule { merges: false, ..rule };
    assert_eq!(["?", "n/a"].map(|text| exact.key(text)), [None, None]);
    assert_eq!(["", "N/A", "Flu"].map(|text| exact.key(text)), ["", "N/A", "Flu"].map(|text| Some(text.to_owned())));
}

#[test]
fn numbers_are_missing_by_value_and_have_no_look_alikes() {
    let rule = LookAlikeRule { merges: true, missing: Arc::new(["-9".into(), "999.0".into()]) };
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(-9), Some(1), Some(999), None]));
    assert_eq!(rule.are_missing(&numbers).unwrap()[..3], [true, false, true]);
    let keys = rule.keys_of(&numbers).unwrap();
    assert_eq!((keys.null_count(), keys.as_string::<i32>().value(1)), (3, "1"));
    assert!(!LookAlikeRule::default().applies_to(numbers.data_type()));
}

#[test]
fn a_column_of_keys_has_null_where_nothing_counts() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("HIV "), Some(""), None, Some("hiv"), Some("Flu")]));
    let keys = LookAlikeRule::default().keys_of(&texts).unwrap();
    let keys: Vec<Option<&str>> = keys.as_string::<i32>().iter().collect();
    assert_eq!(keys, [Some("hiv"), None, None, Some("hiv"), Some("flu")]);
    assert!(Arc::ptr_eq(&LookAlikeRule::distinct().keys_of(&texts).unwrap(), &texts));
}
