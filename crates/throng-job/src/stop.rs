//! Cooperative cancellation of a job. It stops before the commit, after removing its staging; a commit is never
//! interrupted.

use tokio::sync::watch;

/// Stops the jobs that hold its [`Stop`].
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Receiver of the stop signal, held by a job.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stopper {
    /// Returns a connected pair.
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stop(receiver))
    }

    /// Signals all receivers to stop.
    pub fn stop(&self) {
        // Sending fails if the job has ended, which is fine.
        let _ = self.0.send(true);
    }
}

impl Stop {
    /// Completes when the job should stop; never if the stopper was dropped.
    pub async fn asked(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
