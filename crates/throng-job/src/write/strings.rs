//! Encodes a column chunk of strings, which usually arrive as a dictionary array.
//!
//! The writer of the Parquet library hashes every string again, row by row. Here each string of a dictionary is looked
//! up once per row group, and rows stay dictionary keys throughout. Plain strings are interned, so a chunk has the same
//! bytes in either case. The dictionary of a chunk holds only the strings of the chunk, in order of first occurrence,
//! so a chunk reveals nothing about the rest of the release or about the input.

use std::hash::BuildHasher;

use bytes::Bytes;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::UInt32Type;
use datafusion::parquet::basic::{Compression, Encoding, PageType};
use datafusion::parquet::column::page::{CompressedPage, Page, PageWriter};
use datafusion::parquet::column::writer::ColumnCloseResult;
use datafusion::parquet::data_type::ByteArray;
use datafusion::parquet::errors::{ParquetError, Result};
use datafusion::parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use datafusion::parquet::file::statistics::{Statistics, ValueStatistics};
use datafusion::parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use datafusion::parquet::schema::types::ColumnDescPtr;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use zstd::bulk::Compressor;

use super::rle_bit_packing;

/// Maximum size of a dictionary; larger chunks are left to the library.
const MAX_DICTIONARY_BYTES: usize = 1 << 20;

/// Number of rows per data page.
const PAGE_ROWS: usize = 1 << 15;

/// Maximum length of strings in the statistics of a chunk.
const MAX_STATISTICS_BYTES: usize = 64;

/// An encoded column chunk.
pub(super) struct StringChunk {
    pub(super) bytes: Bytes,
    pub(super) close: ColumnCloseResult,
}

/// Encodes a column. Returns `None` to leave it to the library: if it has no strings, or too many.
pub(super) fn encode(arrays: &[ArrayRef], column: &ColumnDescPtr, level: i32) -> Result<Option<StringChunk>> {
    let is_nullable = match (column.max_def_level(), column.max_rep_level()) {
        (0, 0) => false,
        (1, 0) => true,
        _ => return Ok(None),
    };
    let Some(strings) = Strings::of(arrays) else { return Ok(None) };
    let dictionary = strings.dictionary_page();
    if strings.entries.is_empty() || dictionary.len() > MAX_DICTIONARY_BYTES {
        return Ok(None);
    }
    let mut pages = Pages::new(level)?;
    pages.dictionary(dictionary, strings.entries.len())?;
    let all_valid = vec![1; PAGE_ROWS.min(strings.rows)];
    let mut numbers = strings.numbers.as_slice();
    for first in (0..strings.rows).step_by(PAGE_ROWS) {
        let rows = PAGE_ROWS.min(strings.rows - first);
        let (is_valid, valid) = match &strings.is_valid {
            None => (&all_valid[..rows], rows),
            Some(is_valid) => {
                let here = &is_valid[first..first + rows];
                (here, here.iter().filter(|is_valid| **is_valid == 1).count())
            }
        };
        let (here, later) = numbers.split_at(valid);
        numbers = later;
        pages.data(data_page(here, strings.entries.len(), is_nullable.then_some(is_valid)), rows)?;
    }
    pages.finish(&strings, column).map(Some)
}

/// Dictionary-encoded strings of a row group.
struct Strings<'a> {
    /// Distinct strings, in the order of their first row.
    entries: Vec<&'a str>,
    /// Dictionary keys of the rows that are not null.
    numbers: Vec<u32>,
    rows: usize,
    /// Definition levels: 1 for each row that is not null, 0 for the others; `None` if no row is null.
    is_valid: Option<Vec<u32>>,
    /// Size in the dictionary page of the entries that came from plain strings.
    plain_bytes: usize,
}

impl<'a> Strings<'a> {
    fn of(arrays: &'a [ArrayRef]) -> Option<Self> {
        let rows = arrays.iter().map(|array| array.len()).sum();
        let is_nullable = arrays.iter().any(|array| array.logical_null_count() > 0);
        let is_valid = is_nullable.then(|| Vec::with_capacity(rows));
        let mut strings =
            Self { entries: Vec::new(), numbers: Vec::with_capacity(rows), rows, is_valid, plain_bytes: 0 };
        let mut index = HashTable::new();
        let mut known: Option<(&StringArray, Vec<Option<u32>>)> = None;
        for array in arrays {
            if let Some(plain) = array.as_string_opt::<i32>() {
                strings.add_plain(plain, &mut index)?;
                continue;
            }
            let dictionary = array.as_dictionary_opt::<UInt32Type>()?;
            let values = dictionary.values().as_string_opt::<i32>().filter(|values| values.null_count() == 0)?;
            // Consecutive batches usually share their dictionary, so its keys are looked up once.
            let (values, number_of) = match &mut known {
                Some((last, number_of)) if std::ptr::eq(*last, values) => (*last, number_of),
                _ => {
                    let (values, number_of) = known.insert((values, vec![None; values.len()]));
                    (*values, number_of)
                }
            };
            let entries = &mut strings.entries;
            let mut number = |key: &u32| {
                *number_of[*key as usize]
                    .get_or_insert_with(|| intern(values.value(*key as usize), entries, &mut index))
            };
            let keys = dictionary.keys();
            match keys.nulls().filter(|nulls| nulls.null_count() > 0) {
                None => {
                    strings.numbers.extend(keys.values().iter().map(number));
                    if let Some(is_valid) = &mut strings.is_valid {
                        is_valid.resize(is_valid.len() + keys.len(), 1);
                    }
                }
                Some(nulls) => {
                    strings.numbers.extend(nulls.valid_indices().map(|row| number(&keys.values()[row])));
                    if let Some(is_valid) = &mut strings.is_valid {
                        is_valid.extend(nulls.iter().map(u32::from));
                    }
                }
            }
        }
        Some(strings)
    }

