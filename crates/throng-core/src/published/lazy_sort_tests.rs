use proptest::prelude::*;

use super::*;
use crate::test_tables::cases;

#[test]
fn nothing_has_no_first() {
    assert_eq!(PartiallySorted::new(Vec::new()).get(0), None);
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn ranks_are_those_of_a_full_sort(distances in prop::collection::vec(0_u8..40, 0..200), ahead in 0_usize..200) {
        let cells: Vec<(f64, usize)> = distances.iter().map(|distance| f64::from(*distance)).zip(0..).collect();
        let mut expected: Vec<usize> = (0..cells.len()).collect();
        expected.sort_by_key(|cell| distances[*cell]);
        let mut ascending = PartiallySorted::new(cells);
        // Reading far ahead must not change the ranks before it.
        prop_assert_eq!(ascending.get(ahead), expected.get(ahead).copied());
        let found: Vec<usize> = (0..).map_while(|rank| ascending.get(rank)).collect();
        prop_assert_eq!(found, expected);
    }
}
