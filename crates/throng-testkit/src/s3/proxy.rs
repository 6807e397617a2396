//! A proxy that injects faults between a client and a server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::http::{Message, answer};

/// A request as a [`FaultPolicy`] sees it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Sequence number, from 0, in the order of arrival.
    pub number: usize,
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Whether it copies an object.
    pub is_copy: bool,
}

/// Fault of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WireFault {
    /// Forwarded after a delay, so that requests may be reordered.
    Pass(Duration),
    /// An error response; the request is not forwarded.
    Refuse(u16),
    /// The connection is closed; the request is not forwarded.
    Lose,
    /// Half of the body is forwarded, and the connection is closed.
    Cut,
    /// The request is executed, and an error response is returned.
    Deny(u16),
    /// The request is executed, and the connection is closed without a response.
    Forget,
    /// The response is truncated to this percentage of its bytes.
    Truncate(u8),
    /// No response for this long; the request is not forwarded.
    Stall(Duration),
    /// No response for this long, although the request is executed.
    StallAfter(Duration),
    /// The connection is closed, and the request is executed after this delay.
    Late(Duration),
}

impl WireFault {
    /// Returns the name of the fault in counts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass(delay) if delay.is_zero() => "passed",
            Self::Pass(_) => "delayed",
            Self::Refuse(_) => "refused",
            Self::Lose => "lost",
            Self::Cut => "cut",
            Self::Deny(_) => "denied",
            Self::Forget => "forgotten",
            Self::Truncate(_) => "truncated",
            Self::Stall(_) => "stalled",
            Self::StallAfter(_) => "stalled after",
            Self::Late(_) => "late",
        }
    }
}

/// Decides the faults of requests. Its methods may block, which delays the request.
pub trait FaultPolicy: Send + Sync {
    /// Called when a request arrives.
    fn before(&self, request: &Request) -> WireFault;

    /// Called after the server has responded and before the client gets the response.
    fn after(&self, _request: &Request) {}
}

impl<F: Fn(&Request) -> WireFault + Send + Sync> FaultPolicy for F {
    fn before(&self, request: &Request) -> WireFault {
        self(request)
    }
}

/// A proxy on its own port that listens until it is dropped. A connection serves one request.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    judge: Arc<dyn FaultPolicy>,
    requests: AtomicUsize,
    is_closed: AtomicBool,
    /// Number of requests that may still reach the server.
    open: Mutex<usize>,
    settled: Condvar,
}

/// Guard of a request that may still reach the server.
struct Open<'a>(&'a Shared);

impl<'a> Open<'a> {
    fn new(shared: &'a Shared) -> Self {
        *shared.open.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self(shared)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.settled.notify_all();
    }
}

impl Proxy {
    /// Starts a proxy in front of a server.
    pub fn start(server: SocketAddr, judge: Arc<dyn FaultPolicy>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            server,
            judge,
            requests: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            open: Mutex::new(0),
            settled: Condvar::new(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.is_closed.load(Ordering::SeqCst) {
                    break;
                }
                let (Ok(stream), shared) = (stream, Arc::clone(&accepting)) else { continue };
                // Client disconnects are ignored.
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { address, shared }
    }

    /// Returns the listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of requests received.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Blocks until no request in flight can reach the server any more.
    pub fn settle(&self) {
        let mut open = self.shared.open.lock().unwrap_or_else(PoisonError::into_inner);
        while *open > 0 {
            open = self.shared.settled.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        // Unblocks the accept loop.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(mut client: TcpStream, shared: &Shared) {
    let open = Open::new(shared);
    let _ = client.set_nodelay(true);
    let Ok(Some(message)) = Message::read(&mut client) else { return };
    let request = Request {
        number: shared.requests.fetch_add(1, Ordering::SeqCst),
        method: message.method.clone(),
        target: message.target.clone(),
        is_copy: message.header("x-amz-copy-source").is_some(),
    };
    let treatment = shared.judge.before(&request);
    let ask = || {
        let answered = message.send(shared.server);
        shared.judge.after(&request);
        answered.unwrap_or_default()
    };
    let response = match treatment {
        WireFault::Pass(delay) => {
            thread::sleep(delay);
            ask()
        }
        WireFault::Refuse(status) => answer(status),
        WireFault::Lose => Vec::new(),
        WireFault::Cut => {
            let _ = message.send_half(shared.server);
            Vec::new()
        }
        WireFault::Deny(status) => {
            ask();
            answer(status)
        }
        WireFault::Forget => {
            ask();
            Vec::new()
        }
        WireFault::Truncate(percent) => {
            let answer = ask();
            let end = answer.len() * usize::from(percent) / 100;
            answer[..end].to_vec()
        }
        WireFault::Stall(time) => {
            drop(open);
            return hold(client, time);
        }
        WireFault::StallAfter(time) => {
            ask();
            drop(open);
            return hold(client, time);
        }
        WireFault::Late(time) => {
            drop(client);
            thread::sleep(time);
            ask();
            return;
        }
    };
    drop(open);
    let _ = client.write_all(&response);
}

/// Keeps a connection open without a response until the client closes it or the time is over.
fn hold(mut client: TcpStream, time: Duration) {
    let _ = client.set_read_timeout(Some(time));
    let _ = client.read(&mut [0]);
}
