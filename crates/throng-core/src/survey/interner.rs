//! Numbers the distinct values of a column in order of arrival, over all batches.
//!
//! If nearly every row has a distinct value, lookups are slow and rarely hit. Such a column is *scattered*: each row
//! gets a new number, so that the few repeated values have several. Numbers are merged by value at the end, so results
//! are the same. A sample of the values is still looked up to detect when values begin to repeat.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, UInt32Array, make_array, new_empty_array};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, UInt32Type,
};
use arrow::error::ArrowError;
use rustc_hash::FxHashMap;

use super::cardinality::Cardinality;
use crate::domain::NULL;
use crate::list_texts::{list_field, list_parts, list_texts};

/// Distinct values of one column seen so far.
#[derive(Debug)]
pub(super) struct Interner {
    data_type: DataType,
    keys: InternedKeys,
    /// Values in the order of their numbers, one array per batch that added any.
    pieces: Vec<ArrayRef>,
    len: u32,
    /// Whether values are lists, which are interned as text.
    are_lists: bool,
    /// Memory of all pieces, in bytes.
    pieces_size: usize,
    are_all_own: bool,
}

#[derive(Debug)]
enum InternedKeys {
    Fixed(FxHashMap<i128, u32>),
    Narrow(NarrowKeys),
    Bytes(FxHashMap<Box<[u8]>, u32>),
}

/// Map of values of up to 64 bits, behind a direct-mapped cache of recent lookups.
#[derive(Debug)]
struct NarrowKeys {
    map: FxHashMap<i64, u32>,
    recent: Vec<(i64, u32)>,
    spread: Cardinality,
}

/// A map of more values is dropped when numbering starts again; a smaller one keeps its memory.
const KEPT_CAPACITY: usize = 1 << 16;

/// Base-2 logarithm of the number of cache entries.
const RECENT_BITS: u32 = 12;

impl Default for NarrowKeys {
    fn default() -> Self {
        Self { map: FxHashMap::default(), recent: vec![(0, NULL); 1 << RECENT_BITS], spread: Cardinality::Unknown }
    }
}

/// Reason why a column can't be interned.
#[derive(Debug)]
pub(super) enum InternError {
    /// Number of rows that are NaN or infinite.
    NotFinite(usize),
    /// The type is not supported.
    Type,
    /// There are more values than 32-bit numbers.
    TooMany,
    Arrow(ArrowError),
}

impl From<ArrowError> for InternError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl Interner {
    /// Creates an interner for columns of this type; `None` if the type is not supported. Dictionaries are interned by
    /// value, and all string types are equivalent.
    pub(super) fn new(data_type: &DataType) -> Option<Self> {
        use DataType::*;
        if let Some(field) = list_field(data_type) {
            // The elements must be values that could be interned, and not lists themselves.
            Self::new(field.data_type()).filter(|of_element| !of_element.are_lists)?;
            return Self::new(&Utf8).map(|own| Self { are_lists: true, ..own });
        }
        let data_type = plain_type(data_type);
        let keys = match &data_type {
            Int8
            | Int16
            | Int32
            | Int64
            | UInt8
            | UInt16
            | UInt32
            | UInt64
            | Float16
            | Float32
            | Float64
            | Date32
            | Date64
            | Time32(_)
            | Time64(_)
            | Timestamp(_, _)
            | Boolean
            | Decimal32(_, _)
            | Decimal64(_, _) => InternedKeys::Narrow(NarrowKeys::default()),
            Decimal128(_, _) => InternedKeys::Fixed(FxHashMap::default()),
            Decimal256(_, _) | Utf8 => InternedKeys::Bytes(FxHashMap::default()),
            _ => return None,
        };
        Some(Self { data_type, keys, pieces: Vec::new(), len: 0, are_lists: false, pieces_size: 0, are_all_own: false })
    }

