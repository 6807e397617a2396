use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::array::Array;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::prelude::*;
use crate::{EngineFailure, Shortfall, blocking, classify};

fn people() -> Vec<RecordBatch> {
    let first = RecordBatch::try_from_iter([
        ("name", create_array!(Utf8, ["Ada", "Bob", "Cem", "Dag"]) as ArrayRef),
        ("age", create_array!(Int32, [25, 29, 27, 61]) as ArrayRef),
        ("illness", create_array!(Utf8, ["flu", "gout", "flu", "flu"]) as ArrayRef),
    ]);
    let second = RecordBatch::try_from_iter([
        ("name", create_array!(Utf8, ["Eve", "Fay"]) as ArrayRef),
        ("age", create_array!(Int32, [64, 60]) as ArrayRef),
        ("illness", create_array!(Utf8, ["asthma", "gout"]) as ArrayRef),
    ]);
    vec![first.unwrap(), second.unwrap()]
}

fn builder() -> PolicyBuilder {
    let builder = Policy::builder().with_k(3).with_p(2).identifier("name").quasi("age", |age| age);
    builder.sensitive("illness", |illness| illness).with_secret(secret())
}

fn policy() -> Policy {
    builder().build().unwrap()
}

fn secret() -> Secret {
    Secret::new("a secret of these tests alone").unwrap()
}

fn stream(batches: Vec<RecordBatch>) -> SendableRecordBatchStream {
    let schema = batches[0].schema();
    Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches.into_iter().map(Ok))))
}

fn memory(batches: Vec<RecordBatch>) -> Arc<dyn TableProvider> {
    Arc::new(MemTable::try_new(batches[0].schema(), vec![batches]).unwrap())
}

async fn shown(table: impl IntoTable, policy: &Policy) -> String {
    let release = crate::anonymize(table, policy).await.unwrap();
    pretty_format_batches(&release.collect().await.unwrap()).unwrap().to_string()
}

#[tokio::test]
async fn batches_a_stream_a_table_and_a_frame_have_the_same_release() {
    let of_batches = shown(people(), &policy()).await;
    assert!(of_batches.contains("[25-29]") && of_batches.contains("[60-64]"), "{of_batches}");
    assert_eq!(shown(stream(people()), &policy()).await, of_batches);
    assert_eq!(shown(memory(people()), &policy()).await, of_batches);
    let frame = SessionContext::new().read_batches(people()).unwrap();
    assert_eq!(shown(frame, &policy()).await, of_batches);
}

#[tokio::test]
async fn policies_of_any_origin_have_the_same_release() {
    let toml = "version = 1\nprivacy = { k = 3, p = 2 }\ncolumns.name.role = 'identifier'\ncolumns.age.role = 'quasi'\n\
                columns.illness.role = 'sensitive'\n";
    let json = r#"{ "version": 1, "privacy": { "k": 3, "p": 2 }, "columns": { "name": { "role": "identifier" },
                  "age": { "role": "quasi" }, "illness": { "role": "sensitive" } } }"#;
    let toml = Policy::parse(toml, std::path::Path::new(""), &Overrides::for_a_table()).unwrap();
    let json = Policy::from_json(json).unwrap();
    let built = shown(people(), &policy()).await;
    assert_eq!(shown(people(), &toml.with_secret(secret())).await, built);
    assert_eq!(shown(people(), &json.with_secret(secret())).await, built);
}

#[tokio::test]
async fn a_release_knows_what_it_keeps_and_what_it_loses() {
    let release = crate::anonymize(people(), &policy()).await.unwrap();
    assert_eq!((release.rows(), release.suppressed_rows(), release.classes()), (6, 0, 2));
    assert!(release.ncp() > 0.0 && release.ncp() < 0.2, "{}", release.ncp());
    let models: Vec<_> = release.requirements().iter().map(|found| (found.model, found.holds())).collect();
    assert_eq!(models, [("k-anonymity", true), ("p-sensitivity", true)]);
    assert_eq!(release.risk(&[0.2]).at_risk, [(0.2, 1.0)]);
    assert_eq!((release.risk(&[]).highest, release.risk_before(&[]).highest), (1.0 / 3.0, 1.0));
    let names: Vec<String> = release.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["age", "illness"]);
}

#[tokio::test]
async fn a_release_can_be_read_and_queried_again_and_shows_no_row_in_its_debug_text() {
    let release = crate::anonymize(stream(people()), &policy()).await.unwrap();
    let first = release.collect().await.unwrap();
    assert_eq!(release.collect().await.unwrap(), first);
    let frame = SessionContext::new().read_table(release.table()).unwrap();
    assert_eq!(frame.count().await.unwrap(), 6, "the stream is read once, and the release many times");
    let debug = format!("{release:?}");
    assert!(debug.contains("classes: 2") && !debug.contains("flu") && !debug.contains("29"), "{debug}");
}

