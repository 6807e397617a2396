//! Locations in SQL, and files as tables: `SELECT * FROM 'data/people.parquet'`.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::prelude::SessionContext;
use throng_policy::{Format, Store};

use crate::error::{JobError, Kind};
use crate::input::{ReadPlan, check_external_files, compression_of, format_of, open_locations};

/// Opens locations as tables, in the same way as a policy's input: a file, a folder or a glob of Parquet, CSV or Arrow.
pub(super) struct LocationTables {
    session: SessionContext,
    plan: ReadPlans,
}

/// Read plans of the locations that were opened.
#[derive(Clone, Default)]
pub(super) struct ReadPlans(Arc<Mutex<Option<ReadPlan>>>);

impl ReadPlans {
    fn add(&self, plan: ReadPlan) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(known.map_or(plan, |known| known.merge(plan)));
    }

    /// Sets the batches and streams of later statements, so that rows of any width fit the memory limit.
    pub(super) fn apply(&self, session: &SessionContext) -> Result<(), JobError> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(plan) => plan.apply(session),
            None => Ok(()),
        }
    }
}

impl LocationTables {
    pub(super) fn new(session: SessionContext, plan: ReadPlans) -> Self {
        Self { session, plan }
    }

    async fn open(&self, location: &str) -> Result<Arc<dyn TableProvider>, JobError> {
        check_location(location)?;
        let input = open_locations(&self.session, &[location.to_owned()], &Store::default()).await?;
        // The columns that a statement reads are not known yet, so batches must be small enough for all columns, and the
        // size of row groups is ignored.
        self.plan.add(input.read_plan(None).without_parts());
        Ok(input.rows(&self.session)?.into_view())
    }
}

impl fmt::Debug for LocationTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocationTables")
    }
}

#[async_trait]
impl UrlTableFactory for LocationTables {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !is_location(name) {
            return Ok(None);
        }
        let table = self.open(name).await.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(Some(table))
    }
}

/// Whether a table name is a location: it has a slash, or the extension of a supported format.
fn is_location(name: &str) -> bool {
    let path = object_store::path::Path::from(name);
    name.contains('/') || format_of(&path).is_some() || compression_of(&path).is_some()
}

/// Rejects credentials in a location, because statements end up in a history and in messages.
pub(super) fn check_location(location: &str) -> Result<(), JobError> {
    let refused = |error| JobError::new(Kind::BadQuery, format!("a location {error}"));
    throng_policy::check_location(location).map_err(refused)
}

/// Checks the locations in DDL and COPY statements.
pub(super) fn check_locations(plan: &LogicalPlan) -> Result<(), JobError> {
    match plan {
        LogicalPlan::Ddl(DdlStatement::CreateExternalTable(table)) => {
            table.locations.iter().try_for_each(|location| check_location(location))
        }
        LogicalPlan::Copy(copy) => check_location(&copy.output_url),
        _ => Ok(()),
    }
}

/// Checks the files of an external table for faults that the engine does not notice. The session caches the footers of valid
/// files.
pub(super) async fn check_files(plan: &LogicalPlan, session: &SessionContext) -> Result<(), JobError> {
    let LogicalPlan::Ddl(DdlStatement::CreateExternalTable(table)) = plan else { return Ok(()) };
    let has_columns = !table.schema.fields().is_empty();
    match table.file_type.to_ascii_lowercase().as_str() {
        "arrow" => check_external_files(session, &table.locations, Format::Arrow, has_columns).await,
        "parquet" => check_external_files(session, &table.locations, Format::Parquet, has_columns).await,
        _ => Ok(()),
    }
}