    /// Returns the number of each row's value; [`NULL`] for null.
    pub(super) fn intern(&mut self, array: &ArrayRef) -> Result<Vec<u32>, InternError> {
        if let DataType::Dictionary(_, _) = array.data_type() {
            return self.intern_dictionary(array);
        }
        let texts;
        let array = match self.are_lists {
            true => {
                let (elements, parts) = list_parts(array).ok_or(InternError::Type)?;
                texts = Arc::new(list_texts(array, &finite(&plain(&elements)?)?, &parts)?) as ArrayRef;
                &texts
            }
            false => array,
        };
        let array = match (&self.data_type, array.data_type()) {
            (DataType::Utf8, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => array.clone(),
            (expected, found) if expected == found => finite(array)?,
            _ => return Err(InternError::Type),
        };
        if let InternedKeys::Narrow(keys) = &mut self.keys
            && keys.is_scattered(&array)?
        {
            return self.scatter(array);
        }
        let mut fresh = Vec::new();
        let codes = match &mut self.keys {
            InternedKeys::Narrow(keys) => {
                let mut lookup = NarrowLookup { keys, len: &mut self.len, fresh: &mut fresh };
                match array.as_boolean_opt() {
                    Some(values) => lookup.codes(values.values().iter().map(i64::from), &array),
                    None => narrow_codes(&array, &mut lookup)?,
                }
            }
            InternedKeys::Fixed(map) => {
                let mut lookup = Lookup { map, len: &mut self.len, fresh: &mut fresh };
                let array = array.as_primitive::<Decimal128Type>();
                array.iter().enumerate().map(|(i, v)| lookup.copy(i, v)).collect()
            }
            InternedKeys::Bytes(map) => {
                let mut lookup = Lookup { map, len: &mut self.len, fresh: &mut fresh };
                match array.data_type() {
                    DataType::Utf8 => strings(array.as_string::<i32>().iter(), &mut lookup),
                    DataType::LargeUtf8 => strings(array.as_string::<i64>().iter(), &mut lookup),
                    DataType::Utf8View => strings(array.as_string_view().iter(), &mut lookup),
                    _ => {
                        let array = array.as_primitive::<Decimal256Type>();
                        let bytes = |v: Option<arrow::datatypes::i256>| v.map(arrow::datatypes::i256::to_le_bytes);
                        let rows = array.iter().map(bytes).enumerate();
                        rows.map(|(i, v)| lookup.bytes(i, v.as_ref().map(<[u8; 32]>::as_slice))).collect()
                    }
                }
            }
        };
        if let InternedKeys::Narrow(keys) = &mut self.keys {
            keys.spread.look(self.len as usize, fresh.len(), array.len());
        }
        self.are_all_own = false;
        if !fresh.is_empty() {
            let piece = take(&array, &UInt32Array::from(fresh), None)?;
            let piece = cast(&piece, &self.data_type)?;
            self.pieces_size += piece.get_buffer_memory_size();
            self.pieces.push(piece);
        }
        Ok(codes)
    }

    /// Gives every value a new number, without lookup.
    fn scatter(&mut self, array: ArrayRef) -> Result<Vec<u32>, InternError> {
        let first = self.len;
        let valued = array.len() - array.null_count();
        self.len = u32::try_from(valued).ok().and_then(|more| first.checked_add(more)).ok_or(InternError::TooMany)?;
        let (codes, piece): (Vec<u32>, ArrayRef) = match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => ((first..self.len).collect(), array),
            Some(nulls) => {
                let mut next = first..self.len;
                let codes = nulls.iter().map(|is_valid| if is_valid { next.next().unwrap_or(NULL) } else { NULL });
                let valid: UInt32Array = nulls.valid_indices().map(|row| row as u32).collect();
                (codes.collect(), take(&array, &valid, None)?)
            }
        };
        self.are_all_own = piece.len() == codes.len();
        self.pieces_size += piece.get_buffer_memory_size();
        self.pieces.push(piece);
        Ok(codes)
    }

    /// Returns whether every row of the last batch has a number that no other row ever gets.
    pub(super) fn are_all_own(&self) -> bool {
        self.are_all_own
    }

    /// Interns each used entry of the dictionary once; ignores unused entries.
    fn intern_dictionary(&mut self, array: &ArrayRef) -> Result<Vec<u32>, InternError> {
        let dictionary = array.as_any_dictionary();
        let entries = dictionary.values().len();
        if entries == 0 {
            // All rows are null. Keys can't be normalized for an empty dictionary.
            self.are_all_own = false;
            return Ok(vec![NULL; array.len()]);
        }
        let normalized: Vec<u32>;
        let keys: &[u32] = match array.as_dictionary_opt::<UInt32Type>() {
            Some(dictionary) => dictionary.keys().values(),
            None => {
                normalized = dictionary.normalized_keys().into_iter().map(|key| key as u32).collect();
                &normalized
            }
        };
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let mut is_used = vec![false; entries];
        match nulls {
            None => keys.iter().for_each(|key| is_used[*key as usize] = true),
            Some(nulls) => nulls.valid_indices().for_each(|row| is_used[keys[row] as usize] = true),
        }
        let used: Vec<u32> = (0..entries as u32).filter(|entry| is_used[*entry as usize]).collect();
        let values = match used.len() == entries {
            true => Arc::clone(dictionary.values()),
            false => take(dictionary.values(), &UInt32Array::from(used.clone()), None)?,
        };
        let codes = self.intern(&values).map_err(|error| match error {
            // The error counts entries, but the caller needs the number of rows.
            InternError::NotFinite(entries) => {
                let plain = cast(array, &self.data_type).map_err(InternError::Arrow);
                plain.and_then(|plain| finite(&plain)).err().unwrap_or(InternError::NotFinite(entries))
            }
            other => other,
        })?;
        self.are_all_own = false;
        let mut code_of = vec![NULL; entries];
        used.iter().zip(codes).for_each(|(entry, code)| code_of[*entry as usize] = code);
        Ok(match nulls {
            None => keys.iter().map(|key| code_of[*key as usize]).collect(),
            Some(nulls) => {
                let mut codes = vec![NULL; keys.len()];
                nulls.valid_indices().for_each(|row| codes[row] = code_of[keys[row] as usize]);
                codes
            }
        })
    }

