//! `throng-cluster`: the processes of a cluster that knows Throng, and SQL on it.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cli;

use std::process::ExitCode;

/// Gives memory that one thread has freed to the others, where the system's allocator keeps it back for each of them.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    cli::main()
}
