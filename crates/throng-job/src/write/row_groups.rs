//! Splits a release into row groups, by rows and by bytes.
//!
//! A row group is held in memory while it is encoded, so its size must not depend on the width of rows. The boundaries
//! follow from the values alone: not from the batches in which they arrive, their encoding, the number of threads or the
//! memory limit.

use std::collections::VecDeque;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::error::DataFusionError;
use futures::{Stream, TryStreamExt};

use super::plain_size::{largest_row, row_sizes};
use crate::error::JobError;

/// Rows of a row group: enough for good encodings, few enough for readers to skip row groups.
pub(crate) const ROW_GROUP_ROWS: usize = 128 * 1024;

/// Size of the values of a row group, which may exceed it by at most one row. Row groups have fewer rows if rows are wider
/// than 256 bytes.
pub(crate) const ROW_GROUP_BYTES: u64 = 32 << 20;

/// Number of rows that are encoded at a time. Row groups have a multiple of it, except for the last of a file and those of
/// wide rows.
const BATCH_ROWS: usize = 8 * 1024;

/// Size of the values that are encoded at a time, which may exceed it by at most one row.
const BATCH_BYTES: u64 = 4 << 20;

/// Size of rows that fill neither a row group nor a batch before their number does.
const SMALL_ROW: u64 = ROW_GROUP_BYTES / ROW_GROUP_ROWS as u64;
const _: () = assert!(SMALL_ROW * BATCH_ROWS as u64 <= BATCH_BYTES);

/// Rows of one row group.
pub(super) struct RowGroup {
    pub(super) batches: Vec<RecordBatch>,
    /// Number of the row group within its file.
    pub(super) number: usize,
    /// Whether the file is full.
    pub(super) is_last: bool,
}

impl RowGroup {
    pub(super) fn rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }
}

/// Splits batches into row groups. No row group crosses the end of a file.
pub(super) fn row_groups(
    batches: impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send,
    rows_per_file: usize,
) -> impl Stream<Item = Result<RowGroup, JobError>> + Send {
    let batches = Box::pin(batches.map_err(|error| JobError::from(throng_datafusion::AnonymizeError::from(error))));
    let start = (batches, RowGroupSplitter { rows_per_file, file_rows: 0, file_groups: 0, rest: None });
    futures::stream::try_unfold(start, |(mut batches, mut splitter)| async move {
        let mut filling = Filling::default();
        while !filling.is_full() && splitter.file_rows < splitter.rows_per_file {
            let rest = match splitter.rest.take() {
                Some(rest) => rest,
                None => match batches.try_next().await? {
                    Some(batch) => SizedRows::new(batch),
                    None => break,
                },
            };
            let left = splitter.rows_per_file - splitter.file_rows;
            let (taken, rest) = filling.take(rest, left)?;
            splitter.file_rows += taken;
            splitter.rest = rest;
        }
        let Some(batches_of_group) = filling.finish()? else { return Ok(None) };
        let number = splitter.file_groups;
        let is_last = splitter.file_rows == splitter.rows_per_file;
        (splitter.file_rows, splitter.file_groups) =
            if is_last { (0, 0) } else { (splitter.file_rows, splitter.file_groups + 1) };
        Ok(Some((RowGroup { batches: batches_of_group, number, is_last }, (batches, splitter))))
    })
}

/// Position in the release.
struct RowGroupSplitter {
    rows_per_file: usize,
    /// Rows and row groups of the file so far.
    file_rows: usize,
    file_groups: usize,
    /// Rows that belong to later row groups.
    rest: Option<SizedRows>,
}

/// The rest of a batch, with the size of each row.
struct SizedRows {
    batch: RecordBatch,
    sizes: RowSizes,
}

enum RowSizes {
    /// All rows are [small](SMALL_ROW).
    Small,
    Each(VecDeque<u64>),
}

