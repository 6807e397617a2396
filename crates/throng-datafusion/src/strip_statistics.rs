//! The plan of an input, without what it knows of its values.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;

/// Takes the statistics of files out of a plan, but for the number of their rows.
///
/// They hold the least and the largest value of every column, and whoever may ask for a release may also ask for its plan
/// with statistics (`datafusion.explain.show_statistics`, `EXPLAIN VERBOSE`). The plan is already made, and a scan of all
/// rows gains nothing from them any more.
pub(crate) fn strip_statistics(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
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
