//! `raidloom array monitor`: tells of what happens to running arrays, once each.
//!
//! ```text
//!   servers ──status──> notices: what is new since the last look ──> standard output (journal),
//!      │                                                             mail, a program, a webhook
//!      └──────────────> metrics: Prometheus text at an address of this machine
//! ```

mod metrics;
mod notices;
mod tell;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use clap::Args;
use serve::Runtime;

use crate::catalogue::{self, statement};
use crate::failure::Failure;
use crate::output::Output;
use crate::signals;
use metrics::LatestStatuses;
use notices::LastLook;
use tell::NoticeTargets;

/// Where notices go, and how often servers are asked.
#[derive(Args, Debug)]
pub(crate) struct MonitorArguments {
    /// How often the arrays are asked
    #[arg(long, value_name = "TIME", default_value = "10s")]
    every: String,

    /// Ask once, tell what is new since the last time, and end: for a timer
    #[arg(long, requires = "state")]
    once: bool,

    /// Where what was told is kept, so that it is not told again when the monitor starts anew
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    ways: NoticeTargets,

    /// Serve figures for Prometheus at http://ADDRESS/metrics, for this machine alone
    #[arg(long, value_name = "ADDRESS", conflicts_with = "once")]
    metrics: Option<SocketAddr>,
}

/// Tells of what happens until it is asked to end.
pub(crate) fn monitor(output: &Output, arguments: &MonitorArguments) -> Result<(), Failure> {
    let every = stack::size::parse_duration(&arguments.every)
        .map_err(|error| Failure::usage(error).at("--every"))?;
    arguments.ways.check()?;
    let runtime = Runtime::find()?;
    // It may be a pipe, and the first Ctrl-C ends the wait for it.
    let mut seen = match &arguments.state {
        Some(path) => LastLook::read(path)?,
        None => LastLook::default(),
    };
    let end = signals::End::new()?;
    let latest = Arc::new(Mutex::new(LatestStatuses::default()));
    if let Some(address) = arguments.metrics {
        serve_metrics(output, address, &latest)?;
    }
    loop {
        let asked = Instant::now();
        let (mut statuses, mut dead, mut silent) = (Vec::new(), Vec::new(), Vec::new());
        for (entry, status) in serve::statuses(&runtime) {
            match (status, entry.process) {
                (Ok(status), _) => statuses.push(status),
                (Err(_), None) => dead.push(entry.name),
                (Err(_), Some(_)) => silent.push(entry.name),
            }
        }
        let (notices, now) = notices::since(&seen, &statuses, &dead, &silent);
        // What is told of can be read there.
        *latest.lock().unwrap_or_else(PoisonError::into_inner) =
            LatestStatuses { statuses, silent: [dead, silent].concat() };
        for notice in &notices {
            arguments.ways.tell(output, notice)?;
        }
        if let Some(path) = arguments.state.as_ref().filter(|_| now != seen) {
            now.write(path)?;
        }
        seen = now;
        if arguments.once {
            return Ok(());
        }
        if end.comes_within(every.saturating_sub(asked.elapsed())) {
            return Ok(());
        }
    }
}

/// Answers who asks for figures, in a thread of its own that ends with the process.
fn serve_metrics(
    output: &Output,
    address: SocketAddr,
    latest: &Arc<Mutex<LatestStatuses>>,
) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::usage(catalogue::METRICS_LOCAL).at(format!("--metrics {address}")));
    }
    let failed = |error| Failure::from_io(format_args!("--metrics {address}"), &error);
    let listener = TcpListener::bind(address).map_err(failed)?;
    let shown = format!("http://{}/metrics", listener.local_addr().map_err(failed)?);
    output.note(&statement!(METRICS_AT, address = shown));
    let latest = Arc::clone(latest);
    thread::spawn(move || {
        let text = move || {
            let latest = latest.lock().unwrap_or_else(PoisonError::into_inner).clone();
            metrics::text(&latest)
        };
        let error = ui::serve_text(listener, metrics::PLACE, text);
        escape::err(&format!("raidloom: --metrics {address}: {error}"));
    });
    Ok(())
}
