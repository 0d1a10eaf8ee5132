//! `raidloom ui`: a page in the browser that shows this machine's drives, arrays and runs, and has
//! the command line's verbs behind buttons.
//!
//! ```text
//!   browser ── Host, Origin, token ──> access ──> routes ──┬─ looking    host, serve, lab, report: the JSON of `--json`
//!                                      (pure)              ├─ events     the same as server-sent events, when it changes
//!                                                          └─ changes    verbs as children of this program; off unless
//!                                                                        it was started with --allow-changes
//! ```
//!
//! It listens on a loopback address alone. The token stands in the address that is printed, and in
//! every request that the page makes; there is no cookie, so that another page's requests carry
//! nothing.

mod access;
mod board;
mod catalogue;
mod changes;
mod creation;
mod events;
mod http;
mod machine;
mod program;
mod questions;
mod refusal;
mod routes;
mod verbs;
mod views;
mod words;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ::words::{Language, statement};
use host::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use access::Access;
use changes::Changes;
use machine::Machine;
use views::Runs;

pub use http::serve_text;

/// What the page is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens; a loopback address. Port 0 is any that is free.
    pub listen: SocketAddr,
    /// The folder whose runs are shown.
    pub runs: PathBuf,
    /// This program, which the verbs are run with.
    pub program: PathBuf,
    /// Whether anything may be changed from the page.
    pub allow_changes: bool,
    /// What the page speaks until its switch is pressed.
    pub language: Language,
}

/// All that a request may need.
struct App {
    access: Access,
    runs: Runs,
    machine: Machine,
    changes: Changes,
    allow_changes: bool,
    language: Language,
}

type Shared = Arc<App>;

/// Serves the page until one of the signals arrives; `ready` is called with its address, the token
/// in it, when it can be opened. A verb that is under way then is told to end and waited for.
///
/// # Errors
/// A usage error for an address that is no loopback; what the system says otherwise.
pub fn serve(
    options: Options,
    signals: &[i32],
    ready: impl FnOnce(&str) -> Result<(), Error>,
) -> Result<(), Error> {
    if !options.listen.ip().is_loopback() {
        let address = options.listen.to_string();
        return Err(Error::usage(statement!(catalogue::NOT_LOOPBACK, address = address)));
    }
    let failed = |error: io::Error| Error::from_io(catalogue::SERVER, &error);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let result = runtime.block_on(async {
        // Before anything is printed: a signal must not find it half ready.
        let end = end(signals).map_err(failed)?;
        let listener = TcpListener::bind(options.listen).await.map_err(|error| {
            Error::from_io(format!("--listen {}", options.listen), &error).as_usage()
        })?;
        let address = listener.local_addr().map_err(failed)?;
        let access = Access::new(address).map_err(failed)?;
        let page = access.page();
        let app = Arc::new(App {
            access,
            runs: Runs::of(options.runs),
            machine: Machine::here(&options.program),
            changes: Changes::with(options.program),
            allow_changes: options.allow_changes,
            language: options.language,
        });
        ready(&page)?;
        let router = routes::router(Arc::clone(&app));
        tokio::select! {
            never = http::serve(listener, router) => match never {},
            () = end => (),
        }
        app.changes.end().await;
        Ok(())
    });
    // A look at a drive that does not answer is not waited for.
    runtime.shutdown_background();
    result
}

/// Ends with the first of the signals.
fn end(signals: &[i32]) -> io::Result<impl Future<Output = ()> + use<>> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    for number in signals {
        let mut awaited = signal(SignalKind::from_raw(*number))?;
        let sender = sender.clone();
        tokio::spawn(async move {
            awaited.recv().await;
            let _ = sender.send(()).await;
        });
    }
    Ok(async move {
        receiver.recv().await;
    })
}
