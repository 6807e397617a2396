//! A table that stays open, for tools that read its rows more than once.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use throng_policy::{Policy, Store};

use crate::error::JobError;
use crate::input::{JobInput, check_names, open, open_locations};
use crate::job::JobOptions;
use crate::session::session;

/// A table with the session that reads it.
#[derive(Clone)]
pub struct OpenTable {
    session: SessionContext,
    input: Arc<dyn JobInput>,
}

/// Shows the locations only.
impl std::fmt::Debug for OpenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenTable").field("locations", &self.input.describe().locations).finish_non_exhaustive()
    }
}

impl OpenTable {
    /// Opens the table at these locations: files, folders, globs or URLs.
    pub async fn at(locations: &[String], options: &JobOptions) -> Result<Self, JobError> {
        let session = session(options)?;
        let input = open_locations(&session, locations, &Store::default()).await?;
        Ok(Self { session, input })
    }

    /// Opens the input of a policy.
    pub async fn of(policy: &Policy, options: &JobOptions) -> Result<Self, JobError> {
        let session = session(options)?;
        let input = open(policy, &session, options).await?;
        Ok(Self { session, input })
    }

    /// Returns the schema of the table.
    pub fn schema(&self) -> &SchemaRef {
        self.input.schema()
    }

    /// Rejects repeated column names, because a policy identifies columns by name.
    pub fn check_names(&self) -> Result<(), JobError> {
        check_names(self.schema())
    }

    /// Returns the number of rows that the table declares, if its format does.
    pub fn declared_rows(&self) -> Option<u64> {
        self.input.expected_rows()
    }

    /// Returns a query that reads all rows and columns.
    pub fn rows(&self) -> Result<DataFrame, JobError> {
        self.input.rows(&self.session)
    }

    /// Converts an error while `columns` were read into one that names the file at fault and quotes no value.
    pub async fn failure(&self, columns: &[&str], error: &DataFusionError) -> JobError {
        self.input.locate(&self.session, columns, error).await
    }
}
