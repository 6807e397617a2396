//! Throng on a cluster of Apache Ballista: the same tables, functions and answers, on several machines.
//!
//! ```text
//!  client                         scheduler                        executors
//!  session() ──logical plan──►    scan() makes physical plans      run tasks, keep shuffles, spill
//!     ▲                           stages, retries   ──tasks──►        │
//!     └───────────────────── rows of the last stage ──────────────────┘
//! ```
//!
//! Scheduling, shuffles and the protocol are Ballista's. What is ours is what each process must know beforehand: how plans
//! with our nodes are written ([`codec`]), the functions and settings of a session ([`settings`]), object stores that each
//! process opens from its own environment, that a task which gathers reads all of its input ([`whole`]), and that an error
//! says what to do and quotes no value on its way through three processes ([`told`]).

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod codec;
mod connections;
mod engine;
mod executor;
mod host_port;
mod remote;
mod scheduler;
mod session;
pub mod settings;
mod stalled;
mod stores;
pub mod told;
pub mod whole;

pub use executor::{ExecutorOptions, run_executor};
pub use host_port::HostPort;
pub use scheduler::{SchedulerOptions, run_scheduler};
pub use session::{ClusterUrl, DEFAULT_SHUFFLE_PARTITIONS, SessionOptions, session};

#[cfg(test)]
mod travel_tests;
