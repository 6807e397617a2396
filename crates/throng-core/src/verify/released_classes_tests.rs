//! Emissions counted together, compared with counting the rows of all emissions by hand.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::tests::{batch, promise};
use super::*;
use crate::model::FrequencyRequirement;
use crate::test_tables::{cases, ints};

/// Label, sensitive value, unit.
type Row = (i64, i64, i64);

fn emission(rows: &[Row]) -> RecordBatch {
    let column = |of: fn(&Row) -> i64| ints(&rows.iter().map(of).collect::<Vec<_>>());
    batch(&[("label", column(|row| row.0)), ("value", column(|row| row.1)), ("unit", column(|row| row.2))])
}

fn counted(promise: &Promise, rows: &[Row]) -> Verifier {
    let batch = emission(rows);
    let mut verifier = Verifier::new(promise.clone(), batch.schema().as_ref()).unwrap();
    verifier.push(&batch).unwrap();
    verifier
}

#[test]
fn rows_are_counted_with_those_of_before_until_their_class_is_forgotten() {
    let promise = promise(&["label"], &["value"], 3, 2);
    let mut classes = ReleasedClasses::default();
    assert!(classes.is_empty());
    let found = classes.add(counted(&promise, &[(1, 5, 0), (1, 6, 1), (1, 5, 2), (2, 5, 3), (2, 6, 4), (2, 7, 5)]));
    assert!(found.holds() && found.classes == 2 && classes.len() == 2 && classes.size() > 0);
    let found = classes.add(counted(&promise, &[(2, 5, 6)]));
    assert!(found.holds(), "one row joins");
    assert_eq!((found.rows, found.classes, found.smallest_class), (1, 1, 4));
    assert!(!classes.add(counted(&promise, &[(3, 5, 6), (3, 6, 7)])).holds(), "nothing was released with this label");
    let labels = batch(&[("label", ints(&[1, 9]))]);
    classes.keep(&labels, &promise).unwrap();
    assert_eq!(classes.len(), 1);
    assert!(classes.add(counted(&promise, &[(1, 5, 8)])).holds());
    assert!(!classes.add(counted(&promise, &[(2, 5, 8)])).holds(), "the class was forgotten");
}

#[test]
fn columns_that_are_missing_are_named() {
    let promise = promise(&["label"], &["value"], 3, 2);
    let error = ReleasedClasses::default().keep(&batch(&[("other", ints(&[1]))]), &promise).unwrap_err();
    assert!(matches!(error, VerifyError::NoColumn(name) if name == "label"));
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn findings_are_those_of_all_rows_with_the_labels_of_an_emission(
        emissions in prop::collection::vec(prop::collection::vec((0..4i64, 0..4i64, 0..5i64), 1..12), 1..5),
        k in 1..4u64,
        counts_units in any::<bool>(),
        most in prop::option::of(0.5..0.9),
    ) {
        let mut promise = promise(&["label"], &["value"], k, 1);
        promise.unit = counts_units.then(|| "unit".to_owned());
        promise.sensitive[0].frequencies.extend(most.map(FrequencyRequirement::MaxShare));
        let mut classes = ReleasedClasses::default();
        let mut all: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
        for rows in emissions {
            rows.iter().for_each(|row| all.entry(row.0).or_default().push(*row));
            let holds = |rows: &Vec<Row>| {
                let units: BTreeSet<i64> = rows.iter().map(|row| row.2).collect();
                let size = if counts_units { units.len() } else { rows.len() };
                let of_value = |value: i64| rows.iter().filter(|row| row.1 == value).count();
                let share = (0..4).map(of_value).max().unwrap_or(0) as f64 / rows.len() as f64;
                size as u64 >= k && most.is_none_or(|most| share <= most + 1e-9)
            };
            let touched: BTreeSet<i64> = rows.iter().map(|row| row.0).collect();
            let expected = touched.iter().all(|label| holds(&all[label]));
            let found = classes.add(counted(&promise, &rows));
            prop_assert_eq!(found.holds(), expected);
            prop_assert_eq!((found.rows, found.classes), (rows.len() as u64, touched.len() as u64));
            if !expected {
                // A stream ends here.
                return Ok(());
            }
        }
    }
}
