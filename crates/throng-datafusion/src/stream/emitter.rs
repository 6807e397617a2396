//! Reads a stream, and emits its rows emission by emission.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{Stream, StreamExt, TryStreamExt};
use throng_core::progress::NoProgress;
use throng_core::stream::{DelayLimits, Emission};
use throng_core::survey::SUPPRESSED;
use throng_policy::ArrivalSetting;
use tokio::time::{Instant, timeout_at};

use super::buffer::{RowBuffer, taken};
use super::joined_rows::JoinedRows;
use super::published::{JointEmission, Published};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::release::{Release, without_unit};
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
    /// Earlier emissions, whose classes rows may join; `None` if an intruder may know when a row arrived.
    published: Option<Published>,
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
pub(super) struct EmissionMaker {
    /// Uses the search settings of emissions, and no suppression limit, which is checked over the whole stream.
    pub(super) anonymizer: Arc<Anonymizer>,
    pub(super) workspace: Resources,
    pub(super) batch_rows: usize,
    pub(super) ahead: usize,
}

/// Metrics of a stream, for `EXPLAIN ANALYZE`.
struct StreamCounts {
    rows_read: Count,
    emissions: Count,
    suppressed: Count,
    classes: Count,
    joined: Count,
}

impl StreamCounts {
    fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
        let count = |name: &'static str| MetricBuilder::new(metrics).global_counter(name);
        Self {
            rows_read: count("rows_read"),
            emissions: count("emissions"),
            suppressed: count("suppressed_rows"),
            classes: count("classes"),
            joined: count("joined_rows"),
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
    /// Rows of new classes.
    chosen: Option<RecordBatch>,
    /// Rows that join published classes.
    joined: Option<JoinedRows>,
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
        let published =
            (delay.arrival == ArrivalSetting::Unknown).then(|| Published::new(&workspace, anonymizer.most_boxes()));
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
            published,
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
        let (release, _) = whole.release(rows, None).await?;
        Ok(Some(self.give(JointEmission { release: Some(release), joined: None })))
    }

    /// Decides the waiting rows, of which the oldest `due` must not wait longer.
    async fn emit(&mut self, due: usize) -> Result<Option<Batches>, AnonymizeError> {
        let rows = self.buffer.rows()?;
        let maker = self.maker.clone();
        let is_known = self.published.is_none();
        let (decided, mut published) = maker.decide(rows.clone(), due, self.published.take()).await?;
        let DecidedRows { mut emission, groups, chosen, joined } = decided;
        let mut given = JointEmission { release: None, joined };
        if let Some(chosen) = chosen {
            match maker.release(chosen, published).await {
                // Frequencies are compared with those of all rows of the emission, some of which may keep waiting.
                Err(error) if is_known && error.shortfalls().is_some() => {
                    emission = Emission::nothing(&groups, due);
                    published = None;
                }
                release => {
                    let release = release?;
                    (given.release, published) = (Some(release.0), release.1);
                }
            }
        }
        if let Some(published) = &mut published {
            let rows = (emission.released.len() + emission.joining.len()) as u64;
            published.verify(&given, rows, &maker).await?;
        }
        self.published = published;
        self.buffer.retain(&rows, &emission.waiting)?;
        let of_release = given.release.as_ref().map_or(0, |release| release.facts().suppressed);
        self.suppressed += emission.suppressed + of_release;
        self.counts.suppressed.add(emission.suppressed as usize);
        tracing::debug!(
            released = emission.released.len(),
            joining = emission.joining.len(),
            waiting = emission.waiting.len(),
            suppressed = emission.suppressed,
            "rows of the stream decided"
        );
        self.anonymizer.check_suppression(self.buffer.arrivals.arrived(), self.suppressed)?;
        Ok((!given.is_empty()).then(|| self.give(given)))
    }

