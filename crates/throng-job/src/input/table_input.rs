//! A table of the host as an input, instead of files.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::prelude::{DataFrame, SessionContext};

use super::{InputDescription, JobInput, ReadPlan};
use crate::error::JobError;

/// Name of the table in messages.
const TABLE: &str = "the table";

/// A table that the host has opened. Its version can't be identified, and it has no files.
pub(crate) struct TableInput {
    table: Arc<dyn TableProvider>,
    schema: SchemaRef,
}

impl TableInput {
    /// Wraps a table.
    pub(super) fn new(table: Arc<dyn TableProvider>) -> Self {
        let schema = table.schema();
        Self { table, schema }
    }
}

/// Omits the table, which may show rows.
impl fmt::Debug for TableInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableInput").finish_non_exhaustive()
    }
}

#[async_trait]
impl JobInput for TableInput {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self, session: &SessionContext) -> Result<DataFrame, JobError> {
        session.read_table(Arc::clone(&self.table)).map_err(|error| JobError::reading(TABLE, &error))
    }

    fn read_plan(&self, _columns: Option<&[&str]>) -> ReadPlan {
        ReadPlan::of_table()
    }

    fn expected_rows(&self) -> Option<u64> {
        None
    }

    fn fingerprint(&self) -> Option<&str> {
        None
    }

    async fn check_unchanged(&self) -> Result<(), JobError> {
        Ok(())
    }

    async fn locate(&self, _session: &SessionContext, _columns: &[&str], error: &DataFusionError) -> JobError {
        JobError::reading(TABLE, error)
    }

    fn describe(&self) -> InputDescription {
        InputDescription { locations: vec![TABLE.to_owned()], files: 0, bytes: 0, version: None }
    }
}
