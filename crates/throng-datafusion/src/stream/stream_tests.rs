//! Streams in random and in sorted order, attacked from outside emission by emission.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray, UInt32Array};
use datafusion::arrow::compute::{concat_batches, sort_to_indices, take_record_batch};
use datafusion::arrow::datatypes::{Int64Type, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, collect, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::{StreamExt, TryStreamExt};
use throng_policy::{Overrides, Policy, Secret};

use crate::{AnonymizedStreamTable, AnonymizedTable};

const COLUMNS: &str = "[columns]\nperson.role = 'identifier'\nage.role = 'quasi'\n\
                       zip = { role = 'quasi', hierarchy = { mask = 'right' } }\nillness.role = 'sensitive'\n\
                       note.role = 'insensitive'\n";

pub(super) fn policy(privacy: &str, series: &str) -> Arc<Policy> {
    let text = format!("version = 1\n{series}\n[privacy]\n{privacy}\n{COLUMNS}");
    let policy = Policy::parse(&text, Path::new("."), &Overrides::for_a_table()).unwrap();
    Arc::new(policy.with_secret(Secret::new("the same secret in every test").unwrap()))
}

pub(super) fn rows_delay(rows: usize) -> String {
    format!("series.max_delay = {{ rows = {rows} }}")
}

/// Returns about two rows per person. `note` numbers them.
pub(super) fn people(rows: i64) -> RecordBatch {
    let mut state: u64 = 11;
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % end) as i64
    };
    let persons: Vec<i64> = (0..rows).map(|_| below(rows as u64 / 2 + 1)).collect();
    let ages: Vec<i64> = (0..rows).map(|_| 20 + below(8) * below(9)).collect();
    let zips: Vec<String> = (0..rows).map(|_| format!("{:04}", below(40) * below(200))).collect();
    let illnesses: Vec<String> = (0..rows).map(|_| format!("illness {}", below(3) * below(4))).collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("person", Arc::new(Int64Array::from(persons))),
        ("age", Arc::new(Int64Array::from(ages))),
        ("zip", Arc::new(StringArray::from(zips))),
        ("illness", Arc::new(StringArray::from(illnesses))),
        ("note", Arc::new(Int64Array::from_iter_values(0..rows))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

pub(super) fn sorted(rows: &RecordBatch, column: &str) -> RecordBatch {
    let order: UInt32Array = sort_to_indices(rows.column_by_name(column).unwrap(), None, None).unwrap();
    take_record_batch(rows, &order).unwrap()
}

/// A session whose batches are larger than any emission, so that a batch of a stream is an emission.
pub(super) fn session() -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2).with_batch_size(1 << 20))
}

pub(super) fn table(rows: &RecordBatch, batch_rows: usize) -> Arc<dyn TableProvider> {
    let slices = (0..rows.num_rows()).step_by(batch_rows);
    let batches = slices.map(|at| rows.slice(at, batch_rows.min(rows.num_rows() - at))).collect();
    Arc::new(MemTable::try_new(rows.schema(), vec![batches]).unwrap())
}

pub(super) async fn plan_of(
    input: Arc<dyn TableProvider>,
    policy: Arc<Policy>,
    ctx: &SessionContext,
) -> Arc<dyn ExecutionPlan> {
    AnonymizedStreamTable::new(input, policy).unwrap().plan(&ctx.state()).await.unwrap()
}

pub(super) async fn emissions(input: Arc<dyn TableProvider>, policy: Arc<Policy>) -> Result<Vec<RecordBatch>> {
    let ctx = session();
    let plan = plan_of(input, policy, &ctx).await;
    collect(plan, ctx.task_ctx()).await
}

