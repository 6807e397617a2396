//! SQL over everything that a job can read: the session behind `throng sql`.
//!
//! ```text
//!  text ─► statements ─► plan ─► rows
//!          statements.rs  │ tables of files   location.rs
//!                         │ object stores     stores.rs
//!                         └ errors            error.rs
//! ```

mod error;
mod location;
mod statements;
mod stores;

pub(crate) use error::ours;
pub use error::{planning_failure, running_failure};
pub use statements::{Statement, is_complete};
pub use stores::Stores;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::DynamicFileCatalog;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::{FutureExt, TryStreamExt};
use throng_datafusion::catch_decode_panic;
use throng_policy::Secret;

use crate::error::JobError;
use crate::lab::examine_releases;
use crate::memory::{pool_bytes, sql_pool};
use crate::session::guarded_context;
use error::{Phase, sorted};
use location::{LocationTables, ReadPlans, check_files, check_locations};

/// Divisor of the pool: the share that all sorting streams reserve together.
const SORT_SHARE: usize = 8;

/// Memory of the pool per row of a batch, and the minimum number of rows of a batch.
const BATCH_SHARE: usize = 128 << 10;
const MIN_BATCH_ROWS: usize = 256;

/// A session that runs statements in sequence.
///
/// Files are tables (`SELECT * FROM 'data/people.parquet'`), found in the same way as a policy's input. Object stores
/// are configured from the environment when a statement first names them. Errors hold no value of the data.
pub struct SqlSession {
    context: SessionContext,
    reading: ReadPlans,
}

impl SqlSession {
    /// Returns a session with this number of threads, and this memory limit of the process in bytes.
    pub fn new(threads: usize, memory_limit: Option<u64>) -> Result<Self, JobError> {
        let failed = |_| JobError::internal("a session could not be started");
        let mut config = SessionConfig::new()
            .with_target_partitions(threads.max(1))
            .with_collect_statistics(false)
            .with_information_schema(true);
        let mut runtime = RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default()));
        if let Some(limit) = memory_limit {
            // Each sorting stream reserves this for merging its spilled runs.
            let share = pool_bytes(limit) as usize / (SORT_SHARE * threads.max(1));
            let reserved = &mut config.options_mut().execution.sort_spill_reservation_bytes;
            *reserved = share.min(*reserved);
            // A merging stream holds one batch of each spilled run.
            let batch_rows = pool_bytes(limit) as usize / threads.max(1) / BATCH_SHARE;
            let batch_rows = batch_rows.clamp(MIN_BATCH_ROWS, config.batch_size());
            config = config.with_batch_size(batch_rows);
            runtime = runtime.with_memory_pool(Arc::new(sql_pool(limit)));
        }
        let runtime = runtime.build_arc().map_err(failed)?;
        Ok(Self::over(guarded_context(config, runtime)))
    }

    /// Returns a session over an existing context, such as that of a compute cluster. Registers our functions and the
    /// tables of files; the context's object store registry must be [`Stores`].
    pub fn over(context: SessionContext) -> Self {
        // Files are opened in a separate session on the same stores.
        let files = SessionContext::new_with_config_rt(context.copied_config(), context.runtime_env());
        let catalogs = Arc::clone(context.state().catalog_list());
        let reading = ReadPlans::default();
        let tables = Arc::new(LocationTables::new(files, reading.clone()));
        context.register_catalog_list(Arc::new(DynamicFileCatalog::new(catalogs, tables)));
        throng_datafusion::register_all(&context);
        examine_releases(&context);
        Self { context, reading }
    }

    /// Uses this secret instead of the user's for the releases of this session.
    #[must_use]
    pub fn with_secret(self, secret: Secret) -> Self {
        self.context.state_ref().write().config_mut().set_extension(Arc::new(secret));
        self
    }

    /// Parses the statements of a text. A statement that can't be parsed is an error at its position; nothing follows a
    /// text that ends within a quote or comment.
    pub fn parse(&self, text: &str) -> Vec<Result<Statement, JobError>> {
        statements::parse(text, &self.context.state().config_options().sql_parser)
    }

    /// Runs a statement. A definition has no columns and no rows.
    pub async fn run(&self, statement: Statement) -> Result<StatementResult, JobError> {
        guarded(self.start(statement)).await
    }

    async fn start(&self, statement: Statement) -> Result<StatementResult, JobError> {
        let state = self.context.state();
        let plan = state.statement_to_plan(statement.parsed).await.map_err(|error| sorted(&error, Phase::Plan))?;
        check_locations(&plan)?;
        self.reading.apply(&self.context)?;
        let opens = matches!(plan, LogicalPlan::Ddl(DdlStatement::CreateExternalTable(_)));
        check_files(&plan, &self.context).await?;
        // This is the one definition that reads rows.
        let reads = matches!(plan, LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(_)));
        let phase = if reads { Phase::Run } else { Phase::Define };
        let executed = self.context.execute_logical_plan(plan);
        // A table of files is opened here, and no rows are computed, so only the decoder of a footer can panic.
        let frame = if opens { catch_decode_panic(executed).await } else { executed.await };
        let frame = frame.map_err(|error| sorted(&error, phase))?;
        let task = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await.map_err(|error| sorted(&error, Phase::Plan))?;
        let schema = plan.schema();
        let batches = execute_stream(plan, task).map_err(|error| sorted(&error, Phase::Run))?;
        Ok(StatementResult { schema, batches })
    }
}

/// Streaming result of a statement.
pub struct StatementResult {
    schema: SchemaRef,
    batches: SendableRecordBatchStream,
}

impl StatementResult {
    /// Returns the schema; a definition or a setting has no columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the next batch; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, JobError> {
        let next = self.batches.try_next();
        guarded(async { next.await.map_err(|error| sorted(&error, Phase::Run)) }).await
    }
}

/// Converts a panic of the engine (for example on a damaged file) into an error, so that the session stays usable.
async fn guarded<T>(work: impl Future<Output = Result<T, JobError>>) -> Result<T, JobError> {
    let stopped = |_| Err(JobError::internal("the engine failed in the middle of this statement"));
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(stopped)
}
