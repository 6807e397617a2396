//! Writes the files of one partition to staging, each under the name of its attempt.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, FixedSizeBinaryArray, RecordBatch, StringArray, UInt32Array, UInt64Array};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use futures::{FutureExt, TryStreamExt};
use throng_datafusion::AnonymizeError;
use throng_datafusion::distributed::{
    BYTES_ROW, CHECKSUM_ROW, FileRanges, InputDistribution, PlanRows, ReleasePlan, ShuffledRows, StoreFolder,
    TaskInput, TaskKind, TaskParams, batch_bytes,
};
use tokio::sync::mpsc::{Sender, channel};
use url::Url;

use crate::error::JobError;
use crate::manifest::FileEntry;
use crate::staged_units::{UnitWriter, units_name};
use crate::store_path::StorePath;
use crate::write::{Upload, with_field_roles, write_file};

/// Capacity of the channel to the file writer, in batches.
const WAITING: usize = 2;

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

/// Writes data files, each under the name of its attempt.
pub(super) static WRITE_TASK: TaskKind = TaskKind {
    name: "ThrongWrite",
    schema: |_| answer_schema(),
    distribution: |_| {
        let order = ["file", "class", "content"].map(str::to_owned).to_vec();
        InputDistribution::HashBy { columns: vec!["key".to_owned()], order }
    },
    run: |params, input| run(params, input).boxed(),
};

async fn run(params: Arc<TaskParams>, input: TaskInput) -> Result<(), AnonymizeError> {
    let TaskInput { mut rows, output, context, .. } = input;
    let runtime = context.runtime_env();
    let plan = ReleasePlan::load(&params, &runtime).await?;
    let files = plan.files(params.rows_per_file);
    let released = PlanRows::new(&params.anonymizer, &plan, &runtime);
    let anonymizer = &params.anonymizer;
    let staging = Staging {
        folder: params.folder.clone(),
        context: Arc::clone(&context),
        schema: with_field_roles(anonymizer.schema(), anonymizer.binding()),
        has_units: anonymizer.binding().unit.is_some(),
    };
    let mut current: Option<FileInProgress> = None;
    while let Some(batch) = rows.try_next().await.map_err(AnonymizeError::from)? {
        for run in runs(ShuffledRows(&batch).files(), ShuffledRows(&batch).classes()) {
            let part = batch.slice(run.start, run.len());
            let (file, class) = (ShuffledRows(&part).files()[0], ShuffledRows(&part).classes()[0]);
            if is_control(class) {
                for number in ShuffledRows(&part).content() {
                    output.send(answer(class, &FileEntry::default(), number, 0)?).await?;
                }
                continue;
            }
            if current.as_ref().is_some_and(|current| current.file != file)
                && let Some(done) = current.take()
            {
                output.send(done.finish().await?).await?;
            }
            let writing = match &mut current {
                Some(writing) => writing,
                None => current.insert(FileInProgress::begin(file, &files, &staging)?),
            };
            writing.push(&part, &files, &released).await?;
        }
    }
    match current {
        Some(last) => output.send(last.finish().await?).await,
        None => Ok(()),
    }
}

/// Whether rows of this class are control rows.
fn is_control(class: u32) -> bool {
    matches!(class, CHECKSUM_ROW | BYTES_ROW)
}

/// Splits rows into runs of the same file, without control rows.
fn runs(files: &[u32], classes: &[u32]) -> Vec<Range<usize>> {
    let is_break = |row: &usize| {
        files[*row] != files[row - 1]
            || (is_control(classes[*row]) || is_control(classes[row - 1])) && classes[*row] != classes[row - 1]
    };
    let starts: Vec<usize> =
        (0..files.len().min(1)).chain((1..files.len()).filter(is_break)).chain([files.len()]).collect();
    starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Target and settings of the files that are written.
struct Staging {
    folder: StoreFolder,
    context: Arc<TaskContext>,
    /// Schema of the files.
    schema: SchemaRef,
    /// Whether rows have units, which are written to a separate object.
    has_units: bool,
}

impl Staging {
    fn place(&self, name: &str) -> Result<StorePath> {
        let (store, path) = self.folder.object(&self.context.runtime_env(), name)?;
        let root = Url::parse(self.folder.url()).map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(StorePath { store, root, path })
    }
}

/// The units of a file being written.
struct UnitsInProgress {
    writer: UnitWriter<Vec<u8>>,
    upload: Upload,
}

impl UnitsInProgress {
    /// Returns the rows without their units, which are uploaded.
    async fn split(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        let rows = self.writer.split(rows)?;
        let units = self.writer.take().into();
        self.upload.send(units).await.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(rows)
    }
}

/// A file being written.
struct FileInProgress {
    file: u32,
    /// Range of its rows in the release.
    rows: Range<u64>,
    class: u32,
    /// Number of rows of the current class so far.
    rank: u64,
    written: u64,
    sum: u128,
    received: u64,
    units: Option<UnitsInProgress>,
    to: Sender<Result<RecordBatch>>,
    task: SpawnedTask<Result<FileEntry, JobError>>,
}

impl FileInProgress {
    fn begin(file: u32, files: &FileRanges, staging: &Staging) -> Result<Self> {
        let name = format!("part-{file:05}-{:016x}.parquet", uuid::Uuid::new_v4().as_u64_pair().0);
        let (place, rows) = (staging.place(&name)?, files.rows(file));
        let units = match staging.has_units {
            true => Some(UnitsInProgress {
                writer: UnitWriter::new(Vec::new(), rows.start),
                upload: Upload::new(staging.place(&units_name(&name))?),
            }),
            false => None,
        };
        let (to, mut batches) = channel(WAITING);
        let batches = futures::stream::poll_fn(move |context| batches.poll_recv(context));
        let schema = Arc::clone(&staging.schema);
        let task = SpawnedTask::spawn(async move { write_file(batches, schema, place, name).await });
        Ok(Self { file, rows, class: u32::MAX, rank: 0, written: 0, sum: 0, received: 0, units, to, task })
    }

    /// Appends rows in the order of the release. A class that crosses a file boundary arrives whole; its rows of other
    /// files are skipped.
    async fn push(
        &mut self,
        batch: &RecordBatch,
        files: &FileRanges,
        released: &PlanRows,
    ) -> Result<(), AnonymizeError> {
        self.received += batch_bytes(batch);
        let (mut first, mut wanted) = (None, 0);
        for (row, (class, hash)) in ShuffledRows(batch).classes().iter().zip(ShuffledRows(batch).content()).enumerate()
        {
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
        let mut rows = released.released(part.column(2), ShuffledRows(&part).kept())?;
        if let Some(units) = &mut self.units {
            rows = units.split(rows).await?;
        }
        // Sending fails only if the writer ended early; `finish` returns its error.
        let _ = self.to.send(Ok(rows)).await;
        Ok(())
    }

    async fn finish(self) -> Result<RecordBatch> {
        drop(self.to);
        let written = self.task.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let entry = written.map_err(|error| DataFusionError::External(Box::new(error)))?;
        if let Some(units) = self.units {
            units.upload.finish().await.map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        if self.written != self.rows.end - self.rows.start || entry.rows != self.written {
            return Err(AnonymizeError::Task.into());
        }
        answer(self.file, &entry, self.sum, self.received)
    }
}
