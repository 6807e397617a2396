//! The threads on which a release is computed.

use std::fmt;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::runtime::Handle;

/// The thread pool of the process, or a smaller one for a session with fewer partitions than the process has threads.
#[derive(Clone)]
pub(crate) struct Threads(Option<Arc<ThreadPool>>);

impl fmt::Debug for Threads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Threads").field(&self.0.as_ref().map(|pool| pool.current_num_threads())).finish()
    }
}

impl Threads {
    /// Returns at most this number of threads. If the system starts no more threads, those of the process are taken.
    pub(crate) fn at_most(threads: usize) -> Self {
        let is_fewer = threads > 0 && threads < rayon::current_num_threads();
        let pool = is_fewer.then(|| ThreadPoolBuilder::new().num_threads(threads).build().ok()).flatten();
        Self(pool.map(Arc::new))
    }

    /// Does work on these threads, and waits for it. Must be called on a thread that may block.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let Some(pool) = &self.0 else { return work() };
        // Work that reads spilled rows needs the runtime of the query.
        let runtime = Handle::try_current().ok();
        pool.install(|| {
            let _entered = runtime.as_ref().map(Handle::enter);
            work()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_has_the_threads_of_its_session_and_not_more() {
        let of_process = rayon::current_num_threads();
        for (threads, expected) in
            [(0, of_process), (1, 1.min(of_process)), (of_process, of_process), (1000, of_process)]
        {
            assert_eq!(Threads::at_most(threads).run(rayon::current_num_threads), expected);
        }
    }

    #[tokio::test]
    async fn work_on_fewer_threads_can_use_the_runtime() {
        let work = || Handle::current().block_on(async { tokio::task::yield_now().await });
        tokio::task::spawn_blocking(move || Threads::at_most(1).run(work)).await.unwrap();
    }
}
