//! Reads a stream, and emits its rows emission by emission.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{Stream, TryStreamExt};
use throng_core::progress::NoProgress;
use throng_core::stream::{DelayLimits, Emission};
use throng_core::survey::SUPPRESSED;
use tokio::time::{Instant, timeout_at};

use super::buffer::{RowBuffer, taken};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::release::Release;
use crate::resources::{Resources, StopGuard};
use crate::snapshot::{Snapshot, survey_rows};

/// Verified batches.
type Batches = Pin<Box<dyn Stream<Item = Result<RecordBatch, DataFusionError>> + Send>>;

/// The state of one run over a stream. Dropping it cancels the work.
pub(super) struct StreamEmitter {
    anonymizer: Arc<Anonymizer>,
    maker: EmissionMaker,
    input: SendableRecordBatchStream,
    buffer: RowBuffer,
    /// Rows that have been read and not yet added to the buffer.
    rest: Option<RecordBatch>,
    /// The emission whose batches are being returned.
    current: Option<Batches>,
    is_ended: bool,
    suppressed: u64,
    begin: Instant,
    _stop: StopGuard,
    counts: StreamCounts,
}

/// Makes the releases of emissions.
#[derive(Clone)]
struct EmissionMaker {
    /// Uses the search settings of emissions, and no suppression limit, which is checked over the whole stream.
    anonymizer: Arc<Anonymizer>,
    workspace: Resources,
    batch_rows: usize,
    ahead: usize,
}

/// Metrics of a stream, for `EXPLAIN ANALYZE`.
struct StreamCounts {
    rows_read: Count,
    emissions: Count,
    suppressed: Count,
    classes: Count,
}

impl StreamCounts {
    fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
        let count = |name: &'static str| MetricBuilder::new(metrics).global_counter(name);
        Self {
            rows_read: count("rows_read"),
            emissions: count("emissions"),
            suppressed: count("suppressed_rows"),
            classes: count("classes"),
        }
    }
}

/// The event that ended the wait for rows.
enum NextInput {
    Rows(RecordBatch),
    Deadline,
    End,
}

/// Rows of an emission and the decision about each.
struct DecidedRows {
    emission: Emission,
    /// Group of each row, or [`SUPPRESSED`].
    groups: Vec<u32>,
    chosen: Option<RecordBatch>,
}

impl StreamEmitter {
    pub(super) fn new(
        anonymizer: Arc<Anonymizer>,
        input: SendableRecordBatchStream,
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Self {
        let (workspace, stop) = Resources::new(context, metrics);
        let delay = anonymizer.policy().stream.unwrap_or_default();
        let limits = DelayLimits { rows: delay.rows, millis: delay.time.map(|time| time.as_millis() as u64) };
        let buffer = RowBuffer::new(input.schema(), limits, &workspace);
        let maker = EmissionMaker {
            anonymizer: Arc::new(anonymizer.for_emissions()),
            workspace,
            batch_rows: context.session_config().batch_size(),
            ahead: context.session_config().target_partitions(),
        };
        Self {
            anonymizer,
            maker,
            buffer,
            input,
            rest: None,
            current: None,
            is_ended: false,
            suppressed: 0,
            begin: Instant::now(),
            _stop: stop,
            counts: StreamCounts::new(metrics),
        }
    }

    /// Returns the stream of verified batches.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<RecordBatch, DataFusionError>> + Send {
        futures::stream::try_unfold(self, |emitter| async { Ok(emitter.next().await?) })
    }

    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>, AnonymizeError> {
        loop {
            if let Some(current) = &mut self.current {
                match current.try_next().await? {
                    Some(batch) => return Ok(Some((batch, self))),
                    None => self.current = None,
                }
            }
            let waiting = self.buffer.arrivals.waiting();
            if self.is_ended && waiting == 0 {
                return Ok(None);
            }
            if self.is_ended {
                self.current = self.flush().await?;
            } else if self.buffer.arrivals.is_due(self.now()) {
                let due = self.buffer.arrivals.due(self.now());
                self.current = self.emit(due).await?;
            } else {
                self.read().await?;
            }
        }
    }

    /// Milliseconds since the stream began.
    fn now(&self) -> u64 {
        self.begin.elapsed().as_millis() as u64
    }

    /// Waits until rows arrive, the oldest row is due, or the input ends.
    async fn read(&mut self) -> Result<(), AnonymizeError> {
        match self.next_input().await? {
            NextInput::Rows(batch) => {
                let (before, now) = (self.buffer.arrivals.arrived(), self.now());
                self.rest = self.buffer.push(batch, now)?;
                self.counts.rows_read.add((self.buffer.arrivals.arrived() - before) as usize);
            }
            NextInput::Deadline => {}
            NextInput::End => self.is_ended = true,
        }
        Ok(())
    }