#[tokio::test]
async fn verification_finds_what_is_kept_and_what_is_not() {
    let policy = policy();
    let release = crate::anonymize(people(), &policy).await.unwrap();
    let findings = crate::verify(release.table(), &policy).await.unwrap();
    assert_eq!(&findings, release.findings());
    let kept: Vec<RecordBatch> = people().iter().map(|batch| batch.project(&[1, 2]).unwrap()).collect();
    let findings = crate::verify(kept, &policy).await.unwrap();
    assert_eq!((findings.holds(), findings.classes_below_k), (false, 6));
    match crate::verify(people(), &policy).await {
        Err(ThrongError::UnexpectedColumns { columns }) => assert_eq!(columns, ["name"]),
        other => panic!("{other:?}"),
    }
    let narrow: Vec<RecordBatch> = people().iter().map(|batch| batch.project(&[1]).unwrap()).collect();
    assert!(matches!(crate::verify(narrow, &policy).await, Err(ThrongError::Unverifiable(_))));
}

#[tokio::test]
async fn tables_without_batches_or_with_several_schemas_are_refused() {
    let none: Vec<RecordBatch> = Vec::new();
    assert!(matches!(crate::anonymize(none, &policy()).await, Err(ThrongError::NoBatches)));
    let mut mixed = people();
    mixed.push(RecordBatch::try_from_iter([("age", create_array!(Int32, [3]) as ArrayRef)]).unwrap());
    assert!(matches!(crate::anonymize(mixed, &policy()).await, Err(ThrongError::SchemaMismatch { batch: 2 })));
    let empty = people()[0].slice(0, 0);
    assert!(matches!(crate::anonymize(empty, &policy()).await, Err(ThrongError::NoRows { suppressed: 0 })));
}

#[tokio::test]
async fn a_stream_is_read_once() {
    let table = stream(people()).into_table().unwrap();
    crate::anonymize(Arc::clone(&table), &policy()).await.unwrap();
    assert!(matches!(crate::anonymize(table, &policy()).await, Err(ThrongError::Read(_))));
}

