//! The binary `throng-cluster`.

use std::process::ExitCode;

/// Returns memory that one thread has freed to all threads; the system's allocator keeps it per thread.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    throng_cli::throng_cluster()
}
