//! `throng run --follow`: appends the rows of new files as they arrive.

use std::time::Duration;

use serde_json::json;
use throng_job::{AppendOutcome, JobError, JobOptions, Kind, Stopper, append, plural};
use throng_policy::{Mode, Policy};

use super::run::append_outcome;
use crate::outcome::Outcome;

/// Local files are processed once nothing has been written to them for this long.
const SETTLE: Duration = Duration::from_secs(2);

/// Time that an append has to complete after a signal. After that it is stopped, and its files stay new.
const LAST_APPEND: Duration = Duration::from_secs(5);

/// Polls for new files at intervals of `poll`, until it is stopped.
pub(super) async fn follow(policy: &Policy, job: &JobOptions, poll: Duration) -> Result<Outcome, JobError> {
    if policy.output.mode != Mode::Append {
        let text = "--follow adds to a release: set `mode = \"append\"` under [output]";
        return Ok(Outcome::failure(2, text));
    }
    let (mut appends, mut rows) = (0_u64, 0_u64);
    loop {
        let (appended, is_stopped) = append_once(policy, job).await;
        match appended {
            Ok(appended) => {
                if let Some(released) = &appended.release {
                    appends += 1;
                    rows += released.sidecar.output.rows;
                    if let Some(recorder) = &job.recorder {
                        recorder.released(released);
                    }
                    append_outcome(&appended).print();
                }
            }
            Err(error) if is_stopped && error.kind() == Kind::Stopped => {}
            Err(error) => match error.kind() {
                Kind::Infeasible => tracing::info!(reason = %error, "new files wait for more rows"),
                Kind::NoInput => tracing::debug!(reason = %error, "there are no files yet"),
                Kind::TemporaryIo => tracing::warn!(%error, "nothing was appended; it is tried again"),
                _ => return Err(error),
            },
        }
        if is_stopped {
            break;
        }
        tokio::select! {
            biased;
            () = job.stop.asked() => break,
            () = tokio::time::sleep(poll) => {}
        }
    }
    let location = &policy.output.location;
    let json = json!({ "outcome": "stopped", "output": location, "appends": appends, "rows": rows });
    Ok(Outcome::success(format!("stopped after {} to {location}", plural(appends, "append")), json))
}

/// Appends once. Also returns whether a stop was requested meanwhile.
async fn append_once(policy: &Policy, job: &JobOptions) -> (Result<AppendOutcome, JobError>, bool) {
    let (stopper, stop) = Stopper::new();
    let own = JobOptions { stop, ..job.clone() };
    let mut appending = std::pin::pin!(append(policy, &own, SETTLE));
    tokio::select! {
        appended = &mut appending => return (appended, false),
        () = job.stop.asked() => {}
    }
    if let Ok(appended) = tokio::time::timeout(LAST_APPEND, &mut appending).await {
        return (appended, true);
    }
    stopper.stop();
    (appending.await, true)
}