#[tokio::test]
async fn errors_have_fields() {
    let strict = builder().with_k(9).build().unwrap();
    match crate::anonymize(people(), &strict).await {
        Err(ThrongError::Infeasible { shortfalls }) => assert_eq!(shortfalls, [Shortfall::Rows { rows: 6, k: 9 }]),
        other => panic!("{other:?}"),
    }
    let missing = builder().insensitive("height").build().unwrap();
    match crate::anonymize(people(), &missing).await {
        Err(ThrongError::Policy(error)) => assert_eq!(error.problems()[0].path, "columns.height"),
        other => panic!("{other:?}"),
    }
    let limited = builder().quasi("zip", |zip| zip.with_nulls(Nulls::Suppress)).with_suppression_limit(0.1);
    let zip = RecordBatch::try_from_iter([(
        "zip",
        create_array!(Utf8, [Some("1"), Some("1"), None, Some("1"), Some("1"), Some("1")]) as ArrayRef,
    )])
    .unwrap();
    let all = datafusion::arrow::compute::concat_batches(&people()[0].schema(), &people()).unwrap();
    let fields = all.schema().fields().iter().cloned().chain(zip.schema().fields().iter().cloned()).collect::<Vec<_>>();
    let columns = all.columns().iter().chain(zip.columns()).cloned().collect();
    let table = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    match crate::anonymize(table, &limited.build().unwrap()).await {
        Err(ThrongError::TooManySuppressed { rows: 6, suppressed: 1, limit }) => assert_eq!(limit, 0.1),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_error_of_the_input_quotes_no_value() {
    let session = SessionContext::new();
    let text = RecordBatch::try_from_iter([
        ("age", create_array!(Utf8, ["25", "secret-of-Ada", "36"]) as ArrayRef),
        ("illness", create_array!(Utf8, ["flu", "gout", "flu"]) as ArrayRef),
    ]);
    session.register_table("people", memory(vec![text.unwrap()])).unwrap();
    let frame = session.sql("SELECT CAST(age AS INT) AS age, illness FROM people").await.unwrap();
    let policy = Policy::builder().with_k(3).quasi("age", |age| age).sensitive("illness", |illness| illness);
    let error = crate::anonymize_in(&session, frame, &policy.with_secret(secret()).build().unwrap()).await.unwrap_err();
    let ThrongError::Read(source) = &error else { panic!("{error:?}") };
    assert!(matches!(classify(source), EngineFailure::Cast | EngineFailure::Conversion), "{source:?}");
    assert!(!format!("{error:?} {error} {source}").contains("Ada"));
}

#[test]
fn plain_threads_may_block() {
    let release = blocking::anonymize(people(), &policy()).unwrap();
    let batches = blocking::collect(&release).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 6);
    assert_eq!(&blocking::verify(batches, &policy()).unwrap(), release.findings());
}

#[tokio::test]
async fn tasks_may_not_block() {
    assert!(matches!(blocking::anonymize(people(), &policy()), Err(ThrongError::WouldBlock)));
}

#[tokio::test]
async fn intervals_are_released_as_text_and_kept_columns_in_their_type() {
    let release = crate::anonymize(people(), &policy()).await.unwrap();
    let schema = release.schema();
    assert_eq!(schema.field(0).data_type(), &DataType::Utf8);
    let expected: Vec<&Field> = schema.fields().iter().map(AsRef::as_ref).collect();
    for batch in release.collect().await.unwrap() {
        assert!(batch.columns().iter().zip(&expected).all(|(column, field)| column.data_type() == field.data_type()));
    }
}

#[tokio::test]
async fn risk_is_that_of_the_values_as_they_are() {
    let risk = crate::risk(stream(people()), &policy()).await.unwrap();
    assert_eq!((risk.rows, risk.classes, risk.uniques, risk.rows_at_risk), (6, 6, 6, 6));
    assert_eq!((risk.columns.len(), risk.sensitive.len(), risk.threshold), (1, 1, 1.0 / 3.0));
    let release = crate::anonymize(people(), &policy()).await.unwrap();
    let released = crate::risk(release.table(), &builder_of_release()).await.unwrap();
    assert_eq!((released.classes, released.rows_at_risk, released.highest()), (2, 0, release.risk(&[]).highest));
}

/// A policy for the columns of a release, which has no identifier.
fn builder_of_release() -> Policy {
    let builder = Policy::builder().with_k(3).quasi("age", |age| age);
    builder.sensitive("illness", |illness| illness).build().unwrap()
}

#[test]
fn work_can_be_spawned() {
    fn is_send<T: Send>(work: T) {
        drop(work);
    }
    is_send(crate::anonymize(people(), &policy()));
    is_send(crate::verify(stream(people()), &policy()));
    is_send(crate::risk(memory(people()), &policy()));
}

#[tokio::test]
async fn a_limit_on_the_finished_release_is_refused_where_nobody_examines_it() {
    let population = throng_policy::PopulationSettings {
        source: throng_policy::PopulationSource::Table(vec!["people.parquet".to_owned()]),
        k_map: Some(3),
        delta_min: None,
        delta_max: None,
    };
    let gated = [
        (builder().with_max_gain(1.5), "privacy.attacks"),
        (builder().with_population(population), "privacy.population"),
    ];
    for (builder, name) in gated {
        let error = crate::anonymize(people(), &builder.build().unwrap()).await.unwrap_err();
        assert!(matches!(error, ThrongError::Policy(_)), "{error:?}");
        assert!(error.to_string().contains(name) && error.to_string().contains("`throng run`"), "{error}");
    }
}

/// Accepts or refuses every release, and counts the input rows that it reads again.
struct Examiner {
    is_refused: bool,
    rows: AtomicUsize,
}

impl crate::ExamineRelease for Examiner {
    fn examine<'a>(
        &'a self,
        _policy: &'a Policy,
        input: &'a Arc<dyn TableProvider>,
        release: &'a Arc<throng_datafusion::Release>,
    ) -> BoxFuture<'a, Result<(), Box<dyn std::error::Error + Send + Sync>>> {
        let examined = async move {
            let read = SessionContext::new().read_table(Arc::clone(input))?.count().await?;
            assert_eq!(release.facts().rows_read, read as u64);
            self.rows.fetch_add(read, Ordering::Relaxed);
            if self.is_refused { Err("an attack gains too much".into()) } else { Ok(()) }
        };
        examined.boxed()
    }
}

#[tokio::test]
async fn the_examiner_of_a_session_decides_before_the_first_row_leaves() {
    let policy = builder().with_max_gain(1.5).build().unwrap();
    for is_refused in [false, true] {
        let examiner = Arc::new(Examiner { is_refused, rows: Default::default() });
        let session = SessionContext::new();
        let extension = Arc::new(crate::ReleaseExaminer::new(Arc::clone(&examiner) as Arc<dyn crate::ExamineRelease>));
        session.state_ref().write().config_mut().set_extension(extension);
        let input = people();
        let rows = input.iter().map(RecordBatch::num_rows).sum::<usize>();
        match crate::anonymize_in(&session, input, &policy).await {
            Ok(release) => assert!(!is_refused && release.rows() == rows as u64),
            Err(ThrongError::Examined(error)) => assert!(is_refused && error.to_string().contains("gains too much")),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(examiner.rows.load(Ordering::Relaxed), rows);
        // Without a limit there is nothing to examine.
        crate::anonymize_in(&session, people(), &builder().build().unwrap()).await.unwrap();
        assert_eq!(examiner.rows.load(Ordering::Relaxed), rows);
    }
}
