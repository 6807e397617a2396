use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{DictionaryArray, Float64Array, Int32Array, ListArray, StringArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{Field, Int32Type};
use proptest::prelude::*;

use super::Amount::Count;
use super::*;
use crate::test_tables::{cases, ints, maybe_texts, paper_table_1, paper_table_1_corrected, texts};

pub(super) fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.iter().map(|(_, column)| column.clone()).collect()).unwrap()
}

pub(super) fn promise(quasi: &[&str], sensitive: &[&str], k: u64, p: u64) -> Promise {
    Promise {
        quasi: quasi.iter().map(|name| (*name).to_owned()).collect(),
        k,
        sensitive: sensitive.iter().map(|name| SensitivePromise::plain(*name, p)).collect(),
        limits: Vec::new(),
        unit: None,
    }
}

type FoundAmounts<'a> = (&'static str, Option<&'a str>, Amount, Amount, u64);

/// Model, column, required and achieved amount, and failing classes of each requirement.
pub(super) fn amounts(found: &Findings) -> Vec<FoundAmounts<'_>> {
    let mut amounts = Vec::new();
    for one in &found.requirements {
        amounts.push((one.model, one.column.as_deref(), one.required, one.achieved, one.failing_classes));
    }
    amounts
}

/// Least number of distinct values and failing classes of each non-trivial sensitive column.
fn fewest(found: &Findings) -> Vec<(Amount, u64)> {
    found.requirements.iter().skip(1).map(|one| (one.achieved, one.failing_classes)).collect()
}

pub(super) fn findings(promise: Promise, batches: &[RecordBatch]) -> Findings {
    let mut verifier = Verifier::new(promise, batches[0].schema().as_ref()).unwrap();
    batches.iter().for_each(|batch| verifier.push(batch).unwrap());
    verifier.finish()
}

fn table_1(corrected: bool) -> RecordBatch {
    let (quasi, sensitive) = if corrected { paper_table_1_corrected() } else { paper_table_1() };
    batch(&[
        ("Age", quasi[0].1.clone()),
        ("ZipCode", quasi[1].1.clone()),
        ("Diagnosis", sensitive[0].clone()),
        ("Income", sensitive[1].clone()),
    ])
}

fn of_table_1(corrected: bool, k: u64, p: u64) -> Findings {
    findings(promise(&["Age", "ZipCode"], &["Diagnosis", "Income"], k, p), &[table_1(corrected)])
}

#[test]
fn table_1_is_3_anonymous_and_no_more_than_1_sensitive() {
    let found = of_table_1(false, 3, 2);
    assert_eq!((found.rows, found.classes, found.smallest_class, found.sum_of_squares), (7, 2, 3, 9 + 16));
    assert_eq!(found.classes_below_k, 0);
    assert_eq!(
        amounts(&found),
        [
            ("k-anonymity", None, Count(3), Count(3), 0),
            ("p-sensitivity", Some("Diagnosis"), Count(2), Count(1), 1),
            ("p-sensitivity", Some("Income"), Count(2), Count(2), 0),
        ]
    );
    assert!(!found.holds());
    let found = of_table_1(false, 3, 1);
    assert_eq!(amounts(&found), [("k-anonymity", None, Count(3), Count(3), 0)], "p = 1 asks for nothing");
    assert!(found.holds());
    assert_eq!(of_table_1(false, 4, 1).classes_below_k, 1);
}

#[test]
fn table_1_with_another_illness_is_2_sensitive() {
    assert!(of_table_1(true, 3, 2).holds());
    assert!(!of_table_1(true, 4, 2).holds());
    assert!(!of_table_1(true, 3, 3).holds());
}

#[test]
fn one_row_too_few_is_found() {
    let mut ages = vec![30; 5];
    ages.extend(vec![40; 4]);
    let found = findings(promise(&["age"], &[], 5, 1), &[batch(&[("age", ints(&ages))])]);
    assert_eq!((found.classes, found.classes_below_k, found.smallest_class), (2, 1, 4));
    assert!(!found.holds());
    ages.push(40);
    assert!(findings(promise(&["age"], &[], 5, 1), &[batch(&[("age", ints(&ages))])]).holds());
}

#[test]
fn one_value_too_few_is_found_in_any_column() {
    let classes = ints(&[1, 1, 1, 2, 2, 2]);
    let good = texts(&["a", "b", "c", "a", "b", "c"]);
    let poor = texts(&["a", "b", "c", "a", "b", "a"]);
    let release = |first: &ArrayRef, second: &ArrayRef| {
        let batch = batch(&[("q", classes.clone()), ("s", first.clone()), ("t", second.clone())]);
        findings(promise(&["q"], &["s", "t"], 3, 3), &[batch])
    };
    assert!(release(&good, &good).holds());
    let found = release(&good, &poor);
    assert!(!found.holds());
    assert_eq!(fewest(&found), [(Count(3), 0), (Count(2), 1)]);
    assert!(!release(&poor, &good).holds());
}

