//! `anonymize('table', 'policy')`: the release of a table, as a table.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::Result;

use super::table_cache::TableCache;
use crate::AnonymizedTable;

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
    releases: TableCache<AnonymizedTable>,
}

impl AnonymizeFunction {
    /// Name of the function in SQL.
    pub const NAME: &str = "anonymize";
}

impl TableFunctionImpl for AnonymizeFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        self.releases.call(Self::NAME, &args)
    }
}
