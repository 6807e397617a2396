//! Redacted log records of the engine.

use log::{LevelFilter, Metadata, Record};

/// Reports the source location of warnings and errors of the engine without their text, which may quote values.
/// DataFusion and Ballista log with the crate `log`.
pub(crate) struct EngineLog;

impl log::Log for EngineLog {
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
