//! Released tables that table functions have made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::catalog::{TableFunctionArgs, TableProvider};
use datafusion::common::{ResolvedTableReference, Result};
use throng_policy::Policy;

use super::arguments::table_and_policy;
use super::lookup::table_of;
use crate::policy_text::release_policy_of;
use crate::{AnonymizeError, AnonymizedStreamTable, AnonymizedTable};

/// A table that releases another one by a policy.
pub(super) trait ReleasingTable: TableProvider + Sized + 'static {
    /// Creates the table over `input`.
    fn over(input: Arc<dyn TableProvider>, policy: Arc<Policy>) -> Result<Self, AnonymizeError>;

    /// Returns the table that is released.
    fn released(&self) -> &Arc<dyn TableProvider>;
}

impl ReleasingTable for AnonymizedTable {
    fn over(input: Arc<dyn TableProvider>, policy: Arc<Policy>) -> Result<Self, AnonymizeError> {
        Self::new(input, policy)
    }

    fn released(&self) -> &Arc<dyn TableProvider> {
        self.input()
    }
}

impl ReleasingTable for AnonymizedStreamTable {
    fn over(input: Arc<dyn TableProvider>, policy: Arc<Policy>) -> Result<Self, AnonymizeError> {
        Self::new(input, policy)
    }

    fn released(&self) -> &Arc<dyn TableProvider> {
        self.input()
    }
}

/// One table per name of the input and meaning of the policy. When another table is registered under the same name, the
/// tables over the previous one are evicted.
#[derive(Debug)]
pub(super) struct TableCache<T> {
    tables: Mutex<HashMap<(ResolvedTableReference, String), Arc<T>>>,
}

impl<T> Default for TableCache<T> {
    fn default() -> Self {
        Self { tables: Mutex::default() }
    }
}

impl<T: ReleasingTable> TableCache<T> {
    /// Returns the table for the arguments of a call of `function`: a table and a policy.
    pub(super) fn call(&self, function: &'static str, args: &TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let (table, policy) = table_and_policy(function, args.exprs())?;
        let (name, input) = table_of(args.session(), table)?;
        let policy = release_policy_of(policy, args.session().config())?;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|(known, _), table| *known != name || Arc::ptr_eq(table.released(), &input));
        let key = (name, policy.canonical_json());
        if let Some(known) = tables.get(&key) {
            return Ok(Arc::clone(known) as Arc<dyn TableProvider>);
        }
        let table = Arc::new(T::over(input, policy)?);
        tables.insert(key, Arc::clone(&table));
        Ok(table)
    }
}
