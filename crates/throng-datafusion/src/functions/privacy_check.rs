//! `privacy_check('table', 'policy')`: verifies a release against a policy, as a table.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DataFusionError, Result};
use throng_core::verify::{Promise, Verifier};
use throng_policy::Policy;

use super::arguments::table_and_policy;
use super::lookup::table_of;
use super::privacy_check_exec::{PrivacyCheckExec, checked_schema};
use crate::AnonymizeError;
use crate::opaque_table::opaque_table;
use crate::plan_input::plan_input;
use crate::policy_text::policy_of;

/// The table function `privacy_check('table', 'policy')`.
///
/// Treats the table as a release under the policy, scans it, and returns one row per requirement: the `model`, its
/// `column`, the value `required` of every class, the value `achieved` by the worst class, and whether the requirement
/// is `satisfied`. The result is computed by the verifier from released values alone. A column that the policy does not
/// release has a row too, which is never satisfied; an empty release satisfies nothing.
#[derive(Debug, Default)]
pub struct PrivacyCheckFunction;

impl PrivacyCheckFunction {
    /// Name of the function in SQL.
    pub const NAME: &str = "privacy_check";
}

impl TableFunctionImpl for PrivacyCheckFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let (table, policy) = table_and_policy(Self::NAME, args.exprs())?;
        let (_, release) = table_of(args.session(), table)?;
        let policy = policy_of(policy, args.session().config())?;
        Ok(Arc::new(PrivacyCheck::new(release, Arc::new(CheckedPolicy::new(&policy)))?))
    }
}

/// The promise of a policy, and its portable text.
#[derive(Debug)]
pub(crate) struct CheckedPolicy {
    text: String,
    promise: Promise,
    /// Columns that the policy releases.
    columns: Vec<String>,
}

impl CheckedPolicy {
    fn new(policy: &Policy) -> Self {
        let (promise, columns) = policy.promise();
        Self { text: policy.to_portable(), promise, columns }
    }

    /// Decodes a policy from its portable text.
    pub(crate) fn from_portable(text: &str) -> Result<Self, AnonymizeError> {
        Ok(Self::new(&Policy::from_portable(text)?))
    }

    pub(crate) fn to_portable(&self) -> &str {
        &self.text
    }

    pub(super) fn promise(&self) -> &Promise {
        &self.promise
    }
}

/// The findings of the verifier, as a table. Opaque to the optimizer: a filter on findings must not reach the release.
#[derive(Debug)]
pub(crate) struct PrivacyCheck {
    release: Arc<dyn TableProvider>,
    policy: Arc<CheckedPolicy>,
    /// Columns that the policy does not release.
    foreign: Arc<[String]>,
    schema: SchemaRef,
}

impl PrivacyCheck {
    /// Fails if a column of the promise is missing, before anything is read.
    pub(crate) fn new(release: Arc<dyn TableProvider>, policy: Arc<CheckedPolicy>) -> Result<Self> {
        let schema = release.schema();
        Verifier::new(policy.promise.clone(), &schema).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let names = schema.fields().iter().map(|field| field.name());
        let foreign = names.filter(|name| !policy.columns.contains(name)).cloned().collect();
        Ok(Self { release, policy, foreign, schema: checked_schema() })
    }

    /// Returns the table that is checked.
    pub(crate) fn release(&self) -> &Arc<dyn TableProvider> {
        &self.release
    }

    pub(crate) fn policy(&self) -> &CheckedPolicy {
        &self.policy
    }

    /// Returns the indices of the columns of the promise.
    fn columns_read(&self, release: &Schema) -> Result<Vec<usize>> {
        let places = self.policy.promise.columns().into_iter().map(|name| release.index_of(name));
        Ok(places.collect::<Result<Vec<_>, _>>()?)
    }
}

opaque_table!(PrivacyCheck, |self| Arc::clone(&self.schema), |state| {
    let release = plan_input(state, &self.release, self.columns_read(&self.release.schema())?).await?;
    let (policy, foreign) = (Arc::clone(&self.policy), Arc::clone(&self.foreign));
    Arc::new(PrivacyCheckExec::new(release, policy, foreign))
});
