//! Progress bars, on a terminal only.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use throng_job::{NoProgress, Progress, Stage};

/// A bar for the current stage.
struct StageBar {
    bar: Mutex<ProgressBar>,
}

/// Returns a progress bar if stderr is a terminal.
pub(crate) fn observer() -> Arc<dyn Progress> {
    if std::io::stderr().is_terminal() {
        Arc::new(StageBar { bar: Mutex::new(ProgressBar::hidden()) })
    } else {
        Arc::new(NoProgress)
    }
}

impl Progress for StageBar {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        let bar = stage_bar(stage.as_str(), total);
        let before = std::mem::replace(&mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner), bar);
        before.finish_and_clear();
    }

    fn advance(&self, steps: u64) {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).inc(steps);
    }
}

impl Drop for StageBar {
    fn drop(&mut self) {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).finish_and_clear();
    }
}

/// Returns a labelled bar, or a spinner if the total is unknown. Hidden if stderr is not a terminal.
pub(crate) fn stage_bar(label: &str, total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{prefix:>10} [{bar:32}] {human_pos}/{human_len} {eta}",
        None => "{prefix:>10} {spinner} {human_pos} {elapsed}",
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar =
        ProgressBar::new(total.unwrap_or(0)).with_style(style.progress_chars("=> ")).with_prefix(label.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
