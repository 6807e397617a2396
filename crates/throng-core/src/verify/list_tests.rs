//! Lists: the verifier and the models against definitions by force, on tiny classes.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, ListArray, RecordBatch};
use arrow::datatypes::Int64Type;
use proptest::prelude::*;

use super::tests::promise;
use super::{Promise, SensitivePromise, SensitiveReading, Verifier, VerifyError};
use crate::domain::NULL;
use crate::list_coding::list_codes;
use crate::look_alikes::LookAlikeRule;
use crate::model::{ClosedUnder, FrequencyRequirement, ListDiversity, ListShare, Model, Tally, TallyShape};
use crate::table::SensitiveColumn;
use crate::test_tables::cases;

/// Rows as class, elements and unit; elements and unit may be missing.
type Row = (u8, Option<Vec<Option<i64>>>, Option<u8>);

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let elements = prop::option::weighted(0.9, prop::collection::vec(prop::option::weighted(0.9, 0_i64..4), 0..4));
    prop::collection::vec((0_u8..2, elements, prop::option::weighted(0.8, 0_u8..4)), 1..9)
}

fn batch(rows: &[Row]) -> RecordBatch {
    let ints = |of: &dyn Fn(&Row) -> Option<u8>| -> ArrayRef {
        Arc::new(rows.iter().map(|row| of(row).map(i64::from)).collect::<Int64Array>())
    };
    let lists: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(rows.iter().map(|row| row.1.clone())));
    RecordBatch::try_from_iter([("age", ints(&|row| Some(row.0))), ("codes", lists), ("unit", ints(&|row| row.2))])
        .unwrap()
}

fn holds(promise: Promise, rows: &[Row]) -> bool {
    let release = batch(rows);
    let verifier = || Verifier::new(promise.clone(), &release.schema()).unwrap();
    let (mut one, mut other) = (verifier(), verifier());
    let middle = rows.len() / 2;
    one.push(&release.slice(0, middle)).unwrap();
    other.push(&release.slice(middle, rows.len() - middle)).unwrap();
    one.merge(other);
    let summary = one.summary();
    let concluded = verifier().conclude([summary.as_slice()]).unwrap();
    let found = one.finish();
    assert_eq!(concluded, found);
    found.holds()
}

/// Returns the counted elements of each row of a class, with its unit. 3 is not counted.
fn carried(rows: &[Row], class: u8) -> Vec<(Option<u8>, Vec<i64>)> {
    let of_class = rows.iter().filter(|row| row.0 == class);
    let counted = of_class.map(|row| {
        let mut elements: Vec<i64> =
            row.1.iter().flatten().flatten().copied().filter(|element| *element != 3).collect();
        elements.sort_unstable();
        elements.dedup();
        (row.2, elements)
    });
    counted.filter(|(_, elements)| !elements.is_empty()).collect()
}

/// Whether elements can be given to different carriers, by trying all of them.
fn can_represent(elements: &[i64], rows: &[(Option<u8>, Vec<i64>)], used: &mut Vec<usize>, by_unit: bool) -> bool {
    let Some((element, rest)) = elements.split_first() else { return true };
    (0..rows.len()).any(|row| {
        let is_same =
            |other: &usize| *other == row || by_unit && rows[row].0.is_some() && rows[*other].0 == rows[row].0;
        if used.iter().any(is_same) || !rows[row].1.contains(element) {
            return false;
        }
        used.push(row);
        let found = can_represent(rest, rows, used, by_unit);
        used.pop();
        found
    })
}

/// Whether a class satisfies p, by the definition.
fn is_diverse(rows: &[(Option<u8>, Vec<i64>)], p: u64, by_unit: bool) -> bool {
    let all: Vec<i64> = (0..3).filter(|element| rows.iter().any(|row| row.1.contains(element))).collect();
    let subsets = (0_u32..1 << all.len()).filter(|subset| u64::from(subset.count_ones()) == p);
    let mut of_subset = subsets.map(|subset| -> Vec<i64> {
        all.iter().enumerate().filter(|(place, _)| subset >> place & 1 == 1).map(|(_, element)| *element).collect()
    });
    let carriers_without = |element: &i64| {
        let without: Vec<usize> = (0..rows.len()).filter(|row| !rows[*row].1.contains(element)).collect();
        let is_first = |place: usize| {
            let unit = rows[without[place]].0.filter(|_| by_unit);
            unit.is_none() || !without[..place].iter().any(|other| rows[*other].0 == unit)
        };
        (0..without.len()).filter(|place| is_first(*place)).count() as u64
    };
    of_subset.any(|subset| can_represent(&subset, rows, &mut Vec::new(), by_unit))
        && all.iter().all(|element| carriers_without(element) + 1 >= p)
}

