//! `anonymize('table', 'policy')`: the release of a table, as a table.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ResolvedTableReference, Result};

use super::arguments::table_and_policy;
use super::lookup::table_of;
use crate::AnonymizedTable;
use crate::policy_text::release_policy_of;

/// The table function `anonymize('table', 'policy')`.
///
/// A release per table and policy is computed once and cached for the lifetime of the function, which is that of its
/// session: two queries see the same release, and their filters disclose nothing about the input. Policies are equal if
/// they have the same meaning (see [`throng_policy::Policy::canonical_json`]), however they are written. When another
/// table is registered under the same name, the releases of the previous one are evicted. (A catalog that creates a new
/// provider at every lookup has the same effect; a view over such a table does not.)
///
/// All releases stay in memory, so a session that requests many of them, for example with different seeds, keeps them
/// all. Two releases of one table disclose more together than either does alone, so a user who may not read the table
/// must not choose policies either: register an [`AnonymizedTable`] instead.
#[derive(Debug, Default)]
pub struct AnonymizeFunction {
    releases: Mutex<HashMap<(ResolvedTableReference, String), Arc<AnonymizedTable>>>,
}

impl AnonymizeFunction {
    /// Name of the function in SQL.
    pub const NAME: &str = "anonymize";
}

impl TableFunctionImpl for AnonymizeFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let (table, policy) = table_and_policy(Self::NAME, args.exprs())?;
        let (name, input) = table_of(args.session(), table)?;
        let policy = release_policy_of(policy, args.session().config())?;
        let mut releases = self.releases.lock().unwrap_or_else(PoisonError::into_inner);
        releases.retain(|(known, _), table| *known != name || Arc::ptr_eq(table.input(), &input));
        let key = (name, policy.canonical_json());
        if let Some(known) = releases.get(&key) {
            return Ok(Arc::clone(known) as Arc<dyn TableProvider>);
        }
        let table = Arc::new(AnonymizedTable::new(input, policy)?);
        releases.insert(key, Arc::clone(&table));
        Ok(table)
    }
}
