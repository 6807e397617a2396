//! Minimal HTTP/1.1 for a proxy that serves one request per connection.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// Maximum size of a request head.
const MAX_HEAD: usize = 1 << 16;

/// A received request.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) method: String,
    pub(super) target: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Message {
    /// Reads a request; returns `None` if the client closes without sending any.
    pub(super) fn read(stream: &mut TcpStream) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let mut piece = [0; 16 * 1024];
        let end = loop {
            let count = stream.read(&mut piece)?;
            if count == 0 && bytes.is_empty() {
                return Ok(None);
            }
            bytes.extend_from_slice(&piece[..count]);
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if count == 0 || bytes.len() > MAX_HEAD {
                return Err(io::ErrorKind::InvalidData.into());
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
        let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
        let header =
            |line: &str| line.split_once(':').map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()));
        let mut message =
            Self { method, target, headers: lines.filter_map(header).collect(), body: bytes.split_off(end + 4) };
        assert!(message.header("transfer-encoding").is_none(), "the proxy knows no chunks");
        let length = message.header("content-length").map_or(0, |length| length.parse().unwrap());
        while message.body.len() < length {
            let count = stream.read(&mut piece)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            message.body.extend_from_slice(&piece[..count]);
        }
        Ok(Some(message))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Encodes the request with `connection: close`.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\nconnection: close\r\n", self.method, self.target).into_bytes();
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "connection") {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends the request to a server and returns the raw response.
    pub(super) fn send(&self, server: SocketAddr) -> io::Result<Vec<u8>> {
        exchange(server, &self.bytes())
    }

    /// Sends the request with half of its body and closes the connection.
    pub(super) fn send_half(&self, server: SocketAddr) -> io::Result<()> {
        let bytes = self.bytes();
        let end = bytes.len() - self.body.len().div_ceil(2);
        TcpStream::connect(server)?.write_all(&bytes[..end])
    }
}

/// Sends bytes and reads until the server closes the connection.
pub(super) fn exchange(server: SocketAddr, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    stream.write_all(bytes)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// Builds an error response.
pub(super) fn answer(status: u16) -> Vec<u8> {
    let body = format!("<Error><Code>Fault</Code><Message>{status}</Message></Error>");
    let head = format!("HTTP/1.1 {status} Fault\r\nConnection: close\r\nContent-Type: application/xml\r\n");
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
