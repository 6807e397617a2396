//! Compares the distributed tasks with the operator in one process.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take_record_batch};
use datafusion::arrow::datatypes::UInt32Type;
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures::TryStreamExt;
use proptest::prelude::*;
use throng_core::out_of_core::PartSizes;
use throng_policy::{Overrides, Policy, Secret};

use super::shuffle_rows::PartitionKeys;
use super::*;
use crate::{AnonymizeExec, Anonymizer, to_canonical_array};

/// One person: age, zip, income, illness, note. Domains are small, so that many rows are equal.
type Person = (Option<u8>, u8, u8, Option<u8>, Option<u8>);

fn batch(people: &[Person]) -> RecordBatch {
    let texts = |of: &dyn Fn(&Person) -> Option<String>| -> ArrayRef {
        Arc::new(people.iter().map(of).collect::<StringArray>())
    };
    let numbers: ArrayRef = Arc::new(people.iter().map(|person| person.0.map(i64::from)).collect::<Int64Array>());
    let incomes = Float64Array::from_iter_values(people.iter().map(|person| f64::from(person.2) * 1.5));
    RecordBatch::try_from_iter_with_nullable([
        ("age", numbers, true),
        ("zip", texts(&|person| Some(format!("{:03}", u32::from(person.1) * 37 % 1000))), true),
        ("income", Arc::new(incomes), true),
        ("illness", texts(&|person| person.3.map(|illness| format!("illness {illness}"))), true),
        ("note", texts(&|person| person.4.map(|note| format!("note {note}"))), true),
    ])
    .unwrap()
}

/// Policies with intervals, covers, means, and rows suppressed because of nulls and of limits.
const POLICIES: [&str; 4] = [
    "age.role = 'quasi'\nzip = { role = 'quasi', hierarchy = { mask = 'right' } }\nincome.role = 'insensitive'\n\
     illness.role = 'sensitive'\nnote.role = 'insensitive'\n",
    "age = { role = 'quasi', release = 'mean' }\nzip.role = 'identifier'\nincome = { role = 'quasi', release = 'median' }\n\
     illness.role = 'sensitive'\nnote.role = 'insensitive'\n",
    "age = { role = 'quasi', nulls = 'suppress', release = 'bounds', cover = 5 }\nzip = { role = 'quasi', release = 'set' }\n\
     income.role = 'identifier'\nillness.role = 'sensitive'\nnote.role = 'identifier'\n",
    "age = { role = 'quasi', cover = 7, limit = [40] }\n\
     zip = { role = 'quasi', hierarchy = { mask = 'right' }, limit = 2 }\nincome.role = 'insensitive'\n\
     illness.role = 'sensitive'\nnote.role = 'insensitive'\n",
];

fn policy(columns: &str, k: u64, p: u64) -> Arc<Policy> {
    let text = format!("version = 1\nprivacy = {{ k = {k}, p = {p}, suppression_limit = 1.0 }}\n[columns]\n{columns}");
    Arc::new(
        Policy::parse(&text, Path::new("."), &Overrides::for_a_table())
            .unwrap()
            .with_secret(Secret::new("the same secret in every test").unwrap()),
    )
}

fn input(rows: &RecordBatch, partitions: usize) -> Arc<dyn TableProvider> {
    let mut parts = vec![Vec::new(); partitions];
    for row in 0..rows.num_rows() {
        parts[row * 7 % partitions].push(rows.slice(row, 1));
    }
    Arc::new(MemTable::try_new(rows.schema(), parts).unwrap())
}

fn context(partitions: usize, memory: Option<usize>) -> SessionContext {
    let runtime = match memory {
        Some(bytes) => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(GreedyMemoryPool::new(bytes))),
        None => RuntimeEnvBuilder::new(),
    };
    let config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(16);
    SessionContext::new_with_config_rt(config, Arc::new(runtime.build().unwrap()))
}

/// Returns the release of the operator.
async fn whole(anonymizer: &Arc<Anonymizer>, rows: &RecordBatch) -> Result<RecordBatch, String> {
    let context = context(2, None);
    let input = context.read_table(input(rows, 2)).unwrap().create_physical_plan().await.unwrap();
    let plan = AnonymizeExec::new(Arc::clone(anonymizer), input);
    let release = plan.release(context.task_ctx()).await.map_err(|error| error.to_string())?;
    let batches: Vec<RecordBatch> = release.stream(1000, 1).try_collect().await.unwrap();
    Ok(concat_batches(anonymizer.schema(), &batches).unwrap())
}

