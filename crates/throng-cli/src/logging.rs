//! Logs to stderr, and spans to where the environment wants them.

use std::io::IsTerminal;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::args::LogFormat;

#[cfg(feature = "otel")]
pub(crate) use crate::otel::Spans;

/// Sets the level of logs by module, like `throng_pipeline=debug`.
const LOG_VARIABLE: &str = "THRONG_LOG";

/// What speaks to servers. Below this level it may tell what it sends, and that holds credentials.
const WIRE: [&str; 6] = ["h2", "hyper", "hyper_util", "reqwest", "rustls", "tower"];

/// Starts logging. On a terminal progress bars tell what goes on, and logs only what went wrong.
pub(crate) fn start(format: LogFormat, verbose: u8) -> Spans {
    let quiet = std::io::stderr().is_terminal() && format == LogFormat::Text;
    let level = match (verbose, quiet) {
        (0, true) => "warn",
        (0, false) => "info",
        (1, _) => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(level));
    let filter =
        WIRE.iter().filter_map(|name| format!("{name}=info").parse().ok()).fold(filter, EnvFilter::add_directive);
    // Nobody may be reading the logs any more, which is no reason to panic.
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    let logs = match format {
        LogFormat::Text => logs.with_ansi(is_coloured()).boxed(),
        LogFormat::Json => logs.json().boxed(),
    };
    let spans = Spans::start();
    // A second start in one process keeps the first.
    let _ = tracing_subscriber::registry().with(spans.layer()).with(logs.with_filter(filter)).try_init();
    spans
}

/// Spans go nowhere in a build without the feature `otel`.
#[cfg(not(feature = "otel"))]
pub(crate) struct Spans;

#[cfg(not(feature = "otel"))]
impl Spans {
    fn start() -> Self {
        Self
    }

    fn layer(&self) -> tracing_subscriber::layer::Identity {
        tracing_subscriber::layer::Identity::new()
    }

    pub(crate) fn finish(self) {}
}

/// Colours are for people who see them and have not asked for none (<https://no-color.org>).
fn is_coloured() -> bool {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !is_unwanted
}
