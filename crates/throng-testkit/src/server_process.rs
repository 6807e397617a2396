//! A server of the tests as a child process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};

/// A server on the loopback interface. It ends when this is dropped or the test process ends, because it exits at the end of
/// its standard input.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    address: SocketAddr,
    _life: ChildStdin,
}

impl ServerProcess {
    /// Starts a command whose first line of output is its port. Returns the reason if that is impossible.
    pub(crate) fn start(command: &mut Command) -> Result<Self, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{} could not be started: {error}", command.get_program().display()))?;
        let life = child.stdin.take().ok_or("the server has no input")?;
        let mut line = String::new();
        let read = child.stdout.take().map(|output| BufReader::new(output).read_line(&mut line));
        let Some(port) = read.and_then(|_| line.trim().parse().ok()) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err("the server did not start".to_owned());
        };
        Ok(Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)), _life: life })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