/// Returns the release of the tasks: all files, in row order.
async fn apart(
    anonymizer: &Arc<Anonymizer>,
    rows: &RecordBatch,
    partitions: usize,
    rows_per_file: u64,
    memory: Option<usize>,
) -> Result<RecordBatch, String> {
    let (context, folder) = (context(partitions, memory), tempfile::tempdir().unwrap());
    let store = StoreFolder::new(format!("file://{}/", folder.path().display()));
    let run = async |columns: Vec<usize>, tasks: Vec<Task>| {
        let table = TaskTable::new(input(rows, partitions), columns, tasks).unwrap();
        context.read_table(Arc::new(table)).unwrap().collect().await.map_err(|error| error.to_string())
    };
    let params = Arc::new(TaskParams::new(Arc::clone(anonymizer), store, partitions, rows_per_file));
    let first: Vec<Task> =
        vec![Task::new(&SURVEY_TASK, Arc::clone(&params)), Task::new(&PLAN_TASK, Arc::clone(&params))];
    let mut answer = PlanAnswer::of(&run(anonymizer.columns_read(), first).await?).unwrap();
    if let PlanAnswer::Partitioned(plan) = &answer {
        let of_parts = Arc::new(params.with_plan(&plan.name));
        let tasks: Vec<Task> =
            vec![Task::new(&CLUSTER_TASK, Arc::clone(&of_parts)), Task::new(&MERGE_PLAN_TASK, of_parts)];
        let files: Vec<String> =
            plan.files().iter().map(|file| folder.path().join(file).display().to_string()).collect();
        let groups = context.read_parquet(files, ParquetReadOptions::default()).await.unwrap().into_view();
        let table = TaskTable::new(groups, (0..4).collect(), tasks).unwrap();
        let answers =
            context.read_table(Arc::new(table)).unwrap().collect().await.map_err(|error| error.to_string())?;
        answer = PlanAnswer::of(&answers).unwrap();
    }
    let planned = match answer {
        PlanAnswer::Planned(planned) => planned,
        PlanAnswer::Refused(Refusal::Infeasible(text) | Refusal::BadData(text)) => return Err(text),
        PlanAnswer::Partitioned(_) => panic!("a merged plan was divided into parts again"),
    };
    let params = Arc::new(params.with_plan(&planned.name));
    let second: Vec<Task> =
        vec![Task::new(&ROUTE_TASK, Arc::clone(&params)), Task::new(&ASSIGN_TASK, Arc::clone(&params))];
    let assigned = run(anonymizer.columns_read(), second).await?;
    let assigned = concat_batches(&assigned[0].schema(), &assigned).unwrap();
    let by = [1, 2, 3].map(|column| SortColumn { values: Arc::clone(assigned.column(column)), options: None });
    let assigned = take_record_batch(&assigned, &lexsort_to_indices(&by, None).unwrap()).unwrap();

    let runtime = context.runtime_env();
    let plan = ReleasePlan::load(&params, &runtime).await.unwrap();
    let (files, released) = (plan.files(rows_per_file), PlanRows::new(anonymizer, &plan, &runtime));
    let (mut out, mut last, mut rank) = (Vec::new(), (u32::MAX, u32::MAX), 0);
    let (mut sent, mut received, mut bytes) = (0_u128, 0_u128, 0);
    for row in 0..assigned.num_rows() {
        let one = assigned.slice(row, 1);
        let (file, class) = (ShuffledRows(&one).files()[0], ShuffledRows(&one).classes()[0]);
        let hash = ShuffledRows(&one).content().next().unwrap();
        match class {
            CHECKSUM_ROW => sent = sent.wrapping_add(hash),
            BYTES_ROW => bytes += hash,
            class => {
                rank = if last == (file, class) { rank + 1 } else { 0 };
                last = (file, class);
                if files.rows(file).contains(&(files.start(class).unwrap() + rank)) {
                    received = received.wrapping_add(hash);
                    out.push((file, released.released(one.column(2), ShuffledRows(&one).kept()).unwrap()));
                }
            }
        }
    }
    assert!(sent == received && bytes > 0);
    for file in 0..files.len() as u32 {
        let rows = files.rows(file);
        assert_eq!(out.iter().filter(|(of, _)| *of == file).count() as u64, rows.end - rows.start);
    }
    let columns = (0..anonymizer.schema().fields().len()).map(|column| {
        let pieces: Vec<ArrayRef> =
            out.iter().map(|(_, row)| to_canonical_array(row.column(column)).unwrap()).collect();
        let pieces: Vec<&dyn datafusion::arrow::array::Array> = pieces.iter().map(AsRef::as_ref).collect();
        datafusion::arrow::compute::concat(&pieces).unwrap()
    });
    Ok(RecordBatch::try_new(Arc::clone(anonymizer.schema()), columns.collect()).unwrap())
}

