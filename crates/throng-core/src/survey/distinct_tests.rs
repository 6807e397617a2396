use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::domain::NULL;
use crate::test_tables::cases;

/// Numbers of tuples: small ones, large ones, and null.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0_u32..3, 2 => 0_u32..300, 1 => 0_u32..70_000, 1 => Just(NULL)]
}

fn sizes(tuples: &[Vec<u32>], width: usize) -> Vec<usize> {
    let size = |column: usize| {
        let numbers = tuples.iter().map(|tuple| tuple[column]).filter(|number| *number != NULL);
        numbers.max().map_or(0, |greatest| greatest as usize + 1)
    };
    (0..width).map(size).collect()
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn tuples_of_any_width_are_counted_and_ordered_as_plain_ones(
        (width, batches) in (1_usize..8).prop_flat_map(|width| {
            let batch = prop::collection::vec(prop::collection::vec(number(), width), 0..30);
            (Just(width), prop::collection::vec(batch, 1..6))
        }),
    ) {
        let mut distinct = DistinctTuples::new(&vec![0; width]);
        let mut seen: Vec<Vec<u32>> = Vec::new();
        let mut plain: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut numbers: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for batch in &batches {
            seen.extend(batch.iter().cloned());
            distinct.grow(&sizes(&seen, width));
            let columns: Vec<Vec<u32>> =
                (0..width).map(|column| batch.iter().map(|tuple| tuple[column]).collect()).collect();
            let counted = distinct.count_each(&columns, batch.len()).unwrap();
            for (tuple, number) in batch.iter().zip(counted) {
                *plain.entry(tuple.clone()).or_default() += 1;
                let next = numbers.len() as u32;
                prop_assert_eq!(*numbers.entry(tuple.clone()).or_insert(next), number);
            }
        }
        for (tuple, number) in &numbers {
            prop_assert_eq!(distinct.count(tuple, 2).unwrap(), *number);
        }
        let mut found = Vec::new();
        distinct.for_each(distinct.order().into_iter(), |tuple, rows| found.push((tuple.to_vec(), rows - 2)));
        prop_assert_eq!(found, plain.into_iter().collect::<Vec<_>>());
        let tuples = distinct.tuples();
        prop_assert!(tuples.iter().all(|(tuple, _)| numbers.contains_key(tuple)));
        prop_assert_eq!(tuples.len(), distinct.len());
    }
}

#[test]
fn tuples_that_outgrow_a_key_are_still_distinguished() {
    let mut distinct = DistinctTuples::new(&[0; 3]);
    distinct.grow(&[2, 2, 2]);
    assert_eq!(distinct.count_each(&[vec![0, 1], vec![NULL, 0], vec![1, 1]], 2).unwrap(), [0, 1]);
    assert!(matches!(distinct.keys, TupleKeys::Packed { .. }));
    distinct.grow(&[1 << 30, 1 << 30, 1 << 30]);
    assert!(matches!(distinct.keys, TupleKeys::Wide { .. }));
    assert_eq!(distinct.count_each(&[vec![0, 9], vec![NULL, NULL], vec![1, 1]], 2).unwrap(), [0, 2]);
    assert_eq!(distinct.tuples().iter().map(|(_, rows)| rows).collect::<Vec<_>>(), [2, 1, 1]);
}

#[test]
fn more_rows_than_can_be_counted_are_an_error() {
    let mut distinct = DistinctTuples::new(&[1]);
    distinct.count(&[0], u32::MAX).unwrap();
    assert!(matches!(distinct.count(&[0], 1), Err(CoreError::TooLarge { .. })));
}
