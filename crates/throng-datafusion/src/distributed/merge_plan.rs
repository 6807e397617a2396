//! Task: merges the classes of all parts into the release plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::UInt32Type;
use futures::{FutureExt, TryStreamExt};
use throng_core::out_of_core::GatheredClasses;
use throng_core::survey::HashGrouping;

use super::cluster::read_part;
use super::partitioned_plan::PartDomains;
use super::plan::{EncodedPlan, PlanAnswer};
use super::refusal::NoPlan;
use super::task::{InputDistribution, TaskInput, TaskKind, blocking};
use super::task_params::TaskParams;
use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::release_plan::PLAN;
use crate::resources::{Resources, reserve};

/// Received pieces by part and index.
type Pieces = BTreeMap<u32, BTreeMap<u32, Vec<u8>>>;

/// Merges the classes of all parts of a partitioned plan into a release plan.
pub static MERGE_PLAN_TASK: TaskKind = TaskKind {
    name: "ThrongMergePlan",
    schema: |_| PlanAnswer::schema(),
    distribution: |_| InputDistribution::Single,
    run: |params, input| run(params, input).boxed(),
};

async fn run(params: Arc<TaskParams>, input: TaskInput) -> Result<(), AnonymizeError> {
    let TaskInput { mut rows, output, resources, context } = input;
    let runtime = context.runtime_env();
    let plan = PartDomains::load(&params, &runtime).await?;
    let (room, mut bytes) = (resources.reservation("clustered parts"), 0);
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
    if !(0..plan.parts as u32).all(is_whole) {
        return Err(AnonymizeError::Task);
    }
    let anonymizer = Arc::clone(&params.anonymizer);
    let answer = match blocking(move || merge(&anonymizer, &plan, pieces, &resources)).await {
        Ok(merged) => merged.write(&params, &runtime).await?,
        Err(error) => PlanAnswer::Refused(NoPlan::from(error).refusal()?),
    };
    output.send(answer.batch()?).await
}

fn merge(
    anonymizer: &Anonymizer,
    plan: &PartDomains,
    pieces: Pieces,
    resources: &Resources,
) -> Result<EncodedPlan, AnonymizeError> {
    let spec = anonymizer.class_spec();
    let width = plan.domains.width();
    let (mut gathered, mut tuples) = (GatheredClasses::new(&plan.domains, resources), Vec::new());
    let room = resources.reservation("release plan");
    for pieces in pieces.into_values() {
        resources.check()?;
        let (groups, formed) = read_part(&pieces.into_values().flatten().collect::<Vec<u8>>(), plan)?;
        let (table, _) = HashGrouping::of(&plan.domains, &groups)?;
        for cell in 0..table.cell_count() as u32 {
            for group in table.groups(cell) {
                tuples.extend_from_slice(table.positions(cell));
                tuples.extend_from_slice(table.codes(group));
            }
        }
        reserve(&room, tuples.capacity() * 4, PLAN)?;
        gathered.add_formed(&table, &spec.privacy, formed)?;
    }
    let (classes, _) = gathered.finish(&spec, plan.rows, plan.suppressed)?;
    EncodedPlan::new(plan.seen.clone(), width, tuples, classes, plan.rows, plan.received)
}