impl SizedRows {
    fn new(batch: RecordBatch) -> Self {
        let sizes = match largest_row(&batch) {
            Some(largest) if largest <= SMALL_ROW => RowSizes::Small,
            _ => RowSizes::Each(row_sizes(&batch).into()),
        };
        Self { batch, sizes }
    }

    /// Returns the batch and the size of each row.
    fn into_each(self) -> (RecordBatch, VecDeque<u64>) {
        let sizes = match self.sizes {
            RowSizes::Small => row_sizes(&self.batch).into(),
            RowSizes::Each(sizes) => sizes,
        };
        (self.batch, sizes)
    }
}

/// A row group that is being filled.
#[derive(Default)]
struct Filling {
    batches: Vec<RecordBatch>,
    rows: usize,
    /// Size of all rows; zero as long as all of them are [small](SMALL_ROW).
    bytes: u64,
    /// Pieces of the batch that is being filled.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: u64,
    are_rows_sized: bool,
}

impl Filling {
    fn is_full(&self) -> bool {
        self.rows >= ROW_GROUP_ROWS || self.bytes >= ROW_GROUP_BYTES
    }

    fn is_batch_full(&self) -> bool {
        self.waiting_rows >= BATCH_ROWS || self.waiting_bytes >= BATCH_BYTES
    }

    /// Takes rows until the batch, the row group, the file or the input ends. Returns the number of rows taken, and the
    /// remaining rows.
    fn take(&mut self, from: SizedRows, most: usize) -> Result<(usize, Option<SizedRows>), JobError> {
        if matches!(from.sizes, RowSizes::Small) && !self.are_rows_sized {
            let room = (ROW_GROUP_ROWS - self.rows).min(BATCH_ROWS - self.waiting_rows);
            let taken = from.batch.num_rows().min(most).min(room);
            let rest = self.put(&from.batch, taken)?;
            return Ok((taken, rest.map(|batch| SizedRows { batch, sizes: RowSizes::Small })));
        }
        self.size_rows();
        let (batch, mut sizes) = from.into_each();
        let (mut taken, mut bytes) = (0, 0);
        let is_full = |taken: usize, bytes: u64| {
            self.rows + taken >= ROW_GROUP_ROWS
                || self.bytes + bytes >= ROW_GROUP_BYTES
                || self.waiting_rows + taken >= BATCH_ROWS
                || self.waiting_bytes + bytes >= BATCH_BYTES
        };
        while taken < most && !is_full(taken, bytes) {
            let Some(size) = sizes.pop_front() else { break };
            taken += 1;
            bytes += size;
        }
        self.bytes += bytes;
        self.waiting_bytes += bytes;
        let rest = self.put(&batch, taken)?;
        Ok((taken, rest.map(|batch| SizedRows { batch, sizes: RowSizes::Each(sizes) })))
    }

    /// Adds the first `taken` rows of a batch, and returns the others.
    fn put(&mut self, batch: &RecordBatch, taken: usize) -> Result<Option<RecordBatch>, JobError> {
        self.rows += taken;
        self.waiting_rows += taken;
        self.waiting.push(batch.slice(0, taken));
        if self.is_batch_full() {
            self.end_batch()?;
        }
        let left = batch.num_rows() - taken;
        Ok((left > 0).then(|| batch.slice(taken, left)))
    }

    /// Computes the sizes of the rows so far.
    fn size_rows(&mut self) {
        if !std::mem::replace(&mut self.are_rows_sized, true) {
            let size = |batches: &[RecordBatch]| batches.iter().flat_map(row_sizes).sum::<u64>();
            self.waiting_bytes = size(&self.waiting);
            self.bytes = size(&self.batches) + self.waiting_bytes;
        }
    }

    fn end_batch(&mut self) -> Result<(), JobError> {
        let waiting = std::mem::take(&mut self.waiting);
        (self.waiting_rows, self.waiting_bytes) = (0, 0);
        self.batches.push(together(&waiting)?);
        Ok(())
    }

