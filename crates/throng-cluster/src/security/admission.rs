//! Whether a scheduler admits a process.

use std::time::Duration;

use ballista_core::serde::protobuf::GetJobStatusParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use throng_job::{JobError, Kind};
use tonic::Code;
use tonic::transport::Endpoint;
use tracing::warn;

use super::Security;
use crate::HostPort;

/// Interval of attempts to reach the scheduler.
const LOOK: Duration = Duration::from_millis(500);

/// Attempts between two warnings that there is no scheduler.
const COMPLAINT: u32 = 60;

/// Number of consecutive connections closed after the handshake that count as a refusal.
const CLOSED: u32 = 5;

/// Fragments of error texts when one end of a connection does not accept the other: by its certificate, by its token,
/// or because only one of them encrypts.
const REFUSED: [&str; 5] =
    ["InvalidCertificate", "received fatal alert", "AlertReceived", "InvalidMessage", "Unauthenticated"];

/// Whether the text of an error means that one process does not admit another.
pub(crate) fn is_refusal(text: &str) -> bool {
    REFUSED.iter().any(|words| text.contains(words))
}

/// Result of one request to a scheduler.
enum Answer {
    Admitted,
    Refused,
    /// The connection was closed after the handshake. A server that rejects a certificate does so, and its alert may be
    /// lost with the connection.
    Closed,
    /// There is no scheduler.
    Absent,
}

/// Waits for the scheduler without a timeout, and fails if it and this process do not accept each other. Without this
/// an executor that is not admitted would poll for tasks forever.
pub(crate) async fn wait_for_admission(scheduler: &HostPort, security: &Security) -> Result<(), JobError> {
    let mut attempts = 0;
    while !is_admitted(scheduler, security).await? {
        attempts += 1;
        if attempts % COMPLAINT == 0 {
            warn!("there is no scheduler at {scheduler} yet; still trying");
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Returns whether there is a scheduler that admits this process, and fails if they do not accept each other.
pub(crate) async fn is_admitted(scheduler: &HostPort, security: &Security) -> Result<bool, JobError> {
    for _ in 0..CLOSED {
        match ask(scheduler, security).await {
            Answer::Admitted => return Ok(true),
            Answer::Absent => return Ok(false),
            Answer::Refused => break,
            Answer::Closed => tokio::time::sleep(LOOK / 5).await,
        }
    }
    let why = format!(
        "the scheduler at {scheduler} and this process do not accept each other; check that both have certificates of the \
         same authority for the names by which they are reached, and the same token"
    );
    Err(JobError::new(Kind::BadPolicy, why))
}

async fn ask(scheduler: &HostPort, security: &Security) -> Answer {
    let absent = |text: String| if is_refusal(&text) { Answer::Refused } else { Answer::Absent };
    let endpoint = Endpoint::from_shared(format!("http://{scheduler}")).and_then(|plain| security.endpoint(plain));
    let endpoint = match endpoint {
        Ok(endpoint) => endpoint,
        Err(error) => return absent(format!("{error:?}")),
    };
    let channel = match endpoint.connect().await {
        Ok(channel) => channel,
        Err(error) => return absent(format!("{error:?}")),
    };
    let request = GetJobStatusParams { job_id: String::new() };
    match SchedulerGrpcClient::new(channel).get_job_status(request).await {
        Ok(_) => Answer::Admitted,
        // The scheduler admitted the request, but does not know the job.
        Err(status) if status.code() == Code::Internal => Answer::Admitted,
        Err(status) if is_refusal(&format!("{status:?}")) => Answer::Refused,
        Err(_) => Answer::Closed,
    }
}
