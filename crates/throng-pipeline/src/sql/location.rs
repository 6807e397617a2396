//! Files as tables: `SELECT * FROM 'data/people.parquet'`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::SessionContext;
use throng_policy::CsvOptions;
use url::Url;

use super::stores::refuse_password;
use crate::error::JobError;
use crate::source::{Source, format_of};

/// Opens what looks like a location in the way of a policy's input: a file, a folder or a glob of Parquet, CSV or Arrow.
pub(super) struct LocationTables {
    session: SessionContext,
}

impl LocationTables {
    pub(super) fn new(session: SessionContext) -> Self {
        Self { session }
    }

    async fn open(&self, location: &str) -> Result<Arc<dyn TableProvider>, JobError> {
        if let Ok(url) = Url::parse(location) {
            refuse_password(&url)?;
        }
        let csv = CsvOptions { delimiter: b',', header: true };
        let source = Source::open(&self.session, &[location.to_owned()], None, csv).await?;
        Ok(source.frame(&self.session)?.into_view())
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

/// A name with a slash, or of a file that can be read. Others may be tables that are not there.
fn is_location(name: &str) -> bool {
    name.contains('/') || format_of(&object_store::path::Path::from(name)).is_some()
}
