//! Strata: people with the same numbers of rows in all tables.
//!
//! Linked rows reveal how many rows a person has, so people can only be hidden among others with the same numbers. People with
//! rare numbers lose rows, one at a time and from the table where they have most, until enough others have as many.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::UnitId;

/// Numbers of rows of a person in each table.
pub(super) type RowCounts = Arc<[u32]>;

/// Groups people into strata of at least `k`. Returns the numbers of rows that each person keeps; the first table keeps at least
/// one row. If there are fewer than `k` people with the fewest rows, their stratum stays that small.
///
/// One sweep from the largest total of rows to the smallest: a stratum that is too small is moved into one with a row less,
/// which comes later.
pub(super) fn kept_rows(people: FxHashMap<UnitId, RowCounts>, k: u64) -> FxHashMap<UnitId, RowCounts> {
    let mut open: BTreeMap<(u64, RowCounts), Vec<UnitId>> = BTreeMap::new();
    let total = |rows: &RowCounts| rows.iter().map(|rows| u64::from(*rows)).sum::<u64>();
    for (person, rows) in people {
        open.entry((total(&rows), rows)).or_default().push(person);
    }
    let mut kept = FxHashMap::default();
    while let Some(((sum, rows), people)) = open.pop_last() {
        match with_a_row_less(&rows).filter(|_| (people.len() as u64) < k) {
            Some(fewer) => open.entry((sum - 1, fewer)).or_default().extend(people),
            None => kept.extend(people.into_iter().map(|person| (person, Arc::clone(&rows)))),
        }
    }
    kept
}

/// Returns the counts with one row fewer in the table with most rows (the last such table); `None` if only one row in the first
/// table is left.
fn with_a_row_less(rows: &RowCounts) -> Option<RowCounts> {
    let spare = rows.iter().enumerate().map(|(table, rows)| rows - u32::from(table == 0));
    let (most, _) = spare.enumerate().filter(|(_, spare)| *spare > 0).max_by_key(|(_, spare)| *spare)?;
    let mut fewer: Vec<u32> = rows.to_vec();
    fewer[most] -= 1;
    Some(fewer.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(rows: &[&[u32]], k: u64) -> Vec<Vec<u32>> {
        let people = rows.iter().enumerate().map(|(person, rows)| (person as UnitId, RowCounts::from(*rows))).collect();
        let kept = kept_rows(people, k);
        (0..rows.len()).map(|person| kept[&(person as UnitId)].to_vec()).collect()
    }

    #[test]
    fn people_with_rare_numbers_lose_rows_until_they_are_not_alone() {
        let rows: [&[u32]; 5] = [&[1, 2], &[1, 2], &[1, 9], &[1, 0], &[1, 1]];
        assert_eq!(kept(&rows, 2), [vec![1, 2], vec![1, 2], vec![1, 2], vec![1, 0], vec![1, 0]]);
    }

    #[test]
    fn a_person_keeps_one_row_of_the_first_table() {
        assert_eq!(kept(&[&[3, 1], &[1, 0]], 2), [[1, 0], [1, 0]]);
        assert_eq!(kept(&[&[2, 2]], 2), [[1, 0]]);
    }

    #[test]
    fn every_stratum_with_rows_to_spare_is_large_enough() {
        let rows: Vec<[u32; 3]> = (0..200_u32).map(|n| [1 + n % 3, n * n % 7, (n * 37 + 11) % 50 / 9]).collect();
        for k in [1, 2, 5, 20] {
            let kept = kept(&rows.iter().map(|rows| &rows[..]).collect::<Vec<_>>(), k);
            let mut sizes: BTreeMap<&Vec<u32>, u64> = BTreeMap::new();
            kept.iter().for_each(|rows| *sizes.entry(rows).or_default() += 1);
            assert!(sizes.iter().all(|(rows, size)| *size >= k || rows[..] == [1, 0, 0]), "{sizes:?}");
            assert!(kept.iter().zip(&rows).all(|(kept, had)| kept.iter().zip(had).all(|(kept, had)| kept <= had)));
            assert!(kept.iter().all(|kept| kept[0] >= 1));
        }
    }
}
