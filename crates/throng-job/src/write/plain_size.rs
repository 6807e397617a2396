//! Size of each row as plain values, regardless of how they are encoded in memory.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, GenericByteArray, OffsetSizeTrait, RecordBatch, make_array};
use datafusion::arrow::datatypes::{ArrowDictionaryKeyType, ByteArrayType, DataType, UInt32Type};

/// Returns the size of each row of a batch: the bytes of its values, without padding and offsets.
pub(super) fn row_sizes(batch: &RecordBatch) -> Vec<u64> {
    let mut sizes = vec![0; batch.num_rows()];
    batch.columns().iter().for_each(|column| add(column, &mut sizes));
    sizes
}

/// Returns an upper bound of the size of any row of a batch, in much less time than the sizes take; `None` for nested columns.
pub(super) fn largest_row(batch: &RecordBatch) -> Option<u64> {
    batch.columns().iter().map(largest_value).sum()
}

fn largest_value(column: &ArrayRef) -> Option<u64> {
    match column.data_type() {
        DataType::Null => Some(0),
        DataType::Boolean => Some(1),
        DataType::Utf8 => Some(longest(column.as_string::<i32>())),
        DataType::LargeUtf8 => Some(longest(column.as_string::<i64>())),
        DataType::Dictionary(_, _) => largest_value(column.as_any_dictionary().values()),
        other => other.primitive_width().map(|width| width as u64),
    }
}

fn longest<T: ByteArrayType>(column: &GenericByteArray<T>) -> u64 {
    column.offsets().lengths().max().unwrap_or(0) as u64
}

/// Adds the size of each value. A null has size zero, so values beneath it do not matter; fixed-width values count even
/// where they are null.
fn add(column: &ArrayRef, sizes: &mut [u64]) {
    match column.data_type() {
        DataType::Null => {}
        DataType::Boolean => sizes.iter_mut().for_each(|size| *size += 1),
        DataType::Utf8 => add_bytes(column.as_string::<i32>(), sizes),
        DataType::LargeUtf8 => add_bytes(column.as_string::<i64>(), sizes),
        DataType::Binary => add_bytes(column.as_binary::<i32>(), sizes),
        DataType::LargeBinary => add_bytes(column.as_binary::<i64>(), sizes),
        DataType::FixedSizeBinary(width) => sizes.iter_mut().for_each(|size| *size += width.unsigned_abs() as u64),
        DataType::Struct(_) => {
            let mut of_fields = vec![0; column.len()];
            column.as_struct().columns().iter().for_each(|field| add(field, &mut of_fields));
            add_valid(column, of_fields.into_iter(), sizes);
        }
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            add_lists(column, lists.offsets(), lists.values(), sizes);
        }
        DataType::LargeList(_) => {
            let lists = column.as_list::<i64>();
            add_lists(column, lists.offsets(), lists.values(), sizes);
        }
        DataType::Map(_, _) => {
            let maps = column.as_map();
            let entries: ArrayRef = std::sync::Arc::new(maps.entries().clone());
            add_lists(column, maps.offsets(), &entries, sizes);
        }
        DataType::Dictionary(_, _) => match column.as_dictionary_opt::<UInt32Type>() {
            Some(dictionary) => add_dictionary(dictionary, sizes),
            None => add_mean(column, sizes),
        },
        other => match other.primitive_width() {
            Some(width) => sizes.iter_mut().for_each(|size| *size += width as u64),
            None => add_mean(column, sizes),
        },
    }
}

fn add_bytes<T: ByteArrayType>(column: &GenericByteArray<T>, sizes: &mut [u64]) {
    add_valid(column, column.offsets().lengths().map(|length| length as u64), sizes);
}

/// Adds one size per row, except where the column is null.
fn add_valid(column: &dyn Array, of_rows: impl Iterator<Item = u64>, sizes: &mut [u64]) {
    match column.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => sizes.iter_mut().zip(of_rows).for_each(|(size, of_row)| *size += of_row),
        Some(nulls) => {
            let valid = sizes.iter_mut().zip(of_rows).zip(nulls).filter(|(_, is_valid)| *is_valid);
            valid.for_each(|((size, of_row), _)| *size += of_row);
        }
    }
}

