//! A real S3 server on the loopback interface, and a fault-injecting proxy in front of it.
//!
//! ```text
//!  throng ──► Proxy: refuses, loses, stalls, truncates, reorders ──► Server: moto, from its package registry
//!                                                                        ▲
//!  test ─────────────── looks at what is there, past the proxy ──────────┘
//! ```
//!
//! The client under test is unmodified; it only gets another endpoint.

mod fault_schedule;
mod http;
mod proxy;
mod server;

pub use fault_schedule::FaultSchedule;
pub use proxy::{FaultPolicy, Proxy, Request, WireFault};
pub(crate) use server::REQUIREMENTS;
pub use server::{REQUIRE, Server};