pub(super) fn notes(batch: &RecordBatch) -> Vec<i64> {
    batch.column_by_name("note").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

/// Counts of the class of a row, as seen by someone who has the emission and knows everything except the sensitive value
/// of the row.
#[derive(Default)]
struct SeenClass {
    rows: usize,
    persons: HashSet<i64>,
    /// Sensitive values, with the people that carry each.
    carriers: HashMap<String, HashSet<i64>>,
}

/// Attacks emissions from their values alone: in each, the rows with equal labels are counted. `note` shows the attacker which
/// person a row belongs to, which no release should disclose.
fn attack(input: &RecordBatch, emissions: &[RecordBatch], k: usize, p: usize, counts_persons: bool) {
    let person_of = input.column_by_name("person").unwrap().as_primitive::<Int64Type>();
    let number_of = input.column_by_name("note").unwrap().as_primitive::<Int64Type>();
    let persons: HashMap<i64, i64> =
        number_of.values().iter().copied().zip(person_of.values().iter().copied()).collect();
    let mut seen = HashSet::new();
    for emission in emissions {
        let text = |name: &str| emission.column_by_name(name).unwrap().as_string::<i32>();
        let (ages, zips, illnesses) = (text("age"), text("zip"), text("illness"));
        let mut classes: HashMap<(&str, &str), SeenClass> = HashMap::new();
        for (row, note) in notes(emission).into_iter().enumerate() {
            assert!(seen.insert(note), "a row is released once");
            let class = classes.entry((ages.value(row), zips.value(row))).or_default();
            class.rows += 1;
            class.persons.insert(persons[&note]);
            class.carriers.entry(illnesses.value(row).to_owned()).or_default().insert(persons[&note]);
        }
        for class in classes.values() {
            let size = if counts_persons { class.persons.len() } else { class.rows };
            assert!(size >= k, "a class of {size}");
            assert!(class.carriers.len() >= p, "a class with {} values", class.carriers.len());
        }
    }
}

#[tokio::test]
async fn every_emission_withstands_an_attack_in_any_order() {
    let random = people(6_000);
    for (order, input) in
        [("random", random.clone()), ("by age", sorted(&random, "age")), ("by zip", sorted(&random, "zip"))]
    {
        for (privacy, k, p, counts_persons) in [
            ("k = 5\np = 2", 5, 2, false),
            ("k = 5\np = 2\nunit = 'person'", 5, 2, true),
            ("k = 40\np = 3", 40, 3, false),
        ] {
            let released = emissions(table(&input, 700), policy(privacy, &rows_delay(500))).await.unwrap();
            assert!(released.len() >= 12, "{order}: {} emissions", released.len());
            assert!(released.iter().all(|emission| emission.num_rows() <= 500));
            attack(&input, &released, k, p, counts_persons);
            let rows: usize = released.iter().map(RecordBatch::num_rows).sum();
            assert!(rows > 5_400, "{order}, {privacy}: {rows} rows");
        }
    }
}

#[tokio::test]
async fn a_delay_beyond_the_input_gives_the_bytes_of_the_table() {
    for (rows, order) in [(1_500, "note"), (1_500, "zip"), (5, "note")] {
        let (input, ctx) = (sorted(&people(rows), order), session());
        let whole = AnonymizedTable::new(table(&input, 100), policy("k = 5\np = 2", "")).unwrap();
        let whole = collect(Arc::new(whole.plan(&ctx.state()).await.unwrap()), ctx.task_ctx()).await;
        for series in ["", "series.max_delay = { rows = 1000000, time = '1h' }"] {
            let streamed = emissions(table(&input, 333), policy("k = 5\np = 2", series)).await;
            match (&whole, streamed) {
                (Ok(whole), Ok(streamed)) => {
                    let one = |batches: &[RecordBatch]| concat_batches(&batches[0].schema(), batches).unwrap();
                    assert_eq!(one(whole), one(&streamed));
                }
                (Err(whole), Err(streamed)) => assert_eq!(whole.to_string(), streamed.to_string()),
                (whole, streamed) => panic!("{rows} rows: {} and {}", whole.is_ok(), streamed.is_ok()),
            }
        }
    }
}

#[tokio::test]
async fn the_order_of_arrival_within_an_emission_leaves_no_trace() {
    let input = people(400);
    let backwards = UInt32Array::from_iter_values((0..400u32).map(|row| row / 100 * 100 + 99 - row % 100));
    let backwards = take_record_batch(&input, &backwards).unwrap();
    let policy = || policy("k = 5\np = 2", &rows_delay(100));
    let forth = emissions(table(&input, 64), policy()).await.unwrap();
    assert_eq!(forth.len(), 4);
    assert_eq!(forth, emissions(table(&backwards, 37), policy()).await.unwrap());
}

#[tokio::test]
async fn rows_that_no_class_takes_wait_and_are_suppressed_at_their_limit() {
    // The last 300 rows belong to one person, so no class of five people can be formed from them.
    let mut rows = people(400);
    let persons = Int64Array::from_iter_values((0..400).map(|row| if row < 100 { row } else { -1 }));
    let mut columns = rows.columns().to_vec();
    columns[0] = Arc::new(persons);
    rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
    let ctx = session();
    let plan = plan_of(table(&rows, 50), policy("k = 5\nunit = 'person'", &rows_delay(100)), &ctx).await;
    let released = collect(Arc::clone(&plan), ctx.task_ctx()).await.unwrap();
    assert_eq!(released.iter().map(RecordBatch::num_rows).sum::<usize>(), 100);
    let metrics = plan.metrics().unwrap();
    let count = |name: &str| metrics.sum_by_name(name).map_or(0, |value| value.as_usize());
    assert_eq!((count("rows_read"), count("suppressed_rows"), count("emissions")), (400, 300, 1));

    let limited = policy("k = 5\nunit = 'person'\nsuppression_limit = 0.1", &rows_delay(100));
    let error = emissions(table(&rows, 50), limited).await.unwrap_err().to_string();
    assert!(error.contains("`suppression_limit = 0.1` allows at most"), "{error}");
}

/// Emits batches, and then waits forever, fails, or ends.
#[derive(Debug)]
struct Source {
    batches: Vec<RecordBatch>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    Never,
    Failure,
    Panic,
}

impl PartitionStream for Source {
    fn schema(&self) -> &SchemaRef {
        self.batches[0].schema_ref()
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = futures::stream::iter(self.batches.clone().into_iter().map(Ok));
        let end = match self.end {
            End::Never => futures::stream::pending().boxed(),
            End::Failure => {
                let quoted = DataFusionError::Execution("person 4711 has gout".to_owned());
                futures::stream::once(async { Err(quoted) }).boxed()
            }
            End::Panic => futures::stream::once(async { panic!("person 4711 has gout") }).boxed(),
        };
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(self.schema()), batches.chain(end)))
    }
}

