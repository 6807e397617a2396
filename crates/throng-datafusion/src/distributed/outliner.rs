//! Task: computes the release plan from the surveys of all readers.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, LargeBinaryArray, RecordBatch, StringArray, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt8Type, UInt64Type};
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::TryStreamExt;
use prost::Message;
use rustc_hash::FxHashMap;
use throng_core::row_hash::Checksum;
use throng_core::survey::SurveyedValues;

use super::draw;
use super::error::Refusal;
use super::exec::{Arrival, Task, emitted};
use super::facts::{borrowed, borrowed_message, class_sizes, utility, utility_message};
use super::message::{BodyMessage, EndMessage, FactsMessage, RefusalMessage, SketchMessage, ValuesMessage};
use super::outline::{Drawn, Outline};
use super::place::StorePlace;
use super::rows::Spread;
use super::seen::seen_values;
use super::sketch::{Sketch, group_file, group_schema};
use super::survey::{END, GROUPS, REFUSED, SEEN};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::classes::Classes;
use crate::groups::{Groups, for_each_group};
use crate::progress::NoProgress;
use crate::release::{Facts, Shown};
use crate::resources::{Resources, reserve};
use crate::snapshot::{Snapshot, StreamRows, survey_spec, tuple_schema};
use crate::spill_buffer::{SharedQuota, SpillBuffer};

/// Task that computes the release plan and writes it to the object store.
#[derive(Debug)]
pub struct Outliner {
    anonymizer: Arc<Anonymizer>,
    place: StorePlace,
    spread: Spread,
}

impl Outliner {
    /// Name of the task in a plan.
    pub const NAME: &str = "ThrongOutline";

    /// Creates the task. It writes below `place` the release plan or, if the table is cut into parts, a sketch and the
    /// groups of each part, hash-partitioned by `spread`.
    pub fn new(anonymizer: Arc<Anonymizer>, place: StorePlace, spread: Spread) -> Self {
        Self { anonymizer, place, spread }
    }
}

/// A release plan that was written.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// Object name below the place.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of groups.
    pub groups: u64,
    /// Number of survey bytes received.
    pub received: u64,
    /// Metrics of the release, without the checksum.
    pub facts: Facts,
}

/// Sketch of a table that is cut into parts, whose classes are not formed yet.
#[derive(Clone, Debug)]
pub struct Sketched {
    /// Object name below the place.
    pub name: String,
    /// Number of parts.
    pub parts: usize,
}

impl Sketched {
    /// Returns the name of the file with the groups of a part.
    fn file(name: &str, part: usize) -> String {
        format!("{name}-{part:05}.parquet")
    }

    /// Returns the names of the files with the groups of all parts.
    pub fn files(&self) -> Vec<String> {
        (0..self.parts).map(|part| Self::file(&self.name, part)).collect()
    }

    /// Returns the schema of these files.
    pub fn schema() -> SchemaRef {
        group_schema()
    }
}

/// Result of the query that surveys a table, or that merges its parts.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The release plan was written.
    Outlined(Box<Outlined>),
    /// A sketch was written: the classes of its parts must be formed and merged.
    Sketched(Sketched),
    /// No release is possible.
    Refused(Refusal),
}

impl Answer {
    /// Decodes the result rows of a query.
    pub fn of(batches: &[RecordBatch], anonymizer: &Anonymizer) -> Result<Self, AnonymizeError> {
        let batch = batches.iter().find(|batch| batch.num_rows() > 0).ok_or(AnonymizeError::Task)?;
        let name = batch.column(0).as_string::<i32>().value(0).to_owned();
        let body = batch.column(1).as_binary::<i64>().value(0);
        let number = batch.column(2).as_primitive::<UInt64Type>().value(0);
        if name.is_empty() {
            return Ok(Self::Refused(Refusal::from_message(
                RefusalMessage::decode(body).map_err(|_| AnonymizeError::Task)?,
            )));
        }
        if body.is_empty() {
            return Ok(Self::Sketched(Sketched { name, parts: number as usize }));
        }
        let message = FactsMessage::decode(body).map_err(|_| AnonymizeError::Task)?;
        let (method, reason) = anonymizer.method();
        let facts = Facts {
            rows_read: message.rows_read,
            suppressed: message.suppressed,
            leaves: message.leaves,
            cycles: message.cycles,
            method,
            reason,
            checksum: Checksum::default(),
            utility: message.utility.and_then(utility).ok_or(AnonymizeError::Task)?,
            cells: class_sizes(&message.cells),
            borrowed: message.borrowed.map(borrowed).ok_or(AnonymizeError::Task)?,
        };
        let (groups, received) = (message.groups, message.received);
        Ok(Self::Outlined(Box::new(Outlined { name, bytes: number, groups, received, facts })))
    }
}

