//! A test table in a file and its release, for the codec tests.

use std::sync::Arc;

use datafusion::arrow::array::{Int32Array, RecordBatch, StringArray};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use throng_policy::{Overrides, Policy, Secret};

use crate::{AnonymizeExec, AnonymizedTable};

pub(super) const POLICY: &str = r#"version = 1
privacy = { k = 4, p = 2 }
algorithm.seed = 7
columns.name.role = "identifier"
columns.age.role = "quasi"
columns.country = { role = "quasi", hierarchy = "country.csv" }
columns.illness.role = "sensitive"
columns.note.role = "insensitive"
"#;

/// Has a label on two levels, a group that is not contiguous, and a root other than `*`.
pub(super) const COUNTRIES: &str =
    "France;Europe;World\nJapan;Asia;World\nSpain;Europe;World\nOther;Other;World\nIndia;Asia;World\n";

/// A folder with a Parquet file of people, a policy and its hierarchy.
pub(super) struct People(pub(super) tempfile::TempDir);

impl People {
    pub(super) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.toml"), POLICY).unwrap();
        std::fs::write(folder.path().join("country.csv"), COUNTRIES).unwrap();
        let people = Self(folder);
        let context = SessionContext::new();
        let frame = context.read_batch(batch()).unwrap();
        let options = DataFrameWriteOptions::new().with_single_file_output(true);
        frame.write_parquet(&people.file(), options, None).await.unwrap();
        people
    }

    fn file(&self) -> String {
        self.0.path().join("people.parquet").display().to_string()
    }

    pub(super) fn policy(&self) -> Arc<Policy> {
        Arc::new(
            Policy::load(&self.0.path().join("policy.toml"), &Overrides::for_a_table())
                .unwrap()
                .with_secret(Secret::new("the same secret in every test").unwrap()),
        )
    }

    /// Returns a session with the release registered, with or without string views.
    pub(super) async fn session_with(&self, has_views: bool) -> SessionContext {
        let config = session_config().set_bool("datafusion.execution.parquet.schema_force_view_types", has_views);
        let context = SessionContext::new_with_config(config);
        context.register_parquet("people", self.file(), ParquetReadOptions::default()).await.unwrap();
        let people = context.table_provider("people").await.unwrap();
        release(&context, people, self.policy());
        context
    }

    pub(super) async fn session(&self) -> SessionContext {
        self.session_with(true).await
    }
}

/// Fixed configuration, so that plans can be compared.
pub(super) fn session_config() -> SessionConfig {
    SessionConfig::new().with_target_partitions(2)
}

pub(super) fn elsewhere() -> SessionContext {
    SessionContext::new_with_config(session_config())
}

pub(super) fn release(context: &SessionContext, input: Arc<dyn TableProvider>, policy: Arc<Policy>) {
    let table = AnonymizedTable::new(input, policy).unwrap();
    context.register_table("released", Arc::new(table)).unwrap();
}

/// Returns sixty deterministic rows.
pub(super) fn batch() -> RecordBatch {
    let countries = ["France", "Japan", "Spain", "Other", "India"];
    let illnesses = ["flu", "cold", "gout"];
    let name = StringArray::from_iter_values((0..60).map(|row| format!("person {row}")));
    let age = Int32Array::from_iter_values((0..60).map(|row| 20 + row * 17 % 50));
    let country = StringArray::from_iter_values((0..60).map(|row| countries[row * 7 % 5]));
    let illness = StringArray::from_iter((0..60).map(|row| (row % 11 > 0).then(|| illnesses[row * 13 % 3])));
    let note = StringArray::from_iter_values((0..60).map(|row| format!("note {}", row % 4)));
    let field = |name, data_type| Field::new(name, data_type, true);
    let schema = Schema::new(vec![
        field("name", DataType::Utf8),
        field("age", DataType::Int32),
        field("country", DataType::Utf8),
        field("illness", DataType::Utf8),
        field("note", DataType::Utf8),
    ]);
    let columns = vec![
        Arc::new(name) as _,
        Arc::new(age) as _,
        Arc::new(country) as _,
        Arc::new(illness) as _,
        Arc::new(note) as _,
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

/// Returns the physical plan of a query.
pub(super) async fn physical(context: &SessionContext, query: &str) -> Arc<dyn ExecutionPlan> {
    context.sql(query).await.unwrap().create_physical_plan().await.unwrap()
}

/// Collects a plan into one batch.
pub(super) async fn rows(plan: Arc<dyn ExecutionPlan>, context: &SessionContext) -> RecordBatch {
    let schema = plan.schema();
    concat_batches(&schema, &collect(plan, context.task_ctx()).await.unwrap()).unwrap()
}

/// Returns all operators of a plan.
pub(super) fn operators(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let below = plan.children().into_iter().flat_map(operators);
    let own = plan.is::<AnonymizeExec>().then(|| Arc::clone(plan));
    own.into_iter().chain(below).collect()
}
