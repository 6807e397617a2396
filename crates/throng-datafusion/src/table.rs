//! The release of a table as a [`TableProvider`], the only entry point of the operator into queries.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use throng_core::progress::Progress;
use throng_policy::Policy;

use crate::AnonymizeError;
use crate::anonymizer::Anonymizer;
use crate::exec::{AnonymizeExec, ExecOptions, SharedRelease};
use crate::opaque_table::opaque_table;
use crate::plan_input::plan_input;
use crate::release::Release;

/// The release of another table under a policy.
///
/// The input is read and anonymized once, by the first query. Every later query over the same `AnonymizedTable` sees
/// that release, even if the input has changed. Filters, limits and projections of a query are applied to the release
/// and never to the input; see [`AnonymizeExec`].
///
/// ```
/// # use std::{path::Path, sync::Arc};
/// # use datafusion::prelude::*;
/// # use throng_datafusion::AnonymizedTable;
/// # use throng_policy::{Overrides, Policy};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let ctx = SessionContext::new();
/// let people = ctx.sql("SELECT * FROM (VALUES (25, 'flu'), (39, 'gout'), (36, 'flu')) AS t (age, illness)").await?;
/// let policy = r#"
///     version = 1
///     privacy = { k = 3, p = 2 }
///     columns.age.role = "quasi"
///     columns.illness.role = "sensitive"
/// "#;
/// let policy = Policy::parse(policy, Path::new("."), &Overrides::for_a_table())?;
/// ctx.register_table("released", Arc::new(AnonymizedTable::new(people.into_view(), Arc::new(policy))?))?;
/// let ages = ctx.sql("SELECT DISTINCT age FROM released").await?.to_string().await?;
/// assert!(ages.contains("[25-39]"), "{ages}");
/// # Ok(())
/// # }
/// ```
pub struct AnonymizedTable {
    input: Arc<dyn TableProvider>,
    anonymizer: Arc<Anonymizer>,
    release: SharedRelease,
    options: ExecOptions,
}

impl AnonymizedTable {
    /// Binds a policy to a table. Input and output locations of the policy are ignored.
    pub fn new(input: Arc<dyn TableProvider>, policy: Arc<Policy>) -> Result<Self, AnonymizeError> {
        let anonymizer = Arc::new(Anonymizer::new(policy, input.schema())?);
        Ok(Self { input, anonymizer, release: SharedRelease::default(), options: ExecOptions::default() })
    }

    /// Reports progress to `progress`.
    pub fn with_progress(self, progress: Arc<dyn Progress>) -> Self {
        Self { options: ExecOptions { progress: Some(progress), ..self.options }, ..self }
    }

    /// Sets the approximate number of input rows; see [`Anonymizer::with_expected_rows`].
    pub fn with_expected_rows(self, expected_rows: Option<u64>) -> Self {
        let anonymizer = self.anonymizer.as_ref().clone().with_expected_rows(expected_rows);
        Self { anonymizer: Arc::new(anonymizer), ..self }
    }

    /// Lets the table be cut into parts between its blocks, under a policy that makes every block a class
    /// ([`Policy::for_blocks`]). In [`Facts`](crate::Facts), cells and borrowed rows are counted part by part then.
    pub fn with_parts_between_blocks(self) -> Self {
        let anonymizer = self.anonymizer.as_ref().clone().cut_between_blocks();
        Self { anonymizer: Arc::new(anonymizer), ..self }
    }

    /// Skips the built-in verification. The caller must verify the rows before exposing them, and examine the release if the
    /// policy limits what attacks gain or how people hide in the population. By default a release is verified before its first
    /// row is emitted, and a policy with such a limit is refused, unless the session has a
    /// [`ReleaseExaminer`](crate::ReleaseExaminer).
    pub fn with_external_verification(self) -> Self {
        Self { options: ExecOptions { has_external_verification: true, ..self.options }, ..self }
    }

    /// Returns the input table.
    pub fn input(&self) -> &Arc<dyn TableProvider> {
        &self.input
    }

    /// Returns the bound policy.
    pub fn anonymizer(&self) -> &Arc<Anonymizer> {
        &self.anonymizer
    }

    /// Returns the release, if a query has computed it.
    pub fn release(&self) -> Option<Arc<Release>> {
        self.release.get().cloned()
    }

    /// Returns the operator over a plan of the input. The input is planned separately, and its statistics are removed.
    pub async fn plan(&self, state: &dyn Session) -> Result<AnonymizeExec> {
        let input = plan_input(state, &self.input, self.anonymizer.columns_read()).await?;
        let (anonymizer, release) = (Arc::clone(&self.anonymizer), Arc::clone(&self.release));
        let options = ExecOptions { table: Some(Arc::clone(&self.input)), ..self.options.clone() };
        Ok(AnonymizeExec::sharing(anonymizer, input, release, options))
    }
}

/// Prints the column names only. A derived implementation would include rows of the release, and of an in-memory input.
impl fmt::Debug for AnonymizedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.anonymizer.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        f.debug_struct("AnonymizedTable").field("columns", &names).finish_non_exhaustive()
    }
}

opaque_table!(AnonymizedTable, |self| Arc::clone(self.anonymizer.schema()), |state| Arc::new(self.plan(state).await?));
