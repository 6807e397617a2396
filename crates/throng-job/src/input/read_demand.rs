//! Estimates the memory for reading a file before it is read.
//!
//! A decoder holds a row group of the columns that it reads, as stored (for an Arrow file a batch), and the batch that it
//! is about to return. Both sizes are declared by the file, so wide rows get small batches, and a memory limit decides how
//! many streams read at a time.

use std::collections::HashMap;

use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::prelude::SessionContext;

use crate::error::{JobError, Kind};
use crate::memory::{too_little_for_transfers, transfer_bytes_beside};
use crate::write::{ROW_GROUP_BYTES, ROW_GROUP_ROWS};

/// Approximate size of a batch: it has fewer rows than usual if rows are wider than half a kilobyte.
const BATCH_BYTES: u64 = 4 << 20;

/// Maximum mean size of the rows of a row group: a command without a memory limit holds several copies of a row.
const MAX_ROW_BYTES: u64 = 64 << 20;

/// Number of batches that a stream holds: one being decoded, one in transit, one being processed.
const BATCHES_HELD: u64 = 3;

/// The memory demand of reading the columns of a table.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadDemand {
    columns: HashMap<String, ColumnDemand>,
    /// Mean size of a row, if sizes are not known per column.
    row_bytes: u64,
    /// Size of the largest batch of a file that is read batch by batch.
    batch_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ColumnDemand {
    /// Size of the largest chunk, as it is stored.
    chunk_bytes: u64,
    /// Mean size of a value in the row group with the largest ones.
    value_bytes: u64,
}

impl ReadDemand {
    /// Returns the demand of a Parquet file. Its footer must be valid.
    pub(super) fn of_parquet(metadata: &ParquetMetaData) -> Self {
        let mut columns: HashMap<String, ColumnDemand> = HashMap::new();
        for group in metadata.row_groups() {
            let rows = group.num_rows().unsigned_abs().max(1);
            // The leaves of a nested column are read together.
            let mut of_group: HashMap<&str, (u64, u64)> = HashMap::new();
            for chunk in group.columns() {
                let Some(name) = chunk.column_path().parts().first() else { continue };
                let sizes = of_group.entry(name).or_default();
                sizes.0 = sizes.0.saturating_add(chunk.compressed_size().unsigned_abs());
                sizes.1 = sizes.1.saturating_add(chunk.uncompressed_size().unsigned_abs());
            }
            for (name, (stored, plain)) in of_group {
                let demand = columns.entry(name.to_owned()).or_default();
                demand.chunk_bytes = demand.chunk_bytes.max(stored);
                demand.value_bytes = demand.value_bytes.max(plain / rows);
            }
        }
        Self { columns, ..Self::default() }
    }

    /// Returns the demand of a text file with rows of this size.
    pub(super) fn of_rows(row_bytes: u64) -> Self {
        Self { row_bytes, ..Self::default() }
    }

    /// Returns the demand of an Arrow file with batches of at most this size.
    pub(super) fn of_batches(batch_bytes: u64) -> Self {
        Self { batch_bytes, ..Self::default() }
    }

    /// Returns the demand of all files of a table, which are read one by one in each stream.
    pub(super) fn merge(mut self, other: Self) -> Self {
        for (name, seen) in other.columns {
            let known = self.columns.entry(name).or_default();
            known.chunk_bytes = known.chunk_bytes.max(seen.chunk_bytes);
            known.value_bytes = known.value_bytes.max(seen.value_bytes);
        }
        let batch_bytes = self.batch_bytes.max(other.batch_bytes);
        Self { row_bytes: self.row_bytes.max(other.row_bytes), batch_bytes, ..self }
    }

    /// Returns how to read these columns; `None` for all.
    pub(super) fn plan(&self, columns: Option<&[&str]>) -> ReadPlan {
        let is_read = |name: &str| columns.is_none_or(|columns| columns.contains(&name));
        let read = self.columns.iter().filter(|(name, _)| is_read(name)).map(|(_, demand)| demand);
        let (part_bytes, value_bytes) = read.fold((self.batch_bytes, 0_u64), |(part, value), demand| {
            (part.saturating_add(demand.chunk_bytes), value.saturating_add(demand.value_bytes))
        });
        let row_bytes = value_bytes.max(self.row_bytes).max(1);
        ReadPlan { batch_rows: (BATCH_BYTES / row_bytes).max(1) as usize, row_bytes, part_bytes, written_bytes: 0 }
    }
}

/// Batches and streams of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadPlan {
    /// Maximum number of rows in a batch.
    batch_rows: usize,
    /// Mean size of a row.
    row_bytes: u64,
    /// Size of a row group, as it is stored, or of a batch of an Arrow file.
    part_bytes: u64,
    /// Memory to write a row group.
    written_bytes: u64,
}

impl ReadPlan {
    /// Returns the plan for a table whose storage is unknown.
    pub(crate) fn of_table() -> Self {
        Self { batch_rows: usize::MAX, row_bytes: 1, part_bytes: 0, written_bytes: 0 }
    }

    /// Returns the plan for a scan whose columns are unknown, without the size of row groups.
    pub(crate) fn without_parts(self) -> Self {
        Self { part_bytes: 0, ..self }
    }

