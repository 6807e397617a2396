//! Codec of logical plans, in which the anonymized table is a leaf.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::datasource::{ViewTable, provider_as_source, source_as_provider};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan, TableScanBuilder};
use datafusion_proto::bytes::{
    logical_plan_from_bytes_with_extension_codec, logical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::logical_plan::{DefaultLogicalExtensionCodec, LogicalExtensionCodec};

use super::delegate::delegate_functions;
use super::envelope::{CHECK, TABLE, TASKS};
use super::error::CodecError;
use super::message::{CheckMessage, TableMessage, TasksMessage, policy_of};
use super::task::{read_task, task_message};
use crate::AnonymizedTable;
use crate::distributed::{TaskKind, TaskTable};
use crate::functions::{CheckedPolicy, PrivacyCheck};

/// Encodes and decodes logical plans that contain [`AnonymizedTable`]s or calls of `privacy_check`. All other nodes are
/// delegated to an inner codec.
///
/// ```
/// # use std::{path::Path, sync::Arc};
/// # use datafusion::prelude::*;
/// # use datafusion_proto::bytes::*;
/// # use throng_datafusion::{AnonymizedTable, ThrongLogicalCodec};
/// # use throng_policy::{Overrides, Policy};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let here = SessionContext::new();
/// let people = here.sql("SELECT * FROM (VALUES (25, 'flu'), (39, 'gout'), (36, 'flu')) AS t (age, illness)").await?;
/// let policy = "version = 1\nprivacy = { k = 3 }\ncolumns = { age.role = 'quasi', illness.role = 'sensitive' }\n";
/// let policy = Policy::parse(policy, Path::new("."), &Overrides::for_a_table())?;
/// here.register_table("released", Arc::new(AnonymizedTable::new(people.into_view(), Arc::new(policy))?))?;
///
/// let plan = here.sql("SELECT age FROM released").await?.into_optimized_plan()?;
/// let bytes = logical_plan_to_bytes_with_extension_codec(&plan, &ThrongLogicalCodec::default())?;
///
/// let there = SessionContext::new();
/// let plan = logical_plan_from_bytes_with_extension_codec(&bytes, &there.task_ctx(), &ThrongLogicalCodec::default())?;
/// assert!(there.execute_logical_plan(plan).await?.to_string().await?.contains("[25-39]"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ThrongLogicalCodec {
    inner: Arc<dyn LogicalExtensionCodec>,
    others: &'static [&'static TaskKind],
}

impl ThrongLogicalCodec {
    /// Creates a codec that delegates all other nodes to `inner`.
    pub fn new(inner: Arc<dyn LogicalExtensionCodec>) -> Self {
        Self { inner, others: &[] }
    }

    /// Adds tasks that are defined in other crates.
    pub fn with_tasks(self, others: &'static [&'static TaskKind]) -> Self {
        Self { others, ..self }
    }

    fn encode_tasks(&self, table: &TaskTable, bytes: &mut Vec<u8>) -> Result<()> {
        let input = logical_plan_to_bytes_with_extension_codec(&reading(table.input())?, self)?.to_vec();
        let columns = table.columns().iter().map(|column| *column as u32).collect();
        let tasks = table.tasks().iter().map(task_message).collect();
        TASKS.seal(&TasksMessage { input, columns, tasks }, bytes);
        Ok(())
    }

    fn decode_tasks(&self, message: &TasksMessage, context: &TaskContext) -> Result<Arc<dyn TableProvider>> {
        let input = logical_plan_from_bytes_with_extension_codec(&message.input, context, self)?;
        let columns = message.columns.iter().map(|column| *column as usize).collect();
        let tasks = message.tasks.iter().map(|task| read_task(task, self.others)).collect::<Result<_>>()?;
        Ok(Arc::new(TaskTable::new(table_of(input)?, columns, tasks)?))
    }

    fn encode_check(&self, check: &PrivacyCheck, bytes: &mut Vec<u8>) -> Result<()> {
        let release = logical_plan_to_bytes_with_extension_codec(&reading(check.release())?, self)?.to_vec();
        CHECK.seal(&CheckMessage { policy: check.policy().to_portable().to_owned(), release }, bytes);
        Ok(())
    }

    fn decode_check(&self, message: &CheckMessage, context: &TaskContext) -> Result<Arc<dyn TableProvider>> {
        let policy = Arc::new(CheckedPolicy::from_portable(&message.policy)?);
        let release = logical_plan_from_bytes_with_extension_codec(&message.release, context, self)?;
        Ok(Arc::new(PrivacyCheck::new(table_of(release)?, policy)?))
    }

    fn encode_table(&self, table: &AnonymizedTable, bytes: &mut Vec<u8>) -> Result<()> {
        let input = logical_plan_to_bytes_with_extension_codec(&reading(table.input())?, self).map_err(|error| {
            error.context(
                "the table that is anonymized can't be sent elsewhere; read it from files, or give the codec an inner \
                 codec that knows it",
            )
        })?;
        let (policy, key) = (table.anonymizer().policy().to_portable(), table.anonymizer().key().to_bytes().to_vec());
        TABLE.seal(&TableMessage { policy, key, input: input.to_vec() }, bytes);
        Ok(())
    }

    fn decode_table(
        &self,
        message: &TableMessage,
        schema: &SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        let policy = policy_of(&message.policy, &message.key)?;
        let input = logical_plan_from_bytes_with_extension_codec(&message.input, context, self)?;
        let table = AnonymizedTable::new(table_of(input)?, Arc::new(policy))?;
        match table.schema().fields() == schema.fields() {
            true => Ok(Arc::new(table)),
            false => Err(CodecError::Schema.into()),
        }
    }
}

