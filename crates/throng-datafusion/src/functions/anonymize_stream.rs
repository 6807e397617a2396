//! `anonymize_stream('table', 'policy')`: the release of a stream, as a table.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::Result;

use super::table_cache::TableCache;
use crate::AnonymizedStreamTable;

/// The table function `anonymize_stream('table', 'policy')`.
///
/// A stream is read once per policy ([`AnonymizedStreamTable`]): the function remembers it for the lifetime of the session,
/// or until another table is registered under the same name.
#[derive(Debug, Default)]
pub struct AnonymizeStreamFunction {
    streams: TableCache<AnonymizedStreamTable>,
}

impl AnonymizeStreamFunction {
    /// Name of the function in SQL.
    pub const NAME: &str = "anonymize_stream";
}

impl TableFunctionImpl for AnonymizeStreamFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        self.streams.call(Self::NAME, &args)
    }
}
