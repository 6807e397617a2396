//! Reads only the columns of a table that are needed.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::datasource::provider_as_source;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;

/// Plans a scan of the columns with these names, in the order of the table.
pub(crate) async fn scan(
    session: &SessionContext,
    table: Arc<dyn TableProvider>,
    names: &[&str],
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = table.schema();
    let columns = schema.fields().iter().enumerate().filter(|(_, field)| names.contains(&field.name().as_str()));
    let columns = columns.map(|(index, _)| index).collect();
    let scan = LogicalPlanBuilder::scan("input", provider_as_source(table), Some(columns))?.build()?;
    session.state().create_physical_plan(&scan).await
}
