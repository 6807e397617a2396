//! Extension codecs for the plans that client, scheduler and executors exchange.
//!
//! Each codec encodes its own nodes and delegates all others to the codec that it wraps. Every process must use the
//! same chain, so it is built only here.

use std::sync::Arc;

use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::PhysicalExtensionCodec;
use throng_datafusion::{ThrongLogicalCodec, ThrongPhysicalCodec};

/// Codec of logical plans, which the client sends to the scheduler.
pub fn logical() -> Arc<dyn LogicalExtensionCodec> {
    let ballista = Arc::new(BallistaLogicalExtensionCodec::default());
    Arc::new(ThrongLogicalCodec::new(ballista).with_tasks(&throng_job::JOB_TASKS))
}

/// Codec of physical plans, which the scheduler sends to the executors.
pub fn physical() -> Arc<dyn PhysicalExtensionCodec> {
    let ballista = Arc::new(BallistaPhysicalExtensionCodec::default());
    Arc::new(ThrongPhysicalCodec::new(ballista).with_tasks(&throng_job::JOB_TASKS))
}
