//! Ctrl-C and `kill`: ask for a tidy end once, end at once the second time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::failure::Failure;

/// A flag that the first SIGINT or SIGTERM sets; the second ends the process with the usual code.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for (signal, code) in [(signal_hook::consts::SIGINT, 130), (signal_hook::consts::SIGTERM, 143)] {
        // In this order: the second signal finds the flag set and ends the process before anything else runs.
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| Failure::failed(format!("setting up for Ctrl-C: {error}")))?;
    }
    // By default a file that outgrows `ulimit -f` ends the process; so it fails the call instead, and there is a tidy end.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())
        .map_err(|error| Failure::failed(format!("setting up for a limit on the size of files: {error}")))?;
    Ok(flag)
}
