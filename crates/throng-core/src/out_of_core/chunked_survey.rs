//! Survey of one stream whose groups and values may not fit into memory.
//!
//! The groups are stored chunk by chunk, so that the group table of a chunk fits into the cache of a core. Values stay in
//! memory, except those of columns that have too many of them and [keys](SurveySpec::has_order_keys): these are stored with
//! each chunk.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::ArrayRef;

use super::memory::reserve;
use super::spilled_values::{KeyBuffer, StreamKeys};
use super::table_survey::{VALUES, domain_bytes};
use super::{ListWriter, MemoryBudget, OutOfCoreError, SharedQuota, StoredLists, Workspace};
use crate::survey::{ProjectedSurvey, Survey, SurveySpec, SurveyedValues};

/// Number of groups after which a stream ends its chunk and restarts group numbering.
const CHUNK_GROUPS: usize = 1 << 15;

/// Maximum number of rows and bytes of a stream in projections: a file may declare any number.
const MAX_ROWS: u64 = 1 << 40;
const MAX_BYTES: usize = 1 << 48;

/// Expected size of a table, and the memory for its values.
#[derive(Clone, Copy, Debug)]
pub struct SurveyLimits {
    /// Memory that the values of one column of one stream may use before they are spilled.
    pub most_values: usize,
    /// Approximate number of rows of each stream, if known.
    pub stream_rows: Option<u64>,
    /// Number of streams of the table, each of which is surveyed by itself.
    pub streams: usize,
}

/// Survey of one stream, chunk by chunk.
pub struct ChunkedSurvey {
    spec: Arc<SurveySpec>,
    limits: SurveyLimits,
    survey: Survey,
    groups: Box<dyn ListWriter<u32>>,
    /// Number of groups of all finished chunks.
    group_count: u64,
    chunks: usize,
    /// Columns whose values are spilled.
    keys: Vec<KeyBuffer>,
    pub(super) rows: u64,
    memory: Box<dyn MemoryBudget>,
    workspace: Arc<dyn Workspace>,
}

/// Groups of one stream.
#[derive(Debug)]
pub struct StreamGroups {
    /// Groups of each chunk: tuples of the stream's own numbers, each followed by its number of rows.
    pub(super) chunks: Box<dyn StoredLists<u32>>,
    /// Number of groups over all chunks.
    pub(super) count: u64,
}

impl StreamGroups {
    /// Wraps groups that were surveyed elsewhere; `chunks` has one list per chunk, and `count` groups in total.
    pub fn new(chunks: Box<dyn StoredLists<u32>>, count: u64) -> Self {
        Self { chunks, count }
    }

    /// Returns the groups of each chunk: tuples of the stream's own numbers, each followed by its number of rows.
    pub fn chunks(&self) -> &dyn StoredLists<u32> {
        self.chunks.as_ref()
    }
}

impl ChunkedSurvey {
    /// Creates an empty survey. Its groups stay in memory as long as `quota` and the workspace allow. Fails if a column
    /// can't be surveyed.
    pub fn new(
        spec: Arc<SurveySpec>,
        limits: SurveyLimits,
        quota: &SharedQuota,
        workspace: Arc<dyn Workspace>,
    ) -> Result<Self, OutOfCoreError> {
        Ok(Self {
            survey: Survey::new(Arc::clone(&spec))?,
            spec,
            limits,
            groups: workspace.numbers("groups", quota),
            group_count: 0,
            chunks: 0,
            keys: Vec::new(),
            rows: 0,
            memory: workspace.budget("survey"),
            workspace,
        })
    }

    /// Surveys `rows` rows, given their columns in the order of the spec, and returns the group of each within the chunk.
    ///
    /// Reserves memory for values and the groups of the chunk. If it is refused, the error says how much would be enough for all
    /// rows of the table, estimated from `row_bytes`: the memory of the rows that the caller has buffered so far, or
    /// `None` if they were spilled.
    pub fn push(
        &mut self,
        columns: &[ArrayRef],
        rows: usize,
        row_bytes: Option<usize>,
    ) -> Result<Vec<u32>, OutOfCoreError> {
        let before = self.survey.value_counts();
        let groups = self.survey.push(columns)?;
        self.rows += rows as u64;
        let reserved = reserve(self.memory.as_ref(), self.survey.size(), VALUES);
        reserved.map_err(|error| error.replace_least(|| self.least(&before, rows, row_bytes)))?;
        Ok(groups)
    }