impl Default for ThrongLogicalCodec {
    /// Creates a codec around DataFusion's default codec.
    fn default() -> Self {
        Self::new(Arc::new(DefaultLogicalExtensionCodec {}))
    }
}

/// Returns a plan that scans the whole table. For a view it is the plan behind it, which can be encoded even where the
/// view itself can't.
fn reading(table: &Arc<dyn TableProvider>) -> Result<LogicalPlan> {
    match table.get_logical_plan() {
        Some(plan) => Ok(plan.into_owned()),
        None => {
            let scan = TableScanBuilder::new("input", provider_as_source(Arc::clone(table))).build()?;
            Ok(LogicalPlan::TableScan(scan))
        }
    }
}

/// Returns the table of a plain scan, and a view over any other plan.
fn table_of(plan: LogicalPlan) -> Result<Arc<dyn TableProvider>> {
    match plan {
        LogicalPlan::TableScan(scan)
            if scan.projection.is_none() && scan.filters.is_empty() && scan.fetch.is_none() =>
        {
            source_as_provider(&scan.source)
        }
        plan => Ok(Arc::new(ViewTable::new(plan, None))),
    }
}

impl LogicalExtensionCodec for ThrongLogicalCodec {
    fn try_decode_table_provider(
        &self,
        bytes: &[u8],
        table: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        if TASKS.is_of(bytes) {
            let message = TASKS.open(bytes)?.ok_or_else(|| TASKS.malformed())?;
            return self.decode_tasks(&message, context);
        }
        if CHECK.is_of(bytes) {
            let message = CHECK.open(bytes)?.ok_or_else(|| CHECK.malformed())?;
            return self.decode_check(&message, context);
        }
        match TABLE.open(bytes)? {
            Some(message) => self.decode_table(&message, &schema, context),
            None => self.inner.try_decode_table_provider(bytes, table, schema, context),
        }
    }

    fn try_encode_table_provider(
        &self,
        table: &TableReference,
        node: Arc<dyn TableProvider>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(tasks) = node.downcast_ref::<TaskTable>() {
            return self.encode_tasks(tasks, bytes);
        }
        if let Some(check) = node.downcast_ref::<PrivacyCheck>() {
            return self.encode_check(check, bytes);
        }
        match node.downcast_ref::<AnonymizedTable>() {
            Some(table) => self.encode_table(table, bytes),
            None => self.inner.try_encode_table_provider(table, node, bytes),
        }
    }

    fn try_decode(&self, bytes: &[u8], inputs: &[LogicalPlan], context: &TaskContext) -> Result<Extension> {
        self.inner.try_decode(bytes, inputs, context)
    }

    fn try_encode(&self, node: &Extension, bytes: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode(node, bytes)
    }

    fn try_decode_file_format(&self, bytes: &[u8], context: &TaskContext) -> Result<Arc<dyn FileFormatFactory>> {
        self.inner.try_decode_file_format(bytes, context)
    }

    fn try_encode_file_format(&self, bytes: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.inner.try_encode_file_format(bytes, node)
    }

    delegate_functions!();
}
