//! Asks a job to stop. It does so before the commit, after removing what it has staged; a commit is never interrupted.

use tokio::sync::watch;

/// Stops the jobs that hold its [`Stop`].
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Tells a job whether it should stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

impl Stopper {
    /// A stopper, and what it stops.
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stop(receiver))
    }

    /// Stops.
    pub fn stop(&self) {
        // A job that has ended does not listen any more.
        let _ = self.0.send(true);
    }
}

impl Stop {
    /// Ends when the job should stop; never, when its stopper is gone.
    pub(crate) async fn asked(&self) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
