//! Optimizer rule: force a single input partition below nodes that coalesce.
//!
//! A task of Ballista runs some partitions of its stage: before a plan is sent, its leaves are restricted to them.
//!
//! ```text
//!   one partition   AnonymizeExec          task of partition 0:   AnonymizeExec
//!                     └─ files: A B C                               └─ files: A        B and C are lost
//! ```
//!
//! Ballista recognizes that a node needs its whole input only if the node declares it. Ours do not: on one machine they
//! read all partitions of their input concurrently, and with the declaration DataFusion would insert a node that
//! coalesces them into one stream. So this rule, the last one of the scheduler, declares it for them. It compares
//! numbers of partitions instead of node names, so it holds for any node that coalesces.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions,
};

/// Declares that every node with several input partitions and one output partition requires a single input partition.
#[derive(Debug)]
pub struct RequireSinglePartition;

impl PhysicalOptimizerRule for RequireSinglePartition {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let declare = |node: Arc<dyn ExecutionPlan>| {
            Ok(match coalesces_undeclared(&node) {
                true => Transformed::yes(Arc::new(SinglePartitionInputExec { node }) as Arc<dyn ExecutionPlan>),
                false => Transformed::no(node),
            })
        };
        plan.transform_up(declare).map(|plan| plan.data)
    }

    fn name(&self) -> &str {
        "require_single_partition"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether a node coalesces its input partitions without declaring it.
fn coalesces_undeclared(node: &Arc<dyn ExecutionPlan>) -> bool {
    let [child] = node.children()[..] else { return false };
    let count = |node: &Arc<dyn ExecutionPlan>| node.output_partitioning().partition_count();
    let is_known =
        node.is::<CoalescePartitionsExec>() || node.is::<SortPreservingMergeExec>() || node.is::<RepartitionExec>();
    let required = node.input_distribution_requirements();
    let declares = required.per_child_distributions().any(|one| matches!(one, Distribution::SinglePartition));
    count(node) == 1 && count(child) > 1 && !is_known && !declares
}

/// Requires a single input partition and delegates everything else to the wrapped node. Downcasts see the wrapped node,
/// and only that one is encoded: an executor gets it with all of its input.
struct SinglePartitionInputExec {
    node: Arc<dyn ExecutionPlan>,
}

impl fmt::Debug for SinglePartitionInputExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

impl DisplayAs for SinglePartitionInputExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt_as(format, f)
    }
}

impl ExecutionPlan for SinglePartitionInputExec {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn downcast_delegate(&self) -> Option<&dyn ExecutionPlan> {
        Some(self.node.as_ref())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.node.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.node.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.node.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let node = Arc::clone(&self.node).replace_children(children, options)?;
        Ok(Arc::new(Self { node }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.node.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.node.metrics()
    }
}