pub(super) fn answer_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("outline", DataType::Utf8, false),
        Field::new("facts", DataType::LargeBinary, false),
        Field::new("number", DataType::UInt64, false),
    ]))
}

/// `number` is the size of a release plan in bytes, or the number of parts of a sketch.
fn answer(name: &str, body: &[u8], number: u64) -> Result<RecordBatch, AnonymizeError> {
    let columns: Vec<datafusion::arrow::array::ArrayRef> = vec![
        Arc::new(StringArray::from(vec![name])),
        Arc::new(LargeBinaryArray::from_vec(vec![body])),
        Arc::new(datafusion::arrow::array::UInt64Array::from(vec![number])),
    ];
    RecordBatch::try_new(answer_schema(), columns).map_err(|source| AnonymizeError::Kernel("batch", source))
}

impl Task for Outliner {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schema(&self) -> SchemaRef {
        answer_schema()
    }

    fn arrival(&self) -> Arrival {
        Arrival::InOnePartition
    }

    fn run(
        &self,
        pieces: SendableRecordBatchStream,
        context: Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let (workspace, stop) = Resources::new(&context, metrics);
        let (anonymizer, place, spread) = (Arc::clone(&self.anonymizer), self.place.clone(), self.spread.clone());
        Ok(emitted(self.schema(), |to| async move {
            let _stop = stop;
            let runtime = context.runtime_env();
            let drawn = async {
                let readers = gather(pieces, &anonymizer, &workspace).await?;
                let draw = move || draw_outline(&anonymizer, readers, workspace);
                SpawnedTask::spawn_blocking(draw).await.map_err(|_| AnonymizeError::Task)?
            };
            let answer = match drawn.await {
                Ok(Surveyed::Sketched(sketch, groups)) => sketched(&sketch, groups, &spread, &place, &runtime).await?,
                Ok(Surveyed::Outlined(outline, facts)) => answer_with(Ok((outline, facts)), &place, &runtime).await?,
                Err(undrawn) => answer_with(Err(undrawn), &place, &runtime).await?,
            };
            to.send(Ok(answer)).await.map_err(|_| AnonymizeError::Cancelled)
        }))
    }

    fn body(&self) -> Vec<u8> {
        let message = BodyMessage {
            anonymizer: Some(self.anonymizer.message()),
            place: self.place.url().to_owned(),
            slots: self.spread.slots().to_vec(),
            ..BodyMessage::default()
        };
        message.encode_to_vec()
    }
}

/// Reason why there is no release plan.
pub(super) enum Undrawn {
    /// A reader returned a refusal.
    Refused(RefusalMessage),
    Failed(AnonymizeError),
}

impl From<AnonymizeError> for Undrawn {
    fn from(error: AnonymizeError) -> Self {
        Self::Failed(error)
    }
}

/// Survey of one reader.
struct Reader {
    seen: Vec<Vec<ValuesMessage>>,
    groups: SpillBuffer,
    count: u64,
    pieces: u64,
    bytes: u64,
    end: Option<EndMessage>,
}

