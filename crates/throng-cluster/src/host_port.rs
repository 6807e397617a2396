//! Address of a process: host and port.

use std::fmt;
use std::str::FromStr;

/// A host name or address, and a port: `scheduler:50050`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// Host name or address; an IPv6 address is in brackets.
    pub host: String,
    /// TCP port, for example 50050.
    pub port: u16,
}

impl FromStr for HostPort {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        let parsed = parts.and_then(|(host, port)| Some(Self { host: host.to_owned(), port: port.parse().ok()? }));
        parsed.ok_or("it must be HOST:PORT, like scheduler:50050")
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}
