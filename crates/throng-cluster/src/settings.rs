//! Settings of every session, at the client, the scheduler and the executors.
//!
//! Ballista sends all settings of a session with each query. A scheduler silently drops settings that it does not know,
//! so all processes start with the same ones.

use std::sync::Arc;

use ballista_core::ConfigProducer;
use ballista_core::config::{
    BALLISTA_CLIENT_GRPC_HTTP2_KEEPALIVE_INTERVAL_SECONDS, BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS,
    BALLISTA_CLIENT_IO_RETRIES_TIMES, BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS,
    BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, BALLISTA_SCHEDULER_SHARE_FILE_STATISTICS_CACHE, BallistaConfig,
    TaskSchedulingPolicy,
};
use ballista_core::extension::{
    SessionConfigExt, ballista_aggregate_functions, ballista_scalar_functions, ballista_window_functions,
};
use ballista_core::optimizer::ballista_default_optimizer_rules;
use datafusion::common::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::planners::ErrorTaggingPlanner;
use crate::require_single_partition::RequireSinglePartition;
use crate::security::Security;

/// Maximum size of a message. A plan carries its policy with every hierarchy, and the results of earlier stages of the
/// job.
pub const MESSAGE_LIMIT: u32 = 256 << 20;

/// Attempts to fetch a shuffle before its executor is considered lost, and the milliseconds between them.
const FETCHES: (usize, u64) = (3, 500);

/// Timeout until the response to a request begins.
const ANSWER_SECONDS: usize = 60;

/// Interval of keepalive pings. A machine that is gone does not close its connections.
pub(crate) const KEEPALIVE_SECONDS: usize = 10;

/// Returns the settings of a session.
pub fn config() -> SessionConfig {
    let config = SessionConfig::new_with_ballista()
        .with_collect_statistics(false)
        .with_ballista_grpc_client_max_message_size(MESSAGE_LIMIT as usize)
        .set_usize(BALLISTA_CLIENT_IO_RETRIES_TIMES, FETCHES.0)
        .set_u64(BALLISTA_CLIENT_IO_RETRY_WAIT_TIME_MS, FETCHES.1)
        .set_usize(BALLISTA_CLIENT_GRPC_TIMEOUT_SECONDS, ANSWER_SECONDS)
        .set_usize(BALLISTA_CLIENT_GRPC_HTTP2_KEEPALIVE_INTERVAL_SECONDS, KEEPALIVE_SECONDS)
        // One partition per task: a task has the memory of one slot, and a retry repeats little work.
        .set_usize(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1);
    fixed(config)
}

/// Returns the settings of a session, with secured connections if the cluster is secured.
pub(crate) fn secured(security: Option<&Security>) -> SessionConfig {
    match security {
        None => config(),
        Some(security) => config()
            .with_ballista_use_tls(true)
            .with_ballista_override_create_grpc_client_endpoint(security.endpoint_override()),
    }
}

/// Returns the function that creates these settings in a server.
pub(crate) fn producer(security: Option<&Security>) -> ConfigProducer {
    let security = security.cloned();
    Arc::new(move || secured(security.as_ref()))
}

/// Returns the scheduling policy: the scheduler pushes tasks, except in a secured cluster, where executors poll for
/// them, because the server on which they would listen for tasks can't be secured.
pub(crate) fn scheduling_policy(security: Option<&Security>) -> TaskSchedulingPolicy {
    match security {
        None => TaskSchedulingPolicy::PushStaged,
        Some(_) => TaskSchedulingPolicy::PullStaged,
    }
}

/// Returns Ballista's part of the settings.
pub(crate) fn ballista() -> BallistaConfig {
    config().ballista_config()
}

/// Overrides settings that a client must not change, because results depend on them.
///
/// Adaptive planning, on by default, plans every stage again with its own rules: ours ([`RequireSinglePartition`]) is
/// not among them, and an empty stage may be removed together with the operator above it. File statistics shared
/// between sessions are looked up by path, size and time, which a file of another store may have as well.
fn fixed(config: SessionConfig) -> SessionConfig {
    config.with_ballista_adaptive_query_planner(false).set_bool(BALLISTA_SCHEDULER_SHARE_FILE_STATISTICS_CACHE, false)
}

/// Returns a session state for planning and execution on the scheduler or an executor, with Ballista's rules, our
/// functions, and [`RequireSinglePartition`].
pub(crate) fn state(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionState {
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(fixed(config))
        .with_runtime_env(runtime)
        .with_optimizer_rules(ballista_default_optimizer_rules())
        .with_scalar_functions(ballista_scalar_functions())
        .with_aggregate_functions(ballista_aggregate_functions())
        .with_window_functions(ballista_window_functions())
        .with_physical_optimizer_rule(Arc::new(RequireSinglePartition))
        .with_query_planner(Arc::new(ErrorTaggingPlanner))
        .build();
    let context = SessionContext::new_with_state(state);
    throng_datafusion::register_all(&context);
    context.state()
}

/// Returns a builder of such session states.
pub(crate) fn builder(runtime: Arc<RuntimeEnv>) -> impl Fn(SessionConfig) -> Result<SessionState> + Send + Sync {
    move |config| Ok(state(config, Arc::clone(&runtime)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_cannot_switch_on_what_would_change_answers() {
        let asked = config()
            .with_ballista_adaptive_query_planner(true)
            .set_bool(BALLISTA_SCHEDULER_SHARE_FILE_STATISTICS_CACHE, true);
        let state = state(asked, Arc::default());
        let settings = state.config().ballista_config();
        assert!(!settings.adaptive_query_planner_enabled());
        assert!(!settings.share_file_statistics_cache());
    }

    #[test]
    fn a_session_knows_our_functions() {
        let state = state(config(), Arc::default());
        assert!(state.scalar_functions().contains_key("generalize"));
        assert!(state.aggregate_functions().contains_key("k_anonymity"));
        assert!(state.table_functions().contains_key("anonymize"));
        assert!(state.scalar_functions().contains_key("array_length"));
    }
}
