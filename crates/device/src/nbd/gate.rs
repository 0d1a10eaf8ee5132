//! What holds back the writes of a connection whose lease has ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use block::Lease;

/// What a thread that sends for a channel looks at before it does.
#[derive(Default)]
pub(super) struct Gate {
    /// There are writes among what the channel has sent and the server has not answered.
    pub(super) has_writes: AtomicBool,
    /// Until when those may be sent.
    pub(super) lease: OnceLock<Arc<Lease>>,
}

impl Gate {
    pub(super) fn is_shut(&self) -> bool {
        self.has_writes.load(Ordering::Acquire)
            && self.lease.get().is_some_and(|lease| !lease.holds())
    }
}