async fn gather(
    mut pieces: SendableRecordBatchStream,
    anonymizer: &Anonymizer,
    workspace: &Resources,
) -> Result<Vec<Reader>, Undrawn> {
    let width = anonymizer.binding().quasi.len() + anonymizer.binding().sensitive.len();
    let allowance = SharedQuota::new(workspace.memory_for_rows());
    let mut readers: FxHashMap<u64, Reader> = FxHashMap::default();
    while let Some(batch) = pieces.try_next().await.map_err(AnonymizeError::from)? {
        for row in 0..batch.num_rows() {
            let reader = batch.column(0).as_primitive::<UInt64Type>().value(row);
            let kind = batch.column(1).as_primitive::<UInt8Type>().value(row);
            let column = batch.column(2).as_primitive::<datafusion::arrow::datatypes::UInt32Type>().value(row) as usize;
            let piece = batch.column(3).as_binary::<i64>().value(row);
            let reader = readers.entry(reader).or_insert_with(|| Reader {
                seen: vec![Vec::new(); width],
                groups: SpillBuffer::new(workspace, tuple_schema(), &allowance, "groups"),
                count: 0,
                pieces: 0,
                bytes: 0,
                end: None,
            });
            match kind {
                SEEN if column < width => {
                    reader.seen[column].push(ValuesMessage::decode(piece).map_err(|_| AnonymizeError::Task)?)
                }
                GROUPS => {
                    let numbers: Vec<u32> = piece.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n)).collect();
                    reader.count += (numbers.len() / (width + 1)) as u64;
                    let numbers = vec![Arc::new(UInt32Array::from(numbers)) as Arc<dyn Array>];
                    let groups = RecordBatch::try_new(tuple_schema(), numbers);
                    reader.groups.push(groups.map_err(|source| AnonymizeError::Kernel("batch", source))?)?;
                }
                END => reader.end = Some(EndMessage::decode(piece).map_err(|_| AnonymizeError::Task)?),
                REFUSED => {
                    return Err(Undrawn::Refused(RefusalMessage::decode(piece).map_err(|_| AnonymizeError::Task)?));
                }
                _ => return Err(AnonymizeError::Task.into()),
            }
            reader.pieces += u64::from(kind != END);
            reader.bytes += piece.len() as u64;
        }
    }
    Ok(readers.into_values().collect())
}

/// Merges the surveys of all readers into one snapshot without rows.
fn snapshot(anonymizer: &Anonymizer, readers: Vec<Reader>, workspace: Resources) -> Result<Snapshot, AnonymizeError> {
    let spec = Arc::new(survey_spec(anonymizer.binding()));
    let width = anonymizer.binding().quasi.len() + anonymizer.binding().sensitive.len();
    let mut snapshot = Snapshot::empty(width, workspace);
    for reader in readers {
        // Reject incomplete surveys: no end marker, or missing pieces.
        let end = reader.end.filter(|end| end.pieces == reader.pieces).ok_or(AnonymizeError::Task)?;
        let columns = reader.seen.iter().map(|messages| seen_values(messages)).collect::<Result<Vec<_>, _>>()?;
        let seen = SurveyedValues::new(Arc::clone(&spec), columns, end.suppressed);
        let groups = StreamRows::of_groups(reader.groups.finish()?, reader.count, &snapshot.workspace)?;
        snapshot.gather(groups, seen, end.rows)?;
    }
    Ok(snapshot)
}

/// Result of a survey.
enum Surveyed {
    /// The release plan; all groups were clustered as a whole.
    Outlined(Vec<u8>, FactsMessage),
    /// The sketch of a table that is cut into parts, and the groups of the parts.
    Sketched(SketchMessage, Groups),
}

