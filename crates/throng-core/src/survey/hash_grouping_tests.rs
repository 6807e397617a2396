use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::survey::{CountedTuples, SortGrouping, Survey};
use crate::test_tables::{cases, interval, ints, spec_of, texts};

/// Domains in which every number below 100 is a position, with one sensitive column of three values.
fn domains() -> Domains {
    let (x, y) = (ints(&(0..100).collect::<Vec<_>>()), ints(&(0..100).collect::<Vec<_>>()));
    let secret: Vec<&str> = (0..100).map(|row| ["a", "b", "c"][row % 3]).collect();
    let columns = [(interval("x"), x), (interval("y"), y)];
    let secret = texts(&secret);
    let mut survey = Survey::new(spec_of(&columns, std::slice::from_ref(&secret))).unwrap();
    survey.push(&[columns[0].1.clone(), columns[1].1.clone(), secret]).unwrap();
    Domains::merge(&[survey.finish().unwrap()]).unwrap()
}

/// Returns the groups that were kept, with their row counts.
fn kept(grouping: &HashGrouping) -> BTreeMap<Vec<u32>, u32> {
    grouping.tuples.tuples().iter().map(|(tuple, rows)| (tuple.to_vec(), rows)).collect()
}

/// Returns the groups of a table in its order.
fn tuples_of(table: &Table) -> Vec<(Vec<u32>, Vec<u32>, u32)> {
    let of_cell = |cell: u32| {
        let group = move |group| (table.positions(cell).to_vec(), table.codes(group).to_vec(), table.group_rows(group));
        table.groups(cell).map(group)
    };
    (0..table.cell_count() as u32).flat_map(of_cell).collect()
}

#[test]
fn what_fits_is_kept_whole() {
    let domains = domains();
    let mut grouping = HashGrouping::new(&domains, 2);
    assert_eq!(grouping.add(&[1, 2, 0], 3).unwrap(), Some(0));
    assert_eq!(grouping.add(&[1, 2, 1], 1).unwrap(), Some(1));
    assert_eq!(grouping.add(&[1, 2, 0], 4).unwrap(), Some(0));
    assert!(grouping.is_exact());
    assert_eq!(kept(&grouping), BTreeMap::from([(vec![1, 2, 0], 7), (vec![1, 2, 1], 1)]));
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn a_sample_follows_from_the_groups_alone_and_has_its_cells_whole(
        groups in prop::collection::vec(((0_u32..100, 0_u32..100, 0_u32..3), 1_u32..4), 1..400), most in 1_usize..60,
    ) {
        let domains = domains();
        let sampled = |groups: &mut dyn Iterator<Item = &((u32, u32, u32), u32)>| {
            let mut grouping = HashGrouping::new(&domains, most);
            for ((x, y, secret), rows) in groups {
                grouping.add(&[*x, *y, *secret], *rows).unwrap();
            }
            grouping
        };
        let forwards = sampled(&mut groups.iter());
        let backwards = sampled(&mut groups.iter().rev());
        prop_assert_eq!(kept(&forwards), kept(&backwards));
        prop_assert_eq!(forwards.share(), backwards.share());
        prop_assert!(forwards.len() <= most);
        let mut all: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for ((x, y, secret), rows) in &groups {
            *all.entry(vec![*x, *y, *secret]).or_default() += rows;
        }
        // A cell is kept with all of its groups and rows, or not at all.
        let kept = kept(&forwards);
        for (tuple, rows) in &all {
            let is_kept = kept.keys().any(|other| other[..2] == tuple[..2]);
            prop_assert_eq!(kept.get(tuple), is_kept.then_some(rows));
        }
        prop_assert_eq!(forwards.is_exact(), all.len() <= most);
        // Sorting samples the same groups.
        let mut gathered = SortGrouping::with_room_for(0, &domains);
        groups.iter().for_each(|((x, y, secret), rows)| gathered.push(&[*x, *y, *secret], *rows));
        let sorted = gathered.table(&domains, most).unwrap();
        prop_assert_eq!(sorted.share, forwards.share());
        prop_assert_eq!(sorted.groups.is_some(), forwards.is_exact());
        prop_assert_eq!(tuples_of(&sorted.table), tuples_of(&forwards.table(&domains).0));
    }

    #[test]
    fn tables_of_any_order_are_the_same(groups in prop::collection::vec(((0_u32..9, 0_u32..9, 0_u32..3), 1_u32..4), 1..80)) {
        let domains = domains();
        let tuples = |groups: &mut dyn Iterator<Item = &((u32, u32, u32), u32)>| {
            let mut tuples = CountedTuples::new(3);
            groups.for_each(|((x, y, secret), rows)| tuples.push(&[*x, *y, *secret], *rows));
            tuples
        };
        let (table, numbers) = HashGrouping::of(&domains, &tuples(&mut groups.iter())).unwrap();
        let (other, _) = HashGrouping::of(&domains, &tuples(&mut groups.iter().rev())).unwrap();
        prop_assert_eq!(table.group_count(), other.group_count());
        for group in 0..table.group_count() as u32 {
            prop_assert_eq!(table.codes(group), other.codes(group));
            prop_assert_eq!(table.group_rows(group), other.group_rows(group));
        }
        for (((_, _, secret), _), group) in groups.iter().zip(numbers) {
            prop_assert_eq!(table.codes(group)[0], *secret);
        }
    }
}
