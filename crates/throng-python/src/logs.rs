//! Events of the library for `logging`.
//!
//! Workers push events to a queue, and the thread that waits for them hands them to Python. Events that find the queue full are
//! dropped.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::{Mutex, Once, PoisonError};

use pyo3::prelude::*;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// Maximum number of events that wait.
const WAITING: usize = 1024;

/// Name of the logger in Python.
const LOGGER: &str = "throng_privacy";

static QUEUE: Mutex<VecDeque<(u8, String)>> = Mutex::new(VecDeque::new());

/// Begins to collect events, once per process. A host that has installed a subscriber of its own keeps it.
pub(crate) fn collect() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        let _ = tracing_subscriber::registry().with(QueueLayer).try_init();
    });
}

/// Hands all events to `logging`.
pub(crate) fn deliver(py: Python<'_>) -> PyResult<()> {
    let events = std::mem::take(&mut *QUEUE.lock().unwrap_or_else(PoisonError::into_inner));
    if events.is_empty() {
        return Ok(());
    }
    let logger = py.import("logging")?.call_method1("getLogger", (LOGGER,))?;
    for (level, text) in events {
        logger.call_method1("log", (level, "%s", text))?;
    }
    Ok(())
}

/// Puts the events of Throng into the queue.
struct QueueLayer;

impl<S: Subscriber> Layer<S> for QueueLayer {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= Level::INFO && metadata.target().starts_with("throng")
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = EventLine::default();
        event.record(&mut line);
        let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() < WAITING {
            queue.push_back((number(*event.metadata().level()), line.message + &line.fields));
        }
    }
}

/// Returns the number of a level in `logging`.
fn number(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        _ => 10,
    }
}

/// Message and fields of an event.
#[derive(Default)]
struct EventLine {
    message: String,
    fields: String,
}

impl Visit for EventLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
