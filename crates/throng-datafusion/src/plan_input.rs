//! Plans the input of an opaque table apart from the query over it.

use std::sync::Arc;

use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::provider_as_source;
use datafusion::datasource::source::DataSourceExec;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::physical_plan::ExecutionPlan;

/// Plans a scan of these columns, without the statistics of their files.
pub(crate) async fn plan_input(
    state: &dyn Session,
    table: &Arc<dyn TableProvider>,
    columns: Vec<usize>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let scan = LogicalPlanBuilder::scan("input", provider_as_source(Arc::clone(table)), Some(columns))?;
    strip_statistics(state.create_physical_plan(&scan.build()?).await?)
}

/// Removes the file statistics of a plan, except the number of rows.
///
/// They contain the minimum and maximum of every column, and a user who may query the release may also display the plan
/// with statistics (`datafusion.explain.show_statistics`, `EXPLAIN VERBOSE`). The input is already planned, and a full
/// scan does not need them.
fn strip_statistics(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let scan = node.downcast_ref::<DataSourceExec>().map(DataSourceExec::data_source);
        let Some(config) = scan.and_then(|source| source.downcast_ref::<FileScanConfig>()) else {
            return Ok(Transformed::no(node));
        };
        let without = |file: &PartitionedFile| PartitionedFile { statistics: None, ..file.clone() };
        let group = |group: &FileGroup| FileGroup::new(group.files().iter().map(without).collect());
        let groups = config.file_groups.iter().map(group).collect();
        let rows = config.statistics().num_rows;
        let unknown = Statistics::new_unknown(config.file_source.table_schema().table_schema()).with_num_rows(rows);
        let config = FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).with_statistics(unknown);
        Ok(Transformed::yes(DataSourceExec::from_data_source(config.build()) as Arc<dyn ExecutionPlan>))
    })
    .data()
}