pub(super) fn source(rows: &RecordBatch, end: End) -> Arc<dyn TableProvider> {
    let batches = (0..rows.num_rows()).step_by(60).map(|at| rows.slice(at, 60.min(rows.num_rows() - at))).collect();
    let table = StreamingTable::try_new(rows.schema(), vec![Arc::new(Source { batches, end })]).unwrap();
    Arc::new(table.with_infinite_table(end == End::Never))
}

#[tokio::test]
async fn an_input_that_never_ends_is_released_as_it_goes_and_can_be_cancelled() {
    let (rows, ctx) = (people(1_000), session());
    let plan = plan_of(source(&rows, End::Never), policy("k = 5\np = 2", &rows_delay(200)), &ctx).await;
    assert!(plan.boundedness().is_unbounded() && plan.pipeline_behavior() == EmissionType::Incremental);
    assert!(!matches!(plan.boundedness(), Boundedness::Unbounded { requires_infinite_memory: true }));
    let mut released = execute_stream(plan, ctx.task_ctx()).unwrap();
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(released.try_next().await.unwrap().unwrap());
    }
    attack(&rows, &seen, 5, 2, false);
    assert_eq!(seen.iter().map(RecordBatch::num_rows).sum::<usize>(), 1_000);
    let next = tokio::time::timeout(Duration::from_millis(50), released.next()).await;
    assert!(next.is_err(), "nothing is due");
    drop(released);

    let without = AnonymizedStreamTable::new(source(&rows, End::Never), policy("k = 5", "")).unwrap();
    let error = without.plan(&ctx.state()).await.unwrap_err().to_string();
    assert!(error.contains("the input never ends"), "{error}");
}

