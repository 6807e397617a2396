//! Task: forms the classes of parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, LargeBinaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::TryStreamExt;
use prost::Message;
use throng_core::cluster::{Class, Portion};
use throng_core::partition::FeasibleRegions;
use throng_core::survey::{CountedTuples, HashGrouping};
use tokio::sync::mpsc::Sender;

use super::body::body_of_sketch;
use super::exec::{Arrival, Task, blocking, emitted, hand_over};
use super::message::FormedMessage;
use super::outline::{le_bytes, numbers};
use super::place::StorePlace;
use super::sketch::{Sketch, groups};
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::classes::{FormedPart, PartJob};
use crate::progress::NoProgress;
use crate::resources::{Resources, reserve};

/// Maximum number of bytes per output row; a larger formed part is sent in several rows.
const PIECE_BYTES: usize = 1 << 20;

/// Task that forms the classes of each part. All groups of a part must arrive in one partition.
#[derive(Debug)]
pub struct Forms {
    anonymizer: Arc<Anonymizer>,
    place: StorePlace,
    sketch: String,
}

impl Forms {
    /// Name of the task in a plan.
    pub const NAME: &str = "ThrongForm";

    /// Creates the task for the parts of `sketch`.
    pub fn new(anonymizer: Arc<Anonymizer>, place: StorePlace, sketch: String) -> Self {
        Self { anonymizer, place, sketch }
    }
}

/// Schema of the pieces of encoded parts: part, index and number of the pieces, bytes.
fn piece_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("part", DataType::UInt32, false),
        Field::new("number", DataType::UInt32, false),
        Field::new("pieces", DataType::UInt32, false),
        Field::new("piece", DataType::LargeBinary, false),
    ]))
}

impl Task for Forms {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn schema(&self) -> SchemaRef {
        piece_schema()
    }

    fn arrival(&self) -> Arrival {
        Arrival::Together { columns: vec!["slot".to_owned()], order: Vec::new() }
    }

    fn run(
        &self,
        mut rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let (workspace, stop) = Resources::new(&context, metrics);
        let (anonymizer, place, name) = (Arc::clone(&self.anonymizer), self.place.clone(), self.sketch.clone());
        Ok(emitted(self.schema(), |to| async move {
            let _stop = stop;
            let sketch = Sketch::load(&anonymizer, &place, &name, &context.runtime_env()).await?;
            let (width, room) = (sketch.domains.width(), workspace.reservation("parts"));
            let (mut parts, mut count): (BTreeMap<u32, CountedTuples>, usize) = (BTreeMap::new(), 0);
            while let Some(batch) = rows.try_next().await? {
                count += batch.num_rows();
                reserve(&room, count * (width + 1) * 4, "the groups of a few parts")?;
                for (part, tuple, rows) in groups(&batch)? {
                    if tuple.len() != width {
                        return Err(AnonymizeError::Task);
                    }
                    parts.entry(part).or_insert_with(|| CountedTuples::new(width)).push(&tuple, rows);
                }
            }
            blocking(move || form(&anonymizer, &sketch, parts, &workspace, &to)).await
        }))
    }

    fn body(&self) -> Vec<u8> {
        body_of_sketch(&self.anonymizer, &self.place, &self.sketch)
    }
}

fn form(
    anonymizer: &Anonymizer,
    sketch: &Sketch,
    parts: BTreeMap<u32, CountedTuples>,
    workspace: &Resources,
    to: &Sender<Result<RecordBatch>>,
) -> Result<(), AnonymizeError> {
    let privacy = anonymizer.binding().privacy();
    let work = PartJob::new(anonymizer, &privacy, sketch.parts, workspace, &NoProgress);
    let room = workspace.reservation("part");
    for (part, tuples) in parts {
        workspace.check()?;
        reserve(&room, 3 * tuples.size(), "the groups of a part")?;
        let (table, _) = HashGrouping::of(&sketch.domains, &tuples)?;
        let formed = work.form(&table, &FeasibleRegions::of(&table, &privacy))?;
        let bytes = formed_message(&tuples, &formed).encode_to_vec();
        let pieces = bytes.chunks(PIECE_BYTES);
        for (number, piece) in pieces.clone().enumerate() {
            let of =
                [part, number as u32, pieces.len() as u32].map(|n| Arc::new(UInt32Array::from(vec![n])) as ArrayRef);
            let piece = Arc::new(LargeBinaryArray::from_vec(vec![piece])) as ArrayRef;
            let batch = RecordBatch::try_new(piece_schema(), of.into_iter().chain([piece]).collect());
            hand_over(to, batch.map_err(|source| AnonymizeError::Kernel("batch", source))?)?;
        }
    }
    Ok(())
}

fn formed_message(tuples: &CountedTuples, formed: &FormedPart) -> FormedMessage {
    let portions = formed.classes.iter().flat_map(|class| &class.portions);
    let covers = formed.classes.iter().flat_map(|class| class.cover.iter().flatten());
    FormedMessage {
        groups: le_bytes(tuples.iter().flat_map(|(tuple, rows)| tuple.iter().copied().chain([rows]))),
        portion_counts: le_bytes(formed.classes.iter().map(|class| class.portions.len() as u32)),
        portions: le_bytes(portions.flat_map(|portion| [portion.group, portion.rows])),
        is_covered: formed.classes.iter().map(|class| u8::from(class.cover.is_some())).collect(),
        covers: le_bytes(covers.flat_map(|(from, to)| [*from, *to])),
        leaves: formed.leaves,
        cycles: formed.cycles,
    }
}

/// Decodes the groups and classes of a part.
pub(super) fn read_formed(bytes: &[u8], sketch: &Sketch) -> Result<(CountedTuples, FormedPart), AnonymizeError> {
    let message = FormedMessage::decode(bytes).map_err(|_| AnonymizeError::Task)?;
    let (width, columns) = (sketch.domains.width(), sketch.domains.quasi.len());
    let mut tuples = CountedTuples::new(width);
    for entry in numbers(&message.groups).chunks_exact(width + 1) {
        tuples.push(&entry[..width], entry[width]);
    }
    let portions: Vec<Portion> = numbers(&message.portions)
        .as_chunks()
        .0
        .iter()
        .map(|[group, rows]| Portion { group: *group, rows: *rows })
        .collect();
    let covers: Vec<(u32, u32)> =
        numbers(&message.covers).as_chunks().0.iter().map(|[from, to]| (*from, *to)).collect();
    let mut covers = covers.chunks_exact(columns.max(1));
    let (mut rest, mut classes) = (portions.as_slice(), Vec::new());
    for (count, is_covered) in numbers(&message.portion_counts).into_iter().zip(&message.is_covered) {
        let (here, later) = rest.split_at_checked(count as usize).ok_or(AnonymizeError::Task)?;
        rest = later;
        let cover = match is_covered {
            0 => None,
            _ => Some(covers.next().ok_or(AnonymizeError::Task)?.to_vec()),
        };
        classes.push(Class { portions: here.to_vec(), cover });
    }
    Ok((tuples, FormedPart { classes, leaves: message.leaves, cycles: message.cycles }))
}