    /// Counts a verified emission, and returns its rows.
    fn give(&self, given: JointEmission) -> Batches {
        self.counts.emissions.add(1);
        if let Some(release) = &given.release {
            self.counts.suppressed.add(release.facts().suppressed as usize);
            self.counts.classes.add(release.facts().utility.classes as usize);
        }
        self.counts.joined.add(given.joined.as_ref().map_or(0, |joined| joined.batch.num_rows()));
        let rows = given.stream_with_units(self.maker.batch_rows, self.maker.ahead);
        rows.map(|batch| batch.and_then(without_unit)).boxed()
    }
}

impl EmissionMaker {
    /// Decides rows, of which the oldest `due` must not wait longer.
    async fn decide(
        &self,
        rows: RecordBatch,
        due: usize,
        mut published: Option<Published>,
    ) -> Result<(DecidedRows, Option<Published>), AnonymizeError> {
        let Self { anonymizer, workspace, .. } = self.clone();
        let decide = move || {
            let (privacy, seed) = (anonymizer.binding().privacy(), anonymizer.content_seed());
            let surveyed = survey_rows(&rows, anonymizer.binding(), seed, &workspace)?;
            let (emission, groups) = match surveyed {
                Some((table, groups)) => {
                    let boxes = published.as_ref().map(|published| &published.boxes).filter(|boxes| !boxes.is_empty());
                    let emission = match boxes {
                        Some(boxes) => Emission::joining(&table, &groups, &privacy, due, boxes, anonymizer.method().0)?,
                        None => Emission::of(&table, &groups, &privacy, due),
                    };
                    (emission, groups)
                }
                None => {
                    let groups = vec![SUPPRESSED; rows.num_rows()];
                    (Emission::nothing(&groups, due), groups)
                }
            };
            let chosen = (!emission.released.is_empty()).then(|| taken(&rows, &emission.released)).transpose()?;
            let joined = match &mut published {
                Some(published) if !emission.joining.is_empty() => {
                    let (joining, box_of): (Vec<u32>, Vec<u32>) = emission.joining.iter().copied().unzip();
                    published.boxes.count(&box_of);
                    let rows = taken(&rows, &joining)?;
                    Some(JoinedRows::new(&rows, box_of, &published.boxes, &anonymizer, &workspace)?)
                }
                _ => None,
            };
            Ok((DecidedRows { emission, groups, chosen, joined }, published))
        };
        let threads = self.workspace.threads().clone();
        tokio::task::spawn_blocking(move || threads.run(decide)).await.map_err(|_| AnonymizeError::Task)?
    }

    /// Anonymizes rows as a separate table, and verifies the release, unless it is remembered as `published`: then it is verified
    /// together with earlier emissions.
    async fn release(
        &self,
        rows: RecordBatch,
        mut published: Option<Published>,
    ) -> Result<(Arc<Release>, Option<Published>), AnonymizeError> {
        let (schema, seed) = (rows.schema(), self.anonymizer.content_seed());
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter([Ok(rows)])));
        let snapshot = Snapshot::of_stream(rows, self.anonymizer.binding(), seed, true, &self.workspace).await?;
        let (anonymizer, span) = (Arc::clone(&self.anonymizer), tracing::Span::current());
        let work = move || {
            let _span = span.enter();
            let release = match &mut published {
                None => anonymizer.release(snapshot, &NoProgress)?,
                Some(published) => anonymizer.release_seen(snapshot, |quasi, recoding| {
                    published.boxes.add(quasi, recoding)?;
                    Ok(())
                })?,
            };
            Ok::<_, AnonymizeError>((Arc::new(release), published))
        };
        let threads = self.workspace.threads().clone();
        let work = move || threads.run(work);
        let (release, published) = tokio::task::spawn_blocking(work).await.map_err(|_| AnonymizeError::Task)??;
        if published.is_none() {
            release.verify(&self.anonymizer, self.batch_rows, self.ahead).await?;
        }
        Ok((release, published))
    }
}
