use arrow::array::{ArrayRef, Decimal128Array, DictionaryArray, Float64Array, LargeStringArray, StringViewArray};
use arrow::datatypes::Int32Type;

use super::super::tests::{amounts, batch, findings, promise};
use super::super::{Amount, Findings, Promise, Verifier};
use super::*;
use crate::test_tables::{floats, ints, maybe_ints, maybe_texts, texts};

fn bands(columns: &[&str], borders: &[f64]) -> LimitPromise {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    LimitPromise { column: "x".to_owned(), allowed: AllowedValues::Bands { columns, borders: borders.into() } }
}

fn labels(column: &str, allowed: &[&str]) -> LimitPromise {
    let allowed = allowed.iter().map(|label| (*label).to_owned()).collect();
    LimitPromise { column: column.to_owned(), allowed: AllowedValues::Labels(Arc::new(allowed)) }
}

/// Number of rows beyond a constraint and of their classes; rows with equal values are a class.
fn beyond(limit: LimitPromise, columns: &[(&str, ArrayRef)]) -> (u64, u64) {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let found = findings(Promise { limits: vec![limit], ..promise(&names, &[], 1, 1) }, &[batch(columns)]);
    let (model, column, required, achieved, failing) = amounts(&found)[1];
    assert_eq!((model, column, required), ("constrained generalization", Some("x"), Amount::Count(0)));
    assert_eq!(found.holds(), failing == 0);
    let Amount::Count(rows) = achieved else { panic!("rows are counted") };
    (rows, failing)
}

#[test]
fn ends_are_found_between_signs_and_exponents() {
    for (text, expected) in [
        ("25", Some((25.0, 25.0))),
        ("-25", Some((-25.0, -25.0))),
        ("1e-5", Some((1e-5, 1e-5))),
        ("[25-39]", Some((25.0, 39.0))),
        ("[-5--1]", Some((-5.0, -1.0))),
        ("[-5-1]", Some((-5.0, 1.0))),
        ("[1e-5-2e-5]", Some((1e-5, 2e-5))),
        ("[-2e-5--1e-5]", Some((-2e-5, -1e-5))),
        ("[-1.5E+3-1e-7]", Some((-1500.0, 1e-7))),
        ("[0.10-0.25]", Some((0.1, 0.25))),
        ("[39-25]", None),
        ("[1-2e-5]", None),
        ("[25-]", None),
        ("[-25]", None),
        ("[25]", None),
        ("25-39", None),
        ("[25-39", None),
        ("[]", None),
        ("", None),
        ("*", None),
        ("[a-b]", None),
        ("[NaN-1]", None),
    ] {
        assert_eq!(ends(text), expected, "{text}");
    }
}

#[test]
fn a_border_begins_a_band() {
    let borders = [18.0, 30.0];
    let places = [17.999, 18.0, 29.0, 30.0, -1.0].map(|number| band(number, &borders));
    assert_eq!(places, [Some(0), Some(1), Some(1), Some(2), Some(0)]);
    assert_eq!(band(f64::NAN, &borders), None);
    assert!(
        is_in_one_band("[18-29]", &borders)
            && is_in_one_band("[18-29.999]", &borders)
            && is_in_one_band("[30-1e9]", &borders)
    );
    assert!(
        !is_in_one_band("[18-30]", &borders)
            && !is_in_one_band("[17-18]", &borders)
            && !is_in_one_band("[0-99]", &borders)
    );
    assert!(!is_in_one_band("*", &borders) && !is_in_one_band("*", &[]), "null never goes with numbers");
    assert!(is_in_one_band("[0-99]", &[]));
}

#[test]
fn intervals_that_cross_a_border_are_found_by_rows_and_classes() {
    let limit = bands(&["x"], &[18.0, 30.0]);
    let within = [Some("25"), Some("[18-29]"), None, Some("[30-44]"), Some("[-3-17]")];
    assert_eq!(beyond(limit.clone(), &[("x", maybe_texts(&within))]), (0, 0));
    let across = [Some("[18-30]"), Some("[18-29]"), Some("[18-30]"), Some("*"), None, Some("young")];
    assert_eq!(beyond(limit, &[("x", maybe_texts(&across))]), (4, 3));
}

#[test]
fn any_kind_of_text_is_read() {
    let rows = ["[18-30]", "[18-29]", "[18-30]"];
    let kinds: [ArrayRef; 4] = [
        texts(&rows),
        Arc::new(LargeStringArray::from(rows.to_vec())),
        Arc::new(StringViewArray::from(rows.to_vec())),
        Arc::new(rows.into_iter().collect::<DictionaryArray<Int32Type>>()),
    ];
    for column in kinds {
        assert_eq!(beyond(bands(&["x"], &[30.0]), &[("x", column.clone())]), (2, 1), "{}", column.data_type());
    }
}