/// Codes of all rows, and the column.
fn coded(rows: &[Row], rule: &LookAlikeRule) -> (Vec<[u32; 2]>, SensitiveColumn) {
    let text = |row: &Row| -> String {
        let mut texts: Vec<String> = row.1.iter().flatten().flatten().map(ToString::to_string).collect();
        texts.sort_unstable();
        texts.dedup();
        texts.iter().map(|text| format!("{}:{text}", text.len())).collect()
    };
    let texts: Vec<String> = rows.iter().map(text).collect();
    let (codes, elements) = list_codes(rule, false, texts.iter().map(String::as_str));
    let count = |unit: u8| rows.iter().filter(|row| row.2 == Some(unit)).count();
    let unit = |row: &Row| row.2.filter(|unit| count(*unit) > 1).map_or(0, |unit| u32::from(unit) + 1);
    let codes = rows.iter().zip(codes).map(|(row, code)| [code, unit(row)]).collect();
    let column = SensitiveColumn {
        name: "codes".into(),
        counted: "elements",
        distinct: elements.len() as u32,
        numbers: None,
        tree: None,
        elements: Some(elements),
        is_unit: false,
    };
    (codes, column)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn p_is_that_of_the_definition(rows in rows(), p in 2_u64..4, by_unit: bool) {
        let rule = LookAlikeRule { merges: true, missing: Arc::new(["3".to_owned()]) };
        let (codes, column) = coded(&rows, &rule);
        let unit = by_unit.then_some(1);
        let model = ListDiversity::new(p, 0, unit).for_release(&[column], &Tally::empty(TallyShape::without_units(2))).unwrap();
        prop_assert_eq!(model.closed_under(), ClosedUnder::AddingRows);
        let mut all_hold = true;
        for class in (0..2).filter(|class| rows.iter().any(|row| row.0 == *class)) {
            let mut tally = Tally::empty(TallyShape { columns: 2, unit });
            let own: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].0 == class).collect();
            own.iter().for_each(|row| tally.add(&codes[*row], 1));
            let expected = is_diverse(&carried(&rows, class), p, by_unit);
            prop_assert_eq!(model.deficit(&tally) == 0, expected);
            all_hold &= expected;
            if expected {
                let mut fewer: Vec<Row> = rows.clone();
                fewer.remove(own[0]);
                // A unit keeps its code when one of its rows goes.
                prop_assert_eq!(model.can_lose(&tally, &codes[own[0]]), is_diverse(&carried(&fewer, class), p, by_unit));
                // No further row breaks what holds.
                for code in &codes {
                    tally.add(code, 1);
                    prop_assert_eq!(model.deficit(&tally), 0);
                    tally.remove(code, 1);
                }
            } else {
                // The deficit is a lower bound of the rows that are missing: one row lowers it by at most one.
                let before = model.deficit(&tally);
                for code in codes.iter().filter(|code| code[0] != NULL) {
                    tally.add(code, 1);
                    prop_assert!(model.deficit(&tally) + 1 >= before && model.deficit(&tally) <= before);
                    tally.remove(code, 1);
                }
            }
        }
        let sensitive = vec![SensitivePromise { look_alikes: rule, ..SensitivePromise::plain("codes", p) }];
        let promise = Promise { sensitive, unit: by_unit.then(|| "unit".into()), ..promise(&["age"], &[], 1, p) };
        prop_assert_eq!(holds(promise, &rows), all_hold);
    }

    #[test]
    fn shares_are_those_of_rows_that_carry_something(rows in rows(), percent in 20_u32..100) {
        let rule = LookAlikeRule { merges: true, missing: Arc::new(["3".to_owned()]) };
        let (codes, column) = coded(&rows, &rule);
        let share = f64::from(percent) / 100.0;
        let model = ListShare::new(share, 0).for_release(&[column], &Tally::empty(TallyShape::without_units(2))).unwrap();
        let satisfied = |class: u8| {
            let rows = carried(&rows, class);
            (0..3).all(|element| {
                let with = rows.iter().filter(|row| row.1.contains(&element)).count() as u32;
                with * 100 <= percent * rows.len() as u32
            })
        };
        let tally = |of: &dyn Fn(u8) -> bool| {
            let mut tally = Tally::empty(TallyShape::without_units(2));
            rows.iter().zip(&codes).filter(|(row, _)| of(row.0)).for_each(|(_, codes)| tally.add(codes, 1));
            tally
        };
        for class in 0..2 {
            prop_assert_eq!(model.deficit(&tally(&|of| of == class)) == 0, satisfied(class));
        }
        if satisfied(0) && satisfied(1) {
            prop_assert_eq!(model.deficit(&tally(&|_| true)), 0);
        }
        let frequencies = vec![FrequencyRequirement::MaxShare(share)];
        let sensitive = vec![SensitivePromise { look_alikes: rule, frequencies, ..SensitivePromise::plain("codes", 1) }];
        let promise = Promise { sensitive, ..promise(&["age"], &[], 1, 1) };
        prop_assert_eq!(holds(promise, &rows), satisfied(0) && satisfied(1));
    }
}

#[test]
fn an_element_that_everyone_has_is_disclosed() {
    let row = |elements: &[i64]| (0, Some(elements.iter().copied().map(Some).collect()), None);
    let promised = |p: u64| promise(&["age"], &["codes"], 2, p);
    // 1 and 2 have different carriers, and everyone has 0.
    let rows: Vec<Row> = vec![row(&[0, 1]), row(&[0, 2])];
    assert!(holds(promised(1), &rows) && !holds(promised(2), &rows));
    let more: Vec<Row> = [rows, vec![row(&[1])]].concat();
    assert!(holds(promised(2), &more) && !holds(promised(3), &more));
    // Rows that carry nothing do not hide anyone.
    let empty: Vec<Row> = vec![row(&[0]), row(&[]), (0, None, None), (0, Some(vec![None]), None)];
    assert!(!holds(promised(2), &empty));
}

#[test]
fn models_without_a_meaning_for_lists_are_refused() {
    let release = batch(&[(0, None, None)]);
    let of = |sensitive: SensitivePromise| {
        let promise = Promise { sensitive: vec![sensitive], ..promise(&["age"], &[], 1, 1) };
        Verifier::new(promise, &release.schema()).map(|_| ())
    };
    let plain = || SensitivePromise::plain("codes", 2);
    assert!(of(plain()).is_ok());
    let banded = SensitivePromise { reading: SensitiveReading::Bands([1.0].into()), ..plain() };
    let entropy = SensitivePromise { frequencies: vec![FrequencyRequirement::EntropyDiversity { l: 2.0 }], ..plain() };
    for refused in [banded, entropy] {
        assert!(matches!(of(refused), Err(VerifyError::Lists(column)) if column == "codes"));
    }
}
