//! Progress on standard error: one line drawn over and over on a terminal, and none elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::Output;

/// A line that says what is being done. It is there from what is shown first until it is cleared,
/// and what is printed meanwhile clears it before.
pub(crate) struct Line {
    animates: bool,
    bar: Mutex<Option<ProgressBar>>,
}

impl Line {
    /// A line; it stays empty where standard error is no terminal.
    pub(crate) fn new(output: &Output) -> Line {
        Line { animates: output.animates(), bar: Mutex::new(None) }
    }

    /// Shows `text` instead of what was there.
    pub(crate) fn show(&self, text: &str) {
        if self.animates {
            self.bar().get_or_insert_with(drawn).set_message(escape::line(text).into_owned());
        }
    }

    /// Empties the line.
    pub(crate) fn clear(&self) {
        if let Some(bar) = self.bar().take() {
            bar.finish_and_clear();
        }
    }

    fn bar(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drawn() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>4} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A time for people, in whole seconds: `1:12:04`, `2:05`, `9 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02} min"),
        _ => format!("{hours}:{minutes:02}:{rest:02} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_like_clocks() {
        let shown =
            [0.4, 9.0, 125.0, 4324.0].map(|seconds| duration(Duration::from_secs_f64(seconds)));
        assert_eq!(shown, ["0 s", "9 s", "2:05 min", "1:12:04 h"]);
    }
}
