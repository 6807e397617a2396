//! Writes the files of one partition to staging, each under the name of its attempt.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::TryStreamExt;
use throng_datafusion::distributed::{
    ACCOUNT, Arrival, DealtRows, Files, Outline, OutlineRows, RECEIVED, StorePlace, Task, bytes_of, draw, emitted,
};
use throng_datafusion::{AnonymizeError, Anonymizer};
use tokio::sync::mpsc::{Sender, channel};
use url::Url;

use crate::error::JobError;
use crate::manifest::FileEntry;
use crate::store_path::StorePath;
use crate::write::write_file;

/// Capacity of the channel to the file writer, in batches.
const WAITING: usize = 2;

/// Task that writes data files.
#[derive(Debug)]
pub(super) struct Writes {
    anonymizer: Arc<Anonymizer>,
    place: StorePlace,
    outline: String,
    rows_per_file: u64,
}

impl Writes {
    pub(super) const NAME: &str = "ThrongWrite";

    pub(super) fn new(anonymizer: Arc<Anonymizer>, place: StorePlace, outline: String, rows_per_file: u64) -> Self {
        Self { anonymizer, place, outline, rows_per_file }
    }

    pub(super) fn read(body: &[u8]) -> Result<Self> {
        let malformed = || DataFusionError::Internal("a task could not be read".to_owned());
        let (body, anonymizer) = body.split_first_chunk::<8>().ok_or_else(malformed)?;
        let rows_per_file = u64::from_le_bytes(*body);
        let mut texts = anonymizer.splitn(3, |byte| *byte == 0);
        let mut text = || texts.next().and_then(|text| String::from_utf8(text.to_vec()).ok()).ok_or_else(malformed);
        let (place, outline) = (StorePlace::new(text()?), text()?);
        let anonymizer = Anonymizer::from_bytes(texts.next().ok_or_else(malformed)?)?;
        Ok(Self::new(Arc::new(anonymizer), place, outline, rows_per_file))
    }
}

/// Schema of a writer's output: a row per file, or a control row. `sum` is the sum of the row hashes.
fn answer_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("file", DataType::UInt32, false),
        Field::new("path", DataType::Utf8, false),
        Field::new("rows", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("sha256", DataType::Utf8, false),
        Field::new("sum", DataType::FixedSizeBinary(16), false),
        Field::new("received", DataType::UInt64, false),
    ]))
}

fn answer(file: u32, entry: &FileEntry, sum: u128, received: u64) -> Result<RecordBatch> {
    let number = |number: u64| Arc::new(UInt64Array::from(vec![number])) as ArrayRef;
    let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    let sum = FixedSizeBinaryArray::try_new(16, Buffer::from_vec(sum.to_be_bytes().to_vec()), None)?;
    let columns = vec![
        Arc::new(UInt32Array::from(vec![file])) as ArrayRef,
        text(&entry.path),
        number(entry.rows),
        number(entry.bytes),
        text(&entry.sha256),
        Arc::new(sum),
        number(received),
    ];
    Ok(RecordBatch::try_new(answer_schema(), columns)?)
}

impl Task for Writes {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schema(&self) -> SchemaRef {
        answer_schema()
    }

    fn arrival(&self) -> Arrival {
        let order = ["file", "class", "content"].map(str::to_owned).to_vec();
        Arrival::Together { columns: vec!["slot".to_owned()], order }
    }

    fn run(
        &self,
        mut rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
        _: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let (anonymizer, store) = (Arc::clone(&self.anonymizer), self.place.clone());
        let (name, rows_per_file) = (self.outline.clone(), self.rows_per_file);
        Ok(emitted(self.schema(), |to| async move {
            let runtime = context.runtime_env();
            let outline = Outline::load(&anonymizer, &store, &name, &runtime).await?;
            let files = outline.files(rows_per_file);
            let released = OutlineRows::new(&anonymizer, &outline, &runtime);
            let staging = Staging { store, context: Arc::clone(&context) };
            let tell = async |answer: Result<RecordBatch>| {
                to.send(Ok(answer.map_err(AnonymizeError::from)?)).await.map_err(|_| AnonymizeError::Cancelled)
            };
            let mut current: Option<Writing> = None;
            while let Some(batch) = rows.try_next().await.map_err(AnonymizeError::from)? {
                for run in runs(DealtRows(&batch).files(), DealtRows(&batch).classes()) {
                    let part = batch.slice(run.start, run.len());
                    let (file, class) = (DealtRows(&part).files()[0], DealtRows(&part).classes()[0]);
                    if matches!(class, ACCOUNT | RECEIVED) {
                        for number in DealtRows(&part).content() {
                            tell(answer(class, &FileEntry::default(), number, 0)).await?;
                        }
                        continue;
                    }
                    if current.as_ref().is_some_and(|current| current.file != file)
                        && let Some(done) = current.take()
                    {
                        tell(done.finish().await).await?;
                    }
                    let writing = match &mut current {
                        Some(writing) => writing,
                        None => current.insert(Writing::begin(file, &files, &staging, &released)?),
                    };
                    writing.push(&part, &files, &released).await?;
                }
            }
            match current {
                Some(last) => tell(last.finish().await).await,
                None => Ok(()),
            }
        }))
    }