    /// Returns the memory in which the domains of all rows would fit, assuming that the remaining rows have new values at
    /// the rate of the last batch. `before` counts the values before that batch.
    fn least(&self, before: &[usize], batch_rows: usize, row_bytes: Option<usize>) -> Option<u64> {
        let SurveyLimits { most_values, stream_rows, streams } = self.limits;
        let stream_rows = stream_rows?.min(MAX_ROWS);
        let rest = stream_rows.saturating_sub(self.rows) as f64 / batch_rows.max(1) as f64;
        let times = |(column, count): (usize, usize)| {
            let times = 1.0 + (count - before[column]) as f64 * rest / count.max(1) as f64;
            // Values that are numbers are spilled.
            let is_spilled = column < self.spec.quasi.len() && self.spec.has_order_keys(column);
            let most = most_values as f64 / self.survey.values_size(column).max(1) as f64;
            if is_spilled { times.min(most.max(1.0)) } else { times }
        };
        let times: Vec<f64> = self.survey.value_counts().into_iter().enumerate().map(times).collect();
        let ProjectedSurvey { values, bytes, memory } = self.survey.projected(&times);
        let [bytes, memory] = [bytes, memory].map(|bytes| bytes.min(MAX_BYTES) * streams);
        let rows = stream_rows as usize * streams;
        let of_domains = domain_bytes(values * streams, bytes, rows, self.spec.width());
        let buffered = match row_bytes.zip(self.groups.held_bytes()) {
            None => usize::MAX,
            Some((rows_held, groups_held)) => {
                rows.saturating_mul((rows_held + groups_held).div_ceil(self.rows.max(1) as usize))
            }
        };
        self.workspace.least_beside_rows(of_domains.max(memory), buffered)
    }

    /// Returns whether the chunk has enough groups to be [ended](ChunkedSurvey::end_chunk).
    pub fn is_chunk_full(&self) -> bool {
        self.survey.groups() >= CHUNK_GROUPS
    }

    /// Ends the chunk: stores its groups, and the values of columns that are too large for memory. Groups are numbered
    /// from 0 again. Returns the number of groups of the chunk. Fails if they can't be stored.
    pub fn end_chunk(&mut self) -> Result<usize, OutOfCoreError> {
        let groups = self.survey.groups();
        self.group_count += groups as u64;
        self.groups.push(self.survey.take_groups().to_numbers())?;
        self.chunks += 1;
        for keys in &mut self.keys {
            keys.push(&mut self.survey)?;
        }
        let is_large = |column: &usize| self.survey.values_size(*column) > self.limits.most_values;
        let large = (0..self.spec.quasi.len()).filter(|column| self.spec.has_order_keys(*column));
        let large: BTreeSet<usize> = large.filter(is_large).collect();
        self.spill_values(&large)?;
        Ok(groups)
    }

    /// Returns the columns whose values are spilled.
    pub fn spilled_columns(&self) -> impl Iterator<Item = usize> {
        self.keys.iter().map(|keys| keys.column)
    }

    /// Spills the values of these columns, unless they are spilled already. Must be called at the end of a chunk.
    pub fn spill_values(&mut self, columns: &BTreeSet<usize>) -> Result<(), OutOfCoreError> {
        for column in columns {
            if self.keys.iter().all(|keys| keys.column != *column) {
                let keys = KeyBuffer::new(&mut self.survey, *column, self.chunks, self.workspace.as_ref())?;
                self.keys.push(keys);
            }
        }
        Ok(())
    }

    /// Spills the groups of all chunks.
    pub fn spill_groups(&mut self) -> Result<(), OutOfCoreError> {
        self.groups.spill()
    }

    /// Ends the survey and returns its parts: values, keys of spilled columns, and groups. Frees the memory of the survey.
    pub(super) fn finish(self) -> Result<FinishedSurvey, OutOfCoreError> {
        let values = self.survey.finish()?;
        // Only the values of the survey remain.
        drop(self.memory);
        let keys = self.keys.into_iter().map(KeyBuffer::finish).collect::<Result<_, _>>()?;
        let groups = StreamGroups { chunks: self.groups.finish()?, count: self.group_count };
        Ok(FinishedSurvey { values, keys, groups, rows: self.rows })
    }
}

/// What the survey of one stream has found.
pub(super) struct FinishedSurvey {
    pub(super) values: SurveyedValues,
    pub(super) keys: Vec<StreamKeys>,
    pub(super) groups: StreamGroups,
    pub(super) rows: u64,
}