#[tokio::test]
async fn time_makes_rows_due_although_none_arrives() {
    let (rows, ctx) = (people(120), session());
    let delay = "series.max_delay = { rows = 100000, time = '40ms' }";
    let plan = plan_of(source(&rows, End::Never), policy("k = 5\np = 2", delay), &ctx).await;
    let mut released = execute_stream(plan, ctx.task_ctx()).unwrap();
    let mut seen = 0;
    while seen < 120 {
        let batch = tokio::time::timeout(Duration::from_secs(60), released.try_next()).await.unwrap().unwrap().unwrap();
        seen += batch.num_rows();
    }
    assert_eq!(seen, 120);
}

#[tokio::test]
async fn an_error_of_the_input_quotes_nothing_and_ends_the_stream() {
    for end in [End::Failure, End::Panic] {
        let (rows, ctx) = (people(300), session());
        let plan = plan_of(source(&rows, end), policy("k = 5\np = 2", &rows_delay(100)), &ctx).await;
        let mut released = execute_stream(plan, ctx.task_ctx()).unwrap();
        let mut seen = 0;
        let error = loop {
            match released.next().await.unwrap() {
                Ok(batch) => seen += batch.num_rows(),
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(seen, 300, "emissions before the error stay released");
        assert!(!error.contains("4711") && !error.contains("gout"), "{error}");
        assert!(released.next().await.is_none());
    }
}

#[tokio::test]
async fn a_stream_is_read_once() {
    let (rows, ctx) = (people(300), session());
    let stream = AnonymizedStreamTable::new(table(&rows, 64), policy("k = 5", &rows_delay(100))).unwrap();
    let (first, second) = (stream.plan(&ctx.state()).await.unwrap(), stream.plan(&ctx.state()).await.unwrap());
    collect(first, ctx.task_ctx()).await.unwrap();
    let error = collect(second, ctx.task_ctx()).await.unwrap_err().to_string();
    assert!(error.contains("the stream was read before"), "{error}");
}

#[tokio::test]
async fn odd_streams_are_handled() {
    let none = emissions(table(&people(0), 8), policy("k = 5", &rows_delay(10))).await;
    assert_eq!(none.unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
    // There are six illnesses.
    for (privacy, rows, delay) in [("k = 2", 1, 10), ("k = 7\np = 7", 9, 7), ("k = 40\np = 7", 200, 50)] {
        let error = emissions(table(&people(rows), 8), policy(privacy, &rows_delay(delay))).await;
        let released = error.map(|batches| batches.iter().map(RecordBatch::num_rows).sum::<usize>());
        // An input that ends before a row is due is refused like a table; rows that were due before that are
        // suppressed.
        assert!(matches!(released, Ok(0) | Err(_)), "{privacy}: {released:?}");
        assert_eq!(released.is_err(), rows < delay as i64, "{privacy}");
    }
    let equal = people(1);
    let equal = concat_batches(&equal.schema(), &vec![equal.clone(); 50]).unwrap();
    let released = emissions(table(&equal, 7), policy("k = 5", &rows_delay(20))).await.unwrap();
    assert_eq!(released.iter().map(RecordBatch::num_rows).sum::<usize>(), 50);
}

#[tokio::test]
async fn memory_does_not_grow_with_the_stream() {
    let rows = people(200_000);
    let run = |bytes: usize, delay: usize| {
        let pool = Arc::new(GreedyMemoryPool::new(bytes));
        let runtime = Arc::new(RuntimeEnvBuilder::new().with_memory_pool(pool).build().unwrap());
        let config = SessionConfig::new().with_target_partitions(2);
        let ctx = SessionContext::new_with_config_rt(config, runtime);
        let input = source(&rows, End::Never);
        async move {
            let plan = plan_of(input, policy("k = 5\np = 2", &rows_delay(delay)), &ctx).await;
            let mut released = execute_stream(plan, ctx.task_ctx()).unwrap();
            let mut seen = 0;
            while seen < 200_000 {
                match released.next().await.unwrap() {
                    Ok(batch) => seen += batch.num_rows(),
                    Err(error) => return Err(error.to_string()),
                }
            }
            Ok(seen)
        }
    };
    // Less than the rows of the whole stream take.
    assert!(rows.get_array_memory_size() > 6 << 20);
    assert_eq!(run(6 << 20, 1_000).await, Ok(200_000));
    let error = run(6 << 20, 200_000).await.unwrap_err();
    assert!(error.contains("raise its limit"), "{error}");
}
