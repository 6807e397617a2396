//! Projects the columns of an opaque table above its plan, and never below.

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