#[test]
fn nulls_never_count_towards_p() {
    let sensitive = maybe_texts(&[Some("a"), None, None, Some("b"), Some("c"), None]);
    let release = batch(&[("q", ints(&[1, 1, 1, 2, 2, 2])), ("s", sensitive)]);
    let found = findings(promise(&["q"], &["s"], 3, 2), std::slice::from_ref(&release));
    assert_eq!(fewest(&found), [(Count(1), 1)]);
    assert!(!found.holds());
    assert!(findings(promise(&["q"], &["s"], 3, 1), &[release]).holds());
}

#[test]
fn nulls_behind_a_dictionary_never_count_towards_p() {
    let entries = Arc::new(StringArray::from(vec![Some("a"), None]));
    let column = DictionaryArray::<Int32Type>::new(Int32Array::from(vec![Some(0), Some(1), None]), entries);
    let found = findings(promise(&["q"], &["s"], 3, 2), &[batch(&[("q", ints(&[1, 1, 1])), ("s", Arc::new(column))])]);
    assert_eq!((fewest(&found), found.holds()), (vec![(Count(1), 1)], false));
}

#[test]
fn a_dictionary_without_entries_has_no_value() {
    let entries = Arc::new(StringArray::from(Vec::<&str>::new()));
    let column = DictionaryArray::<Int32Type>::new(Int32Array::from(vec![None, None]), entries);
    let found = findings(promise(&["q"], &["s"], 2, 2), &[batch(&[("q", ints(&[1, 1])), ("s", Arc::new(column))])]);
    assert_eq!((found.rows, fewest(&found), found.holds()), (2, vec![(Count(0), 1)], false));
}

#[test]
fn equal_entries_of_a_dictionary_are_one_value() {
    let entries = Arc::new(StringArray::from(vec!["a", "a"]));
    let column = DictionaryArray::<Int32Type>::new(Int32Array::from(vec![0, 1]), entries);
    let found = findings(promise(&["q"], &["s"], 2, 2), &[batch(&[("q", ints(&[1, 1])), ("s", Arc::new(column))])]);
    assert_eq!(fewest(&found), [(Count(1), 1)]);
}

#[test]
fn numbers_that_read_the_same_are_one_sensitive_value() {
    let odd_nan = f64::from_bits(f64::NAN.to_bits() | 1);
    // NaN is not counted as a value.
    for (pair, values) in [([0.0, -0.0], 1), ([f64::NAN, odd_nan], 0), ([f64::NAN, 1.0], 1)] {
        let column: ArrayRef = Arc::new(Float64Array::from(pair.to_vec()));
        let found = findings(promise(&["q"], &["s"], 2, 2), &[batch(&[("q", ints(&[1, 1])), ("s", column)])]);
        assert_eq!(fewest(&found), [(Count(values), 1)], "{pair:?}");
    }
}

#[test]
fn null_is_a_class_of_its_own() {
    let release = batch(&[("q", maybe_texts(&[None, None, Some(""), Some("")]))]);
    let found = findings(promise(&["q"], &[], 2, 1), &[release]);
    assert_eq!((found.classes, found.smallest_class), (2, 2));
}

#[test]
fn values_do_not_run_into_the_next_column() {
    let release = batch(&[("q", texts(&["ab", "a"])), ("r", texts(&["c", "bc"]))]);
    assert_eq!(findings(promise(&["q", "r"], &[], 1, 1), &[release]).classes, 2);
}

#[test]
fn without_quasi_identifiers_all_rows_are_one_class() {
    let release = batch(&[("s", texts(&["a", "b", "a"]))]);
    let found = findings(promise(&[], &["s"], 3, 2), &[release]);
    assert_eq!((found.classes, found.smallest_class, found.holds()), (1, 3, true));
}

#[test]
fn a_release_without_rows_keeps_no_promise() {
    let release = batch(&[("q", ints(&[])), ("s", texts(&[]))]);
    let found = findings(promise(&["q"], &["s"], 1, 2), &[release]);
    assert_eq!((found.rows, found.classes, found.smallest_class), (0, 0, 0));
    assert_eq!(fewest(&found), [(Count(0), 0)]);
    assert!(!found.holds());
}

