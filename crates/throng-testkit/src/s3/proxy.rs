//! Stands between a client and a server, and treats each request as it is told to.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::http::{Message, answer};

/// What a judge knows of a request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Counted from 0, in the order of arrival.
    pub number: usize,
    /// GET, PUT and so on.
    pub method: String,
    /// The path and the query.
    pub target: String,
    /// Whether it asks for a copy of an object.
    pub is_copy: bool,
}

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WireFault {
    /// It gets through, after a while in which others may overtake it.
    Pass(Duration),
    /// An error is answered; the server never hears of it.
    Refuse(u16),
    /// The connection is closed; the server never hears of it.
    Lose,
    /// Half of what is sent arrives, and the connection is closed.
    Cut,
    /// The server does what it was asked to, and an error is answered.
    Deny(u16),
    /// The server does what it was asked to, and the connection is closed without an answer.
    Forget,
    /// Of the answer, so many of a hundred bytes arrive.
    Truncate(u8),
    /// There is no answer; the server never hears of it.
    Stall(Duration),
    /// There is no answer, though the server does what it was asked to.
    StallAfter(Duration),
    /// The connection is closed, and the server hears of it when nobody expects it any more.
    Late(Duration),
}

impl WireFault {
    /// The name in counts.
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

/// Decides what happens to requests. It may wait, and the request with it.
pub trait FaultPolicy: Send + Sync {
    /// A request has come.
    fn before(&self, request: &Request) -> WireFault;

    /// The server has answered a request; the client does not know yet.
    fn after(&self, _request: &Request) {}
}

impl<F: Fn(&Request) -> WireFault + Send + Sync> FaultPolicy for F {
    fn before(&self, request: &Request) -> WireFault {
        self(request)
    }
}

/// Listens on a port of its own, as long as it lives. A connection serves one request.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: SocketAddr,
    judge: Arc<dyn FaultPolicy>,
    requests: AtomicUsize,
    is_closed: AtomicBool,
    /// How many requests may still reach the server.
    open: Mutex<usize>,
    settled: Condvar,
}

/// A request that may still reach the server.
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
    /// Listens before a server.
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
                // A client that goes away is no concern of the proxy.
                thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { address, shared }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests came.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Waits until everything that is under way has reached the server or never will.
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
        // Wakes it up.
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
    let told = match treatment {
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
    let _ = client.write_all(&told);
}

/// Keeps a connection without a word, until the client goes away or the time is over.
fn hold(mut client: TcpStream, time: Duration) {
    let _ = client.set_read_timeout(Some(time));
    let _ = client.read(&mut [0]);
}
