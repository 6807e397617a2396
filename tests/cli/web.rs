//! A small web server on loopback that supports range requests, as S3 and ordinary servers do.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request without its body.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// Returns a header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Response of the server.
pub struct Response {
    pub status: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn status(status: &'static str) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// Returns a file in one version, or the requested range of it.
    pub fn file(request: &Request, bytes: &[u8], tag: &str) -> Self {
        let tag = format!("\"{tag}\"");
        if request.header("if-match").is_some_and(|wanted| wanted != tag) {
            return Self::status("412 Precondition Failed");
        }
        let mut headers = vec![("ETag", tag), ("Last-Modified", "Tue, 03 Mar 2020 03:03:03 GMT".to_owned())];
        let range = request.header("range").and_then(|range| range.strip_prefix("bytes="));
        let Some((first, last)) = range.and_then(|range| range.split_once('-')) else {
            return Self { status: "200 OK", headers, body: bytes.to_vec() };
        };
        let end = bytes.len();
        let (first, last) = match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) => (first, end.min(last + 1)),
            (Ok(first), Err(_)) => (first, end),
            (Err(_), Ok(length)) => (end.saturating_sub(length), end),
            (Err(_), Err(_)) => (0, end),
        };
        headers.push(("Content-Range", format!("bytes {first}-{}/{end}", last - 1)));
        Self { status: "206 Partial Content", headers, body: bytes[first..last].to_vec() }
    }
}

/// A server that lives as long as the process of the test.
pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a server that answers every request with `answer`.
    pub fn start(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, known) = (Arc::new(answer), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, known) = (Arc::clone(&answer), Arc::clone(&known));
                thread::spawn(move || serve(stream, &*answer, &known));
            }
        });
        Self { url, requests }
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&Request) -> Response, known: &Mutex<Vec<Request>>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let headers = lines
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        })
        .collect();
    let request = Request { method, path, headers };
    known.lock().unwrap().push(request.clone());
    let response = answer(&request);
    let mut text =
        format!("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n", response.status, response.body.len());
    for (name, value) in &response.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    let _ = stream.write_all(text.as_bytes());
    if request.method != "HEAD" {
        let _ = stream.write_all(&response.body);
    }
}