fn draw_outline(anonymizer: &Anonymizer, readers: Vec<Reader>, workspace: Resources) -> Result<Surveyed, Undrawn> {
    let received = readers.iter().map(|reader| reader.bytes).sum();
    let mut snapshot = snapshot(anonymizer, readers, workspace)?;
    let spec = Arc::new(survey_spec(anonymizer.binding()));
    let seen = match snapshot.seen.is_empty() {
        true => return Err(AnonymizeError::from(throng_core::CoreError::NoRows { suppressed: 0 }).into()),
        false => SurveyedValues::union(spec, &snapshot.seen).map_err(AnonymizeError::from)?,
    };
    let groups = anonymizer.group(&mut snapshot)?;
    if groups.len() > 1 {
        let sketch = Sketch::message(&seen, snapshot.rows, groups.len(), received)?;
        return Ok(Surveyed::Sketched(sketch, groups));
    }
    let domains = groups.domains.clone();
    let classes = Classes::of(anonymizer, &snapshot, groups, &NoProgress, &mut drop)?;
    let (width, count) = (domains.width(), classes.recoding.group_count());
    let room = snapshot.workspace.reservation("outline");
    reserve(&room, count * (2 * 4 * width + 32), "the outline of the release")?;
    let mut tuples = vec![0; count * width];
    let mut group_of = classes.group_of.iter();
    for_each_group(&snapshot, &domains, |placed, _| {
        let group = *group_of.next().ok_or(AnonymizeError::Task)? as usize;
        tuples[group * width..(group + 1) * width].copy_from_slice(placed);
        Ok(())
    })?;
    let (outline, facts) = outline_of(seen, width, tuples, classes, snapshot.rows, received)?;
    Ok(Surveyed::Outlined(outline, facts))
}

/// Encodes the release plan and the metrics of the release. `tuples` holds the tuple of domain positions of each group.
pub(super) fn outline_of(
    seen: SurveyedValues,
    width: usize,
    tuples: Vec<u32>,
    classes: Classes,
    rows_read: u64,
    received: u64,
) -> Result<(Vec<u8>, FactsMessage), AnonymizeError> {
    let Classes { recoding, utility, cells, borrowed, key, leaves, cycles, suppressed, .. } = classes;
    let shares = recoding.all_shares();
    let facts = FactsMessage {
        rows_read,
        suppressed,
        leaves,
        cycles,
        groups: shares.groups() as u64,
        received,
        utility: Some(utility_message(&utility)),
        cells: cells.iter().flat_map(|(size, cells)| [size, cells]).collect(),
        borrowed: Some(borrowed_message(&borrowed)),
    };
    let class_rows = recoding.class_rows().to_vec();
    let outline = Outline::new(Drawn { seen, width, tuples, shares, class_rows, shown: Shown::of(&recoding), key });
    tracing::info!(groups = facts.groups, classes = utility.classes, "outline drawn");
    Ok((outline.to_bytes()?, facts))
}

/// Writes a release plan to the store and returns its name, or returns the refusal.
pub(super) async fn answer_with(
    drawn: Result<(Vec<u8>, FactsMessage), Undrawn>,
    place: &StorePlace,
    runtime: &RuntimeEnv,
) -> Result<RecordBatch, AnonymizeError> {
    match drawn {
        Ok((outline, facts)) => {
            let name = format!("outline-{:016x}{:016x}", draw(), draw());
            let size = outline.len() as u64;
            place.put(runtime, &name, outline).await?;
            answer(&name, &facts.encode_to_vec(), size)
        }
        Err(Undrawn::Refused(refusal)) => answer("", &refusal.encode_to_vec(), 0),
        Err(Undrawn::Failed(error)) => {
            let refusal = Refusal::of(&error).ok_or(error)?;
            answer("", &refusal.to_message().encode_to_vec(), 0)
        }
    }
}

/// Writes a sketch and the groups of each part to the store, and returns its name.
async fn sketched(
    sketch: &SketchMessage,
    groups: Groups,
    spread: &Spread,
    place: &StorePlace,
    runtime: &RuntimeEnv,
) -> Result<RecordBatch, AnonymizeError> {
    let name = format!("sketch-{:016x}{:016x}", draw(), draw());
    let groups = Arc::new(groups);
    for part in 0..groups.len() {
        let (groups, slot) = (Arc::clone(&groups), spread.slot(part as u64));
        let file = move || group_file(part, slot, &groups.tuples(part)?);
        let file = SpawnedTask::spawn_blocking(file).await.map_err(|_| AnonymizeError::Task)??;
        place.put(runtime, &Sketched::file(&name, part), file).await?;
    }
    place.put(runtime, &name, sketch.encode_to_vec()).await?;
    answer(&name, &[], groups.len() as u64)
}
