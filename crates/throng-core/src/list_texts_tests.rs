use std::sync::Arc;

use arrow::array::{FixedSizeListArray, Int64Array, LargeListArray, ListArray, ListViewArray, StringArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{Field, Int32Type, Int64Type};

use super::*;

fn texts_of(lists: &ArrayRef) -> Vec<Option<String>> {
    let (elements, parts) = list_parts(lists).unwrap();
    let texts = list_texts(lists, &elements, &parts).unwrap();
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn all_kinds_of_lists_have_the_same_texts() {
    let rows = vec![Some(vec![Some(7), None, Some(10), Some(7)]), None, Some(vec![]), Some(vec![None])];
    let expected = [Some("2:101:7".to_owned()), None, Some(String::new()), Some(String::new())];
    let small: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(rows.clone()));
    let large: ArrayRef = Arc::new(LargeListArray::from_iter_primitive::<Int32Type, _, _>(
        rows.iter().map(|row| row.as_ref().map(|row| row.iter().map(|number| number.map(|number| number as i32)))),
    ));
    assert_eq!(texts_of(&small), expected);
    assert_eq!(texts_of(&large), expected);
    assert_eq!(texts_of(&small.slice(1, 2)), expected[1..3]);
    let field = Arc::new(Field::new("item", DataType::Int64, true));
    let values: ArrayRef = Arc::new(Int64Array::from(vec![3, 2, 1]));
    let (offsets, sizes) = (ScalarBuffer::from(vec![1, 0]), ScalarBuffer::from(vec![2, 3]));
    let views: ArrayRef = Arc::new(ListViewArray::new(Arc::clone(&field), offsets, sizes, Arc::clone(&values), None));
    assert_eq!(texts_of(&views), [Some("1:11:2".to_owned()), Some("1:11:21:3".to_owned())]);
    let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(field, 3, values, None));
    assert_eq!(texts_of(&fixed), [Some("1:11:21:3".to_owned())]);
    let plain: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    assert!(list_parts(&plain).is_none());
}

#[test]
fn elements_are_read_back() {
    for elements in [vec![], vec![""], vec!["3:a", ":", "été"], vec!["a", "b:c", "12:"]] {
        let text: String = elements.iter().map(|element| format!("{}:{element}", element.len())).collect();
        assert_eq!(elements_of_text(&text), elements);
    }
}
