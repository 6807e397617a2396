//! Other pages, other users and other programs: none of them reaches the table or the policy.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use super::*;

/// Sends bytes to a server, and returns the status and the response.
fn raw(host: &str, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A server that refuses early may close before it has read everything.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

#[test]
fn a_running_studio_refuses_all_but_its_page() {
    let sandbox = Sandbox::new();
    write_patients(&sandbox, 300);
    let studio = Running::start(&sandbox, &["input/patients.parquet"]);
    let (host, token) = studio.parts();
    let get = |path: &str, host_header: &str, more: &str| {
        raw(host, format!("GET {path} HTTP/1.1\r\nHost: {host_header}\r\n{more}Connection: close\r\n\r\n").as_bytes())
    };
    let own = format!("/{token}/");
    let opened = get(&own, host, "");
    assert!(opened.0 == 200 && opened.1.contains("Throng"), "{opened:?}");
    let other = format!("/{}/", token.replace(|c: char| c.is_ascii_digit(), "a"));
    let port = host.rsplit(':').next().unwrap();
    for (name, status, answer) in [
        ("foreign host", 421, get(&own, "evil.example", "")),
        ("rebound name", 421, get(&own, &format!("evil.example:{port}"), "")),
        ("all interfaces", 421, get(&own, &format!("0.0.0.0:{port}"), "")),
        ("wrong token", 404, get(&other, host, "")),
        ("no token", 404, get("/", host, "")),
        ("token in the query", 404, get(&format!("/?{token}"), host, "")),
        ("foreign origin", 403, get(&format!("{own}events"), host, "Origin: http://evil.example\r\n")),
        (
            "foreign script",
            403,
            get(&format!("{own}studio.js"), host, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"),
        ),
        ("another port", 403, get(&format!("{own}events"), host, "Origin: http://127.0.0.1:1\r\n")),
        ("traversal", 404, get(&format!("{own}../../../../etc/passwd"), host, "")),
        ("encoded traversal", 404, get(&format!("{own}..%2f..%2f..%2fetc%2fpasswd"), host, "")),
        ("a file of the table", 404, get(&format!("{own}input/patients.parquet"), host, "")),
    ] {
        assert_eq!(answer.0, status, "{name}: {}", answer.1);
        let body = answer.1.split("\r\n\r\n").nth(1).unwrap_or_default();
        assert!(body.len() < 100 && !answer.1.contains(token) && !answer.1.contains("root:"), "{name}: {}", answer.1);
        assert!(!answer.1.to_lowercase().contains("access-control-allow"), "{name}");
    }
    let post = |origin: &str, body: &str| {
        let length = body.len();
        let head = format!(
            "POST /{token}/do HTTP/1.1\r\nHost: {host}\r\n{origin}Connection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        raw(host, (head + body).as_bytes()).0
    };
    let from_page = format!("Origin: http://{host}\r\n");
    let saves = "{\"do\":\"save\"}";
    assert_eq!(
        (post("", saves), post("Origin: null\r\n", saves), post("Origin: http://evil.example\r\n", saves)),
        (403, 403, 403)
    );
    for path in [
        "/etc/passwd",
        "../../../../../etc/passwd",
        "file:///etc/passwd",
        "s3://bucket/x.parquet",
        "/proc/self/environ",
    ] {
        assert_eq!(post(&from_page, &format!("{{\"do\":\"open\",\"path\":\"{path}\"}}")), 422, "{path}");
    }
    // Nine megabytes, by their length and in pieces without one; and a head that does not end.
    assert_eq!(post(&from_page, &" ".repeat(9 << 20)), 413);
    let mut pieces =
        format!("POST /{token}/do HTTP/1.1\r\nHost: {host}\r\n{from_page}Transfer-Encoding: chunked\r\n\r\n")
            .into_bytes();
    for _ in 0..9 {
        pieces.extend(format!("100000\r\n{}\r\n", " ".repeat(1 << 20)).into_bytes());
    }
    pieces.extend(b"0\r\n\r\n");
    assert_eq!(raw(host, &pieces).0, 413);
    let long = format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nX: {}\r\n\r\n", "x".repeat(2 << 20));
    assert!((400..500).contains(&raw(host, long.as_bytes()).0));
    assert!(!sandbox.path("input/patients.policy.toml").exists(), "nothing was saved");
    assert_eq!(get(&own, host, "").0, 200, "it still answers its page");
}

/// Serves one page to any client, on a separate port.
fn foreign_page(script: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut line = String::new();
            let _ = BufReader::new(&stream).read_line(&mut line);
            let body = format!("<!doctype html><title>foreign</title><body><script>{script}</script>");
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    address
}

#[test]
fn the_script_of_another_page_reaches_nothing() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    write_patients(&sandbox, 300);
    let studio = Running::start(&sandbox, &["input/patients.parquet"]);
    let address = &studio.address;
    // Even with the token, which such a page could not have.
    let script = format!(
        "const a = '{address}'; const out = {{}};
         const done = (name) => (value) => {{ out[name] = value; }};
         const load = (kind, set) => new Promise((ok) => {{ const e = document.createElement(kind); set(e); e.onload = () => ok('loaded'); e.onerror = () => ok('refused'); document.body.append(e); setTimeout(() => ok('late'), 4000); }});
         window.result = Promise.all([
           fetch(a, {{ mode: 'cors' }}).then((r) => 'read ' + r.status, () => 'refused').then(done('page')),
           fetch(a + 'do', {{ method: 'POST', body: '{{\"do\":\"save\"}}' }}).then((r) => 'read ' + r.status, () => 'refused').then(done('act')),
           fetch(a + 'do', {{ method: 'POST', mode: 'no-cors', body: '{{\"do\":\"save\"}}' }}).then((r) => 'sent ' + r.type, () => 'refused').then(done('blind')),
           load('script', (e) => {{ e.src = a + 'studio.js'; }}).then(done('script')),
           load('img', (e) => {{ e.src = a + 'icon.svg'; }}).then(done('image')),
           new Promise((ok) => {{ const e = new EventSource(a + 'events'); e.onmessage = () => ok('heard'); e.onerror = () => ok('refused'); }}).then(done('events')),
           load('iframe', (e) => {{ e.src = a; }}).then(() => {{ let text = 'closed'; try {{ text = document.querySelector('iframe').contentDocument?.body?.innerText || 'closed'; }} catch {{ }} out.frame = text; }}),
         ]).then(() => out);"
    );
    let foreign = foreign_page(script);
    browser.visit(&foreign, 800, 600, "light");
    let found = browser.evaluate("window.result");
    for name in ["page", "act", "script", "image", "events"] {
        assert_eq!(found[name], "refused", "{found}");
    }
    assert_eq!(found["frame"], "closed", "{found}");
    assert!(!sandbox.path("input/patients.policy.toml").exists(), "a page of another origin has saved the policy");
}

#[cfg(unix)]
#[test]
fn another_user_of_the_machine_finds_no_token() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let sandbox = Sandbox::new();
    write_patients(&sandbox, 300);
    // Instead of the desktop browser, a program that records its arguments.
    let temporary = sandbox.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    std::fs::create_dir(sandbox.path("bin")).unwrap();
    sandbox
        .write("bin/xdg-open", format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > '{}'\n", sandbox.path("called").display()));
    let opener = sandbox.path("bin/xdg-open");
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = sandbox.command(&["studio", "input/patients.parquet"]);
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("TMPDIR", &temporary);
    let studio = Running::of(command);
    let (host, token) = studio.parts();
    let start = Instant::now();
    while !sandbox.path("called").exists() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(100));
    let called = std::fs::read_to_string(sandbox.path("called")).unwrap();
    let page = std::path::PathBuf::from(called.trim());
    assert!(page.is_file() && !called.contains(token), "{called}");
    assert!(std::fs::read_to_string(&page).unwrap().contains(&studio.address), "the file leads to the page");
    let folder = page.parent().unwrap();
    let known = std::fs::metadata(folder).unwrap();
    assert_eq!(known.permissions().mode() & 0o777, 0o700);
    // Arguments of all processes, which every user can read.
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let arguments = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&arguments).contains(token), "{:?}", process.path());
    }
    if known.uid() == 0 {
        // As another user: neither the file nor, without the token, the server.
        let as_other = |program: &str, arguments: &[&str]| {
            Command::new(program).args(arguments).uid(65_534).gid(65_534).output().unwrap()
        };
        let read = as_other("cat", &[page.to_str().unwrap()]);
        assert!(!read.status.success() && read.stdout.is_empty(), "{read:?}");
        let environment = as_other("cat", &[&format!("/proc/{}/environ", studio.process.id())]);
        assert!(!environment.status.success(), "{environment:?}");
    }
    let guessed =
        raw(host, format!("GET /{}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n", "0".repeat(64)).as_bytes());
    assert_eq!(guessed.0, 404);
}