    /// Returns the batches; `None` if there are no rows.
    fn finish(mut self) -> Result<Option<Vec<RecordBatch>>, JobError> {
        if self.waiting_rows > 0 {
            self.end_batch()?;
        }
        Ok((self.rows > 0).then_some(self.batches))
    }
}

fn together(batches: &[RecordBatch]) -> Result<RecordBatch, JobError> {
    match batches {
        [one] => Ok(one.clone()),
        many => {
            concat_batches(&many[0].schema(), many).map_err(|_| JobError::internal("rows could not be put together"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
    use datafusion::arrow::compute::cast;
    use datafusion::arrow::datatypes::DataType;
    use throng_core::dictionary_encode::dictionary_type;

    use super::*;

    fn rows(first: i64, count: i64, width: usize, text: &DataType) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + count));
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter((0..count).map(|row| (row % 5 != 0).then(|| "x".repeat(width)))));
        RecordBatch::try_from_iter([("number", numbers), ("text", cast(&texts, text).unwrap())]).unwrap()
    }

    async fn groups(batches: Vec<RecordBatch>, rows_per_file: usize) -> Vec<(usize, bool, Vec<usize>)> {
        let stream = futures::stream::iter(batches.into_iter().map(Ok));
        let groups: Vec<RowGroup> = row_groups(stream, rows_per_file).try_collect().await.unwrap();
        let rows = |group: &RowGroup| group.batches.iter().map(RecordBatch::num_rows).collect();
        groups.iter().map(|group| (group.number, group.is_last, rows(group))).collect()
    }

    #[tokio::test]
    async fn narrow_rows_are_split_by_their_number() {
        let found = groups(vec![rows(0, 300_000, 3, &DataType::Utf8)], 200_000).await;
        let rows: Vec<usize> = found.iter().map(|(_, _, batches)| batches.iter().sum()).collect();
        assert_eq!(rows, [131_072, 68_928, 100_000]);
        assert_eq!(
            found.iter().map(|(number, last, _)| (*number, *last)).collect::<Vec<_>>(),
            [(0, false), (1, true), (0, false)]
        );
        assert!(found[0].2.iter().all(|batch| *batch == BATCH_ROWS));
    }

    #[tokio::test]
    async fn narrow_rows_before_wide_ones_count_by_their_size() {
        let wide = rows(0, 1000, 100_000, &DataType::Utf8);
        let narrow = |first: i64| rows(first, 40_000, 3, &DataType::Utf8);
        let found = groups(vec![narrow(0), wide.clone(), narrow(40_000)], usize::MAX).await;
        let together = concat_batches(&wide.schema(), &[narrow(0), wide, narrow(40_000)]).unwrap();
        assert_eq!(found, groups(vec![together], usize::MAX).await);
        assert_eq!(found[0].2[..4], [BATCH_ROWS; 4]);
        assert!(found.len() >= 2 && found.iter().all(|(_, _, batches)| batches.iter().sum::<usize>() < 82_000));
    }

    #[tokio::test]
    async fn wide_rows_are_split_by_their_size_whatever_their_batches_and_encoding() {
        let width = 100_000;
        let expected = groups(vec![rows(0, 1000, width, &DataType::Utf8)], usize::MAX).await;
        assert!(expected.len() >= 2, "{expected:?}");
        let of_group = |batches: &[usize]| batches.iter().sum::<usize>() as u64 * width as u64 * 4 / 5;
        assert!(expected.iter().all(|(_, _, batches)| of_group(batches) <= ROW_GROUP_BYTES + 2 * width as u64));
        let pieces = |size: i64, text: &DataType| -> Vec<RecordBatch> {
            (0..1000 / size).map(|piece| rows(piece * size, size, width, text)).collect()
        };
        assert_eq!(groups(pieces(50, &DataType::Utf8), usize::MAX).await, expected);
        assert_eq!(groups(pieces(125, &dictionary_type()), usize::MAX).await, expected);
    }
}
