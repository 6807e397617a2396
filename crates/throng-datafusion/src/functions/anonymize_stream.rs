//! `anonymize_stream('table', 'policy')`: the release of a stream, as a table.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ResolvedTableReference, Result};

use super::arguments::table_and_policy;
use super::lookup::table_of;
use crate::AnonymizedStreamTable;
use crate::policy_text::release_policy_of;

/// The table function `anonymize_stream('table', 'policy')`.
///
/// A stream is read once per policy ([`AnonymizedStreamTable`]): the function remembers it for the lifetime of the session,
/// or until another table is registered under the same name.
#[derive(Debug, Default)]
pub struct AnonymizeStreamFunction {
    streams: Mutex<HashMap<(ResolvedTableReference, String), Arc<AnonymizedStreamTable>>>,
}

impl AnonymizeStreamFunction {
    /// Name of the function in SQL.
    pub const NAME: &str = "anonymize_stream";
}

impl TableFunctionImpl for AnonymizeStreamFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let (table, policy) = table_and_policy(Self::NAME, args.exprs())?;
        let (name, input) = table_of(args.session(), table)?;
        let policy = release_policy_of(policy, args.session().config())?;
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|(known, _), table| *known != name || Arc::ptr_eq(table.input(), &input));
        let key = (name, policy.canonical_json());
        if let Some(known) = streams.get(&key) {
            return Ok(Arc::clone(known) as Arc<dyn TableProvider>);
        }
        let table = Arc::new(AnonymizedStreamTable::new(input, policy)?);
        streams.insert(key, Arc::clone(&table));
        Ok(table)
    }
}