    async fn next_input(&mut self) -> Result<NextInput, AnonymizeError> {
        if let Some(rest) = self.rest.take() {
            return Ok(NextInput::Rows(rest));
        }
        let next = match self.buffer.arrivals.deadline() {
            None => self.input.try_next().await,
            Some(deadline) => {
                let deadline = self.begin + Duration::from_millis(deadline);
                match timeout_at(deadline, self.input.try_next()).await {
                    Ok(next) => next,
                    Err(_) => return Ok(NextInput::Deadline),
                }
            }
        };
        Ok(next?.map_or(NextInput::End, NextInput::Rows))
    }

    /// Decides the waiting rows when the input has ended. If no row was decided before, they are the whole table, and
    /// are released or refused as one.
    async fn flush(&mut self) -> Result<Option<Batches>, AnonymizeError> {
        let waiting = self.buffer.arrivals.waiting();
        if self.buffer.arrivals.arrived() != waiting as u64 {
            return self.emit(waiting).await;
        }
        let rows = self.buffer.rows()?;
        self.buffer.retain(&rows, &[])?;
        let whole = EmissionMaker { anonymizer: Arc::clone(&self.anonymizer), ..self.maker.clone() };
        let release = whole.release(rows).await?;
        Ok(Some(self.give(release)))
    }

    /// Decides the waiting rows, of which the oldest `due` must not wait longer.
    async fn emit(&mut self, due: usize) -> Result<Option<Batches>, AnonymizeError> {
        let rows = self.buffer.rows()?;
        let maker = self.maker.clone();
        let DecidedRows { mut emission, groups, chosen } = maker.decide(rows.clone(), due).await?;
        let release = match chosen {
            None => None,
            Some(chosen) => match maker.release(chosen).await {
                // Frequencies are compared with those of all rows of the emission, some of which may keep waiting.
                Err(error) if error.shortfalls().is_some() => {
                    emission = Emission::nothing(&groups, due);
                    None
                }
                release => Some(release?),
            },
        };
        self.buffer.retain(&rows, &emission.waiting)?;
        let of_release = release.as_ref().map_or(0, |release| release.facts().suppressed);
        self.suppressed += emission.suppressed + of_release;
        self.counts.suppressed.add(emission.suppressed as usize);
        tracing::debug!(
            released = emission.released.len(),
            waiting = emission.waiting.len(),
            suppressed = emission.suppressed,
            "rows of the stream decided"
        );
        self.anonymizer.check_suppression(self.buffer.arrivals.arrived(), self.suppressed)?;
        Ok(release.map(|release| self.give(release)))
    }

    /// Counts a verified emission, and returns its rows.
    fn give(&self, release: Arc<Release>) -> Batches {
        self.counts.emissions.add(1);
        self.counts.suppressed.add(release.facts().suppressed as usize);
        self.counts.classes.add(release.facts().utility.classes as usize);
        release.stream(self.maker.batch_rows, self.maker.ahead)
    }
}

impl EmissionMaker {
    async fn decide(&self, rows: RecordBatch, due: usize) -> Result<DecidedRows, AnonymizeError> {
        let Self { anonymizer, workspace, .. } = self.clone();
        let decide = move || {
            let surveyed = survey_rows(&rows, anonymizer.binding(), anonymizer.content_seed(), &workspace)?;
            let (emission, groups) = match surveyed {
                Some((table, groups)) => (Emission::of(&table, &groups, &anonymizer.binding().privacy(), due), groups),
                None => {
                    let groups = vec![SUPPRESSED; rows.num_rows()];
                    (Emission::nothing(&groups, due), groups)
                }
            };
            let chosen = (!emission.released.is_empty()).then(|| taken(&rows, &emission.released)).transpose()?;
            Ok(DecidedRows { emission, groups, chosen })
        };
        let threads = self.workspace.threads().clone();
        tokio::task::spawn_blocking(move || threads.run(decide)).await.map_err(|_| AnonymizeError::Task)?
    }

    /// Anonymizes rows as a separate table, and verifies the release.
    async fn release(&self, rows: RecordBatch) -> Result<Arc<Release>, AnonymizeError> {
        let (schema, seed) = (rows.schema(), self.anonymizer.content_seed());
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter([Ok(rows)])));
        let snapshot = Snapshot::of_stream(rows, self.anonymizer.binding(), seed, true, &self.workspace).await?;
        let (anonymizer, span) = (Arc::clone(&self.anonymizer), tracing::Span::current());
        let threads = self.workspace.threads().clone();
        let work = move || threads.run(|| span.in_scope(|| anonymizer.release(snapshot, &NoProgress)));
        let release = tokio::task::spawn_blocking(work).await.map_err(|_| AnonymizeError::Task)??;
        let release = Arc::new(release);
        release.verify(&self.anonymizer, self.batch_rows, self.ahead).await?;
        Ok(release)
    }
}
