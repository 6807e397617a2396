//! Optimizer rule: turns a panic of a decoder into an error of the scan.
//!
//! The engine decodes files in separate tasks wherever a node above the scan repartitions, sorts or joins, so a guard
//! around the rows of a query is too late: the task has ended, and the panic hook has reported it. This rule puts the guard
//! directly above each scan of files.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};

use crate::catch_decode_panic::catch_scan_panics;

/// Guards every scan of files against panics of its decoder. Must be the last rule of a session, since the rules before it
/// replace scans. Plans that are sent to other processes must not hold the guard, which has no codec.
#[derive(Debug)]
pub struct GuardDecoders;

impl PhysicalOptimizerRule for GuardDecoders {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let guard = |node: Arc<dyn ExecutionPlan>| {
            Ok(match scanned_files(&node) {
                Some(files) => Transformed::yes(Arc::new(GuardedScanExec { scan: node, files }) as _),
                None => Transformed::no(node),
            })
        };
        plan.transform_up(guard).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "guard_decoders"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns a name for the files of a node that scans files.
fn scanned_files(node: &Arc<dyn ExecutionPlan>) -> Option<Arc<str>> {
    let scan = node.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>()?;
    let mut files: Vec<&str> = scan
        .file_groups
        .iter()
        .flat_map(|group| group.files())
        .map(|file| file.object_meta.location.as_ref())
        .collect();
    files.sort_unstable();
    files.dedup();
    let first = files.first()?;
    let root = scan.object_store_url.as_str();
    let first = format!("{}{first}", if root == "file:///" { "/" } else { root });
    Some(match files.len() - 1 {
        0 => first.into(),
        others => format!("{first} or one of the {others} files read with it").into(),
    })
}

/// A scan of files whose decoder may panic. Looks like the scan itself in every other way.
struct GuardedScanExec {
    scan: Arc<dyn ExecutionPlan>,
    files: Arc<str>,
}

impl fmt::Debug for GuardedScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scan.fmt(f)
    }
}

impl DisplayAs for GuardedScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scan.fmt_as(format, f)
    }
}

impl ExecutionPlan for GuardedScanExec {
    fn name(&self) -> &str {
        self.scan.name()
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.scan.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.scan.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.scan.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let scan = Arc::clone(&self.scan).replace_children(children, options)?;
        Ok(Arc::new(Self { scan, files: Arc::clone(&self.files) }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        catch_scan_panics(&self.files, || self.scan.execute(partition, context))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.scan.metrics()
    }
}
