//! A headless browser, controlled over two pipes (the DevTools protocol). All requests except for files are denied.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Names of the browser on various systems.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser that has not responded for this long is considered hung.
const PATIENCE: Duration = Duration::from_secs(120);

const FLAGS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
];

/// Returns the browser, which is installed first if `THRONG_BROWSER=install`. `None` if there is none.
pub fn find() -> Option<PathBuf> {
    let installed = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
        NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
    };
    if installed().is_none() && std::env::var("THRONG_BROWSER").is_ok_and(|word| word == "install") {
        for arguments in [&["update"][..], &["install", "--yes", "chromium"]] {
            let done =
                Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").status().unwrap();
            assert!(done.success(), "apt-get {arguments:?} failed");
        }
    }
    installed()
}

/// A browser with one page.
pub struct Browser {
    process: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    number: u64,
    /// Events since the page was opened.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    pub fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let pipe = |name: &str| {
            let path = profile.path().join(name);
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success(), "mkfifo failed");
            path
        };
        let (to, from) = (pipe("to"), pipe("from"));
        let process = Command::new("sh")
            .args(["-c", "to=$1 from=$2; shift 2; exec \"$@\" 3<\"$to\" 4>\"$from\"", "sh"])
            .args([&to, &from])
            .arg(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for message in from.split(0).map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            process,
            to,
            from: receiver,
            session: String::new(),
            number: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser.ask(
            "Network.setBlockedURLs",
            json!({ "urls": ["http://*", "https://*", "ws://*", "wss://*", "ftp://*"] }),
        );
        browser
    }

    /// Sends a command and waits for its response. Events in between are collected.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if !self.session.is_empty() {
            message["sessionId"] = self.session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let mut answer = self.hear();
            if answer["id"] == self.number {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.events.push(answer);
        }
    }

    fn hear(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).expect("the browser does not answer")
    }

    /// Opens a file in a window of this size, and waits until it is loaded.
    pub fn open(&mut self, file: &Path, width: u32, height: u32, scheme: &str) {
        self.resize(width, height, scheme);
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": format!("file://{}", file.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.hear();
            self.events.push(event);
        }
    }

    /// Opens an address of the loopback interface, which is allowed from then on, and waits until it is loaded.
    pub fn visit(&mut self, address: &str, width: u32, height: u32, scheme: &str) {
        let others = json!({ "urls": ["https://*", "ws://*", "wss://*", "ftp://*"] });
        self.ask("Network.setBlockedURLs", others);
        self.resize(width, height, scheme);
        self.events.clear();
        self.ask("Page.navigate", json!({ "url": address }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.hear();
            self.events.push(event);
        }
    }

    /// Changes the size of the window and the colours that its user prefers.
    pub fn resize(&mut self, width: u32, height: u32, scheme: &str) {
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.ask("Emulation.setDeviceMetricsOverride", screen);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "media": "", "features": features }));
    }

    /// Waits until an expression is true in the page.
    pub fn wait(&mut self, expression: &str) {
        let start = std::time::Instant::now();
        while self.evaluate(&format!("Boolean({expression})")) != true {
            let shown = || format!("{expression} does not come true");
            assert!(start.elapsed() < PATIENCE, "{}: {}", shown(), self.evaluate("document.body.innerText"));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until an expression is true in the page, without polling delay: the page itself evaluates it on every
    /// change.
    pub fn wait_closely(&mut self, expression: &str) {
        let looked = format!(
            "new Promise((ok) => {{ const look = () => {{ if ({expression}) {{ seen.disconnect(); ok(true); }} }};
             const seen = new MutationObserver(look);
             seen.observe(document.documentElement, {{ subtree: true, childList: true, attributes: true, characterData: true }});
             setTimeout(() => {{ seen.disconnect(); ok(false); }}, 60000); look(); }})"
        );
        assert_eq!(self.evaluate(&looked), true, "{expression} does not come true");
    }

    /// Drags one element onto another with the mouse.
    pub fn drag(&mut self, element: &str, onto: &str) {
        let from = self.middle(element);
        self.ask("Input.setInterceptDrags", json!({ "enabled": true }));
        let mouse = |kind: &str, x: f64, y: f64| json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1 });
        self.ask("Input.dispatchMouseEvent", mouse("mousePressed", from.0, from.1));
        for step in 1..6 {
            self.ask("Input.dispatchMouseEvent", mouse("mouseMoved", from.0 + f64::from(step) * 4.0, from.1));
        }
        let start = std::time::Instant::now();
        let data = loop {
            let dragged = self.events.iter().rposition(|event| event["method"] == "Input.dragIntercepted");
            if let Some(at) = dragged {
                break self.events.remove(at)["params"]["data"].take();
            }
            assert!(start.elapsed() < PATIENCE, "nothing is dragged");
            let event = self.hear();
            self.events.push(event);
        };
        let to = self.middle(onto);
        for kind in ["dragEnter", "dragOver", "drop"] {
            self.ask("Input.dispatchDragEvent", json!({ "type": kind, "x": to.0, "y": to.1, "data": data }));
        }
        self.ask("Input.dispatchMouseEvent", mouse("mouseReleased", to.0, to.1));
        self.ask("Input.setInterceptDrags", json!({ "enabled": false }));
    }

    /// Returns the middle of the element that an expression returns, which is scrolled into view.
    fn middle(&mut self, element: &str) -> (f64, f64) {
        let place = self.evaluate(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{ block: 'nearest', behavior: 'instant' }});
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
    }

    /// Clicks with the mouse on the middle of the element that an expression returns.
    pub fn click(&mut self, element: &str) {
        let place = self.evaluate(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{ block: 'center', behavior: 'instant' }});
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            // A space activates a button only if it is also sent as text.
            if key == " " && kind == "keyDown" {
                (event["text"], event["code"]) = (" ".into(), "Space".into());
            }
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Evaluates an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{answer}");
        answer["result"]["value"].clone()
    }

    /// Takes a screenshot of the whole page, or of the visible part.
    pub fn picture(&mut self, is_whole: bool) -> Vec<u8> {
        let answer = self.ask("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": is_whole }));
        decoded(answer["data"].as_str().unwrap())
    }

    /// Prints the page to PDF.
    pub fn paper(&mut self) -> Vec<u8> {
        let parameters =
            json!({ "printBackground": true, "preferCSSPageSize": true, "paperWidth": 8.27, "paperHeight": 11.69 });
        decoded(self.ask("Page.printToPDF", parameters)["data"].as_str().unwrap())
    }

    /// Returns the URLs of all requests except for the file itself.
    pub fn fetched(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = asked.map(|event| event["params"]["request"]["url"].as_str().unwrap_or_default().to_owned());
        urls.skip(1).collect()
    }

    /// Returns errors of scripts, of the page and of its content policy.
    pub fn complaints(&self) -> Vec<String> {
        let complains = |event: &&Value| {
            let method = event["method"].as_str().unwrap_or_default();
            ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"].contains(&method)
        };
        self.events.iter().filter(complains).map(ToString::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Decodes Base64, the encoding of pictures in the protocol.
fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').map(value).collect();
    let bytes = letters.chunks(4).flat_map(|four| {
        let number = four.iter().fold(0_u32, |sum, letter| sum << 6 | u32::from(*letter)) << (6 * (4 - four.len()));
        number.to_be_bytes()[1..four.len()].to_vec()
    });
    bytes.collect()
}