    fn body(&self) -> Vec<u8> {
        let mut body = self.rows_per_file.to_le_bytes().to_vec();
        for text in [self.place.url(), &self.outline] {
            body.extend(text.bytes().chain([0]));
        }
        body.extend(self.anonymizer.to_bytes());
        body
    }
}

/// Splits rows into runs of the same file, without control rows.
fn runs(files: &[u32], classes: &[u32]) -> Vec<Range<usize>> {
    let is_note = |class: u32| matches!(class, ACCOUNT | RECEIVED);
    let is_break = |row: &usize| {
        files[*row] != files[row - 1]
            || (is_note(classes[*row]) || is_note(classes[row - 1])) && classes[*row] != classes[row - 1]
    };
    let starts: Vec<usize> =
        (0..files.len().min(1)).chain((1..files.len()).filter(is_break)).chain([files.len()]).collect();
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Store and context of the files being written.
struct Staging {
    store: StorePlace,
    context: Arc<TaskContext>,
}

/// A file being written.
struct Writing {
    file: u32,
    /// Range of its rows in the release.
    rows: Range<u64>,
    class: u32,
    /// Number of rows of the current class so far.
    rank: u64,
    written: u64,
    sum: u128,
    received: u64,
    to: Sender<Result<RecordBatch>>,
    task: SpawnedTask<Result<FileEntry, JobError>>,
}

impl Writing {
    fn begin(file: u32, files: &Files, staging: &Staging, released: &OutlineRows) -> Result<Self> {
        let name = format!("part-{file:05}-{:016x}.parquet", draw());
        let (store, path) = staging.store.object(&staging.context.runtime_env(), &name)?;
        let root = Url::parse(staging.store.url()).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let place = StorePath { store, root, path };
        let (to, mut batches) = channel(WAITING);
        let batches = futures::stream::poll_fn(move |context| batches.poll_recv(context));
        let schema = Arc::clone(released.schema());
        let task = SpawnedTask::spawn(async move { write_file(batches, schema, place, name).await });
        Ok(Self { file, rows: files.rows(file), class: u32::MAX, rank: 0, written: 0, sum: 0, received: 0, to, task })
    }

    /// Appends rows in the order of the release. A class that crosses a file boundary arrives whole; its rows of other
    /// files are skipped.
    async fn push(&mut self, batch: &RecordBatch, files: &Files, released: &OutlineRows) -> Result<(), AnonymizeError> {
        self.received += bytes_of(batch);
        let (mut first, mut wanted) = (None, 0);
        for (row, (class, hash)) in DealtRows(batch).classes().iter().zip(DealtRows(batch).content()).enumerate() {
            if *class != self.class {
                (self.class, self.rank) = (*class, 0);
            }
            let place = files.start(*class).ok_or(AnonymizeError::Task)? + self.rank;
            self.rank += 1;
            if self.rows.contains(&place) {
                first.get_or_insert(row);
                wanted += 1;
                self.sum = self.sum.wrapping_add(hash);
            }
        }
        let Some(first) = first else { return Ok(()) };
        self.written += wanted as u64;
        let part = batch.slice(first, wanted);
        let rows = released.released(part.column(2), DealtRows(&part).kept())?;
        // Sending fails only if the writer has ended early; `finish` returns its error.
        let _ = self.to.send(Ok(rows)).await;
        Ok(())
    }

    async fn finish(self) -> Result<RecordBatch> {
        drop(self.to);
        let written = self.task.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let entry = written.map_err(|error| DataFusionError::External(Box::new(error)))?;
        if self.written != self.rows.end - self.rows.start || entry.rows != self.written {
            return Err(AnonymizeError::Task.into());
        }
        answer(self.file, &entry, self.sum, self.received)
    }
}
