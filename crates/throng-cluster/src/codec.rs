//! How plans travel: the codecs that client, scheduler and executors share.
//!
//! Each codec knows its own nodes and hands all else to the one inside. All processes must use the same chain, so that it is
//! put together here and nowhere else.

use std::sync::Arc;

use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::PhysicalExtensionCodec;
use throng_datafusion::{ThrongLogicalCodec, ThrongPhysicalCodec};

/// Writes and reads logical plans: from the client to the scheduler.
pub fn logical() -> Arc<dyn LogicalExtensionCodec> {
    let ballista = Arc::new(BallistaLogicalExtensionCodec::default());
    Arc::new(ThrongLogicalCodec::new(ballista).with_tasks(throng_job::read_task))
}

/// Writes and reads physical plans: from the scheduler to the executors.
pub fn physical() -> Arc<dyn PhysicalExtensionCodec> {
    let ballista = Arc::new(BallistaPhysicalExtensionCodec::default());
    Arc::new(ThrongPhysicalCodec::new(ballista).with_tasks(throng_job::read_task))
}