    /// Returns the values in the order of their numbers, without null, and starts numbering again.
    pub(super) fn restart(&mut self) -> Result<ArrayRef, ArrowError> {
        match &mut self.keys {
            InternedKeys::Fixed(map) => *map = FxHashMap::default(),
            InternedKeys::Bytes(map) => *map = FxHashMap::default(),
            InternedKeys::Narrow(keys) => {
                match keys.map.len() > KEPT_CAPACITY {
                    true => keys.map = FxHashMap::default(),
                    false => keys.map.clear(),
                }
                keys.recent.fill((0, NULL));
                keys.spread.settle();
            }
        }
        self.len = 0;
        self.pieces_size = 0;
        self.are_all_own = false;
        concatenated(&self.data_type, std::mem::take(&mut self.pieces))
    }

    /// Returns the number of assigned numbers.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns the size of the values without keys, in bytes.
    pub(super) fn values_size(&self) -> usize {
        self.pieces_size
    }

    /// Returns the memory of keys and values, in bytes, with `times` as many values of the same kind.
    pub(super) fn projected_size(&self, times: f64) -> usize {
        // Maps grow by doubling, when seven eighths are full.
        let entries = |map: usize, entry: usize| {
            let places = (map as f64 * times * 8.0 / 7.0) as usize;
            (places.next_power_of_two() / 8 * 7 * entry) as f64
        };
        let keys = match &self.keys {
            InternedKeys::Fixed(map) => entries(map.len(), size_of::<(i128, u32)>()),
            InternedKeys::Narrow(keys) => entries(keys.map.len(), size_of::<(i64, u32)>()),
            InternedKeys::Bytes(map) => {
                entries(map.len(), size_of::<(Box<[u8]>, u32)>()) + self.pieces_size as f64 * times
            }
        };
        (keys + self.pieces_size as f64 * times) as usize
    }

    /// Returns the memory of keys and values, in bytes.
    pub(super) fn size(&self) -> usize {
        let keys = match &self.keys {
            InternedKeys::Fixed(map) => map.capacity() * size_of::<(i128, u32)>(),
            InternedKeys::Narrow(keys) => {
                (keys.map.capacity() + keys.recent.len()) * size_of::<(i64, u32)>() + keys.spread.size()
            }
            // The keys own a copy of the bytes of the values.
            InternedKeys::Bytes(map) => map.capacity() * size_of::<(Box<[u8]>, u32)>() + self.pieces_size,
        };
        keys + self.pieces_size
    }

    /// Returns the values in the order of their numbers, without null. Drops the keys first to free their memory.
    pub(super) fn into_distinct(self) -> Result<ArrayRef, ArrowError> {
        let Self { data_type, keys, pieces, .. } = self;
        drop(keys);
        concatenated(&data_type, pieces)
    }
}

fn concatenated(data_type: &DataType, pieces: Vec<ArrayRef>) -> Result<ArrayRef, ArrowError> {
    if pieces.is_empty() {
        return Ok(new_empty_array(data_type));
    }
    let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
    concat(&pieces)
}

/// Returns the type in which distinct values are stored.
fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, value) => plain_type(value),
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        other => other.clone(),
    }
}

struct Lookup<'a, K> {
    map: &'a mut FxHashMap<K, u32>,
    len: &'a mut u32,
    fresh: &'a mut Vec<u32>,
}

impl<K> Lookup<'_, K> {
    /// Returns the next number, for a value first seen in row `row`.
    fn next(len: &mut u32, fresh: &mut Vec<u32>, row: usize) -> u32 {
        let code = *len;
        *len += 1;
        fresh.push(row as u32);
        code
    }
}

impl<K: std::hash::Hash + Eq> Lookup<'_, K> {
    fn copy(&mut self, row: usize, key: Option<K>) -> u32 {
        match key {
            Some(key) => *self.map.entry(key).or_insert_with(|| Self::next(self.len, self.fresh, row)),
            None => NULL,
        }
    }
}

