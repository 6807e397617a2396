//! Starts moto, an S3 server with atomic conditional puts.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Stdio};

use super::http;
use crate::python::PythonPackages;
use crate::skip::skip;

/// If this variable is set, tests fail instead of being skipped when the server is unavailable.
pub const REQUIRE: &str = "THRONG_REQUIRE_S3";

const REQUIREMENTS: &str = include_str!("requirements.txt");
const SCRIPT: &str = include_str!("server.py");

/// A server with in-memory objects. It ends when this is dropped or the test process ends, because it exits at the end
/// of its standard input.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    _life: ChildStdin,
}

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
        let python = packages.python();
        let mut child = packages
            .script(SCRIPT)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{python} could not be started: {error}"))?;
        let life = child.stdin.take().ok_or("the server has no input")?;
        let mut line = String::new();
        let told = child.stdout.take().map(|output| BufReader::new(output).read_line(&mut line));
        let Some(port) = told.and_then(|_| line.trim().parse().ok()) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err("the server did not start".to_owned());
        };
        Ok(Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)), _life: life })
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Creates a bucket. Its name needs at least three characters.
    pub fn make_bucket(&self, name: &str) {
        let request = format!(
            "PUT /{name} HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\nAuthorization: \
             AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\r\n",
            self.address
        );
        let answer = http::exchange(self.address, request.as_bytes()).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "no bucket: {}", String::from_utf8_lossy(&answer));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
