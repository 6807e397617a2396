//! Matches tonight's rows with known ones: those of the ledger, or those that wait.
//!
//! A unit may have several rows with equal quasi-identifiers and sensitive values. They are interchangeable for every model, and
//! yet a row that was shown must not be shown twice, nor in place of another. So a row is matched with the known row that is equal
//! altogether, if there is one. Only what remains is matched in order: a row whose insensitive values have changed is still the
//! same row.

use rayon::prelude::*;
use throng_core::series::RowKey;

/// Numbers rows of a unit that are equal altogether, so that all keys differ, and returns the order of the keys.
pub(super) fn number_equal_rows(keys: &mut [RowKey]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.par_sort_unstable_by_key(|row| keys[*row as usize]);
    let mut repeated = Vec::new();
    for equal in order.chunk_by(|a, b| keys[*a as usize] == keys[*b as usize]) {
        repeated.extend(equal.iter().zip(0_u64..).skip(1).map(|(row, number)| (*row, number)));
    }
    if repeated.is_empty() {
        return order;
    }
    for (row, number) in repeated {
        keys[row as usize] = keys[row as usize].numbered(number);
    }
    order.par_sort_unstable_by_key(|row| keys[*row as usize]);
    order
}

/// Returns the known row of each row, as an index; `None` for a row that is new. Both are in ascending order, and no known row is
/// matched twice. A row whose insensitive values have changed is one of the shown known rows, as long as there are any: it would
/// otherwise be taken for a row that was dropped, and the shown row for one that has left.
pub(super) fn match_rows(rows: &[RowKey], known: &[RowKey], is_shown: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut matched = vec![None; rows.len()];
    let (mut done, mut first) = (0, 0);
    for alike in rows.chunk_by(|a, b| a.values() == b.values()) {
        let values = alike[0].values();
        while known.get(first).is_some_and(|key| key.values() < values) {
            first += 1;
        }
        let candidates = known[first..].iter().take_while(|key| key.values() == values).count();
        let candidates = &known[first..first + candidates];
        let found = &mut matched[done..done + alike.len()];
        let mut is_free = vec![true; candidates.len()];
        for (found, key) in found.iter_mut().zip(alike) {
            if let Ok(at) = candidates.binary_search(key) {
                (*found, is_free[at]) = (Some(first + at), false);
            }
        }
        let (shown, dropped): (Vec<usize>, Vec<usize>) =
            (first..first + candidates.len()).filter(|at| is_free[at - first]).partition(|at| is_shown(*at));
        let mut free = shown.into_iter().chain(dropped);
        for found in found.iter_mut().filter(|found| found.is_none()) {
            *found = free.next();
        }
        done += alike.len();
        first += candidates.len();
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of a unit with these values, released ones last.
    fn key(unit: u8, values: u8, released: u8) -> RowKey {
        RowKey::new(unit.into(), u128::from(values) << 120, 0, u128::from(released) << 120)
    }

    /// Matches rows with known ones that are all shown.
    fn match_rows(rows: &[RowKey], known: &[RowKey]) -> Vec<Option<usize>> {
        super::match_rows(rows, known, |_| true)
    }

    #[test]
    fn a_changed_row_is_one_of_the_shown_rows_first() {
        let known = [key(1, 1, 3), key(1, 1, 5), key(1, 1, 7)];
        let is_shown = |at: usize| at > 0;
        assert_eq!(super::match_rows(&[key(1, 1, 4)], &known, is_shown), [Some(1)]);
        assert_eq!(super::match_rows(&[key(1, 1, 4), key(1, 1, 5)], &known, is_shown), [Some(2), Some(1)]);
        assert_eq!(super::match_rows(&[key(1, 1, 3)], &known, is_shown), [Some(0)], "equal altogether");
        let three = [key(1, 1, 4), key(1, 1, 6), key(1, 1, 8)];
        assert_eq!(super::match_rows(&three, &known, is_shown), [Some(1), Some(2), Some(0)]);
    }

    #[test]
    fn a_row_is_matched_with_its_equal_and_only_then_with_one_of_other_released_values() {
        let known = [key(1, 1, 5), key(1, 1, 7), key(1, 2, 3), key(2, 1, 1)];
        // One of two rows remains, whichever it is.
        assert_eq!(match_rows(&[key(1, 1, 7)], &known), [Some(1)]);
        assert_eq!(match_rows(&[key(1, 1, 5)], &known), [Some(0)]);
        // A third row comes, before the known ones in order or behind them.
        assert_eq!(match_rows(&[key(1, 1, 4), key(1, 1, 5), key(1, 1, 7)], &known), [None, Some(0), Some(1)]);
        assert_eq!(match_rows(&[key(1, 1, 5), key(1, 1, 7), key(1, 1, 9)], &known), [Some(0), Some(1), None]);
        // Released values have changed.
        assert_eq!(match_rows(&[key(1, 1, 7), key(1, 1, 8)], &known), [Some(1), Some(0)]);
        assert_eq!(match_rows(&[key(1, 2, 4), key(2, 1, 9), key(3, 1, 1)], &known), [Some(2), Some(3), None]);
        assert_eq!(match_rows(&[key(1, 3, 3)], &known), [None]);
    }

    #[test]
    fn equal_rows_get_keys_that_stay_when_one_of_them_leaves() {
        let mut three = [key(1, 1, 5), key(1, 1, 7), key(1, 1, 5), key(1, 1, 5)];
        let order = number_equal_rows(&mut three);
        let sorted =
            |keys: &[RowKey], order: &[u32]| -> Vec<RowKey> { order.iter().map(|row| keys[*row as usize]).collect() };
        let known = sorted(&three, &order);
        assert!(known.windows(2).all(|pair| pair[0] < pair[1]), "{known:?}");
        let mut two = [key(1, 1, 5), key(1, 1, 5)];
        let order = number_equal_rows(&mut two);
        let rows = sorted(&two, &order);
        let matched = match_rows(&rows, &known);
        assert!(matched.iter().zip(&rows).all(|(known_row, row)| known[known_row.unwrap()] == *row), "{matched:?}");
    }
}
