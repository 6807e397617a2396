//! Methods shared by all plan nodes with one input.

/// Implements the methods of [`ExecutionPlan`](datafusion::physical_plan::ExecutionPlan) that are the same for every node
/// with one input and no expressions. `$input` is the field of the input; the node has a method `with_input(&self,
/// input)` that returns it over another input.
#[macro_export]
macro_rules! single_input_methods {
    ($input:ident) => {
        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            vec![&self.$input]
        }

        fn apply_expressions(
            &self,
            _f: &mut dyn FnMut(
                &Arc<dyn ::datafusion::physical_plan::PhysicalExpr>,
            ) -> Result<::datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> Result<::datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(::datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }

        fn replace_children(
            self: Arc<Self>,
            mut children: Vec<Arc<dyn ExecutionPlan>>,
            _options: ::datafusion::physical_plan::ReplaceChildrenOptions,
        ) -> Result<Arc<dyn ExecutionPlan>> {
            match (children.pop(), children.is_empty()) {
                (Some(input), true) => Ok(Arc::new(self.with_input(input))),
                _ => ::datafusion::common::internal_err!("{} has one input", self.name()),
            }
        }

        fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
            use ::datafusion::physical_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
            self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
        }
    };
}
