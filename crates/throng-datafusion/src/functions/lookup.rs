//! Looks up a table of the session by name.

use std::sync::Arc;

use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, ResolvedTableReference, Result, TableReference, plan_err};
use futures::FutureExt;

/// Returns the table named `table`, `schema.table` or `catalog.schema.table`, and its full name.
///
/// A table function is called during planning and can't await, while a catalog may. In-memory catalogs are ready at
/// once; for a catalog that is not, the error suggests a view.
pub(super) fn table_of(session: &dyn Session, name: &str) -> Result<(ResolvedTableReference, Arc<dyn TableProvider>)> {
    let defaults = &session.config_options().catalog;
    let full = TableReference::parse_str(name).resolve(&defaults.default_catalog, &defaults.default_schema);
    let Some(catalog) = session.catalog_list().catalog(&full.catalog) else {
        return plan_err!("there is no catalog `{}` in this session, in which table `{name}` would be", full.catalog);
    };
    let Some(schema) = catalog.schema(&full.schema) else {
        return plan_err!("there is no schema `{}` in this session, in which table `{name}` would be", full.schema);
    };
    match schema.table(&full.table).now_or_never() {
        Some(Ok(Some(table))) => Ok((full, table)),
        Some(Ok(None)) => plan_err!(
            "there is no table `{name}` in this session; register it, or create it with CREATE EXTERNAL TABLE, before \
             it is named here"
        ),
        Some(Err(error)) => Err(error),
        None => Err(DataFusionError::Plan(format!(
            "the catalog of table `{name}` does not have it at hand; create a view of it (CREATE VIEW v AS SELECT * FROM \
             {name}), and name the view here"
        ))),
    }
}
