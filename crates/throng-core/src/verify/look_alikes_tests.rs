use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use proptest::prelude::*;

use super::super::{Promise, SensitivePromise, Verifier};
use super::*;
use crate::columns::SensitiveCoding;
use crate::domain::NULL;
use crate::look_alikes::look_alike_key;
use crate::sensitive_coding::codes;

/// Texts of few letters, in which look-alikes are frequent.
fn text() -> impl Strategy<Value = String> {
    let marks = [
        "a", "A", "\u{e4}", "a\u{308}", "\u{c4}", " ", "\u{a0}", "\u{200b}", "\u{df}", "SS", "\u{1e9e}", "?",
        "\u{fb01}",
    ];
    prop::collection::vec(prop::sample::select(marks.to_vec()), 0..4).prop_map(|marks| marks.concat())
}

fn rule() -> impl Strategy<Value = LookAlikeRule> {
    let missing =
        prop_oneof![Just(Vec::new()), Just(vec!["?".to_owned()]), Just(vec!["\u{c4}".to_owned(), "x".to_owned()])];
    (any::<bool>(), missing).prop_map(|(merges, missing)| LookAlikeRule { merges, missing: missing.into() })
}

/// Counts the distinct values of one class with the verifier.
fn counted(column: ArrayRef, rule: &LookAlikeRule) -> u64 {
    let batch = RecordBatch::try_from_iter([("secret", column)]).unwrap();
    let sensitive = SensitivePromise { look_alikes: rule.clone(), ..SensitivePromise::plain("secret", 1_000_000) };
    let promise = Promise { k: 1, sensitive: vec![sensitive], ..Promise::default() };
    let mut verifier = Verifier::new(promise, &batch.schema()).unwrap();
    verifier.push(&batch).unwrap();
    verifier.finish().diversity[0].fewest
}

/// Compares every two values with each other.
fn brute_force(texts: &[String], rule: &LookAlikeRule) -> u64 {
    let alike = |a: &str, b: &str| if rule.merges { look_alike_key(a) == look_alike_key(b) } else { a == b };
    let is_missing = |text: &String| {
        rule.merges && look_alike_key(text).is_empty() || rule.missing.iter().any(|missing| alike(missing, text))
    };
    let mut seen: Vec<&String> = Vec::new();
    for text in texts.iter().filter(|text| !is_missing(text)) {
        if !seen.iter().any(|known| alike(known, text)) {
            seen.push(text);
        }
    }
    seen.len() as u64
}

proptest! {
    #[test]
    fn the_verifier_and_the_model_count_the_same(texts in prop::collection::vec(text(), 1..12), rule in rule()) {
        let expected = brute_force(&texts, &rule);
        let column: ArrayRef = Arc::new(StringArray::from(texts.clone()));
        prop_assert_eq!(counted(Arc::clone(&column), &rule), expected);
        let views = arrow::compute::cast(&column, &arrow::datatypes::DataType::Utf8View).unwrap();
        prop_assert_eq!(counted(views, &rule), expected);
        let distinct: HashSet<&String> = texts.iter().collect();
        let values: ArrayRef = Arc::new(distinct.into_iter().map(|text| Some(text.as_str())).collect::<StringArray>());
        let (codes, count) = codes(&SensitiveCoding::Values, &rule, "secret", &values, None).unwrap();
        let seen: HashSet<u32> = codes.into_iter().filter(|code| *code != NULL).collect();
        prop_assert_eq!((seen.len() as u64, u64::from(count)), (expected, expected));
    }
}

#[test]
fn both_forms_of_every_character_are_equivalent() {
    let decomposed = DecomposingNormalizerBorrowed::new_nfkd();
    for mark in (0..=0x10_ffff).filter_map(char::from_u32) {
        let text = format!("x{mark}y");
        assert_eq!(decomposed.normalize(&look_alike_key(&text)), seen(&text), "{mark:?}");
    }
}

#[test]
fn not_a_number_is_no_value() {
    let floats = |values: Vec<f64>| Arc::new(Float64Array::from(values)) as ArrayRef;
    let rule = LookAlikeRule::default();
    assert_eq!(counted(floats(vec![f64::NAN, -f64::NAN, 1.0, 0.0, -0.0]), &rule), 2);
    assert_eq!(counted(floats(vec![f64::NAN]), &rule), 0);
}

#[test]
fn listed_numbers_count_for_nothing() {
    let rule = LookAlikeRule { merges: true, missing: Arc::new(["-9".into(), "99".into()]) };
    assert_eq!(counted(Arc::new(Int64Array::from(vec![-9, 1, 2, 99, 2])), &rule), 2);
    assert_eq!(counted(Arc::new(Float64Array::from(vec![-9.0, 1.5, 99.0])), &rule), 1);
}
