//! Termination signals.

/// A signal that asks the process to terminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGINT, or Ctrl-C.
    Interrupt,
    /// SIGTERM.
    #[cfg(unix)]
    Terminate,
}

impl Signal {
    /// Returns the exit code of a process that a signal has ended: 128 plus the number of the signal.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            #[cfg(unix)]
            Self::Terminate => 143,
        }
    }
}

/// Lets a write beyond the limit of file sizes (`ulimit -f`) fail with an error. Without a handler its signal would end the
/// process.
pub(crate) fn ignore_file_size_signal() {
    // SIGXFSZ has the same number on Linux (except MIPS), the BSDs and macOS.
    #[cfg(unix)]
    const FILE_SIZE: i32 = 25;
    // The handler stays installed when the listener is dropped.
    #[cfg(unix)]
    let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(FILE_SIZE));
}

/// Waits for a termination signal.
#[cfg(unix)]
pub(crate) async fn stop_signal() -> Signal {
    use tokio::signal::unix::{SignalKind, signal};
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupt), Ok(mut terminate)) => tokio::select! {
            _ = interrupt.recv() => Signal::Interrupt,
            _ = terminate.recv() => Signal::Terminate,
        },
        _ => std::future::pending().await,
    }
}

/// Waits for a termination signal.
#[cfg(not(unix))]
pub(crate) async fn stop_signal() -> Signal {
    match tokio::signal::ctrl_c().await {
        Ok(()) => Signal::Interrupt,
        Err(_) => std::future::pending().await,
    }
}
