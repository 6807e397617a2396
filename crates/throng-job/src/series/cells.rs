//! Counts the cells of a release, and the rows that its classes have borrowed.
//!
//! Rows arrive class by class, and the rows of a cell may be spread over many classes. So cells are counted in separate buckets
//! on disk.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt64Type};
use datafusion::prelude::SessionContext;
use rustc_hash::FxHashSet;
use throng_core::risk::{BorrowedRows, ClassSizes};
use throng_core::series::{Crowd, UNCOUNTED};

use crate::error::JobError;

use super::buckets::{BUCKETS, BucketWriter, StoredBuckets, reservation, reserve};
use super::kernel;
use super::ledger::part_of;
use super::rows::{code_columns, code_fields, codes_of};

/// Memory of a cell that lends rows.
const LENDER_BYTES: usize = 16;

/// Counts cells and borrowed rows of classes.
pub(super) struct CellCounter {
    /// Per class and cell: the cell, its rows in the class, and its rows again if the class has no other cell.
    cells: BucketWriter,
    /// Class, cell and codes of rows in classes of several cells.
    mixed: BucketWriter,
    width: usize,
}

impl CellCounter {
    pub(super) fn new(width: usize, session: &SessionContext) -> Result<Self, JobError> {
        let number = |name: &str| Field::new(name, DataType::UInt64, false);
        let cells = Schema::new(vec![number("cell"), number("rows"), number("alone")]);
        let mixed = [number("class"), number("cell")].into_iter().chain(code_fields(width));
        Ok(Self {
            cells: BucketWriter::new(Arc::new(cells), session)?,
            mixed: BucketWriter::new(Arc::new(Schema::new(mixed.collect::<Vec<_>>())), session)?,
            width,
        })
    }

    /// Adds all rows of some classes: their classes, cells and codes.
    pub(super) fn add(&mut self, classes: &[u64], cells: &[u64], codes: &[u64]) -> Result<(), JobError> {
        let of_row = |row: &u32| (classes[*row as usize], cells[*row as usize]);
        let mut order: Vec<u32> = (0..classes.len() as u32).collect();
        order.sort_unstable_by_key(of_row);
        let (mut counted, mut mixed): (Vec<[u64; 3]>, Vec<u32>) = (Vec::new(), Vec::new());
        for class in order.chunk_by(|a, b| of_row(a).0 == of_row(b).0) {
            let runs: Vec<&[u32]> = class.chunk_by(|a, b| of_row(a).1 == of_row(b).1).collect();
            let alone = |rows: usize| if runs.len() == 1 { rows as u64 } else { 0 };
            counted.extend(runs.iter().map(|run| [of_row(&run[0]).1, run.len() as u64, alone(run.len())]));
            if runs.len() > 1 {
                mixed.extend(class);
            }
        }
        let column = |at: usize| Arc::new(counted.iter().map(|count| count[at]).collect::<UInt64Array>()) as ArrayRef;
        let batch = RecordBatch::try_new(self.cells.schema(), vec![column(0), column(1), column(2)]).map_err(kernel)?;
        self.cells.push(batch, counted.iter().map(|[cell, _, _]| part_of(*cell)))?;
        let column = |from: &[u64]| Arc::new(mixed.iter().map(|row| from[*row as usize]).collect::<UInt64Array>());
        let width = self.width;
        let mixed_codes: Vec<u64> =
            mixed.iter().flat_map(|row| &codes[*row as usize * width..(*row as usize + 1) * width]).copied().collect();
        let mut columns: Vec<ArrayRef> = vec![column(classes), column(cells)];
        columns.extend(code_columns(&mixed_codes, width));
        let batch = RecordBatch::try_new(self.mixed.schema(), columns).map_err(kernel)?;
        self.mixed.push(batch, mixed.iter().map(|row| part_of(classes[*row as usize])))
    }

