//! Throng on a compute cluster of Apache Ballista: the same tables, functions and results, on several machines.
//!
//! ```text
//!  client                         scheduler                        executors
//!  session() ──logical plan──►    scan() makes physical plans      run tasks, keep shuffles, spill
//!     ▲                           stages, retries   ──tasks──►        │
//!     └───────────────────── rows of the last stage ──────────────────┘
//! ```
//!
//! Ballista provides scheduling, shuffles and the protocol. This crate provides the encoding of plans with our nodes
//! ([`codec`]), the functions and settings of a session ([`settings`]), object stores that each process opens from its
//! own environment, an optimizer rule that gives a coalescing task all of its input ([`require_single_partition`]),
//! errors that keep their kind and quote no value on their way through three processes ([`error_wire`]), and connections
//! that are authenticated by certificates and a token ([`Security`]).

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod codec;
mod connections;
mod engine;
pub mod error_wire;
mod executor;
mod host_port;
mod planners;
pub mod require_single_partition;
mod scheduler;
mod security;
mod session;
pub mod settings;
mod stalled_jobs;
mod stores;

pub use executor::{ExecutorOptions, run_executor};
pub use host_port::HostPort;
pub use scheduler::{SchedulerOptions, run_scheduler};
pub use security::{CertificateFiles, Security, Tokens};
pub use session::{ClusterUrl, DEFAULT_SHUFFLE_PARTITIONS, SessionOptions, session};

#[cfg(test)]
mod travel_tests;
