//! Access control: only a page served by this process may send requests, on the loopback interface, below a random
//! path.
//!
//! | threat | countermeasure |
//! |---|---|
//! | another machine | the socket is bound to 127.0.0.1 |
//! | another user of this machine | the token: 32 random bytes in the path |
//! | a page of another site, DNS rebinding | `Host`, `Origin` and `Sec-Fetch-Site` are checked, and no other origin is allowed |
//! | markup from a column name | text is escaped, and the content policy allows no inline script |

use std::fmt::Write;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Content policy of the page: its own script, style and requests, and nothing else.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                              base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every response.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// The token of a process and the host names under which it accepts requests.
#[derive(Clone, Debug)]
pub(crate) struct RequestGuard {
    token: String,
    hosts: [String; 2],
}

impl RequestGuard {
    /// Generates a token for a server on this port. Fails if the system has no randomness.
    pub(crate) fn new(port: u16) -> std::io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let mut token = String::new();
        for byte in bytes {
            // Writing to a string can't fail.
            let _ = write!(token, "{byte:02x}");
        }
        Ok(Self { token, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] })
    }

    /// Returns the path below which everything is served.
    pub(crate) fn path(&self) -> String {
        format!("/{}", self.token)
    }

    /// Returns the address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/{}/", self.hosts[0], self.token)
    }

    /// Returns the refusal of a request, or `None` if it is allowed.
    fn refusal(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let headers = request.headers();
        let host = text(headers, &header::HOST);
        if !host.is_some_and(|host| self.hosts.iter().any(|known| known == host)) {
            return Some((StatusCode::MISDIRECTED_REQUEST, "this server answers on the loopback interface only"));
        }
        let first = request.uri().path().trim_start_matches('/').split('/').next().unwrap_or_default();
        if !is_same(first, &self.token) {
            return Some((StatusCode::NOT_FOUND, "there is nothing here"));
        }
        let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
        let origin = text(headers, &header::ORIGIN);
        let is_own = |origin: &str| self.hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host));
        if !origin.map_or(is_read, is_own) {
            return Some((StatusCode::FORBIDDEN, "a page of another origin may not ask this"));
        }
        // The browser is redirected here from a local file, so opening the page itself may be cross-site.
        let is_opening = is_read && text(headers, &SEC_FETCH_MODE) == Some("navigate");
        let site = text(headers, &SEC_FETCH_SITE);
        if !is_opening && site.is_some_and(|site| site != "same-origin" && site != "none") {
            return Some((StatusCode::FORBIDDEN, "a page of another site may not ask this"));
        }
        None
    }
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Compares in time that does not depend on where two texts differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

/// Rejects unauthorized requests, and adds the headers of every response.
pub(crate) async fn check(State(guard): State<RequestGuard>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(CONTENT_POLICY));
    response
}
