//! Task: merges formed parts into the release plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{SchemaRef, UInt32Type};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::TryStreamExt;
use throng_core::survey::HashGrouping;

use super::body::body_of_sketch;
use super::exec::{Arrival, Task, emitted};
use super::form::read_formed;
use super::message::FactsMessage;
use super::outliner::{answer_schema, answer_with, outline_of};
use super::place::StorePlace;
use super::sketch::Sketch;
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::classes::GatheredClasses;
use crate::resources::{Resources, reserve};

/// Task that merges the classes of all parts into a release plan.
#[derive(Debug)]
pub struct Joins {
    anonymizer: Arc<Anonymizer>,
    place: StorePlace,
    sketch: String,
}

impl Joins {
    /// Name of the task in a plan.
    pub const NAME: &str = "ThrongJoin";

    /// Creates the task for the parts of `sketch`.
    pub fn new(anonymizer: Arc<Anonymizer>, place: StorePlace, sketch: String) -> Self {
        Self { anonymizer, place, sketch }
    }
}

/// Received pieces by part and index.
type Pieces = BTreeMap<u32, BTreeMap<u32, Vec<u8>>>;

impl Task for Joins {
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
        mut rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<SendableRecordBatchStream> {
        let (workspace, stop) = Resources::new(&context, metrics);
        let (anonymizer, place, name) = (Arc::clone(&self.anonymizer), self.place.clone(), self.sketch.clone());
        Ok(emitted(self.schema(), |to| async move {
            let _stop = stop;
            let sketch = Sketch::load(&anonymizer, &place, &name, &context.runtime_env()).await?;
            let (room, mut bytes) = (workspace.reservation("formed parts"), 0);
            let (mut pieces, mut wanted): (Pieces, BTreeMap<u32, u32>) = Default::default();
            while let Some(batch) = rows.try_next().await? {
                let number = |column: usize, row| batch.column(column).as_primitive::<UInt32Type>().value(row);
                for row in 0..batch.num_rows() {
                    let piece = batch.column(3).as_binary::<i64>().value(row).to_vec();
                    bytes += piece.len();
                    reserve(&room, bytes, "the classes of all parts")?;
                    wanted.insert(number(0, row), number(2, row));
                    pieces.entry(number(0, row)).or_default().insert(number(1, row), piece);
                }
            }
            let is_whole = |part: u32| {
                let found = pieces.get(&part).map(|pieces| pieces.len() as u32);
                found.is_some() && found == wanted.get(&part).copied()
            };
            if !(0..sketch.parts as u32).all(is_whole) {
                return Err(AnonymizeError::Task);
            }
            let join = move || join(&anonymizer, &sketch, pieces, &workspace);
            let joined = datafusion::common::runtime::SpawnedTask::spawn_blocking(join);
            let drawn = joined.await.map_err(|_| AnonymizeError::Task)?.map_err(Into::into);
            let answer = answer_with(drawn, &place, &context.runtime_env()).await?;
            to.send(Ok(answer)).await.map_err(|_| AnonymizeError::Cancelled)
        }))
    }

    fn body(&self) -> Vec<u8> {
        body_of_sketch(&self.anonymizer, &self.place, &self.sketch)
    }
}

fn join(
    anonymizer: &Anonymizer,
    sketch: &Sketch,
    pieces: Pieces,
    workspace: &Resources,
) -> Result<(Vec<u8>, FactsMessage), AnonymizeError> {
    let privacy = anonymizer.binding().privacy();
    let width = sketch.domains.width();
    let (mut gathered, mut tuples) = (GatheredClasses::new(anonymizer, &sketch.domains, workspace), Vec::new());
    let room = workspace.reservation("outline");
    for pieces in pieces.into_values() {
        workspace.check()?;
        let (groups, formed) = read_formed(&pieces.into_values().flatten().collect::<Vec<u8>>(), sketch)?;
        let (table, _) = HashGrouping::of(&sketch.domains, &groups)?;
        for cell in 0..table.cell_count() as u32 {
            for group in table.groups(cell) {
                tuples.extend_from_slice(table.positions(cell));
                tuples.extend_from_slice(table.codes(group));
            }
        }
        reserve(&room, tuples.capacity() * 4, "the outline of the release")?;
        gathered.add_formed(&table, &privacy, formed)?;
    }
    let classes = gathered.finish(anonymizer, &privacy, sketch.rows, sketch.suppressed)?;
    outline_of(sketch.seen.clone(), width, tuples, classes, sketch.rows, sketch.received)
}
