//! Codec of physical plans.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{
    DefaultPhysicalExtensionCodec, PhysicalExtensionCodec, PhysicalProtoConverterExtension,
};

use super::delegate::delegate_functions;
use super::envelope::{CHECK_EXEC, EXEC, TASK};
use super::error::CodecError;
use super::message::{AnonymizerMessage, CheckExecMessage};
use super::task::{read_task, task_message};
use crate::distributed::{TaskExec, TaskKind};
use crate::functions::{CheckedPolicy, PrivacyCheckExec};
use crate::{AnonymizeExec, Anonymizer, to_canonical_field};

/// Encodes and decodes physical plans that contain [`AnonymizeExec`] or a check of `privacy_check`. All other nodes are delegated to an inner codec.
///
/// A decoded node computes its own release when it is executed. The release that the original node shares with its
/// table is not encoded.
#[derive(Debug)]
pub struct ThrongPhysicalCodec {
    inner: Arc<dyn PhysicalExtensionCodec>,
    others: &'static [&'static TaskKind],
}

impl ThrongPhysicalCodec {
    /// Creates a codec that delegates all other nodes to `inner`.
    pub fn new(inner: Arc<dyn PhysicalExtensionCodec>) -> Self {
        Self { inner, others: &[] }
    }

    /// Adds tasks that are defined in other crates.
    pub fn with_tasks(self, others: &'static [&'static TaskKind]) -> Self {
        Self { others, ..self }
    }
}

impl Default for ThrongPhysicalCodec {
    /// Creates a codec around DataFusion's default codec.
    fn default() -> Self {
        Self::new(Arc::new(DefaultPhysicalExtensionCodec {}))
    }
}

fn decode(message: &AnonymizerMessage, inputs: &[Arc<dyn ExecutionPlan>]) -> Result<AnonymizeExec> {
    let [input] = inputs else { return Err(CodecError::Inputs(inputs.len()).into()) };
    let written = message.anonymizer()?;
    let schema = schema_as_received(&written, &input.schema())?;
    let anonymizer = Anonymizer::new(Arc::clone(written.policy()), Arc::new(schema))?;
    match anonymizer.schema() == written.schema() {
        true => Ok(AnonymizeExec::new(Arc::new(anonymizer), Arc::clone(input))),
        false => Err(CodecError::Schema.into()),
    }
}

/// Returns the schema that the policy was bound to, with the types of the columns that are read replaced by those of
/// the child. The child may be replanned with a different array type for the same values, such as plain strings instead
/// of views, which yields the same release.
fn schema_as_received(written: &Anonymizer, child: &Schema) -> Result<Schema, CodecError> {
    let mut fields: Vec<Arc<Field>> = written.input_schema().fields().to_vec();
    for column in written.columns_read() {
        let field = &mut fields[column];
        let missing = || CodecError::Column(field.name().clone());
        let found = child.field_with_name(field.name()).map_err(|_| missing())?;
        if to_canonical_field(found).data_type() != to_canonical_field(field).data_type() {
            return Err(missing());
        }
        *field = Arc::new(field.as_ref().clone().with_data_type(found.data_type().clone()));
    }
    Ok(Schema::new_with_metadata(fields, written.input_schema().metadata().clone()))
}

impl PhysicalExtensionCodec for ThrongPhysicalCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if TASK.is_of(bytes) {
            let [input] = inputs else { return Err(CodecError::Inputs(inputs.len()).into()) };
            let message = TASK.open(bytes)?.ok_or_else(|| TASK.malformed())?;
            return Ok(Arc::new(TaskExec::new(read_task(&message, self.others)?, Arc::clone(input))));
        }
        if CHECK_EXEC.is_of(bytes) {
            let [input] = inputs else { return Err(CodecError::Inputs(inputs.len()).into()) };
            let message: CheckExecMessage = CHECK_EXEC.open(bytes)?.ok_or_else(|| CHECK_EXEC.malformed())?;
            let policy = Arc::new(CheckedPolicy::from_portable(&message.policy)?);
            return Ok(Arc::new(PrivacyCheckExec::new(Arc::clone(input), policy, message.foreign.into())));
        }
        match EXEC.open(bytes)? {
            Some(message) => Ok(Arc::new(decode(&message, inputs)?)),
            None => self.inner.try_decode(bytes, inputs, context, converter),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some(node) = node.downcast_ref::<TaskExec>() {
            TASK.seal(&task_message(node.task()), bytes);
            return Ok(());
        }
        if let Some(node) = node.downcast_ref::<PrivacyCheckExec>() {
            let (policy, foreign) = (node.policy().to_portable().to_owned(), node.foreign().to_vec());
            CHECK_EXEC.seal(&CheckExecMessage { policy, foreign }, bytes);
            return Ok(());
        }
        match node.downcast_ref::<AnonymizeExec>() {
            Some(node) => {
                EXEC.seal(&AnonymizerMessage::of(node.anonymizer()), bytes);
                Ok(())
            }
            None => self.inner.try_encode(node, bytes, converter),
        }
    }

    fn try_decode_expr(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        context: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        self.inner.try_decode_expr(bytes, inputs, context)
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        bytes: &mut Vec<u8>,
        context: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        self.inner.try_encode_expr(node, bytes, context)
    }

    delegate_functions!();
}
