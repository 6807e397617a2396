//! Shared setup: the server, and parameters from the environment.

use std::io::Write;
use std::sync::OnceLock;

use throng_testkit::s3::Server;

/// Returns the server, which all tests of the process share.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

/// Returns a number from the environment.
pub fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a number")),
        Err(_) => default,
    }
}

/// Returns the seed of all random choices.
pub fn seed() -> u64 {
    number("THRONG_FAULT_SEED", 1)
}

/// Prints a line that is shown even if all tests pass.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
