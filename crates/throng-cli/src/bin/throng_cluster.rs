//! The binary `throng-cluster`.

use std::process::ExitCode;

/// jemalloc shares freed memory between threads; the system allocator keeps it per thread.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    throng_cli::throng_cluster()
}
