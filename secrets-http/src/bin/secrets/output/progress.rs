//! Progress bars on standard error.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use super::Output;

/// Interval at which a progress bar without a length is drawn again.
const INTERVAL: Duration = Duration::from_millis(100);

impl Output {
    /// Returns a progress bar for work of `length` units, such as commits. It is invisible if
    /// progress is not shown, for example because standard error is not a terminal. It disappears
    /// when it is dropped.
    pub(crate) fn progress(&self, length: u64, unit: &str) -> ProgressBar {
        if !self.shows_progress() {
            return ProgressBar::hidden();
        }
        let style =
            ProgressStyle::with_template(&format!("{{wide_bar}} {{pos}}/{{len}} {unit}, {{eta}}"));
        let bar = ProgressBar::new(length).with_finish(ProgressFinish::AndClear);
        bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    /// Returns a progress bar for work of unknown length, with a message. It is invisible like
    /// [`progress`](Self::progress).
    pub(crate) fn waiting(&self, message: &'static str) -> ProgressBar {
        if !self.shows_progress() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear);
        bar.set_message(message);
        bar.enable_steady_tick(INTERVAL);
        bar
    }
}
