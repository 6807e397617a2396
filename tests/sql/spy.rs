//! A table that records its scans.

use std::sync::{Arc, Mutex};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

/// Arguments of one scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub columns: Vec<String>,
    pub filters: usize,
    pub limit: Option<usize>,
}

/// A table that claims to support every filter, and records its scans.
#[derive(Debug)]
pub struct Spy {
    table: MemTable,
    asked: Mutex<Vec<Asked>>,
    executed: Arc<Mutex<usize>>,
}

impl Spy {
    pub fn new(table: MemTable) -> Self {
        Self { table, asked: Mutex::default(), executed: Arc::default() }
    }

    /// Returns all scans that were planned so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns how often partitions were executed so far.
    pub fn executed(&self) -> usize {
        *self.executed.lock().unwrap()
    }
}

#[async_trait]
impl TableProvider for Spy {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Exact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.schema();
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let columns = projection.unwrap_or(&all).iter().map(|index| schema.field(*index).name().clone()).collect();
        self.asked.lock().unwrap().push(Asked { columns, filters: filters.len(), limit });
        let scan = self.table.scan(state, projection, &[], None).await?;
        Ok(Arc::new(counting::CountingExec::new(scan, Arc::clone(&self.executed))))
    }
}

mod counting {
    //! A node that counts how often its input is executed.

    use std::fmt;
    use std::sync::{Arc, Mutex};

    use datafusion::common::Result;
    use datafusion::common::tree_node::TreeNodeRecursion;
    use datafusion::execution::{SendableRecordBatchStream, TaskContext};
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

    #[derive(Debug)]
    pub struct CountingExec {
        input: Arc<dyn ExecutionPlan>,
        executed: Arc<Mutex<usize>>,
    }

    impl CountingExec {
        pub fn new(input: Arc<dyn ExecutionPlan>, executed: Arc<Mutex<usize>>) -> Self {
            Self { input, executed }
        }
    }

    impl DisplayAs for CountingExec {
        fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("CountingExec")
        }
    }

    impl ExecutionPlan for CountingExec {
        fn name(&self) -> &str {
            "CountingExec"
        }

        fn properties(&self) -> &Arc<PlanProperties> {
            self.input.properties()
        }

        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            vec![&self.input]
        }

        fn apply_expressions(
            &self,
            _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
        ) -> Result<TreeNodeRecursion> {
            Ok(TreeNodeRecursion::Continue)
        }

        fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(Arc::new(Self::new(Arc::clone(&children[0]), Arc::clone(&self.executed))))
        }

        fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
            *self.executed.lock().unwrap() += 1;
            self.input.execute(partition, context)
        }
    }
}