    /// Interns plain strings. Returns `None` when there are too many.
    fn add_plain(&mut self, plain: &'a StringArray, index: &mut HashTable<u32>) -> Option<()> {
        for string in plain {
            if let Some(is_valid) = &mut self.is_valid {
                is_valid.push(u32::from(string.is_some()));
            }
            let Some(string) = string else { continue };
            let known = self.entries.len();
            self.numbers.push(intern(string, &mut self.entries, index));
            if self.entries.len() > known {
                self.plain_bytes += string.len() + 4;
            }
            if self.plain_bytes > MAX_DICTIONARY_BYTES {
                return None;
            }
        }
        Some(())
    }

    /// Encodes the dictionary page: length and bytes of each string.
    fn dictionary_page(&self) -> Vec<u8> {
        let mut page = Vec::new();
        for entry in &self.entries {
            page.extend_from_slice(&(entry.len() as u32).to_le_bytes());
            page.extend_from_slice(entry.as_bytes());
        }
        page
    }

    fn statistics(&self) -> Statistics {
        let bound = |entry: Option<&&str>| entry.map(|entry| ByteArray::from(entry.as_bytes().to_vec()));
        let (least, greatest) = (self.entries.iter().min(), self.entries.iter().max());
        let is_short = [least, greatest].iter().flatten().all(|entry| entry.len() <= MAX_STATISTICS_BYTES);
        let (least, greatest) = if is_short { (bound(least), bound(greatest)) } else { (None, None) };
        let nulls = (self.rows - self.numbers.len()) as u64;
        Statistics::ByteArray(ValueStatistics::new(least, greatest, None, Some(nulls), false))
    }
}

fn intern<'a>(string: &'a str, entries: &mut Vec<&'a str>, index: &mut HashTable<u32>) -> u32 {
    let hash = |string: &str| FxBuildHasher.hash_one(string);
    if let Some(number) = index.find(hash(string), |number| entries[*number as usize] == string) {
        return *number;
    }
    let number = entries.len() as u32;
    entries.push(string);
    index.insert_unique(hash(string), number, |number| hash(entries[*number as usize]));
    number
}

/// Encodes a data page: definition levels, then the dictionary keys of the rows with a value.
fn data_page(numbers: &[u32], entries: usize, is_valid: Option<&[u32]>) -> Vec<u8> {
    let mut page = Vec::with_capacity(numbers.len() * 2);
    if let Some(is_valid) = is_valid {
        let mut levels = Vec::new();
        rle_bit_packing::encode(is_valid, 1, &mut levels);
        page.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        page.extend_from_slice(&levels);
    }
    let width = rle_bit_packing::width(entries);
    page.push(width as u8);
    rle_bit_packing::encode(numbers, width, &mut page);
    page
}

/// Writer of the pages of a chunk.
struct Pages {
    sink: TrackedWrite<Vec<u8>>,
    compressor: Compressor<'static>,
    level: i32,
    uncompressed: usize,
    first_data_page: Option<u64>,
    data_pages: i32,
}

impl Pages {
    fn new(level: i32) -> Result<Self> {
        let compressor = Compressor::new(level)?;
        let sink = TrackedWrite::new(Vec::new());
        Ok(Self { sink, compressor, level, uncompressed: 0, first_data_page: None, data_pages: 0 })
    }

    fn dictionary(&mut self, page: Vec<u8>, entries: usize) -> Result<()> {
        let (encoding, num_values) = (Encoding::PLAIN, entries as u32);
        self.write(page, |buf| Page::DictionaryPage { buf, num_values, encoding, is_sorted: false }).map(|_| ())
    }

    fn data(&mut self, page: Vec<u8>, rows: usize) -> Result<()> {
        let offset = self.write(page, |buf| Page::DataPage {
            buf,
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })?;
        self.first_data_page.get_or_insert(offset);
        self.data_pages += 1;
        Ok(())
    }

    fn write(&mut self, page: Vec<u8>, of: impl FnOnce(Bytes) -> Page) -> Result<u64> {
        let compressed = self.compressor.compress(&page)?;
        let page = CompressedPage::new(of(compressed.into()), page.len());
        let written = SerializedPageWriter::new(&mut self.sink).write_page(page)?;
        self.uncompressed += written.uncompressed_size;
        Ok(written.offset)
    }

    fn finish(self, strings: &Strings<'_>, column: &ColumnDescPtr) -> Result<StringChunk> {
        let bytes = self.sink.into_inner()?;
        let pages = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
        let level = datafusion::parquet::basic::ZstdLevel::try_new(self.level)?;
        let offset = |offset: u64| i64::try_from(offset).map_err(|error| ParquetError::External(Box::new(error)));
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
            .set_page_encoding_stats(vec![
                pages(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
                pages(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, self.data_pages),
            ])
            .set_compression(Compression::ZSTD(level))
            .set_num_values(strings.rows as i64)
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed as i64)
            .set_dictionary_page_offset(Some(0))
            .set_data_page_offset(offset(self.first_data_page.unwrap_or(0))?)
            .set_statistics(strings.statistics())
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: strings.rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok(StringChunk { bytes: bytes.into(), close })
    }
}

#[cfg(test)]
#[path = "strings_tests.rs"]
mod tests;
