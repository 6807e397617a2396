//! Logs to stderr. What Throng tells holds no value of the data; what Ballista tells does, and is kept back.
//!
//! At `info` Ballista logs every plan with the literals of its filters, at `error` the errors of tasks, settings and messages.
//! It and DataFusion log by another library than Throng. Of that, what matters is told by its place alone, like a panic.

use std::io::IsTerminal;

use log::{LevelFilter, Metadata, Record};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::args::LogFormat;

/// Sets the level of Throng's logs by module, like `throng_ballista=debug`.
const LOG_VARIABLE: &str = "THRONG_LOG";

/// All that may speak.
const OURS: &str = "throng";

/// Starts logging. Places in an engine are for those who run a server.
pub(crate) fn start(format: LogFormat, verbose: u8, is_server: bool) {
    let level = ["info", "debug", "trace"][usize::from(verbose.min(2))];
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(level));
    let ours = tracing_subscriber::filter::filter_fn(|metadata| metadata.target().starts_with(OURS));
    // Nobody may be reading the logs any more, which is no reason to panic.
    let logs = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    let logs = match format {
        LogFormat::Text => logs.with_ansi(is_coloured()).boxed(),
        LogFormat::Json => logs.json().boxed(),
    };
    // A second start in one process keeps the first.
    let _ = tracing_subscriber::registry().with(logs.with_filter(filter).with_filter(ours)).try_init();
    if is_server && log::set_logger(&Places).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

/// Tells where something was logged, and not what.
struct Places;

impl log::Log for Places {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= LevelFilter::Warn
    }

    fn log(&self, record: &Record<'_>) {
        let (module, line) = (record.module_path().unwrap_or("?"), record.line().unwrap_or(0));
        match record.level() {
            log::Level::Error => tracing::error!(target: "throng::engine", module, line, "the engine reports an error"),
            log::Level::Warn => tracing::warn!(target: "throng::engine", module, line, "the engine warns"),
            _ => {}
        }
    }

    fn flush(&self) {}
}

/// Colours are for people who see them and have not asked for none (<https://no-color.org>).
fn is_coloured() -> bool {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !is_unwanted
}
