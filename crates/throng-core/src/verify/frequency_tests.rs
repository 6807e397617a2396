//! The verifier against the models that the algorithms use, which share no code with it.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use proptest::prelude::*;

use super::tests::promise;
use super::{Promise, SensitivePromise, SensitiveReading, Verifier};
use crate::hierarchy::{CodeTree, Tree};
use crate::model::{
    CodeMeaning, FrequencyRequirement, GroundDistance, Model, Tally, TallyShape, UnitAnonymity, UnitDiversity,
    frequency_model,
};
use crate::table::SensitiveColumn;
use crate::test_tables::{cases, frequency_requirement};

/// Rows as class, value and unit; value and unit may be missing.
type Row = (u8, Option<u8>, Option<u8>);

fn batch(rows: &[Row]) -> RecordBatch {
    let ints = |of: &dyn Fn(&Row) -> Option<u8>| -> ArrayRef {
        Arc::new(rows.iter().map(|row| of(row).map(i64::from)).collect::<Int64Array>())
    };
    let salaries: Float64Array = rows.iter().map(|row| row.1.map(|value| f64::from(value) * 1000.0)).collect();
    RecordBatch::try_from_iter([
        ("age", ints(&|row| Some(row.0))),
        ("salary", Arc::new(salaries) as ArrayRef),
        ("unit", ints(&|row| row.2)),
    ])
    .unwrap()
}

fn holds(promise: Promise, rows: &[Row], halves: bool) -> bool {
    let release = batch(rows);
    let verifier = || Verifier::new(promise.clone(), &release.schema()).unwrap();
    let mut one = verifier();
    if halves {
        let middle = rows.len() / 2;
        let mut other = verifier();
        one.push(&release.slice(0, middle)).unwrap();
        other.push(&release.slice(middle, rows.len() - middle)).unwrap();
        one.merge(other);
    } else {
        one.push(&release).unwrap();
    }
    let summary = one.summary();
    let concluded = verifier().conclude([summary.as_slice()]).unwrap();
    let found = one.finish();
    assert_eq!(concluded, found);
    found.holds()
}

/// Labels above each salary. A label that repeats skips a level.
const ABOVE: [(&str, [&str; 3]); 5] = [
    ("0.0", ["low", "known", "*"]),
    ("1000.0", ["low", "known", "*"]),
    ("2000.0", ["2000.0", "known", "*"]),
    ("3000.0", ["3000.0", "high", "*"]),
    ("4000.0", ["4000.0", "high", "*"]),
];

fn leaves() -> SensitiveReading {
    let path = |(value, above): (&str, [&str; 3])| (value.to_owned(), above.map(str::to_owned).to_vec());
    SensitiveReading::Leaves(Arc::new(ABOVE.into_iter().map(path).collect()))
}

fn tree() -> Arc<CodeTree> {
    let path = |(value, above): (&'static str, [&'static str; 3])| [&[value][..], &above].concat();
    let tree = Tree::from_paths(&ABOVE.map(path)).unwrap();
    let leaves: Vec<_> = ABOVE.iter().map(|(value, _)| tree.leaf_node(tree.leaf(value).unwrap())).collect();
    Arc::new(CodeTree::new(&tree, &leaves))
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((0_u8..3, prop::option::weighted(0.9, 0_u8..5), prop::option::weighted(0.9, 0_u8..5)), 1..30)
}

fn code(value: Option<u8>) -> u32 {
    value.map_or(crate::domain::NULL, u32::from)
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn frequencies_are_judged_as_the_models_judge_them(rows in rows(), requirement in frequency_requirement(1000.0..4000.0), halves: bool) {
        let numbers: Arc<[f64]> = (0..5).map(|code| f64::from(code) * 1000.0).collect();
        let column =
            SensitiveColumn { name: "salary".into(), counted: "values", distinct: 5, numbers: Some(numbers), tree: Some(tree()), elements: None, is_unit: false };
        let tally = |class: Option<u8>| {
            let mut tally = Tally::empty(TallyShape::without_units(1));
            let of_class = rows.iter().filter(|row| class.is_none_or(|class| row.0 == class));
            of_class.for_each(|row| tally.add(&[code(row.1)], 1));
            tally
        };
        let model = frequency_model(requirement, 0);
        let model = model.for_release(&[column], &tally(None)).unwrap_or(model);
        let classes = (0..3).map(|class| tally(Some(class))).filter(|class| class.rows() > 0);
        let expected = classes.map(|class| model.deficit(&class)).all(|deficit| deficit == 0);
        let is_hierarchical =
            matches!(requirement, FrequencyRequirement::Closeness { distance: GroundDistance::Hierarchical, .. });
        let reading = if is_hierarchical { leaves() } else { SensitiveReading::Numbers };
        let sensitive =
            vec![SensitivePromise { reading, frequencies: vec![requirement], ..SensitivePromise::plain("salary", 1) }];
        let promise = Promise { sensitive, ..promise(&["age"], &[], 1, 1) };
        prop_assert_eq!(holds(promise, &rows, halves), expected);
    }

    #[test]
    fn units_are_judged_as_the_models_judge_them(rows in rows(), k in 1_u64..5, p in 1_u64..4, halves: bool) {
        // Units with one row in the table share the code 0; so do rows without a unit.
        let count = |unit: u8| rows.iter().filter(|row| row.2 == Some(unit)).count();
        let unit = |row: &Row| row.2.filter(|unit| count(*unit) > 1).map_or(0, |unit| u32::from(unit) + 1);
        let models: [Box<dyn Model>; 2] =
            [Box::new(UnitAnonymity::new(k, 1)), Box::new(UnitDiversity::new(p, 0, 1, CodeMeaning::Values))];
        let satisfied = |class: u8| {
            let mut tally = Tally::empty(TallyShape { columns: 2, unit: Some(1) });
            rows.iter().filter(|row| row.0 == class).for_each(|row| tally.add(&[code(row.1), unit(row)], 1));
            // p of 1 is no requirement.
            tally.rows() == 0 || models[..if p > 1 { 2 } else { 1 }].iter().all(|model| model.deficit(&tally) == 0)
        };
        let expected = (0..3).all(satisfied);
        let sensitive = vec![SensitivePromise::plain("salary", p)];
        let promise = Promise { sensitive, unit: Some("unit".into()), ..promise(&["age"], &[], k, p) };
        prop_assert_eq!(holds(promise, &rows, halves), expected);
    }
}

#[test]
fn values_of_one_band_count_once() {
    let rows: Vec<Row> = [1, 2, 3].map(|value| (0, Some(value), None)).to_vec();
    let sensitive = |borders: &[f64]| SensitivePromise {
        reading: SensitiveReading::Bands(borders.into()),
        ..SensitivePromise::plain("salary", 2)
    };
    let banded = |borders: &[f64]| Promise { sensitive: vec![sensitive(borders)], ..promise(&["age"], &[], 1, 2) };
    assert!(!holds(banded(&[5000.0]), &rows, false));
    assert!(holds(banded(&[2000.0]), &rows, false));
}
