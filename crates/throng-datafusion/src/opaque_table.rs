//! Tables that are opaque to the optimizer: projections, filters and limits are applied above their plan, never below.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;

/// Adds a projection to a plan; `None` keeps all columns.
pub(crate) fn project_stream(
    plan: Arc<dyn ExecutionPlan>,
    projection: Option<&Vec<usize>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(projection) = projection else { return Ok(plan) };
    let schema = plan.schema();
    let column = |index: &usize| {
        let name = schema.field(*index).name();
        (Arc::new(Column::new(name, *index)) as Arc<dyn PhysicalExpr>, name.clone())
    };
    let columns: Vec<_> = projection.iter().map(column).collect();
    Ok(Arc::new(ProjectionExec::try_new(columns, plan)?))
}

/// Implements [`TableProvider`](datafusion::catalog::TableProvider) for a table with these expressions for its schema and, in
/// an asynchronous context, for its plan. The projection is applied above the plan. No filter is supported, so none is passed
/// to a scan, and the limit, a hint, must not be used.
macro_rules! opaque_table {
    ($table:ty, |$self:ident| $schema:expr, |$state:ident| $plan:expr) => {
        #[::async_trait::async_trait]
        impl ::datafusion::catalog::TableProvider for $table {
            fn schema(&$self) -> ::datafusion::arrow::datatypes::SchemaRef {
                $schema
            }

            fn table_type(&self) -> ::datafusion::logical_expr::TableType {
                ::datafusion::logical_expr::TableType::View
            }

            async fn scan(
                &$self,
                $state: &dyn ::datafusion::catalog::Session,
                projection: Option<&Vec<usize>>,
                _filters: &[::datafusion::logical_expr::Expr],
                _limit: Option<usize>,
            ) -> ::datafusion::common::Result<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
                $crate::opaque_table::project_stream($plan, projection)
            }
        }
    };
}

pub(crate) use opaque_table;
