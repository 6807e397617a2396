//! Draws the outline of a release from what all readers have seen.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, LargeBinaryArray, RecordBatch, StringArray, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt8Type, UInt64Type};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::TryStreamExt;
use prost::Message;
use rustc_hash::FxHashMap;
use throng_core::content::Checksum;
use throng_core::survey::Seen;

use super::draw;
use super::error::Refusal;
use super::exec::{Arrival, Task, emitted};
use super::facts::{class_sizes, utility, utility_message};
use super::message::{BodyMessage, EndMessage, FactsMessage, RefusalMessage, ValuesMessage};
use super::outline::{Drawn, Outline};
use super::place::StorePlace;
use super::seen::seen_values;
use super::survey::{END, GROUPS, REFUSED, SEEN};
use crate::Error;
use crate::anonymizer::Anonymizer;
use crate::classes::Classes;
use crate::groups::for_each_group;
use crate::progress::NoProgress;
use crate::release::{Facts, Shown};
use crate::snapshot::{Snapshot, StreamRows, survey_spec, tuple_schema};
use crate::store::{Allowance, BatchStore};
use crate::workspace::{Workspace, reserve};

/// Draws the outline of a release, and puts it on a store.
#[derive(Debug)]
pub struct Outliner {
    anonymizer: Arc<Anonymizer>,
    place: StorePlace,
}

impl Outliner {
    /// Its name in a plan.
    pub const NAME: &str = "ThrongOutline";

    /// Draws the outline of a release below a place.
    pub fn new(anonymizer: Arc<Anonymizer>, place: StorePlace) -> Self {
        Self { anonymizer, place }
    }
}

/// An outline that was drawn.
#[derive(Clone, Debug)]
pub struct Outlined {
    /// Its name below the place.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// How many groups it has.
    pub groups: u64,
    /// How many bytes it was made of.
    pub received: u64,
    /// What is known of the release, but for the checksum.
    pub facts: Facts,
}

impl Outlined {
    /// What the query that draws an outline answers.
    pub fn of(batches: &[RecordBatch], anonymizer: &Anonymizer) -> Result<Result<Self, Refusal>, Error> {
        let batch = batches.iter().find(|batch| batch.num_rows() > 0).ok_or(Error::Task)?;
        let name = batch.column(0).as_string::<i32>().value(0).to_owned();
        let body = batch.column(1).as_binary::<i64>().value(0);
        if name.is_empty() {
            return Ok(Err(Refusal::from_message(RefusalMessage::decode(body).map_err(|_| Error::Task)?)));
        }
        let bytes = batch.column(2).as_primitive::<UInt64Type>().value(0);
        let message = FactsMessage::decode(body).map_err(|_| Error::Task)?;
        let (method, reason) = anonymizer.method();
        let facts = Facts {
            rows_read: message.rows_read,
            suppressed: message.suppressed,
            leaves: message.leaves,
            cycles: message.cycles,
            method,
            reason,
            checksum: Checksum::default(),
            utility: message.utility.and_then(utility).ok_or(Error::Task)?,
            cells: class_sizes(&message.cells),
        };
        Ok(Ok(Self { name, bytes, groups: message.groups, received: message.received, facts }))
    }
}

fn answer_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("outline", DataType::Utf8, false),
        Field::new("facts", DataType::LargeBinary, false),
        Field::new("bytes", DataType::UInt64, false),
    ]))
}

fn answer(name: &str, body: &[u8], bytes: u64) -> Result<RecordBatch, Error> {
    let columns: Vec<datafusion::arrow::array::ArrayRef> = vec![
        Arc::new(StringArray::from(vec![name])),
        Arc::new(LargeBinaryArray::from_vec(vec![body])),
        Arc::new(datafusion::arrow::array::UInt64Array::from(vec![bytes])),
    ];
    RecordBatch::try_new(answer_schema(), columns).map_err(|source| Error::Kernel("batch", source))
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
        let (workspace, stop) = Workspace::new(&context, metrics);
        let (anonymizer, place) = (Arc::clone(&self.anonymizer), self.place.clone());
        Ok(emitted(self.schema(), |to| async move {
            let _stop = stop;
            let drawn = async {
                let readers = gather(pieces, &anonymizer, &workspace).await?;
                let draw = move || draw_outline(&anonymizer, readers, workspace);
                datafusion::common::runtime::SpawnedTask::spawn_blocking(draw).await.map_err(|_| Error::Task)?
            };
            let answer = match drawn.await {
                Ok((outline, facts)) => {
                    let name = format!("outline-{:016x}{:016x}", draw(), draw());
                    let size = outline.len() as u64;
                    place.put(&context.runtime_env(), &name, outline).await?;
                    answer(&name, &facts.encode_to_vec(), size)?
                }
                Err(Undrawn::Refused(refusal)) => answer("", &refusal.encode_to_vec(), 0)?,
                Err(Undrawn::Failed(error)) => {
                    let refusal = Refusal::of(&error).ok_or(error)?;
                    answer("", &refusal.to_message().encode_to_vec(), 0)?
                }
            };
            to.send(Ok(answer)).await.map_err(|_| Error::Cancelled)
        }))
    }

    fn body(&self) -> Vec<u8> {
        let anonymizer = Some(self.anonymizer.message());
        BodyMessage { anonymizer, place: self.place.url().to_owned(), ..BodyMessage::default() }.encode_to_vec()
    }
}

/// Why there is no outline.
enum Undrawn {
    /// A reader has refused its rows.
    Refused(RefusalMessage),
    Failed(Error),
}

