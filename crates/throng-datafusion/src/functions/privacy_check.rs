//! `privacy_check('table', 'policy')`: what a release promises, and whether it does, as a table.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableType};
use datafusion::physical_plan::ExecutionPlan;
use throng_core::verify::{Promise, Verifier};

use super::arguments::table_and_policy;
use super::lookup::table_of;
use super::privacy_check_exec::{PrivacyCheckExec, checked_schema};
use crate::policy_text::policy_of;
use crate::project_stream::project_stream;

/// The table function `privacy_check('table', 'policy')`.
///
/// It takes the table for a release under the policy, reads it, and has one row for each requirement: the `model` that
/// asks, the `column` it speaks of, what is `required` of every class, what is `achieved` by the worst of them, and whether
/// that is `satisfied`. The judgement is that of the verifier, which counts released values and knows nothing of how they
/// came about. A column that the policy does not release has a row too, and is never satisfied; an empty release
/// satisfies nothing.
#[derive(Debug, Default)]
pub struct PrivacyCheckFunction;

impl PrivacyCheckFunction {
    /// What it is called in SQL.
    pub const NAME: &str = "privacy_check";
}

impl TableFunctionImpl for PrivacyCheckFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let (table, policy) = table_and_policy(Self::NAME, args.exprs())?;
        let (_, release) = table_of(args.session(), table)?;
        let (promise, columns) = policy_of(policy, args.session().config())?.promise();
        Ok(Arc::new(PrivacyCheck::new(release, promise, &columns)?))
    }
}

/// What was found of a release, as a table. Opaque to the optimizer: a filter on findings is none on the release.
#[derive(Debug)]
struct PrivacyCheck {
    release: Arc<dyn TableProvider>,
    promise: Arc<Promise>,
    /// Columns that the policy does not release.
    foreign: Arc<[String]>,
    schema: SchemaRef,
}

impl PrivacyCheck {
    /// Finds out what is missing before anything is read.
    fn new(release: Arc<dyn TableProvider>, promise: Promise, columns: &[String]) -> Result<Self> {
        let schema = release.schema();
        Verifier::new(promise.clone(), &schema).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let names = schema.fields().iter().map(|field| field.name());
        let foreign = names.filter(|name| !columns.contains(name)).cloned().collect();
        Ok(Self { release, promise: Arc::new(promise), foreign, schema: checked_schema() })
    }

    /// The places of the columns that the promise speaks of.
    fn columns_read(&self, release: &Schema) -> Result<Vec<usize>> {
        let places = self.promise.columns().into_iter().map(|name| release.index_of(name));
        Ok(places.collect::<Result<Vec<_>, _>>()?)
    }
}

#[async_trait]
impl TableProvider for PrivacyCheck {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = self.columns_read(&self.release.schema())?;
        let release =
            LogicalPlanBuilder::scan("release", provider_as_source(Arc::clone(&self.release)), Some(columns))?;
        let release = state.create_physical_plan(&release.build()?).await?;
        let (promise, foreign) = (Arc::clone(&self.promise), Arc::clone(&self.foreign));
        project_stream(Arc::new(PrivacyCheckExec::new(release, promise, foreign)), projection)
    }
}
