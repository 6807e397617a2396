//! Sensitive columns of lists: each row carries the elements of its list.
//!
//! A survey handles a list as one text, which is interned, merged and sent like any text: the distinct elements in ascending order,
//! each as its length, a colon and its label. Null elements are left out; a list without elements is the empty text.

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{DataType, FieldRef};
use arrow::error::ArrowError;

use crate::numeric_view::labels;

/// Returns the field of the elements, if values of this type are lists.
pub fn list_field(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => Some(field),
        _ => None,
    }
}

/// Returns the elements of all lists of a column, and the range of them that each row has; `None` for other types. Nulls have an
/// empty range.
pub(crate) fn list_parts(lists: &ArrayRef) -> Option<(ArrayRef, Vec<(usize, usize)>)> {
    let is_null = |row: usize| lists.is_null(row);
    let part = |row: usize, from: usize, len: usize| if is_null(row) { (0, 0) } else { (from, len) };
    let rows = 0..lists.len();
    let (values, parts) = match lists.data_type() {
        DataType::List(_) => {
            let lists = lists.as_list::<i32>();
            let offsets = lists.value_offsets();
            let parts = rows.map(|row| part(row, offsets[row] as usize, (offsets[row + 1] - offsets[row]) as usize));
            (lists.values(), parts.collect())
        }
        DataType::LargeList(_) => {
            let lists = lists.as_list::<i64>();
            let offsets = lists.value_offsets();
            let parts = rows.map(|row| part(row, offsets[row] as usize, (offsets[row + 1] - offsets[row]) as usize));
            (lists.values(), parts.collect())
        }
        DataType::ListView(_) => {
            let lists = lists.as_list_view::<i32>();
            let parts = rows.map(|row| part(row, lists.value_offset(row) as usize, lists.value_size(row) as usize));
            (lists.values(), parts.collect())
        }
        DataType::LargeListView(_) => {
            let lists = lists.as_list_view::<i64>();
            let parts = rows.map(|row| part(row, lists.value_offset(row) as usize, lists.value_size(row) as usize));
            (lists.values(), parts.collect())
        }
        DataType::FixedSizeList(_, len) => {
            let (lists, len) = (lists.as_fixed_size_list(), *len as usize);
            (lists.values(), rows.map(|row| part(row, row * len, len)).collect::<Vec<_>>())
        }
        _ => return None,
    };
    Some((ArrayRef::clone(values), parts))
}

/// Returns the text of each list, given the elements of all of them; null for null.
pub(crate) fn list_texts(
    lists: &ArrayRef,
    elements: &ArrayRef,
    parts: &[(usize, usize)],
) -> Result<StringArray, ArrowError> {
    let names = labels(elements)?;
    let nulls = elements.logical_nulls();
    let is_valid = |element: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*element));
    let text = |(row, (from, len)): (usize, &(usize, usize))| {
        if lists.is_null(row) {
            return None;
        }
        let mut own: Vec<&str> = (*from..from + len).filter(is_valid).map(|element| names[element].as_str()).collect();
        own.sort_unstable();
        own.dedup();
        Some(own.iter().map(|name| format!("{}:{name}", name.len())).collect::<String>())
    };
    Ok(parts.iter().enumerate().map(text).collect())
}

/// Returns the elements of a list from its text.
pub(crate) fn elements_of_text(mut text: &str) -> Vec<&str> {
    let mut elements = Vec::new();
    while let Some((length, rest)) = text.split_once(':') {
        let Some((element, rest)) = length.parse().ok().and_then(|length| rest.split_at_checked(length)) else { break };
        elements.push(element);
        text = rest;
    }
    elements
}

#[cfg(test)]
#[path = "list_texts_tests.rs"]
mod tests;
