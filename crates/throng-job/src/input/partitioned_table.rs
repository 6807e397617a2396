//! Files with partition columns as a table of the engine.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

/// Files of one store. A listing table would take the values of partition columns from the paths, and list the files again.
pub(super) struct PartitionedTable {
    pub(super) format: Arc<dyn FileFormat>,
    pub(super) store: ObjectStoreUrl,
    /// Files, each with a value for every partition column.
    pub(super) files: Vec<PartitionedFile>,
    schema: TableSchema,
}

impl PartitionedTable {
    /// Creates a table of files with these columns, followed by partition columns.
    pub(super) fn new(
        format: Arc<dyn FileFormat>,
        store: ObjectStoreUrl,
        files: Vec<PartitionedFile>,
        of_files: SchemaRef,
        partition_columns: &[FieldRef],
    ) -> Self {
        let schema = TableSchema::builder(of_files).with_table_partition_cols(partition_columns.to_vec()).build();
        Self { format, store, files, schema }
    }
}

/// Omits the files, whose partition values are data.
impl fmt::Debug for PartitionedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartitionedTable").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for PartitionedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let source = self.format.file_source(self.schema.clone());
        let groups = FileGroup::new(self.files.clone()).split_files(state.config().target_partitions().max(1));
        let config = FileScanConfigBuilder::new(self.store.clone(), source)
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        self.format.create_physical_plan(state, config).await
    }
}
