//! Runs of adjacent rows with equal quasi-identifiers.
//!
//! Runs are an optimization: rows of one run are equal, but equal rows may be in several runs.

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray, UInt32Array};
use arrow::compute::kernels::cmp::distinct;
use arrow::datatypes::DataType;

/// Returns the first row of every run of rows that are equal in all columns.
pub(super) fn run_starts(columns: &[ArrayRef], rows: usize) -> UInt32Array {
    let mut is_start = vec![false; rows];
    if let Some(first) = is_start.first_mut() {
        *first = true;
    }
    for column in columns {
        mark(column, &mut is_start);
    }
    (0..).zip(is_start).filter_map(|(row, is_start)| is_start.then_some(row)).collect::<Vec<u32>>().into()
}

/// Marks the rows that differ from the previous one.
fn mark(column: &ArrayRef, is_start: &mut [bool]) {
    let after_first = is_start.iter_mut().skip(1);
    if column.data_type() == &DataType::Utf8View && column.null_count() == 0 {
        let column = column.as_string_view();
        let pairs = column.views().windows(2).enumerate();
        let differs = |(row, pair): (usize, &[u128])| pair[0] != pair[1] && differ(column, row, pair);
        after_first.zip(pairs).for_each(|(is_start, pair)| *is_start |= differs(pair));
        return;
    }
    let others = column.len().saturating_sub(1);
    match distinct(&column.slice(0, others), &column.slice(column.len() - others, others)) {
        Ok(differs) => after_first.zip(differs.values()).for_each(|(is_start, differs)| *is_start |= differs),
        // Types without a comparison kernel: one run per row; the caller compares row keys.
        Err(_) => after_first.for_each(|is_start| *is_start = true),
    }
}

/// Whether two strings with different views differ: equal long strings may be in different buffers.
fn differ(column: &StringViewArray, row: usize, pair: &[u128]) -> bool {
    pair[0] as u64 != pair[1] as u64 || column.value(row) != column.value(row + 1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, ListArray, StringArray};
    use arrow::compute::{cast, concat};
    use arrow::datatypes::Int32Type;

    use super::*;

    fn starts(columns: &[ArrayRef]) -> Vec<u32> {
        run_starts(columns, columns[0].len()).values().to_vec()
    }

    #[test]
    fn a_run_begins_where_any_column_changes() {
        let a: ArrayRef = Arc::new(StringArray::from(vec!["x", "x", "x", "y", "y"]));
        let b: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.0, 2.0, 2.0, 2.0]));
        assert_eq!(starts(&[a.clone(), b.clone()]), [0, 2, 3]);
        let views = cast(&a, &DataType::Utf8View).unwrap();
        assert_eq!(starts(&[views.clone(), b]), [0, 2, 3]);
        assert_eq!(starts(&[views.slice(1, 3)]), [0, 2]);
        assert_eq!(starts(&[views.slice(0, 0)]), Vec::<u32>::new());
        assert_eq!(run_starts(&[], 3).values(), &[0]);
    }

    #[test]
    fn equal_strings_in_two_buffers_are_one_run() {
        let piece = |text: &str| StringViewArray::from(vec![text]);
        let (one, other) = ("a long string in one buffer", "a long string in another buffer");
        let views = concat(&[&piece(one), &piece(one), &piece(other), &piece("short"), &piece("short")]).unwrap();
        assert_eq!(starts(&[views]), [0, 2, 3]);
    }

    #[test]
    fn null_is_a_value_like_any_other() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![None, None, Some(""), Some(""), None]));
        assert_eq!(starts(&[texts]), [0, 2, 4]);
    }

    #[test]
    fn what_cannot_be_compared_is_in_runs_of_its_own() {
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]); 3]);
        assert_eq!(starts(&[Arc::new(lists)]), [0, 1, 2]);
    }
}
