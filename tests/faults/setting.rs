//! What the tests share: the server, and what the environment sets.

use std::io::Write;
use std::sync::OnceLock;

use throng_testkit::s3::Server;

/// One server for all tests of the process.
pub fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(Server::start).as_ref()
}

/// A number from the environment.
pub fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} must be a number")),
        Err(_) => default,
    }
}

/// The seed of everything that is drawn.
pub fn seed() -> u64 {
    number("THRONG_FAULT_SEED", 1)
}

/// Tells something that is seen also when all tests pass.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