#[test]
fn bounds_must_be_in_one_band() {
    let limit = bands(&["x_min", "x_max"], &[18.0, 30.0]);
    let bounds = |lower: &[Option<i64>], upper: &[Option<i64>]| {
        beyond(limit.clone(), &[("x_min", maybe_ints(lower)), ("x_max", maybe_ints(upper))])
    };
    assert_eq!(bounds(&[Some(18), Some(30), None, Some(-9)], &[Some(29), Some(70), None, Some(17)]), (0, 0));
    assert_eq!(bounds(&[Some(18), Some(17)], &[Some(30), Some(18)]), (2, 2));
    assert_eq!(bounds(&[Some(18), None], &[None, Some(29)]), (2, 2), "half an interval");
}

#[test]
fn bounds_may_be_decimals_or_floats() {
    let decimals = |values: &[i128]| -> ArrayRef {
        Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(9, 2).unwrap())
    };
    let limit = bands(&["x_min", "x_max"], &[0.25]);
    let columns = [("x_min", decimals(&[10, 25, 10])), ("x_max", decimals(&[24, 99, 25]))];
    assert_eq!(beyond(limit.clone(), &columns), (1, 1));
    let columns = [("x_min", floats(&[0.1, 0.25, f64::NAN])), ("x_max", floats(&[0.25, 0.9, 0.1]))];
    assert_eq!(beyond(limit, &columns), (2, 2));
}

#[test]
fn a_mean_says_nothing_of_the_width() {
    let means: ArrayRef = Arc::new(Float64Array::from(vec![Some(17.5), None, Some(30.0)]));
    assert_eq!(beyond(bands(&["x"], &[18.0, 30.0]), &[("x", means)]), (0, 0));
}

#[test]
fn labels_above_the_limit_are_found() {
    let limit = labels("x", &["France", "Spain", "Japan", "Europe"]);
    assert_eq!(beyond(limit.clone(), &[("x", maybe_texts(&[Some("France"), Some("Europe"), None]))]), (0, 0));
    let released = maybe_texts(&[Some("Europe"), Some("Asia"), Some("*"), Some("*"), Some("europe"), Some("")]);
    assert_eq!(beyond(limit, &[("x", released)]), (5, 4));
    assert_eq!(beyond(labels("x", &["1", "2"]), &[("x", ints(&[1, 2, 3]))]), (1, 1), "by their text");
}

#[test]
fn limits_hold_in_every_row_of_a_class() {
    let release = batch(&[("q", ints(&[1, 1, 2, 2])), ("x", texts(&["a", "*", "a", "b"]))]);
    let promise = Promise { limits: vec![labels("x", &["a", "b"])], ..promise(&["q"], &[], 2, 1) };
    let found = findings(promise, &[release]);
    assert_eq!(amounts(&found)[1].3, Amount::Count(1));
    assert_eq!((amounts(&found)[1].4, found.holds()), (1, false));
}

#[test]
fn limits_of_columns_that_cannot_be_read_are_refused() {
    let instants: ArrayRef = Arc::new(arrow::array::Date32Array::from(vec![1]));
    let schema = batch(&[("x", instants), ("t", texts(&["1"])), ("n", ints(&[1]))]).schema();
    let error = |limit: LimitPromise| {
        Verifier::new(Promise { limits: vec![limit], ..promise(&["n"], &[], 1, 1) }, &schema).unwrap_err()
    };
    assert!(matches!(error(bands(&["x"], &[1.0])), VerifyError::Type(name) if name == "x"));
    assert!(matches!(error(bands(&["n", "t"], &[1.0])), VerifyError::Type(name) if name == "t"));
    assert!(matches!(error(bands(&["n", "nope"], &[1.0])), VerifyError::NoColumn(name) if name == "nope"));
    assert!(matches!(error(bands(&[], &[1.0])), VerifyError::NoColumn(name) if name == "x"));
    assert!(matches!(error(labels("nope", &[])), VerifyError::NoColumn(name) if name == "nope"));
}

#[test]
fn findings_of_a_limit_keep_the_order_of_the_promise() {
    let release = batch(&[("a", texts(&["*", "A"])), ("x_min", ints(&[1, 1])), ("x_max", ints(&[2, 9]))]);
    let limits = vec![bands(&["x_min", "x_max"], &[5.0]), labels("a", &["A"])];
    let found: Findings = findings(Promise { limits, ..promise(&["a"], &[], 1, 1) }, &[release]);
    let columns: Vec<_> = amounts(&found).iter().map(|one| (one.1.map(str::to_owned), one.4)).collect();
    assert_eq!(columns, [(None, 0), (Some("x".to_owned()), 1), (Some("a".to_owned()), 1)]);
}

#[test]
fn a_border_means_the_number_that_is_written() {
    let singles = |values: &[f32]| Arc::new(arrow::array::Float32Array::from(values.to_vec())) as ArrayRef;
    let limit = || bands(&["x_min", "x_max"], &[0.7]);
    assert_eq!(beyond(limit(), &[("x_min", singles(&[0.7])), ("x_max", singles(&[0.9]))]), (0, 0));
    assert_eq!(beyond(limit(), &[("x_min", singles(&[0.6])), ("x_max", singles(&[0.7]))]), (1, 1));
}