#[test]
fn missing_and_doubled_columns_are_named() {
    let schema = batch(&[("q", ints(&[1])), ("s", ints(&[1])), ("s", ints(&[1]))]).schema();
    let error = |promise: Promise| Verifier::new(promise, &schema).unwrap_err();
    assert!(matches!(error(promise(&["nope"], &[], 1, 1)), VerifyError::NoColumn(name) if name == "nope"));
    assert!(matches!(error(promise(&["q"], &["nope"], 1, 1)), VerifyError::NoColumn(name) if name == "nope"));
    assert!(matches!(error(promise(&["q"], &["s"], 1, 1)), VerifyError::TwoColumns(name) if name == "s"));
    assert!(matches!(error(promise(&["Q"], &[], 1, 1)), VerifyError::NoColumn(_)), "names are case-sensitive");
}

#[test]
fn lists_are_compared_or_refused_and_never_skipped() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), Some(vec![Some(2)])]);
    let release = batch(&[("q", Arc::new(list) as ArrayRef)]);
    match Verifier::new(promise(&["q"], &[], 1, 1), release.schema().as_ref()) {
        Ok(mut verifier) => {
            verifier.push(&release).unwrap();
            assert_eq!(verifier.finish().classes, 2);
        }
        Err(error) => assert!(matches!(error, VerifyError::Type(name) if name == "q")),
    }
}

type Row = (u8, u8, Option<u8>, Option<u8>);

fn release(rows: &[Row]) -> RecordBatch {
    let column = |value: fn(&Row) -> Option<u8>| -> ArrayRef {
        Arc::new(rows.iter().map(|row| value(row).map(i32::from)).collect::<Int32Array>())
    };
    let (a, b) = (column(|row| Some(row.0)), column(|row| Some(row.1)));
    batch(&[("a", a), ("b", b), ("s", column(|row| row.2)), ("t", column(|row| row.3))])
}

/// The same counts, by sorting.
fn naive(rows: &[Row], k: u64, p: u64) -> Findings {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    let classes: Vec<&[Row]> = sorted.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)).collect();
    let distinct = |class: &[Row], value: fn(&Row) -> Option<u8>| {
        let mut values: Vec<u8> = class.iter().filter_map(value).collect();
        values.sort_unstable();
        values.dedup();
        values.len() as u64
    };
    let most_frequent = |class: &[Row], value: fn(&Row) -> Option<u8>| {
        let rows = |of: u8| class.iter().filter(|row| value(row) == Some(of)).count();
        (0..=u8::MAX).map(rows).max().unwrap_or(0) as f64 / class.len() as f64
    };
    let below_k = classes.iter().filter(|class| (class.len() as u64) < k).count() as u64;
    let smallest_class = classes.iter().map(|class| class.len() as u64).min().unwrap_or(0);
    let mut requirements = vec![RequirementFindings {
        model: "k-anonymity",
        column: None,
        required: Count(k),
        achieved: Count(smallest_class),
        failing_classes: below_k,
    }];
    let (mut diversity, mut lacking) = (Vec::new(), Vec::new());
    let columns: [fn(&Row) -> Option<u8>; 2] = [|row| row.2, |row| row.3];
    for (name, value) in ["s", "t"].into_iter().zip(columns) {
        let counts: Vec<u64> = classes.iter().map(|class| distinct(class, value)).collect();
        if p > 1 {
            requirements.push(RequirementFindings {
                model: "p-sensitivity",
                column: Some(name.to_owned()),
                required: Count(p),
                achieved: Count(counts.iter().copied().min().unwrap_or(0)),
                failing_classes: counts.iter().filter(|count| **count < p).count() as u64,
            });
        }
        lacking.push(counts.iter().map(|count| p.saturating_sub(*count)).collect::<Vec<_>>());
        diversity.push(Diversity {
            column: name.to_owned(),
            reading: "values",
            fewest: counts.iter().copied().min().unwrap_or(0),
            mean: counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64,
            disclosures: counts.iter().filter(|count| **count == 1).count() as u64,
            largest_share: classes.iter().map(|class| most_frequent(class, value)).fold(0.0, f64::max),
            by_distinct: classes.iter().zip(&counts).fold(BTreeMap::new(), |mut found, (class, distinct)| {
                let (classes, rows) = found.entry(*distinct).or_default();
                (*classes, *rows) = (*classes + 1, *rows + class.len() as u64);
                found
            }),
        });
    }
    let both = |class: usize| (lacking[0][class] + lacking[1][class]) as f64 / 2.0;
    let homogeneity = if p > 1 { (0..classes.len()).map(both).fold(0.0, f64::max) } else { 0.0 };
    Findings {
        rows: rows.len() as u64,
        classes: classes.len() as u64,
        smallest_class,
        sum_of_squares: classes.iter().map(|class| (class.len() * class.len()) as u64).sum(),
        class_sizes: classes.iter().fold(BTreeMap::new(), |mut found, class| {
            *found.entry(class.len() as u64).or_default() += 1;
            found
        }),
        classes_below_k: below_k,
        requirements,
        diversity,
        homogeneity,
        labels: Vec::new(),
    }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn one_pass_batches_and_merged_verifiers_agree_with_a_sort(
        rows in prop::collection::vec((0_u8..3, 0_u8..3, prop::option::of(0_u8..4), prop::option::of(0_u8..3)), 1..60),
        at in any::<prop::sample::Index>(),
        k in 1_u64..6,
        p in 1_u64..4,
    ) {
        let promise = promise(&["a", "b"], &["s", "t"], k, p);
        let expected = naive(&rows, k, p);
        let (left, right) = rows.split_at(at.index(rows.len()));
        let (left, right) = (release(left), release(right));
        let whole = concat_batches(&left.schema(), [&left, &right]).unwrap();
        prop_assert_eq!(&findings(promise.clone(), &[whole]), &expected);
        prop_assert_eq!(&findings(promise.clone(), &[right.clone(), left.clone()]), &expected);
        let mut one = Verifier::new(promise.clone(), left.schema().as_ref()).unwrap();
        let mut other = Verifier::new(promise, right.schema().as_ref()).unwrap();
        one.push(&left).unwrap();
        other.push(&right).unwrap();
        one.merge(other);
        prop_assert_eq!(&one.finish(), &expected);
    }

    #[test]
    fn classes_that_lie_together_are_verified_alike_and_others_are_reported(
        rows in prop::collection::vec((0_u8..3, 0_u8..3, prop::option::of(0_u8..4), prop::option::of(0_u8..3)), 1..60),
        cuts in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        is_sorted: bool,
        k in 1_u64..6,
        p in 1_u64..4,
    ) {
        let promise = promise(&["a", "b"], &["s", "t"], k, p);
        let expected = naive(&rows, k, p);
        let mut rows = rows;
        if is_sorted {
            rows.sort_by_key(|row| (row.0, row.1));
        }
        let (first, second) = (cuts.0.index(rows.len()), cuts.1.index(rows.len()));
        let (first, second) = (first.min(second), first.max(second));
        // Three streams that split classes, merged out of order.
        let parts = [&rows[second..], &rows[..first], &rows[first..second]].map(release);
        let mut whole: Option<Verifier> = None;
        for part in &parts {
            let verifier = Verifier::new(promise.clone(), part.schema().as_ref()).unwrap();
            let mut verifier = verifier.expecting_classes_together();
            // In small batches, so that classes continue across batches.
            for at in (0..part.num_rows()).step_by(3) {
                verifier.push(&part.slice(at, 3.min(part.num_rows() - at))).unwrap();
            }
            match &mut whole {
                Some(whole) => whole.merge(verifier),
                None => whole = Some(verifier),
            }
        }
        let whole = whole.unwrap();
        let mut keys: Vec<(u8, u8)> = rows.iter().map(|row| (row.0, row.1)).collect();
        keys.dedup();
        let runs = keys.len();
        keys.sort_unstable();
        keys.dedup();
        // Contiguous classes are never reported as scattered, and accepted findings are correct.
        prop_assert!(runs > keys.len() || !whole.is_scattered());
        if !whole.is_scattered() {
            prop_assert_eq!(&whole.finish(), &expected);
        }
    }
}

