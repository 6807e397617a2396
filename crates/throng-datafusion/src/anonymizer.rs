//! Drives the operator: from the physical plan of the input to the release.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use throng_core::anonymize::Method;
use throng_core::key::ReleaseKey;
use throng_core::out_of_core::{
    BoundTime, ClassSpec, Classes, OutOfCoreError, PartSizes, TableParts, TableSurvey, check_suppression,
};
use throng_core::progress::{NoProgress, Progress, Stage};
use throng_core::recode::Recoding;
use throng_core::stream::{EMISSION_PROPOSALS, MOST_BOXES};
use throng_core::table::QuasiColumn;
use throng_policy::{Binding, BoundSetting, Budget, Policy};
use tracing::Instrument;

use crate::AnonymizeError;
use crate::choose_method::choose_method;
use crate::dry_run::DryRun;
use crate::release::{Release, released_schema};
use crate::resources::Resources;
use crate::snapshot::Snapshot;
use crate::sweep::{self, SweepResult};

/// A policy bound to the schema of an input. Holds everything that is known before a row is read.
#[derive(Clone, Debug)]
pub struct Anonymizer {
    policy: Arc<Policy>,
    binding: Arc<Binding>,
    input: SchemaRef,
    schema: SchemaRef,
    key: ReleaseKey,
    part_sizes: PartSizes,
    expected_rows: Option<u64>,
    most_proposals: u32,
    most_boxes: usize,
}

impl Anonymizer {
    /// Binds a policy to the schema of an input. Fails if the policy has no secret and none can be stored (see
    /// [`Policy::release_key`]).
    pub fn new(policy: Arc<Policy>, input: SchemaRef) -> Result<Self, AnonymizeError> {
        let key = policy.release_key()?;
        let binding = Arc::new(policy.bind(&input)?);
        let schema = released_schema(&binding, &input);
        let part_sizes = PartSizes::default();
        Ok(Self {
            policy,
            binding,
            input,
            schema,
            key,
            part_sizes,
            expected_rows: None,
            most_proposals: u32::MAX,
            most_boxes: MOST_BOXES,
        })
    }

    /// Sets the approximate number of input rows, from which an out-of-memory error estimates the memory for all of them. The
    /// default is taken from the statistics of the plan, if it has any.
    pub fn with_expected_rows(self, expected_rows: Option<u64>) -> Self {
        Self { expected_rows, ..self }
    }

    /// Lets a table whose blocks are its classes be cut into parts between them, so that memory follows the largest part. Cells
    /// and borrowed rows are then counted part by part.
    pub(crate) fn cut_between_blocks(self) -> Self {
        Self { part_sizes: PartSizes { between_blocks: true, ..self.part_sizes }, ..self }
    }

    /// Overrides the part sizes, so that tests cut small tables into parts too.
    #[cfg(test)]
    pub(crate) fn with_part_sizes(self, part_sizes: PartSizes) -> Self {
        Self { part_sizes, ..self }
    }

    /// Overrides the number of published boxes that a stream remembers, so that tests forget some.
    #[cfg(test)]
    pub(crate) fn with_most_boxes(self, most_boxes: usize) -> Self {
        Self { most_boxes, ..self }
    }

    /// Returns the number of published boxes that a stream remembers.
    pub(crate) fn most_boxes(&self) -> usize {
        self.most_boxes
    }

    /// Returns an anonymizer for the emissions of a stream. The suppression limit is checked over all of them, and their search is
    /// as short as that of the whole input would be.
    pub(crate) fn for_emissions(&self) -> Self {
        let binding = Binding { suppression_limit: None, ..self.binding.as_ref().clone() };
        Self { binding: Arc::new(binding), most_proposals: EMISSION_PROPOSALS, ..self.clone() }
    }

    /// Returns the policy by which the operator releases.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// Returns the role, type and recoding of each input column.
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Returns the key of every random choice. It must stay secret, since it distinguishes the borrowed rows of a class
    /// from its own.
    pub fn key(&self) -> ReleaseKey {
        self.key
    }

    /// Returns the seed of the row hash, which orders the rows of a class and feeds the checksum.
    pub fn content_seed(&self) -> u64 {
        self.key.seed("content")
    }

    /// Returns the schema of the input.
    pub fn input_schema(&self) -> &SchemaRef {
        &self.input
    }

