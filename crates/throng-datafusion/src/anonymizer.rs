//! What the operator does, from the plan of its input to the release.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use throng_core::anonymize::Method;
use throng_core::feasibility::Feasibility;
use throng_core::metrics::Utility;
use throng_core::partition::Allowed;
use throng_core::recode::Recoding;
use throng_policy::{Binding, Policy};
use tracing::Instrument;

use crate::Error;
use crate::method::method_of;
use crate::progress::{Progress, Step};
use crate::release::{Facts, Release, released_schema};
use crate::snapshot::Snapshot;

/// A policy bound to the columns of an input: everything that is known before a row is read.
#[derive(Clone, Debug)]
pub struct Anonymizer {
    policy: Arc<Policy>,
    binding: Arc<Binding>,
    input: SchemaRef,
    schema: SchemaRef,
}

impl Anonymizer {
    /// Binds a policy to an input.
    pub fn new(policy: Arc<Policy>, input: SchemaRef) -> Result<Self, Error> {
        let binding = Arc::new(policy.bind(&input)?);
        let schema = released_schema(&binding, &input);
        Ok(Self { policy, binding, input, schema })
    }

    /// The policy.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// What each column of the input is.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// The schema of the input.
    pub fn input_schema(&self) -> &SchemaRef {
        &self.input
    }

    /// The schema of the release.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns of the input that are read, ascending; all others are never looked at.
    pub fn columns_read(&self) -> Vec<usize> {
        let quasi = self.binding.quasi.iter().map(|quasi| quasi.column.index);
        let sensitive = self.binding.sensitive.iter().map(|sensitive| sensitive.column.index);
        let insensitive = self.binding.insensitive.iter().map(|column| column.index);
        let mut columns: Vec<usize> = quasi.chain(sensitive).chain(insensitive).collect();
        columns.sort_unstable();
        columns
    }

    /// How the classes of a release are formed, and why in this way.
    pub fn method(&self) -> (Method, &'static str) {
        method_of(&self.policy.algorithm, &self.binding)
    }

    /// Reads all rows of a plan that yields at least [`Anonymizer::columns_read`], by their names.
    pub async fn survey(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        progress: &Arc<dyn Progress>,
    ) -> Result<Snapshot, Error> {
        let span = Step::Survey.begin(progress.as_ref(), None);
        let read = async {
            let snapshot = Snapshot::read(input, context, &self.binding, self.policy.algorithm.seed, progress).await?;
            tracing::info!(rows = snapshot.rows, cells = snapshot.table.cell_count(), "input read");
            Ok(snapshot)
        };
        read.instrument(span).await
    }

    /// Reads all rows of a plan and makes a release of them.
    pub async fn anonymize(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        progress: &Arc<dyn Progress>,
    ) -> Result<Release, Error> {
        let snapshot = self.survey(input, context, progress).await?;
        let (anonymizer, progress) = (self.clone(), Arc::clone(progress));
        let span = tracing::Span::current();
        let work = move || span.in_scope(|| anonymizer.release(snapshot, progress.as_ref()));
        tokio::task::spawn_blocking(work).await.map_err(|_| Error::Task)?
    }

    fn release(&self, snapshot: Snapshot, progress: &dyn Progress) -> Result<Release, Error> {
        let privacy = self.binding.privacy();
        let allowed = Allowed::of(&snapshot.table, &privacy);
        let feasibility = Feasibility::of(&snapshot.table, &privacy, &allowed);
        if !feasibility.shortfalls.is_empty() {
            return Err(throng_core::Error::Infeasible(feasibility.shortfalls).into());
        }
        let suppressed = snapshot.suppressed + feasibility.suppressed;
        self.check_suppression(snapshot.rows, suppressed)?;

        let (method, reason) = self.method();
        let leaves = Step::Partition.begin(progress, None).in_scope(|| {
            let leaves = method.leaves(&allowed, &snapshot.table, &privacy)?;
            tracing::info!(leaves = leaves.len(), "table cut into leaves");
            Ok::<_, Error>(leaves)
        })?;
        let classes = Step::Cluster.begin(progress, Some(snapshot.table.cell_count() as u64)).in_scope(|| {
            let classes = method.classes(&leaves, &snapshot.table, &privacy, &|cells| progress.advance(cells as u64));
            tracing::info!(clusters = classes.len(), "clusters formed");
            classes
        });
        let _recode = Step::Recode.begin(progress, None).entered();
        let recoding = Recoding::without(&snapshot.table, &classes, &allowed.out)?;
        let utility = Utility::of(&snapshot.table, &recoding, self.binding.k);
        tracing::info!(classes = utility.classes, ncp = utility.ncp, "classes generalized");
        let facts = Facts {
            rows_read: snapshot.rows,
            suppressed,
            leaves: leaves.len() as u64,
            method,
            reason,
            checksum: snapshot.checksum(&recoding),
            utility,
        };
        Release::new(snapshot, recoding, facts, &self.binding, &self.input)
    }

    /// Refuses a release that would leave out more rows than the policy allows.
    pub fn check_suppression(&self, rows: u64, suppressed: u64) -> Result<(), Error> {
        let Some(limit) = self.binding.suppression_limit else { return Ok(()) };
        match suppressed as f64 <= limit * rows as f64 {
            true => Ok(()),
            false => Err(Error::Suppression { rows, suppressed, limit, most: (limit * rows as f64).floor() }),
        }
    }
}