/// Strings of a release are encoded with dictionaries of this key.
fn add_dictionary<K: ArrowDictionaryKeyType>(column: &datafusion::arrow::array::DictionaryArray<K>, sizes: &mut [u64]) {
    let mut entries = vec![0; column.values().len()];
    add(column.values(), &mut entries);
    for (size, key) in sizes.iter_mut().zip(column.keys_iter()) {
        *size += key.and_then(|key| entries.get(key)).copied().unwrap_or(0);
    }
}

fn add_lists<O: OffsetSizeTrait>(column: &ArrayRef, offsets: &[O], values: &ArrayRef, sizes: &mut [u64]) {
    let mut of_values = vec![0; values.len()];
    add(values, &mut of_values);
    let of_rows = offsets.windows(2).map(|ends| of_values[ends[0].as_usize()..ends[1].as_usize()].iter().sum());
    add_valid(column, of_rows, sizes);
}

/// Adds the mean size, for types whose rows have nearly the same size: fixed-size lists, and types that no release has.
fn add_mean(column: &ArrayRef, sizes: &mut [u64]) {
    if let DataType::FixedSizeList(_, length) = column.data_type() {
        let (lists, length) = (column.as_fixed_size_list(), length.unsigned_abs() as usize);
        let mut of_values = vec![0; lists.values().len()];
        add(lists.values(), &mut of_values);
        return add_valid(column, of_values.chunks(length.max(1)).map(|values| values.iter().sum()), sizes);
    }
    let children = column.to_data();
    let size: usize = children.child_data().iter().map(|child| make_array(child.clone()).get_array_memory_size()).sum();
    let mean = (size / column.len().max(1)) as u64;
    sizes.iter_mut().for_each(|size| *size += mean);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{BinaryArray, Int32Array, ListArray, StringArray, StructArray};
    use datafusion::arrow::buffer::OffsetBuffer;
    use datafusion::arrow::compute::cast;
    use datafusion::arrow::datatypes::Field;
    use throng_core::dictionary_encode::dictionary_type;

    use super::*;

    fn sizes(column: ArrayRef) -> Vec<u64> {
        let batch = RecordBatch::try_from_iter([("column", column)]).unwrap();
        let sizes = row_sizes(&batch);
        let is_flat =
            !batch.schema().field(0).data_type().is_nested() || batch.column(0).as_any_dictionary_opt().is_some();
        assert_eq!(largest_row(&batch).is_some(), is_flat && !matches!(batch.column(0).data_type(), DataType::Binary));
        assert!(largest_row(&batch).is_none_or(|largest| sizes.iter().all(|size| *size <= largest)));
        sizes
    }

    #[test]
    fn sizes_are_those_of_the_values_in_every_encoding() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("abcdef"), Some("")]));
        assert_eq!(sizes(Arc::clone(&texts)), [1, 0, 6, 0]);
        assert_eq!(sizes(cast(&texts, &DataType::LargeUtf8).unwrap()), [1, 0, 6, 0]);
        assert_eq!(sizes(cast(&texts, &dictionary_type()).unwrap()), [1, 0, 6, 0]);
        assert_eq!(sizes(texts.slice(1, 3)), [0, 6, 0]);
        assert_eq!(sizes(Arc::new(BinaryArray::from(vec![&b"ab"[..], b"c"]))), [2, 1]);
        assert_eq!(sizes(Arc::new(Int32Array::from(vec![Some(1), None]))), [4, 4]);
        let item = Arc::new(Field::new("item", DataType::Utf8, true));
        let lists = ListArray::new(Arc::clone(&item), OffsetBuffer::from_lengths([1, 0, 3]), Arc::clone(&texts), None);
        let lists: ArrayRef = Arc::new(lists);
        assert_eq!(sizes(Arc::clone(&lists)), [1, 0, 6]);
        assert_eq!(sizes(lists.slice(2, 1)), [6]);
        let pairs = StructArray::from(vec![(Arc::clone(&item), Arc::clone(&texts)), (item, texts)]);
        assert_eq!(sizes(Arc::new(pairs)), [2, 0, 12, 0]);
    }
}