    /// Returns the sizes of the cells, and the rows that classes have borrowed.
    pub(super) fn finish(self, crowd: &Crowd, session: &SessionContext) -> Result<CellCounts, JobError> {
        let room = reservation(session);
        let mut sizes = ClassSizes::default();
        // If all rows of a class are of one cell, and other classes also have rows of that cell, the cell lends rows.
        let mut lenders: FxHashSet<u64> = FxHashSet::default();
        let cells = self.cells.finish()?;
        for bucket in 0..BUCKETS {
            reserve(&room, cells.room(bucket) + lenders.len() * LENDER_BYTES)?;
            let batch = cells.read(bucket)?;
            let column = |at: usize| batch.column(at).as_primitive::<UInt64Type>().values().iter().copied();
            let mut counted: Vec<(u64, u64, u64)> =
                column(0).zip(column(1)).zip(column(2)).map(|((cell, rows), alone)| (cell, rows, alone)).collect();
            counted.sort_unstable();
            for cell in counted.chunk_by(|a, b| a.0 == b.0) {
                let rows = cell.iter().map(|(_, rows, _)| rows).sum();
                sizes.add(rows, 1);
                if cell.iter().any(|(_, _, alone)| *alone > 0 && *alone < rows) {
                    lenders.insert(cell[0].0);
                }
            }
        }
        let mut borrowed = BorrowedRows::default();
        let mixed = self.mixed.finish()?;
        for bucket in 0..BUCKETS {
            if lenders.is_empty() {
                break;
            }
            reserve(&room, mixed.room(bucket) + lenders.len() * LENDER_BYTES)?;
            add_borrowed(&mut borrowed, &mixed, bucket, &lenders, crowd)?;
        }
        Ok(CellCounts { sizes, borrowed })
    }
}

/// Cells of a release, and the rows that its classes have borrowed.
pub(super) struct CellCounts {
    pub(super) sizes: ClassSizes,
    pub(super) borrowed: BorrowedRows,
}

/// Adds the classes of a bucket that have rows of lending cells.
fn add_borrowed(
    to: &mut BorrowedRows,
    mixed: &StoredBuckets,
    bucket: usize,
    lenders: &FxHashSet<u64>,
    crowd: &Crowd,
) -> Result<(), JobError> {
    let batch = mixed.read(bucket)?;
    let (classes, cells) = (batch.column(0).as_primitive::<UInt64Type>(), batch.column(1).as_primitive::<UInt64Type>());
    let mut order: Vec<u32> = (0..batch.num_rows() as u32).collect();
    order.sort_unstable_by_key(|row| classes.value(*row as usize));
    let width = crowd.width();
    for class in order.chunk_by(|a, b| classes.value(*a as usize) == classes.value(*b as usize)) {
        let is_borrowed = |row: &u32| lenders.contains(&cells.value(*row as usize));
        let own: Vec<u32> = class.iter().copied().filter(|row| !is_borrowed(row)).collect();
        if own.len() == class.len() {
            continue;
        }
        let codes = codes_of(&batch, 2, width, &own);
        let values = |column: usize| -> usize {
            let values: FxHashSet<u64> = codes.iter().skip(column).step_by(width).copied().collect();
            values.len() - usize::from(values.contains(&UNCOUNTED))
        };
        let counted: Vec<(usize, usize)> =
            (0..width).filter(|column| crowd.p[*column] > 0).map(|column| (values(column), crowd.p[column])).collect();
        let rows = own.len() as u64;
        to.merge(&BorrowedRows {
            classes: 1,
            own_rows: rows,
            own_rows_without_diversity: if counted.iter().all(|(values, p)| values >= p) { 0 } else { rows },
            effective_k: Some(rows),
            effective_p: counted.iter().map(|(values, _)| *values as u64).min(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_rows_of_classes_that_borrow_are_counted() {
        let session = SessionContext::new();
        let mut counter = CellCounter::new(1, &session).unwrap();
        // Class 1 is cell 7 alone, of which class 2 has two rows as well; class 3 has two cells, and borrows nothing.
        let classes = [1, 1, 1, 2, 2, 2, 2, 3, 3];
        let cells = [7, 7, 7, 7, 7, 8, 9, 10, 11];
        counter.add(&classes[..3], &cells[..3], &[1, 2, 3]).unwrap();
        counter.add(&classes[3..], &cells[3..], &[4, 5, 6, 6, 1, 2]).unwrap();
        let found = counter.finish(&Crowd::new(3, [2]), &session).unwrap();
        assert_eq!(found.sizes, [5, 1, 1, 1, 1].into_iter().collect());
        let expected = BorrowedRows {
            classes: 1,
            own_rows: 2,
            own_rows_without_diversity: 2,
            effective_k: Some(2),
            effective_p: Some(1),
        };
        assert_eq!(found.borrowed, expected);
    }
}