impl From<Error> for Undrawn {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What one reader has sent.
struct Reader {
    seen: Vec<Vec<ValuesMessage>>,
    groups: BatchStore,
    count: u64,
    pieces: u64,
    bytes: u64,
    end: Option<EndMessage>,
}

async fn gather(
    mut pieces: SendableRecordBatchStream,
    anonymizer: &Anonymizer,
    workspace: &Workspace,
) -> Result<Vec<Reader>, Undrawn> {
    let width = anonymizer.binding().quasi.len() + anonymizer.binding().sensitive.len();
    let allowance = Allowance::new(workspace.memory_for_rows());
    let mut readers: FxHashMap<u64, Reader> = FxHashMap::default();
    while let Some(batch) = pieces.try_next().await.map_err(Error::from)? {
        for row in 0..batch.num_rows() {
            let reader = batch.column(0).as_primitive::<UInt64Type>().value(row);
            let kind = batch.column(1).as_primitive::<UInt8Type>().value(row);
            let column = batch.column(2).as_primitive::<datafusion::arrow::datatypes::UInt32Type>().value(row) as usize;
            let piece = batch.column(3).as_binary::<i64>().value(row);
            let reader = readers.entry(reader).or_insert_with(|| Reader {
                seen: vec![Vec::new(); width],
                groups: BatchStore::new(workspace, tuple_schema(), &allowance, "groups"),
                count: 0,
                pieces: 0,
                bytes: 0,
                end: None,
            });
            match kind {
                SEEN if column < width => {
                    reader.seen[column].push(ValuesMessage::decode(piece).map_err(|_| Error::Task)?)
                }
                GROUPS => {
                    let numbers: Vec<u32> = piece.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n)).collect();
                    reader.count += (numbers.len() / (width + 1)) as u64;
                    let numbers = vec![Arc::new(UInt32Array::from(numbers)) as Arc<dyn Array>];
                    let groups = RecordBatch::try_new(tuple_schema(), numbers);
                    reader.groups.push(groups.map_err(|source| Error::Kernel("batch", source))?)?;
                }
                END => reader.end = Some(EndMessage::decode(piece).map_err(|_| Error::Task)?),
                REFUSED => {
                    return Err(Undrawn::Refused(RefusalMessage::decode(piece).map_err(|_| Error::Task)?));
                }
                _ => return Err(Error::Task.into()),
            }
            reader.pieces += u64::from(kind != END);
            reader.bytes += piece.len() as u64;
        }
    }
    Ok(readers.into_values().collect())
}

/// What all readers have seen, as if one process had seen it.
fn snapshot(anonymizer: &Anonymizer, readers: Vec<Reader>, workspace: Workspace) -> Result<Snapshot, Error> {
    let spec = Arc::new(survey_spec(anonymizer.binding()));
    let width = anonymizer.binding().quasi.len() + anonymizer.binding().sensitive.len();
    let mut snapshot = Snapshot::empty(width, workspace);
    for reader in readers {
        // A reader that has not come to its end, or of which a piece is missing, has not been heard.
        let end = reader.end.filter(|end| end.pieces == reader.pieces).ok_or(Error::Task)?;
        let columns = reader.seen.iter().map(|messages| seen_values(messages)).collect::<Result<Vec<_>, _>>()?;
        let seen = Seen::new(Arc::clone(&spec), columns, end.suppressed);
        let groups = StreamRows::of_groups(reader.groups.finish()?, reader.count, &snapshot.workspace)?;
        snapshot.gather(groups, seen, end.rows)?;
    }
    Ok(snapshot)
}

fn draw_outline(
    anonymizer: &Anonymizer,
    readers: Vec<Reader>,
    workspace: Workspace,
) -> Result<(Vec<u8>, FactsMessage), Undrawn> {
    let received = readers.iter().map(|reader| reader.bytes).sum();
    let mut snapshot = snapshot(anonymizer, readers, workspace)?;
    let spec = Arc::new(survey_spec(anonymizer.binding()));
    let seen = match snapshot.seen.is_empty() {
        true => return Err(Error::from(throng_core::Error::NoRows { suppressed: 0 }).into()),
        false => Seen::union(spec, &snapshot.seen).map_err(Error::from)?,
    };
    let groups = anonymizer.group(&mut snapshot)?;
    let domains = groups.domains.clone();
    let classes = Classes::of(anonymizer, &snapshot, groups, &NoProgress, &mut drop)?;
    let (width, shares) = (domains.width(), classes.recoding.all_shares());
    let room = snapshot.workspace.reservation("outline");
    reserve(&room, shares.groups() * (2 * 4 * width + 32), "the outline of the release")?;
    let mut tuples = vec![0; shares.groups() * width];
    let mut group_of = classes.group_of.iter();
    for_each_group(&snapshot, &domains, |placed, _| {
        let group = *group_of.next().ok_or(Error::Task)? as usize;
        tuples[group * width..(group + 1) * width].copy_from_slice(placed);
        Ok(())
    })?;
    let outline = Outline::new(Drawn {
        seen,
        width,
        tuples,
        shares,
        class_rows: classes.recoding.class_rows().to_vec(),
        shown: Shown::of(&classes.recoding),
        key: classes.key,
    });
    let facts = FactsMessage {
        rows_read: snapshot.rows,
        suppressed: classes.suppressed,
        leaves: classes.leaves,
        cycles: classes.cycles,
        groups: shares.groups() as u64,
        received,
        utility: Some(utility_message(&classes.utility)),
        cells: classes.cells.iter().flat_map(|(size, cells)| [size, cells]).collect(),
    };
    tracing::info!(groups = facts.groups, classes = classes.utility.classes, "outline drawn");
    Ok((outline.to_bytes()?, facts))
}
