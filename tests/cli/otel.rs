//! Builds with the feature `otel`: the spans of a run arrive at a collector.
//!
//! `cargo test --workspace --locked --features throng-cli/otel --test cli -- otel`

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use crate::fixture_table::{COLUMNS, people};
use crate::sandbox::{Ended, Sandbox};

/// Starts a collector on this machine. Returns its URL and the requests that it receives.
fn collector() -> (String, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while let Some(request) = request(&mut stream) {
                sender.send(request).unwrap();
                let answer = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    (place, receiver)
}

/// Reads the first line and the body of a request; `None` at the end of the stream.
fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first.trim().to_owned(), body))
}

fn run(sandbox: &Sandbox, endpoint: &str) -> Ended {
    let mut command = sandbox.command(&["run", "policy.toml"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint).env("OTEL_RESOURCE_ATTRIBUTES", "office=north");
    command.output().unwrap().into()
}

#[test]
fn the_stages_of_a_run_arrive_and_no_value_does() {
    let (place, requests) = collector();
    let sandbox = Sandbox::with(&people(300), 4, 2, COLUMNS);
    let outcome = run(&sandbox, &place).done();
    let received: Vec<(String, Vec<u8>)> = requests.try_iter().collect();
    assert!(received.iter().all(|(first, _)| first.starts_with("POST /v1/traces ")), "{received:?}");
    let bytes: Vec<u8> = received.into_iter().flat_map(|(_, body)| body).collect();
    // In a Protobuf message a text follows its length.
    let has = |text: &str| {
        let framed = [&[text.len() as u8][..], text.as_bytes()].concat();
        bytes.windows(framed.len()).any(|window| window == framed)
    };
    for text in ["run", "stage", "survey", "partition", "cluster", "recode", "write", "verify", "publish"] {
        assert!(has(text), "no `{text}`");
    }
    assert!(has(outcome["run_id"].as_str().unwrap()));
    for text in ["service.name", "throng", "office", "north"] {
        assert!(has(text), "no `{text}`");
    }
    let text = String::from_utf8_lossy(&bytes);
    for value in ["person 0", "France", "Kenya", "hepatitis", "fracture", "Female", "A100"] {
        assert!(!text.contains(value), "`{value}` was sent");
    }
}

#[test]
fn a_collector_that_can_not_be_reached_fails_no_run() {
    // No process listens there any more.
    let gone = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    for endpoint in [gone.as_str(), "nonsense://", "not a place"] {
        let sandbox = Sandbox::with(&people(100), 4, 2, COLUMNS);
        assert_eq!(run(&sandbox, endpoint).done()["outcome"], "released", "{endpoint}");
    }
}
