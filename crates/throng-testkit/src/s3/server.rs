//! Starts moto, an S3 server with atomic conditional puts.

use std::net::SocketAddr;

use super::http;
use crate::python::PythonPackages;
use crate::server_process::ServerProcess;
use crate::skip::skip;

/// If this variable is set, tests fail instead of being skipped when the server is unavailable.
pub const REQUIRE: &str = "THRONG_REQUIRE_S3";

pub(crate) const REQUIREMENTS: &str = include_str!("requirements.txt");
const SCRIPT: &str = include_str!("server.py");

/// A server with in-memory objects, which ends with the test.
#[derive(Debug)]
pub struct Server(ServerProcess);

impl Server {
    /// Starts a server, installing its packages on first use. If that is impossible, prints the reason to stderr and
    /// returns `None`.
    pub fn start() -> Option<Self> {
        match Self::try_start() {
            Ok(server) => Some(server),
            Err(why) if std::env::var_os(REQUIRE).is_some() => {
                panic!("{REQUIRE} is set, but there is no S3 server: {why}")
            }
            Err(why) => {
                skip(&format!("there is no S3 server to test with: {why}"));
                None
            }
        }
    }

    fn try_start() -> Result<Self, String> {
        let packages = PythonPackages::install("s3", "moto", REQUIREMENTS)?;
        ServerProcess::start(&mut packages.script(SCRIPT)).map(Self)
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Creates a bucket. Its name needs at least three characters.
    pub fn make_bucket(&self, name: &str) {
        let request = format!(
            "PUT /{name} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\nAuthorization: \
             AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n",
            self.address()
        );
        let answer = http::exchange(self.address(), request.as_bytes()).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "no bucket: {}", String::from_utf8_lossy(&answer));
    }
}