#[test]
fn a_class_that_comes_back_is_scattered() {
    let promise = promise(&["a"], &[], 1, 1);
    for (values, is_scattered) in [
        (&["x", "y", "z"][..], false),
        (&["x", "y", "x"], true),
        (&["w", "x", "y", "x"], true),
        (&["x", "x", "y"], false),
    ] {
        let rows = batch(&[("a", texts(values))]);
        let mut verifier = Verifier::new(promise.clone(), &rows.schema()).unwrap().expecting_classes_together();
        verifier.push(&rows).unwrap();
        assert_eq!(verifier.is_scattered(), is_scattered, "{values:?}");
    }
}

#[test]
fn the_largest_share_of_a_value_is_that_of_the_worst_class() {
    let values = [Some("flu"), Some("flu"), Some("gout"), None, Some("flu"), Some("gout"), Some("asthma"), None, None];
    let rows = batch(&[("age", ints(&[1, 1, 1, 1, 2, 2, 2, 2, 2])), ("illness", maybe_texts(&values))]);
    let verifier = |from: usize, length: usize| {
        let mut verifier = Verifier::new(promise(&["age"], &["illness"], 2, 2), &rows.schema()).unwrap();
        verifier.push(&rows.slice(from, length)).unwrap();
        verifier
    };
    // Half of the four rows of the first class have flu; merged from two verifiers, the counts are the same.
    let mut merged = verifier(0, 1);
    merged.merge(verifier(1, 8));
    for findings in [verifier(0, 9).finish(), merged.finish()] {
        assert_eq!(findings.diversity[0].largest_share, 0.5);
    }
}
