//! Cancels jobs that have no running task.
//!
//! After an executor is lost, Ballista takes back tasks of other executors and leaks their slots: a job is running
//! without any running task, and its client waits forever. Such a job is cancelled, so that it fails and can be
//! retried, and the slots are freed when no task is running at all.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use ballista_core::JobId;
use ballista_core::error::BallistaError;
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::task_manager::JobInfoCache;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tracing::warn;

/// Interval at which jobs are checked.
const INTERVAL: Duration = Duration::from_secs(1);

/// Whether no job has a running task.
async fn is_idle(jobs: &HashMap<JobId, JobInfoCache>) -> bool {
    for job in jobs.values() {
        if !job.execution_graph.read().await.running_tasks().is_empty() {
            return false;
        }
    }
    true
}

/// Marks all slots of all executors as free. A slot that was free already is counted twice, which does less harm than a
/// leaked one.
async fn give_slots_back(scheduler: &SchedulerServer<LogicalPlanNode, PhysicalPlanNode>) -> Result<(), BallistaError> {
    let executors = scheduler.state.executor_manager.get_executors_state().await?;
    let slots = executors.into_iter().map(|(executor, _, _)| (executor.id, executor.specification.vcores)).collect();
    scheduler.state.executor_manager.unbind_tasks(slots).await
}

/// Watches the jobs of a scheduler, and cancels one that has had no running task for `patience` although there are
/// executors.
pub(crate) async fn cancel_stalled(
    scheduler: &SchedulerServer<LogicalPlanNode, PhysicalPlanNode>,
    patience: Duration,
) -> Result<Infallible, BallistaError> {
    let mut idle_since: HashMap<JobId, Instant> = HashMap::new();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let jobs = scheduler.state.task_manager.get_running_job_cache();
        idle_since.retain(|job, _| jobs.contains_key(job));
        for (job, known) in jobs.iter() {
            if !known.execution_graph.read().await.running_tasks().is_empty() {
                idle_since.remove(job);
                continue;
            }
            let since = idle_since.entry(job.clone()).or_insert_with(Instant::now);
            if since.elapsed() > patience {
                warn!(job = job.as_str(), "a job has no running task; it is cancelled");
                idle_since.remove(job);
                if is_idle(&jobs).await {
                    give_slots_back(scheduler).await?;
                }
                scheduler.cancel_job(job.clone()).await?;
            }
        }
    }
}
