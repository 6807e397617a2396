//! Task: forms the classes of parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, LargeBinaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::{FutureExt, TryStreamExt};
use prost::Message;
use throng_core::cluster::{Class, Portion};
use throng_core::out_of_core::{FormedPart, PartJob};
use throng_core::partition::FeasibleRegions;
use throng_core::progress::NoProgress;
use throng_core::survey::{CountedTuples, HashGrouping};

use super::message::ClusteredPartMessage;
use super::partitioned_plan::{PartDomains, groups};
use super::plan_object::{le_bytes, numbers};
use super::task::{InputDistribution, TaskInput, TaskKind, TaskOutput, blocking};
use super::task_params::TaskParams;
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::resources::{Resources, reserve};

/// Maximum number of bytes per output row; a larger formed part is sent in several rows.
const PIECE_BYTES: usize = 1 << 20;

/// Schema of the pieces of encoded parts: part, index and number of the pieces, bytes.
fn piece_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("part", DataType::UInt32, false),
        Field::new("number", DataType::UInt32, false),
        Field::new("pieces", DataType::UInt32, false),
        Field::new("piece", DataType::LargeBinary, false),
    ]))
}

/// Forms the classes of each part of a partitioned plan. All groups of a part must arrive in one partition.
pub static CLUSTER_TASK: TaskKind = TaskKind {
    name: "ThrongCluster",
    schema: |_| piece_schema(),
    distribution: |_| InputDistribution::HashBy { columns: vec!["key".to_owned()], order: Vec::new() },
    run: |params, input| run(params, input).boxed(),
};

async fn run(params: Arc<TaskParams>, input: TaskInput) -> Result<(), AnonymizeError> {
    let TaskInput { mut rows, output, resources, context } = input;
    let plan = PartDomains::load(&params, &context.runtime_env()).await?;
    let (width, room) = (plan.domains.width(), resources.reservation("parts"));
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
    blocking(move || cluster(&params.anonymizer, &plan, parts, &resources, &output)).await
}

fn cluster(
    anonymizer: &Anonymizer,
    plan: &PartDomains,
    parts: BTreeMap<u32, CountedTuples>,
    resources: &Resources,
    output: &TaskOutput,
) -> Result<(), AnonymizeError> {
    let spec = anonymizer.class_spec();
    let job = PartJob::new(&spec, plan.parts, resources, &NoProgress);
    let room = resources.reservation("part");
    for (part, tuples) in parts {
        resources.check()?;
        reserve(&room, 3 * tuples.size(), "the groups of a part")?;
        let (table, _) = HashGrouping::of(&plan.domains, &tuples)?;
        let formed = job.form(&table, &FeasibleRegions::of(&table, &spec.privacy))?;
        let bytes = part_message(&tuples, &formed).encode_to_vec();
        let pieces = bytes.chunks(PIECE_BYTES);
        for (number, piece) in pieces.clone().enumerate() {
            let of =
                [part, number as u32, pieces.len() as u32].map(|n| Arc::new(UInt32Array::from(vec![n])) as ArrayRef);
            let piece = Arc::new(LargeBinaryArray::from_vec(vec![piece])) as ArrayRef;
            let batch = RecordBatch::try_new(piece_schema(), of.into_iter().chain([piece]).collect());
            output.blocking_send(batch.map_err(|source| AnonymizeError::Kernel("batch", source))?)?;
        }
    }
    Ok(())
}

fn part_message(tuples: &CountedTuples, formed: &FormedPart) -> ClusteredPartMessage {
    let portions = formed.classes.iter().flat_map(|class| &class.portions);
    let covers = formed.classes.iter().flat_map(|class| class.cover.iter().flatten());
    ClusteredPartMessage {
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
pub(super) fn read_part(bytes: &[u8], plan: &PartDomains) -> Result<(CountedTuples, FormedPart), AnonymizeError> {
    let message = ClusteredPartMessage::decode(bytes).map_err(|_| AnonymizeError::Task)?;
    let (width, columns) = (plan.domains.width(), plan.domains.quasi.len());
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