    /// Returns the schema of the release.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the indices of the input columns that are read, ascending. All other columns are never read.
    pub fn columns_read(&self) -> Vec<usize> {
        let quasi = self.binding.quasi.iter().map(|quasi| quasi.column.index);
        let sensitive = self.binding.sensitive.iter().map(|sensitive| sensitive.column.index);
        let insensitive = self.binding.insensitive.iter().map(|column| column.index);
        let unit = self.binding.unit.iter().flat_map(|unit| unit.columns.iter().map(|column| column.index));
        let pseudonym = self.binding.pseudonym.iter().map(|column| column.index);
        let mut columns: Vec<usize> = quasi.chain(sensitive).chain(insensitive).chain(unit).chain(pseudonym).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Returns the method that forms the classes, and the reason for its choice.
    pub fn method(&self) -> (Method, &'static str) {
        let (method, reason) = choose_method(&self.policy.algorithm, &self.binding);
        (method.with_key(self.key).with_most_proposals(self.most_proposals), reason)
    }

    /// Executes `input` and returns the release of its rows. The plan must yield at least [`Anonymizer::columns_read`],
    /// by name.
    pub async fn anonymize(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
        progress: &Arc<dyn Progress>,
    ) -> Result<Release, AnonymizeError> {
        self.look(input, context, metrics, progress, Self::release).await
    }

    /// Forms the release of rows that have been read.
    pub(crate) fn release(&self, mut snapshot: Snapshot, progress: &dyn Progress) -> Result<Release, AnonymizeError> {
        let parts = self.parts(&mut snapshot.survey)?;
        let classes = Classes::of(&self.class_spec(), &snapshot.survey, parts, progress, &mut drop)?;
        Release::new(self, snapshot, classes)
    }

    /// Forms the release of rows that have been read, and calls `see` with its quasi-identifiers and classes.
    pub(crate) fn release_seen(
        &self,
        mut snapshot: Snapshot,
        see: impl FnOnce(&[QuasiColumn], &Recoding) -> Result<(), AnonymizeError>,
    ) -> Result<Release, AnonymizeError> {
        let parts = self.parts(&mut snapshot.survey)?;
        let mut last = None;
        let mut hand_on = |table| last = Some(table);
        let classes = Classes::of(&self.class_spec(), &snapshot.survey, parts, &NoProgress, &mut hand_on)?;
        if let Some(table) = last {
            see(table.quasi(), &classes.recoding)?;
        }
        Release::new(self, snapshot, classes)
    }

    /// Reads all rows of a plan and returns which privacy models they can satisfy.
    pub async fn examine(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        progress: &Arc<dyn Progress>,
    ) -> Result<DryRun, AnonymizeError> {
        self.inspect(input, context, progress, false).await
    }

    /// Like [`Anonymizer::examine`], and estimates the memory and the loss of a release by clustering a sample of the
    /// leaves.
    pub async fn preview(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        progress: &Arc<dyn Progress>,
    ) -> Result<DryRun, AnonymizeError> {
        self.inspect(input, context, progress, true).await
    }

    async fn inspect(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        progress: &Arc<dyn Progress>,
        is_predicted: bool,
    ) -> Result<DryRun, AnonymizeError> {
        let inspect = move |anonymizer: &Self, mut snapshot: Snapshot, _: &dyn Progress| {
            let parts = anonymizer.parts(&mut snapshot.survey)?;
            DryRun::of(anonymizer, &snapshot.survey, parts, is_predicted)
        };
        self.look(input, context, &ExecutionPlanMetricsSet::new(), progress, inspect).await
    }

    /// Reads all rows, then runs `then` on a blocking thread. Dropping the future cancels the work.
    async fn look<T: Send + 'static>(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        metrics: &ExecutionPlanMetricsSet,
        progress: &Arc<dyn Progress>,
        then: impl FnOnce(&Self, Snapshot, &dyn Progress) -> Result<T, AnonymizeError> + Send + 'static,
    ) -> Result<T, AnonymizeError> {
        let (workspace, _stop) = Resources::new(context, metrics);
        let span = Stage::Survey.begin(progress.as_ref(), None);
        let seed = self.content_seed();
        let read = async {
            let expected = self.expected_rows;
            let snapshot = Snapshot::read(input, context, &self.binding, seed, expected, &workspace, progress).await?;
            tracing::info!(rows = snapshot.survey.rows(), spilled = snapshot.is_spilled(), "input read");
            Ok::<_, AnonymizeError>(snapshot)
        };
        let snapshot = read.instrument(span).await?;
        let (anonymizer, progress, span) = (self.clone(), Arc::clone(progress), tracing::Span::current());
        let threads = workspace.threads().clone();
        let work = move || threads.run(|| span.in_scope(|| then(&anonymizer, snapshot, progress.as_ref())));
        tokio::task::spawn_blocking(work).await.map_err(|_| AnonymizeError::Task)?
    }

    /// Reads all rows of a plan once, and forms the classes of a release for each policy of `trials`.
    ///
    /// The policies may differ in privacy models and algorithm. Their columns must be declared as in this policy, since
    /// the survey is shared. After the survey, each policy is one unit of progress.
    pub async fn evaluate(
        &self,
        trials: Vec<Self>,
        input: &Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
        progress: &Arc<dyn Progress>,
    ) -> Result<SweepResult, AnonymizeError> {
        let evaluate =
            move |_: &Self, snapshot: Snapshot, progress: &dyn Progress| sweep::all(&trials, snapshot, progress);
        self.look(input, context, &ExecutionPlanMetricsSet::new(), progress, evaluate).await
    }

    /// Returns the part sizes.
    pub(crate) fn part_sizes(&self) -> PartSizes {
        self.part_sizes
    }

    /// Returns the groups of a table, whole or in parts.
    pub(crate) fn parts(&self, survey: &mut TableSurvey) -> Result<TableParts, OutOfCoreError> {
        TableParts::of(survey, self.method().0, &self.binding.privacy(), self.part_sizes)
    }

    /// Returns what the classes of the release must satisfy, and how they are formed.
    pub(crate) fn class_spec(&self) -> ClassSpec {
        ClassSpec {
            privacy: self.binding.privacy(),
            k: self.binding.k,
            suppression_limit: self.binding.suppression_limit,
            method: self.method().0,
            key: self.key,
            search_time: match self.policy.algorithm.budget {
                Budget::Time(time) => Some(time),
                _ => None,
            },
            bound: match self.policy.algorithm.bound {
                BoundSetting::Off => BoundTime::Off,
                BoundSetting::On => BoundTime::Once,
                BoundSetting::Time(time) => BoundTime::For(time),
            },
        }
    }

    /// Returns an error if more of `rows` rows are suppressed than the policy allows.
    pub(crate) fn check_suppression(&self, rows: u64, suppressed: u64) -> Result<(), OutOfCoreError> {
        check_suppression(self.binding.suppression_limit, rows, suppressed)
    }
}
