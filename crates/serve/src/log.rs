//! What the program says of its own work, on standard error: how much, and how that is changed
//! while it runs.
//!
//! ```text
//!   -v, -vv, RAIDLOOM_LOG ──start──> filter ──> lines on standard error (a server's: its log)
//!   array set NAME log=FILTER ───────^
//! ```
//!
//! Off is one comparison with a number in memory at each place that has something to say.

use std::fmt;
use std::io;
use std::sync::{Mutex, PoisonError};

use host::Error;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use words::{Text, statement};

use crate::catalogue;

/// The variable in the environment that says how much is logged.
pub const VARIABLE: &str = "RAIDLOOM_LOG";

/// What takes a filter.
const HELP: &str = "say off, error, warn, info, debug or trace, or parts with a level each: \
    request=trace,serve=debug";

/// How much is logged: a level, or parts of the program with a level each.
#[derive(Clone)]
struct Filter {
    text: String,
    targets: Targets,
}

impl Filter {
    fn parse(text: &str) -> Result<Filter, Error> {
        let text = text.trim();
        // The parser takes a word that it does not know for the name of a part, at every level.
        let parts = text.split(',').map(str::trim);
        let known = |part: &str| {
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            let levels = ["off", "error", "warn", "info", "debug", "trace"];
            levels.iter().any(|known| known.eq_ignore_ascii_case(level))
        };
        if let Some(part) = parts.clone().find(|part| !known(part)) {
            return Err(wrong(&statement!(catalogue::NO_LOG_LEVEL, text = part)));
        }
        let targets =
            text.parse().map_err(|error| wrong(&Text::verbatim(&error).at(format!("`{text}`"))))?;
        Ok(Filter { text: text.to_owned(), targets })
    }
}

/// What messages call it.
const LOG_PLACE: &str = "log";

/// What is said of a filter that makes no sense.
fn wrong(why: &Text) -> Error {
    let said = statement!(catalogue::LOG_EXPECTED, why = why, help = HELP);
    Error::usage(said).at(LOG_PLACE)
}

struct Log {
    filter: String,
    handle: reload::Handle<Targets, Registry>,
}

static LOG: Mutex<Option<Log>> = Mutex::new(None);

/// Begins to log: what `verbose` (the count of `-v`) says, or else the environment, or else
/// warnings. A process does this once.
///
/// # Errors
/// A filter that makes no sense.
pub fn start(verbose: u8) -> Result<(), Error> {
    let said = std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty());
    let filter = match (verbose, said) {
        (0, Some(text)) => {
            Filter::parse(&text).map_err(|error| error.at(format_args!("{VARIABLE}={text}")))?
        }
        (0, None) => Filter::parse("warn")?,
        (1, _) => Filter::parse("info")?,
        (2, _) => Filter::parse("debug")?,
        (_, _) => Filter::parse("trace")?,
    };
    let (layer, handle) = reload::Layer::new(filter.targets);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Lines).with_ansi(false);
    let started = tracing_subscriber::registry().with(layer).with(lines).try_init();
    started.map_err(|error| Error::failed(Text::verbatim(&error)).at(catalogue::STARTING_LOG))?;
    *LOG.lock().unwrap_or_else(PoisonError::into_inner) = Some(Log { filter: filter.text, handle });
    Ok(())
}

/// How much is logged now.
#[must_use]
pub fn filter() -> String {
    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    log.as_ref().map_or_else(|| "off".to_owned(), |log| log.filter.clone())
}

/// Logs as much as `filter` says from now on.
///
/// # Errors
/// A filter that makes no sense, or a process that does not log at all.
pub fn set(filter: &str) -> Result<(), Error> {
    let filter = Filter::parse(filter)?;
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let log = log.as_mut().ok_or_else(|| Error::failed(catalogue::NO_LOG).at(LOG_PLACE))?;
    log.handle
        .reload(filter.targets)
        .map_err(|error| Error::failed(Text::verbatim(&error)).at(catalogue::CHANGING_LOG))?;
    log.filter = filter.text;
    Ok(())
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Standard error, for whole lines: names of files in them must not steer a terminal.
struct Lines;

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        escape::err(&escape::line(String::from_utf8_lossy(bytes).trim_end()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_level_or_parts_with_levels() {
        for text in ["off", "warn", "TRACE", "request=trace", "warn,request=trace,serve=debug"] {
            assert_eq!(Filter::parse(text).expect(text).text, text);
        }
        for wrong in ["", "loud", "request", "request=loud", "warn,,trace", "serve=debug,x"] {
            let error = Filter::parse(wrong).expect_err(wrong).to_string();
            assert!(error.starts_with("log: `") && error.ends_with(HELP), "{error}");
        }
    }

    #[test]
    fn a_process_without_a_log_says_so() {
        assert_eq!(filter(), "off");
        assert_eq!(set("debug").unwrap_err().to_string(), "log: this process keeps none");
    }
}