impl Lookup<'_, Box<[u8]>> {
    fn bytes(&mut self, row: usize, key: Option<&[u8]>) -> u32 {
        let Some(key) = key else { return NULL };
        if let Some(code) = self.map.get(key) {
            return *code;
        }
        let code = Self::next(self.len, self.fresh, row);
        self.map.insert(key.into(), code);
        code
    }
}

fn strings<'a>(rows: impl Iterator<Item = Option<&'a str>>, lookup: &mut Lookup<'_, Box<[u8]>>) -> Vec<u32> {
    rows.enumerate().map(|(row, value)| lookup.bytes(row, value.map(str::as_bytes))).collect()
}

struct NarrowLookup<'a> {
    keys: &'a mut NarrowKeys,
    len: &'a mut u32,
    fresh: &'a mut Vec<u32>,
}

impl NarrowLookup<'_> {
    #[inline]
    fn code(&mut self, row: usize, key: i64) -> u32 {
        let NarrowKeys { map, recent, .. } = &mut *self.keys;
        let at = key.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT_BITS);
        let (known, code) = recent[at as usize];
        if known == key && code != NULL {
            return code;
        }
        let code = *map.entry(key).or_insert_with(|| Lookup::<i64>::next(self.len, self.fresh, row));
        recent[at as usize] = (key, code);
        code
    }

    /// Returns the codes of values; those of null rows are ignored.
    fn codes(&mut self, values: impl Iterator<Item = i64>, array: &ArrayRef) -> Vec<u32> {
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => values.enumerate().map(|(row, value)| self.code(row, value)).collect(),
            Some(nulls) => {
                let rows = values.enumerate().zip(nulls);
                rows.map(|((row, value), is_valid)| if is_valid { self.code(row, value) } else { NULL }).collect()
            }
        }
    }
}

/// Interns values of up to 64 bits by their bit patterns.
fn narrow_codes(array: &ArrayRef, lookup: &mut NarrowLookup<'_>) -> Result<Vec<u32>, InternError> {
    fn codes<T: ArrowPrimitiveType<Native: Into<i64>>>(
        array: &ArrayRef,
        lookup: &mut NarrowLookup<'_>,
    ) -> Result<Vec<u32>, InternError> {
        Ok(lookup.codes(bits::<T>(array)?.values().iter().map(|value| (*value).into()), array))
    }
    match array.data_type().primitive_width() {
        Some(1) => codes::<Int8Type>(array, lookup),
        Some(2) => codes::<Int16Type>(array, lookup),
        Some(4) => codes::<Int32Type>(array, lookup),
        Some(8) => codes::<Int64Type>(array, lookup),
        _ => Err(InternError::Type),
    }
}

/// Reinterprets values as integers of the same width.
fn bits<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<PrimitiveArray<T>, ArrowError> {
    let bits = make_array(array.to_data().into_builder().data_type(T::DATA_TYPE).build()?);
    Ok(bits.as_primitive::<T>().clone())
}

impl NarrowKeys {
    /// Returns whether the values of a batch need no lookup. Types narrower than 32 bits have too few values for that.
    fn is_scattered(&mut self, array: &ArrayRef) -> Result<bool, InternError> {
        match (&self.spread, array.data_type().primitive_width()) {
            (Cardinality::Unknown | Cardinality::Repeated, _) => Ok(false),
            (_, Some(4)) => Ok(self.spread.is_scattered(bits::<Int32Type>(array)?.iter().flatten().map(i64::from))),
            (_, Some(8)) => Ok(self.spread.is_scattered(bits::<Int64Type>(array)?.iter().flatten())),
            _ => Ok(false),
        }
    }
}

/// Returns the values of a dictionary, row by row.
fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(_, values) => cast(array, values),
        _ => Ok(Arc::clone(array)),
    }
}

/// Rejects NaN and infinities; normalizes negative zero.
fn finite(array: &ArrayRef) -> Result<ArrayRef, InternError> {
    fn check<T: ArrowPrimitiveType>(
        array: &PrimitiveArray<T>,
        is_finite: impl Fn(T::Native) -> bool,
        one_zero: impl Fn(T::Native) -> T::Native,
    ) -> Result<ArrayRef, InternError> {
        let bad = array.iter().flatten().filter(|value| !is_finite(*value)).count();
        if bad > 0 {
            return Err(InternError::NotFinite(bad));
        }
        Ok(Arc::new(array.unary::<_, T>(one_zero)))
    }
    match array.data_type() {
        DataType::Float16 => check::<Float16Type>(array.as_primitive(), half::f16::is_finite, |v| v + half::f16::ZERO),
        DataType::Float32 => check::<Float32Type>(array.as_primitive(), f32::is_finite, |v| v + 0.0),
        DataType::Float64 => check::<Float64Type>(array.as_primitive(), f64::is_finite, |v| v + 0.0),
        _ => Ok(array.clone()),
    }
}
