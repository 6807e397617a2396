//! Whether a scheduler admits an executor.

use std::time::Duration;

use ballista_core::serde::protobuf::GetJobStatusParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use throng_job::{JobError, Kind};
use tonic::transport::Endpoint;
use tracing::warn;

use super::Security;
use crate::HostPort;

/// Interval of attempts to reach the scheduler.
const LOOK: Duration = Duration::from_millis(500);

/// Attempts between two warnings that there is no scheduler.
const COMPLAINT: u32 = 60;

/// Fragments of error texts when one end of a connection does not accept the other: by its certificate, by its token,
/// or because only one of them encrypts.
const REFUSED: [&str; 5] =
    ["InvalidCertificate", "received fatal alert", "AlertReceived", "InvalidMessage", "Unauthenticated"];

/// Whether the text of an error says that one process does not admit another.
pub(crate) fn is_refusal(text: &str) -> bool {
    REFUSED.iter().any(|words| text.contains(words))
}

/// Waits for the scheduler without a timeout, and fails if it and this process do not accept each other. Without this
/// an executor that is not admitted would ask for tasks forever.
pub(crate) async fn wait_for_admission(scheduler: &HostPort, security: &Security) -> Result<(), JobError> {
    for attempt in 1.. {
        match ask(scheduler, security).await {
            Ok(()) => break,
            Err(text) if is_refusal(&text) => {
                let why = format!(
                    "the scheduler at {scheduler} and this executor do not accept each other; check that both have \
                     certificates of the same authority for the names by which they are reached, and the same token"
                );
                return Err(JobError::new(Kind::BadPolicy, why));
            }
            Err(_) if attempt % COMPLAINT == 0 => warn!("there is no scheduler at {scheduler} yet; still trying"),
            Err(_) => {}
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Sends one request to the scheduler. An error is a text for [`is_refusal`] only.
async fn ask(scheduler: &HostPort, security: &Security) -> Result<(), String> {
    let endpoint = Endpoint::from_shared(format!("http://{scheduler}")).and_then(|plain| security.endpoint(plain));
    let channel = endpoint.map_err(|error| format!("{error:?}"))?.connect().await;
    let mut client = SchedulerGrpcClient::new(channel.map_err(|error| format!("{error:?}"))?);
    let answer = client.get_job_status(GetJobStatusParams { job_id: String::new() }).await;
    match answer {
        Ok(_) => Ok(()),
        // The scheduler has admitted the request, and does not know the job.
        Err(status) if status.code() == tonic::Code::Internal => Ok(()),
        Err(status) => Err(format!("{status:?}")),
    }
}