    /// Returns the plan for scans of either of two tables.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            batch_rows: self.batch_rows.min(other.batch_rows),
            row_bytes: self.row_bytes.max(other.row_bytes),
            part_bytes: self.part_bytes.max(other.part_bytes),
            written_bytes: self.written_bytes.max(other.written_bytes),
        }
    }

    /// Returns the plan of a job that also writes this many rows: a row group is held as rows and encoded.
    pub(crate) fn writing(self, rows: u64) -> Self {
        let group_bytes = rows.min(ROW_GROUP_ROWS as u64).saturating_mul(self.row_bytes).min(ROW_GROUP_BYTES);
        Self { written_bytes: group_bytes / 2 * 3, ..self }
    }

    /// Returns the approximate number of rows of files of this size.
    pub(crate) fn rows_of(self, bytes: u64) -> u64 {
        bytes / self.row_bytes
    }

    /// Sets the batches and streams of later queries of a session. Returns an error if rows are too large for any command, or if
    /// the memory does not fit even one stream, or one row group to be written.
    pub(crate) fn apply(self, session: &SessionContext) -> Result<(), JobError> {
        if self.row_bytes > MAX_ROW_BYTES {
            let (size, most) = (self.row_bytes.div_ceil(1 << 20), MAX_ROW_BYTES >> 20);
            let text =
                format!("the rows of the input take about {size} MiB each, and at most {most} MiB are supported");
            return Err(JobError::new(Kind::BadData, format!("{text}; leave out the columns with the largest values")));
        }
        // Must come before the state is locked, because the session locks it too.
        let transfers = transfer_bytes_beside(session.runtime_env().memory_pool.as_ref());
        let state = session.state_ref();
        let mut state = state.write();
        let config = state.config_mut();
        let batch_rows = config.batch_size().min(self.batch_rows).max(1);
        *config = std::mem::take(config).with_batch_size(batch_rows);
        let Some(transfers) = transfers else { return Ok(()) };
        let batch_bytes = (batch_rows as u64).saturating_mul(self.row_bytes);
        let stream_bytes = self.part_bytes.saturating_add(BATCHES_HELD * batch_bytes);
        let (most, part) = match stream_bytes >= self.written_bytes {
            true => (stream_bytes, "a row group or batch of the input"),
            false => (self.written_bytes, "a row group of the release"),
        };
        if most > transfers {
            let size = most.div_ceil(1 << 20);
            return Err(too_little_for_transfers(&format!("{part} ({size} MiB)"), most));
        }
        let streams = (transfers / stream_bytes.max(1)).max(1) as usize;
        let streams = config.target_partitions().min(streams);
        *config = std::mem::take(config).with_target_partitions(streams);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::prelude::SessionConfig;

    use super::*;
    use crate::memory::job_pool;

    fn session(limit: u64) -> SessionContext {
        let runtime =
            RuntimeEnvBuilder::new().with_memory_pool(std::sync::Arc::new(job_pool(limit))).build_arc().unwrap();
        SessionContext::new_with_config_rt(SessionConfig::new().with_target_partitions(8), runtime)
    }

    fn demand(chunk_bytes: u64, value_bytes: u64) -> ReadDemand {
        let columns = [
            ("a".to_owned(), ColumnDemand { chunk_bytes: 0, value_bytes: 8 }),
            ("b".to_owned(), { ColumnDemand { chunk_bytes, value_bytes } }),
        ];
        ReadDemand { columns: columns.into(), ..ReadDemand::default() }
    }

    #[test]
    fn wide_rows_get_small_batches_and_few_streams_where_they_are_read() {
        let (limit, wide) = (512 << 20, demand(60 << 20, 1 << 20));
        let narrow = session(limit);
        wide.plan(Some(&["a"])).apply(&narrow).unwrap();
        assert_eq!((narrow.copied_config().batch_size(), narrow.copied_config().target_partitions()), (8192, 8));
        let all = session(limit);
        wide.plan(None).apply(&all).unwrap();
        assert_eq!((all.copied_config().batch_size(), all.copied_config().target_partitions()), (3, 2));
    }

    #[test]
    fn rows_that_are_too_large_are_refused_where_they_are_read() {
        let huge = demand(1 << 20, (64 << 20) + 1);
        let error = huge.plan(None).apply(&SessionContext::new()).unwrap_err();
        assert_eq!(error.kind(), Kind::BadData);
        assert!(error.to_string().contains("about 65 MiB each, and at most 64 MiB"), "{error}");
        huge.plan(Some(&["a"])).apply(&SessionContext::new()).unwrap();
    }

    #[test]
    fn a_row_group_that_does_not_fit_is_refused_with_the_least_that_would_do() {
        let huge = demand(700 << 20, 8);
        let error = huge.plan(None).apply(&session(512 << 20)).unwrap_err();
        assert_eq!(error.kind(), Kind::BadPolicy);
        let least: u64 = error.to_string().rsplit_once(' ').unwrap().1.trim_end_matches("MiB").parse().unwrap();
        huge.plan(None).apply(&session(least << 20)).unwrap();
        huge.plan(Some(&["a"])).apply(&session(512 << 20)).unwrap();
    }
}
