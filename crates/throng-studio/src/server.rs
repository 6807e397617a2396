//! The server: a socket on the loopback interface, and its few routes.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use futures::Stream;
use throng_job::{JobError, Stop};
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;

use crate::actions::{self, StudioAction};
use crate::guard::{self, RequestGuard};
use crate::places::AllowedFolders;
use crate::state::{StateOptions, StudioState};
use crate::view;

/// Maximum size of a request body: a hierarchy file of many values.
const MAX_BYTES: usize = 8 << 20;

/// Content policy of a report, whose style is part of the page and which has no script.
const REPORT_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Settings of the Studio.
#[derive(Clone, Debug)]
pub struct StudioOptions {
    /// A table or a policy to open at the start.
    pub location: Option<String>,
    /// Port of the loopback interface; 0 takes a free one.
    pub port: u16,
    /// Whether values of the table may be shown.
    pub shows_values: bool,
    /// Whether the process ends when its last page is closed.
    pub exits_when_closed: bool,
    /// Number of threads that read and compute.
    pub threads: usize,
    /// Memory limit of the process in bytes.
    pub memory_limit: Option<u64>,
}

/// A server that listens, but does not serve requests yet.
pub struct Studio {
    listener: TcpListener,
    guard: RequestGuard,
    state: Arc<StudioState>,
    location: Option<String>,
}

impl Studio {
    /// Listens on a port of the loopback interface.
    pub async fn bind(options: StudioOptions) -> Result<Self, JobError> {
        let failed = |error: std::io::Error| JobError::creating("listening on the loopback interface", &error);
        let listener =
            TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let guard = RequestGuard::new(port).map_err(|error| JobError::creating("drawing a token", &error))?;
        let state = StudioState::new(StateOptions {
            exits_when_closed: options.exits_when_closed,
            shows_values: options.shows_values,
            allowed: AllowedFolders::new(options.location.as_deref()),
            threads: options.threads,
            memory_limit: options.memory_limit,
        });
        Ok(Self { listener, guard, state, location: options.location })
    }

    /// Returns the address of the page, which holds the token.
    pub fn address(&self) -> String {
        self.guard.address()
    }

    /// Serves requests until it is stopped or, if so configured, until its last page is closed.
    pub async fn serve(self, stop: Stop) -> Result<(), JobError> {
        let Self { listener, guard, state, location } = self;
        if let Some(location) = location {
            actions::open(&state, &location);
        }
        let router = router(Arc::clone(&state), guard);
        let served = axum::serve(listener, router);
        // Events never end by themselves, so connections are dropped rather than waited for.
        let failed = tokio::select! {
            served = async { served.await } => served.err(),
            () = stop.asked() => None,
            () = state.ended.notified() => None,
        };
        state.end();
        match failed {
            Some(error) => Err(JobError::creating("serving the page", &error)),
            None => Ok(()),
        }
    }
}

/// Returns all routes, behind the guard.
pub(crate) fn router(state: Arc<StudioState>, guard: RequestGuard) -> Router {
    let below = |name: &str| format!("{}/{name}", guard.path());
    Router::new()
        .route(&below(""), get(page))
        .route(&below("studio.js"), get(script))
        .route(&below("studio.css"), get(style))
        .route(&below("icon.svg"), get(icon))
        .route(&below("events"), get(events))
        .route(&below("report"), get(report))
        .route(&below("do"), post(act))
        .with_state(state)
        .layer(DefaultBodyLimit::max(MAX_BYTES))
        .layer(middleware::from_fn_with_state(guard, guard::check))
}

async fn page(State(state): State<Arc<StudioState>>) -> Html<String> {
    Html(view::page(&state.desk(), state.shows_values))
}

async fn script() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("assets/studio.js"))
}

async fn style() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("assets/studio.css"))
}

async fn icon() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "image/svg+xml")], include_str!("assets/icon.svg"))
}

/// Sends all parts of the page, and then each that changes.
async fn events(State(state): State<Arc<StudioState>>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (all, updates) = state.listen();
    let listener = state.listener();
    let begin = (Some(all), updates, state, listener);
    let stream = futures::stream::unfold(begin, |(first, mut updates, state, listener)| async move {
        if let Some(first) = first {
            return Some((Ok(Event::default().data(first)), (None, updates, state, listener)));
        }
        match updates.recv().await {
            Ok(update) => Some((Ok(Event::default().data(update)), (None, updates, state, listener))),
            // A page that could not keep up is sent everything again.
            Err(RecvError::Lagged(_)) => {
                let (all, updates) = state.listen();
                Some((Ok(Event::default().data(all)), (None, updates, state, listener)))
            }
            Err(RecvError::Closed) => None,
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}

/// Returns the report of the last release, or of the last trial.
async fn report(State(state): State<Arc<StudioState>>) -> Response {
    let sidecar = state.desk().shown().and_then(|project| project.job.as_ref()?.sidecar.clone());
    match sidecar {
        Some(sidecar) => {
            ([(header::CONTENT_SECURITY_POLICY, REPORT_POLICY)], Html(throng_job::report(&sidecar))).into_response()
        }
        None => (StatusCode::NOT_FOUND, "there is no release yet").into_response(),
    }
}

/// Performs an action. The page is updated by events; the response only has a message if the action was refused.
async fn act(State(state): State<Arc<StudioState>>, body: Bytes) -> Response {
    // Messages of the parser quote the body, so they are dropped.
    let Ok(action) = serde_json::from_slice::<StudioAction>(&body) else {
        return (StatusCode::BAD_REQUEST, "the action is not known").into_response();
    };
    let done = actions::act(&state, action).await;
    if let Err(message) = &done {
        state.desk().say(message.clone(), true);
    }
    state.publish();
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(message) => (StatusCode::UNPROCESSABLE_ENTITY, message).into_response(),
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
