//! Logging to stderr, and export of spans as configured by the environment.

use std::io::IsTerminal;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::args::{LogArgs, LogFormat};

#[cfg(feature = "otel")]
pub(crate) use crate::otel::Spans;

/// Variable with the log levels by module, like `throng_job=debug`.
const LOG_VARIABLE: &str = "THRONG_LOG";

/// Targets of clients and protocols. At lower levels they may log their messages, which hold credentials.
const WIRE: [&str; 6] = ["h2", "hyper", "hyper_util", "reqwest", "rustls", "tower"];

/// Prefix of the targets of our own crates, which log no value of the data.
const OURS: &str = "throng";

/// Targets that are logged. Ballista logs plans with the literals of their filters, errors of tasks, settings and
/// messages, so its targets are excluded where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogScope {
    /// All targets.
    All,
    /// Only targets of our own crates.
    OwnTargets,
    /// Like `OwnTargets`, for a server: records of the engine, which uses the crate `log`, are reported by their source
    /// location only.
    #[cfg(feature = "cluster")]
    Server,
}

impl LogScope {
    fn is_server(self) -> bool {
        #[cfg(feature = "cluster")]
        return self == Self::Server;
        #[cfg(not(feature = "cluster"))]
        false
    }
}

/// Starts logging. The default level is `warn` on a terminal, where progress bars are shown, and for a command that `repeats` a
/// run many times; a server always logs.
pub(crate) fn start(args: &LogArgs, scope: LogScope, repeats: bool) -> Spans {
    let format = args.log_format;
    let is_shown = std::io::stderr().is_terminal() && format == LogFormat::Text;
    let quiet = (is_shown || repeats) && !scope.is_server();
    let level = match (args.verbose, quiet) {
        (0, true) => "warn",
        (0, false) => "info",
        (1, _) => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(level));
    let filter =
        WIRE.iter().filter_map(|name| format!("{name}=info").parse().ok()).fold(filter, EnvFilter::add_directive);
    let in_scope = tracing_subscriber::filter::filter_fn(move |metadata| {
        scope == LogScope::All || metadata.target().starts_with(OURS)
    });
    // stderr may be closed, which must not panic.
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    let logs = match format {
        LogFormat::Text => logs.with_ansi(is_coloured()).boxed(),
        LogFormat::Json => logs.json().boxed(),
    };
    let spans = Spans::start();
    // Fails if logging was already started in this process, which then stays in effect.
    let _ = tracing_subscriber::registry()
        .with(spans.layer())
        .with(logs.with_filter(filter).with_filter(in_scope))
        .try_init();
    #[cfg(feature = "cluster")]
    if scope.is_server() && log::set_logger(&crate::server::EngineLog).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
    spans
}

/// Without the feature `otel`, spans are not exported.
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

/// Whether to colour logs: on a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
fn is_coloured() -> bool {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !is_unwanted
}
