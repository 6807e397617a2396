//! `anonymize('table', 'policy')`: the release of a table, as a table.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ResolvedTableReference, Result};

use super::arguments::table_and_policy;
use super::lookup::table_of;
use crate::AnonymizedTable;
use crate::policy_text::policy_of;

/// The table function `anonymize('table', 'policy')`.
///
/// There is one release of a table under a policy for as long as the function lives, which is as long as its session: two
/// queries see the same release, and what either of them filters says nothing about the input. A policy is the same when
/// it means the same (see [`throng_policy::Policy::canonical_json`]), however it is written. When another table is
/// registered under the name, the releases of the former one are forgotten. (A catalog that makes a new table at every look-up
/// looks like that; a view of such a table stays the same.)
///
/// Releases are kept in memory. A session that asks for many of them, with other seeds for example, keeps them all. Two
/// releases of one table tell more together than either does alone, so whoever may not see the table must not be the one
/// who chooses policies either: give them an [`AnonymizedTable`] under a name of its own.
#[derive(Debug, Default)]
pub struct AnonymizeFunction {
    releases: Mutex<HashMap<(ResolvedTableReference, String), Arc<AnonymizedTable>>>,
}

impl AnonymizeFunction {
    /// What it is called in SQL.
    pub const NAME: &str = "anonymize";
}

impl TableFunctionImpl for AnonymizeFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let (table, policy) = table_and_policy(Self::NAME, args.exprs())?;
        let (name, input) = table_of(args.session(), table)?;
        let policy = policy_of(policy, args.session().config())?;
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
