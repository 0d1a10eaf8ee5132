//! What several of these tests do alike.

#![expect(clippy::unwrap_used, reason = "a test ends where something unexpected happens")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use bench::suite::{NoAudit, NoProgress, Row, Session, Suite, Target, Ticker, Value};
use block::{Clock, Device, Error, Reactor};
use serve::{Runtime, ServeWith};

/// The process that serves stacks is this program: it runs nothing but the test `serve`.
pub(crate) fn serve_with(place: &Path) -> ServeWith {
    let arguments =
        ["--exact", "support::serve", "--nocapture", "--quiet"].map(str::to_owned).to_vec();
    let runtime = Runtime::at(place.join("servers"));
    ServeWith { program: std::env::current_exe().unwrap(), arguments, runtime }
}

/// In a process whose standard input is a socket, this serves; otherwise it does nothing.
#[test]
fn serve() {
    if rustix::net::sockopt::socket_type(std::io::stdin()).is_ok()
        && std::env::args().any(|argument| argument == "--quiet")
    {
        let (signals, _quiet) = std::os::unix::net::UnixStream::pair().unwrap();
        // Without a text its starter was told.
        let ended = serve::serve(None, &signals).err().map(|error| error.to_string());
        assert_eq!(ended.unwrap_or_default(), "");
    }
}

/// Runs a suite on a device in virtual time, with the defaults of `clock` and these settings; its
/// rows.
pub(crate) fn rows_of(
    suite: &'static Suite,
    clock: Clock,
    said: &[(&'static str, Value)],
    device: &dyn Device,
) -> Result<Vec<Row>, Error> {
    let mut settings = suite.defaults(clock);
    for (name, value) in said {
        settings.set(suite, name, value.clone()).unwrap();
    }
    let reactor = Reactor::virtual_clock();
    let (stop, ticker, mut meter, mut observer) =
        (AtomicBool::new(false), Ticker::new(), NoAudit, NoProgress);
    let mut session = Session::new(&reactor, &stop, &ticker, &mut meter, &mut observer);
    (suite.run)(Target::Device(device), &settings, &mut session)?;
    Ok(session.into_rows())
}