fn people() -> impl Strategy<Value = Vec<Person>> {
    let rare = |most: u8| proptest::option::weighted(0.9, 0..most);
    proptest::collection::vec((rare(12), 0_u8..9, 0_u8..5, rare(4), rare(3)), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tasks_give_the_release_of_the_operator(
        people in people(),
        (which, k, p) in (0..POLICIES.len(), 2_u64..6, 1_u64..3),
        (partitions, rows_per_file, is_cut) in (1_usize..5, 1_u64..40, any::<bool>()),
    ) {
        let rows = batch(&people);
        let mut anonymizer = Anonymizer::new(policy(POLICIES[which], k, p), rows.schema()).unwrap();
        if is_cut {
            anonymizer = anonymizer.with_part_sizes(PartSizes { most_groups: 8, part_cells: 4, between_blocks: false });
        }
        let anonymizer = Arc::new(anonymizer);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let (whole, apart) = runtime.block_on(async {
            (whole(&anonymizer, &rows).await, apart(&anonymizer, &rows, partitions, rows_per_file, None).await)
        });
        match (whole, apart) {
            (Ok(whole), Ok(apart)) => prop_assert_eq!(whole, apart),
            (Err(here), Err(there)) => prop_assert!(there.ends_with(&here), "{there} is not {here}"),
            (here, there) => prop_assert!(false, "{here:?} and {there:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn little_memory_gives_the_same_rows() {
    let people: Vec<Person> = (0..20_000_u32)
        .map(|row| {
            let mixed = row.wrapping_mul(2_654_435_761);
            let part = |shift: u32, most: u32| ((mixed >> shift) % most) as u8;
            (Some(part(3, 60)), part(9, 30), part(13, 5), Some(part(17, 6)), Some(part(21, 200)))
        })
        .collect();
    let rows = batch(&people);
    let anonymizer = Arc::new(Anonymizer::new(policy(POLICIES[0], 10, 3), rows.schema()).unwrap());
    let whole = whole(&anonymizer, &rows).await.unwrap();
    let apart = apart(&anonymizer, &rows, 3, 4_321, Some(8 << 20)).await.unwrap();
    assert_eq!(whole, apart);
}

#[test]
fn keys_lie_in_different_partitions() {
    for partitions in [1, 2, 7, 16, 200] {
        let keys = PartitionKeys::for_partitions(partitions);
        let values: ArrayRef = Arc::new(datafusion::arrow::array::UInt32Array::from(keys.keys().to_vec()));
        let mut hashes = vec![0; values.len()];
        let state = datafusion::physical_plan::repartition::REPARTITION_RANDOM_STATE;
        datafusion::common::hash_utils::create_hashes([&values], state.random_state(), &mut hashes).unwrap();
        let mut places: Vec<u64> = hashes.iter().map(|hash| hash % partitions as u64).collect();
        places.sort_unstable();
        assert_eq!(places, (0..partitions as u64).collect::<Vec<_>>());
        assert_eq!(values.as_primitive::<UInt32Type>().len(), partitions);
    }
}

#[test]
fn a_row_is_in_the_file_of_its_place() {
    let files = FileRanges::new(&[3, 0, 10, 1], 4);
    assert_eq!((files.len(), files.rows(0), files.rows(3)), (4, 0..4, 12..14));
    assert_eq!((files.of_class(0), files.of_class(1), files.of_class(2)), (Some(0..=0), None, Some(0..=3)));
    assert_eq!((files.of_class(3), files.of_class(4), files.start(3)), (Some(3..=3), None, Some(13)));
}
